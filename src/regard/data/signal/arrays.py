"""NumPy's files: series in one array (.npy), or in one of several arrays with what is learnt in another (.npz)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from regard.data.example import Example, Place
from regard.data.lines import check_file
from regard.data.signal.reader import TARGET, SignalReader, steps
from regard.errors import DataError, nearest

# How arrays are called where the recipe names none.
SOURCES, TARGETS, LENGTHS = ("x", "X", "data", "images", "arr_0"), ("y", "Y", "labels", "label"), ("lengths", "length")


def load(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays in a file, by name; that of a .npy file is called x. Objects, which could run code, are refused."""
    check_file(path)
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return {SOURCES[0]: found}
        with found:
            return {name: found[name] for name in found.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"cannot read {path} as NumPy's .npy or .npz: {error}") from None


class Npz(SignalReader):
    """Items side by side: x (items, time) or (items, time, columns), y (items,) or for each step (items, time).

    Series of different lengths are as long as `lengths` (items,) says; without it, steps at the end of which all values
    are missing (nan) are none. For a forecast, an array of two dimensions is one series, (time, columns).
    """

    name = "npz"

    def read(self, path: str | Path) -> Iterator[Example | DataError]:
        arrays = self.arrays(path)
        values = self.chosen(arrays, path)
        targets = self.targets(arrays, path)
        lengths = next((arrays[name] for name in LENGTHS if name in arrays), None)
        for name, array in {**targets, **({} if lengths is None else {LENGTHS[0]: lengths})}.items():
            if len(array) != len(values):
                raise DataError(f"{path}: {len(values)} items, but {len(array)} in {name}")
        for number in range(len(values)):
            place = Place(str(path), number + 1)
            try:
                end = _end(values[number]) if lengths is None else int(lengths[number])
                of_item = {name: array[number] for name, array in targets.items()}
                yield self.example(values[number][:end], of_item, place)
            except DataError as error:
                yield error

    def arrays(self, path: str | Path) -> Mapping[str, np.ndarray]:
        """The arrays by name."""
        return load(path)

    def chosen(self, arrays: Mapping[str, np.ndarray], path: str | Path) -> np.ndarray:
        """The array that is read, with one item after the other."""
        names = self.wanted.source[:1] or [name for name in SOURCES if name in arrays][:1]
        if not names or names[0] not in arrays:
            asked = f"no array {names[0]}" if names else f"none of {', '.join(SOURCES)}"
            hint = nearest(str(names[0]), arrays) if names else "; name it with data.source"
            raise DataError(f"{path} has {asked}; its arrays are {', '.join(arrays)}{hint}")
        values = arrays[str(names[0])]
        if values.dtype.kind not in "fiub":
            raise DataError(f"{path}: the array {names[0]} holds {values.dtype}, not numbers")
        return values[None] if self.wanted.answers == "ahead" and values.ndim == 2 else values

    def targets(self, arrays: Mapping[str, np.ndarray], path: str | Path) -> dict[str, np.ndarray]:
        """The arrays that are learnt, by the names of their columns."""
        if self.wanted.predicting or self.wanted.answers == "ahead":
            return {}
        names = [str(name) for name in self.wanted.target] or [name for name in TARGETS if name in arrays][:1]
        missing = [name for name in names if name not in arrays]
        if missing or not names:
            what = f"no array {missing[0]}" if missing else f"none of {', '.join(TARGETS)}, which would be learnt"
            raise DataError(f"{path} has {what}; its arrays are {', '.join(arrays)}; name it with data.target")
        called = names if self.wanted.target else [TARGET]
        return dict(zip(called, (arrays[name] for name in names), strict=True))

    def example(self, values: np.ndarray, targets: Mapping[str, np.ndarray], place: Place) -> Example:
        """One item of the array."""
        if self.wanted.answers == "each":
            labels = {name: tuple(map(_text, of_item[: len(values)])) for name, of_item in targets.items()}
            return Example(steps(len(values)), labels, place, signal=values)
        one = {name: (_text(of_item),) for name, of_item in targets.items()}
        return Example((str(place),), one, place, whole=True, signal=values)


class Npy(Npz):
    """One array; what is learnt stands in a file beside it, whose name ends with .labels.npy: train.npy has its labels
    in train.labels.npy."""

    name = "npy"

    def arrays(self, path: str | Path) -> Mapping[str, np.ndarray]:
        found = load(path)
        if not self.wanted.predicting and self.wanted.answers != "ahead":
            beside = load(Path(path).with_suffix(".labels.npy"))
            return {**found, TARGETS[0]: beside[SOURCES[0]]}
        return found


def _end(values: np.ndarray) -> int:
    """How many steps there are: those at the end of which nothing is known are none."""
    if values.dtype.kind != "f":
        return len(values)
    known = np.flatnonzero(~np.isnan(values).reshape(len(values), -1).all(1))
    return int(known[-1]) + 1 if len(known) else 0


def _text(label: np.ndarray | np.generic) -> str | None:
    """A label as text; not a number is an unknown one."""
    value = label.item()
    if isinstance(value, float) and value != value:
        return None
    return str(int(value)) if isinstance(value, bool) else str(value)
