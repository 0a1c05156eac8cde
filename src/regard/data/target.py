"""What is learnt: labels, classes or numbers, as the network sees them and as people do."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from regard.data.batching import IGNORED
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.tokenizer import Tokenizer, tokenizer_from_json, tokenizer_to_json
from regard.errors import DataError, FolderError

# How probable an answer is; where an item may have several classes, how probable each of them is.
Certainty = float | Mapping[str, float]


class Target(Protocol):
    """A target column: text in files ↔ numbers in the network."""

    def encode(self, values: Iterable[str | None]) -> tuple[int, ...] | tuple[float, ...]:
        """What the network should answer."""

    def decode(self, answer: Any) -> str:
        """What the network's answer means."""

    def certainty(self, answer: Any) -> Certainty:
        """How probable the answer is, from the head's own certainty."""

    def saved(self) -> Any:
        """As JSON, for labels.json."""


class Classes:
    """The classes of one target column of which a cell may hold several, or none: each is decided on its own.

    separator: what parts them in a cell
    threshold: how probable a class must be to be answered; chosen on dev
    """

    def __init__(self, names: Sequence[str], separator: str, threshold: float = 0.5) -> None:
        self.names = tuple(names)
        self.separator = separator
        self.threshold = threshold

    @classmethod
    def of(cls, examples: Iterable[Example], column: str, separator: str) -> Classes:
        """All classes of a column, in the order of the alphabet."""
        cells = (cell for example in examples for cell in example.labels[column] if cell is not None)
        names = sorted({name for cell in cells for name in parted(cell, separator)})
        if not names:
            raise DataError(f"the column {column} holds no class to learn; is data.target the right column?")
        return cls(names, separator)

    def encode(self, values: Iterable[str | None]) -> tuple[int, ...]:
        """1 for each class that the cell holds and 0 for the others; IGNORED for all where the cell is not known."""
        (cell,) = values
        if cell is None:
            return (IGNORED,) * len(self.names)
        held = parted(cell, self.separator)
        return tuple(int(name in held) for name in self.names)

    def decode(self, answer: Sequence[float]) -> str:
        """The classes that are probable enough, as a cell."""
        found = (name for name, share in zip(self.names, answer, strict=True) if share > self.threshold)
        return self.separator.join(found)

    def certainty(self, answer: Sequence[float]) -> Certainty:
        """How probable each class is."""
        return dict(zip(self.names, answer, strict=True))

    def saved(self) -> dict[str, Any]:
        return {"classes": list(self.names), "separator": self.separator, "threshold": self.threshold}


def parted(cell: str, separator: str) -> tuple[str, ...]:
    """The classes in a cell, each once and in the order of the alphabet; an empty cell holds none."""
    return tuple(sorted({name.strip() for name in cell.split(separator)} - {""}))


class Numbers:
    """The numbers of one target column; the network sees them in units of their spread around their mean."""

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean = mean
        self.deviation = deviation

    @classmethod
    def of(cls, examples: Sequence[Example], column: str, ignore: Collection[str]) -> Numbers:
        """Mean and spread of a column. What is no number is named with its place."""
        numbers = [
            number(value, example.place)
            for example in examples
            for value in example.labels[column]
            if value is not None and value not in ignore
        ]
        if not numbers:
            raise DataError(f"the column {column} holds no number to learn; is data.target the right column?")
        mean = math.fsum(value / len(numbers) for value in numbers)
        deviation = math.hypot(*((value - mean) / math.sqrt(len(numbers)) for value in numbers))
        if not math.isfinite(deviation):
            raise DataError(f"the numbers of the column {column} are too large to be learnt; give them in another unit")
        # All targets equal, but for rounding: there is nothing to learn but the mean.
        return cls(mean, deviation if deviation > 1e-12 * abs(mean) else 1.0)

    def encode(self, values: Iterable[str | None]) -> tuple[float, ...]:
        return tuple((_float(value) - self.mean) / self.deviation for value in values)

    def decode(self, answer: float) -> str:
        # As many digits as matter for the spread: a year and a second since 1970 need more than a share.
        digits = max(0, 4 - math.floor(math.log10(self.deviation)))
        return f"{answer * self.deviation + self.mean:.{min(digits, 300)}f}"

    def certainty(self, answer: float) -> Certainty:
        raise AssertionError("a number has no probability")

    def saved(self) -> dict[str, float]:
        return {"mean": self.mean, "deviation": self.deviation}


def written_words(tokens: str, text: str) -> tuple[str, ...]:
    """A text that is to be written as words: one, where its letters or sub-words are written as they stand."""
    return tuple(text.split()) if tokens == "words" else (text,) if text else ()


class Texts:
    """The texts of one target column: each is written piece after piece, and ended by a sign of its own.

    Those that end and begin a text have the numbers after the vocabulary's: nothing is ever asked to write a beginning.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.end = next(iter(tokenizer.sizes().values()))
        self.start = self.end + 1

    def encode(self, values: Iterable[str | None]) -> tuple[int, ...]:
        """The pieces of a text and the end; nothing where the text is not known."""
        (text,) = values
        if text is None:
            return ()
        return (*self.tokenizer.numbers(written_words(self.tokenizer.kind, text)), self.end)

    def decode(self, answer: Sequence[int]) -> str:
        return self.tokenizer.text(answer)

    def certainty(self, certain: Any) -> Certainty:
        return float(certain)

    def saved(self) -> dict[str, Any]:
        return dict(json.loads(tokenizer_to_json(self.tokenizer)))


class Pieces:
    """The pieces of a text, of which some are asked for: what stands behind a mask."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode(self, values: Iterable[str | None]) -> tuple[int, ...]:
        raise AssertionError("what is asked for is drawn from the text itself")

    def decode(self, answer: int) -> str:
        return self.tokenizer.written([answer])[0]

    def certainty(self, certain: Any) -> Certainty:
        return float(certain)

    def saved(self) -> dict[str, Any]:
        return {"masked": dict(json.loads(tokenizer_to_json(self.tokenizer)))}


def number(text: str, place: object) -> float:
    """A finite number, or a refusal that names the place."""
    value = _float(text)
    if not math.isfinite(value):
        raise DataError(f"{place}: the target {text!r} is not a number")
    return value


def _float(text: str | None) -> float:
    """The number; what is none is not a number (nan)."""
    try:
        return math.nan if text is None else float(text)
    except ValueError:
        return math.nan


def target_from(saved: Any, where: str) -> Target:
    """A target that was saved; `where` is for the message if it cannot be read."""
    if isinstance(saved, Mapping) and ("kind" in saved or "masked" in saved):
        make, tokenizer = (Pieces, saved["masked"]) if "masked" in saved else (Texts, saved)
        try:
            return make(tokenizer_from_json(json.dumps(tokenizer), where))
        except FolderError as error:
            raise DataError(str(error)) from None
    if isinstance(saved, Mapping) and "classes" in saved:
        return _classes_from(saved, where)
    if isinstance(saved, Mapping) and "labels" in saved:
        return _labels_from(saved, where)
    if isinstance(saved, Mapping):
        try:
            found = Numbers(float(saved["mean"]), float(saved["deviation"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{where} is damaged: {error}") from None
        if not math.isfinite(found.mean) or not 0 < found.deviation < math.inf:
            raise DataError(f"{where} is damaged: {dict(saved)}")
        return found
    if not _are_texts(saved):
        raise DataError(f"{where} is damaged: it is no list of texts")
    return Labels(saved)


def _labels_from(saved: Mapping[str, Any], where: str) -> Labels:
    names, temperature = saved["labels"], saved.get("temperature")
    if not _are_texts(names):
        raise DataError(f"{where} is damaged: it is no list of texts")
    if not isinstance(temperature, float) or not 0 < temperature < math.inf:
        raise DataError(f"{where} is damaged: the temperature is {temperature}")
    return Labels(names, temperature)


def _classes_from(saved: Mapping[str, Any], where: str) -> Classes:
    names, separator, threshold = saved["classes"], saved.get("separator"), saved.get("threshold")
    if not _are_texts(names) or not separator or not isinstance(separator, str):
        raise DataError(f"{where} is damaged: {dict(saved)}")
    if not isinstance(threshold, float) or not 0 < threshold < 1:
        raise DataError(f"{where} is damaged: the threshold is {threshold}")
    return Classes(names, separator, threshold)


def _are_texts(saved: Any) -> bool:
    return isinstance(saved, list) and bool(saved) and all(isinstance(name, str) for name in saved)
