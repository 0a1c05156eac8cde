"""Files of the UCR and UEA archives (.ts): a series on each line, its dimensions parted by colons, its class last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from regard.data.example import Example, Place
from regard.data.lines import read_lines
from regard.data.signal.reader import TARGET, SignalReader
from regard.errors import DataError


class Ts(SignalReader):
    """Source: the format as sktime and aeon read it (aeon/datasets/_data_loaders.py); `?` and NaN are missing values.

    Series whose values carry their time, as in (0,1.5), are refused: steps would not be equally far apart.
    """

    name = "ts"

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        head: dict[str, str] = {}
        dimensions = 0
        lines = read_lines(path, self.wanted.encoding_errors)
        for _, line in lines:
            if line.lower().startswith("@data"):
                break
            if line.startswith("@"):
                key, _, value = line[1:].partition(" ")
                head[key.lower()] = value.strip()
        else:
            raise DataError(f"{path} has no line @data; is it a .ts file?")
        if head.get("timestamps", "false") == "true":
            raise DataError(f"{path}: its values carry their times (@timeStamps true), which is not read; give CSV")
        labelled = any(head.get(key, "false").split()[:1] == ["true"] for key in ("classlabel", "targetlabel"))
        for number, line in lines:
            if not line.strip() or line.startswith("#"):
                continue
            try:
                example = self._example(line, Place(str(path), number), labelled)
                dimensions = dimensions or example.signal.shape[1]  # type: ignore[union-attr]
                if example.signal.shape[1] != dimensions:  # type: ignore[union-attr]
                    raise DataError(
                        f"{example.place}: {example.signal.shape[1]} dimensions where the file begins with {dimensions}"  # type: ignore[union-attr]
                    )
                yield example
            except DataError as error:
                yield error

    def _example(self, line: str, place: Place, labelled: bool) -> Example:
        *parts, last = line.split(":")
        if not labelled:
            parts.append(last)
        columns = [_numbers(part, place) for part in parts]
        if not columns or len({len(column) for column in columns}) != 1:
            counts = ", ".join(str(len(column)) for column in columns) or "none"
            raise DataError(f"{place}: the dimensions of a series have one length, but here {counts} values")
        labels: Mapping[str, tuple[str | None, ...]] = {}
        if not self.wanted.predicting and self.wanted.answers == "whole":
            if not labelled:
                raise DataError(f"{place}: this file has no class and no target (@classLabel, @targetLabel)")
            labels = {TARGET: (last.strip(),)}
        return Example((str(place),), labels, place, whole=True, signal=np.stack(columns, 1))


def _numbers(text: str, place: Place) -> np.ndarray:
    try:
        return np.array([np.nan if cell.strip() in ("?", "") else float(cell) for cell in text.split(",")])
    except ValueError as error:
        raise DataError(f"{place}: {error}") from None
