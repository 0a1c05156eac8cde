"""Labels -> numbers, and which label may follow which."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from regard.data.batching import IGNORED
from regard.data.example import Example
from regard.errors import DataError


class Labels:
    """The labels of one target column, each known by its number.

    temperature: what scores are divided by before they become probabilities; fitted on dev when training has ended
    """

    def __init__(self, names: Sequence[str], temperature: float = 1.0) -> None:
        self.names = tuple(names)
        self.temperature = temperature
        self.numbers = {name: number for number, name in enumerate(names)}

    @classmethod
    def of(cls, examples: Iterable[Example], column: str, ignore: Collection[str]) -> Labels:
        """All labels of a column, in the order of the alphabet."""
        found = {label for example in examples for label in example.labels[column] if label is not None}
        names = sorted(found - set(ignore))
        if not names:
            raise DataError(f"the column {column} holds no label to learn; is data.target the right column?")
        return cls(names)

    def encode(self, labels: Iterable[str | None]) -> tuple[int, ...]:
        """A number for each label; IGNORED for those that are unknown or left out."""
        return tuple(IGNORED if label is None else self.numbers.get(label, IGNORED) for label in labels)

    def decode(self, answer: float) -> str:
        return self.names[int(answer)]

    def certainty(self, answer: float) -> float:
        return answer

    def saved(self) -> list[str] | dict[str, Any]:
        names = list(self.names)
        return names if self.temperature == 1 else {"labels": names, "temperature": self.temperature}

    def __len__(self) -> int:
        return len(self.names)


# May the label follow the one before it? None before it: may it come first? None as label: may the other come last?
Follows = Callable[[str | None, str | None], bool]


def split_label(label: str) -> tuple[str, str]:
    """B-PER -> ("B", "PER"); O -> ("O", "")."""
    prefix, _, kind = label.partition("-")
    return prefix, kind


def _follows_iob2(before: str | None, label: str | None) -> bool:
    prefix, kind = split_label(label or "")
    if prefix != "I":
        return True
    return before is not None and split_label(before) in (("B", kind), ("I", kind))


def _follows_iob1(before: str | None, label: str | None) -> bool:
    """B stands only where a span ends and another of its kind begins.

    Source: Ramshaw & Marcus 1995, "Text chunking using transformation-based learning", section 4.1.
    """
    prefix, kind = split_label(label or "")
    if prefix != "B":
        return True
    return before is not None and split_label(before) in (("B", kind), ("I", kind))


def _follows_closed(open_with: str, inside: str, close_with: str) -> Follows:
    """Schemes in which a span of several words has a first, inner and a last label."""

    def follows(before: str | None, label: str | None) -> bool:
        prefix, kind = split_label(label or "")
        opened = before is not None and split_label(before)[0] in (open_with, inside)
        if not opened:
            return prefix not in (inside, close_with)
        assert before is not None
        return prefix in (inside, close_with) and kind == split_label(before)[1]

    return follows


SCHEMES: dict[str, Follows] = {
    "none": lambda before, label: True,
    "IOB2": _follows_iob2,
    "IOBES": _follows_closed("B", "I", "E"),
    "BMES": _follows_closed("B", "M", "E"),
    "BILOU": _follows_closed("B", "I", "L"),
}

# Files may have these; what is learnt is written in one of the above.
FILE_SCHEMES: dict[str, Follows] = {**SCHEMES, "IOB1": _follows_iob1}


def check_scheme(examples: Iterable[Example], column: str, scheme: str, ignore: Collection[str] = ()) -> None:
    """Refuse labels that do not follow the scheme, naming the first place; ignored ones count as unknown."""
    for example in examples:
        labels = [None if label in ignore else label for label in example.labels[column]]
        wrong = first_wrong(labels, scheme)
        if wrong is not None:
            raise DataError(
                f"{example.place}, {told(labels, wrong)} does not follow the scheme {scheme}; mend the labels, leave "
                'such items out with data.on_error = "skip", or set output.scheme = "none"'
            )


def told(labels: Sequence[str | None], wrong: int) -> str:
    """A wrong label and the one before it, in words."""
    before = labels[wrong - 1] if wrong else None
    label = labels[wrong] if wrong < len(labels) else "the end"
    return f"word {min(wrong + 1, len(labels))}: {label} {f'after {before}' if before else 'at the beginning'}"


def first_wrong(labels: Sequence[str | None], scheme: str) -> int | None:
    """Where the first label stands that does not follow the scheme (past the last one: it may not be the last); None
    where all do. After an unknown label anything may stand."""
    follows = FILE_SCHEMES[scheme]
    known: list[str | None] = [None, *labels, None]
    for place, (before, label) in enumerate(pairwise(known)):
        unknown = (place > 0 and before is None) or (place < len(labels) and label is None)
        if labels and not unknown and not follows(before, label):
            return place
    return None


# The prefixes of each scheme: what opens a span of several words, what is inside, what closes it (None: nothing does,
# a span ends where the next label does not go on), and what is a span of one word.
PREFIXES: dict[str, tuple[str, str, str | None, str | None]] = {
    "IOB2": ("B", "I", None, None),
    "IOBES": ("B", "I", "E", "S"),
    "BMES": ("B", "M", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
}

Span = tuple[int, int, str]


def spans(labels: Sequence[str | None], scheme: str) -> set[Span]:
    """The spans that labels mean, strictly: (first word, word after the last, kind).

    What does not follow the scheme is no span: an I without its B, a B that is never closed where the scheme closes.
    """
    opens, inside, closes, single = PREFIXES[scheme]
    found: set[Span] = set()
    start: int | None = None
    kind = ""
    for place, label in enumerate([*labels, None]):
        prefix, of = split_label(label or "")
        goes_on = start is not None and of == kind and prefix in (inside, closes)
        if start is not None and not goes_on:
            if closes is None:
                found.add((start, place, kind))
            start = None
        if prefix == opens:
            start, kind = place, of
        elif prefix == single:
            found.add((place, place + 1, of))
        elif goes_on and prefix == closes:
            assert start is not None
            found.add((start, place + 1, kind))
            start = None
    return found
