"""Labels that write spans in one scheme -> labels that write the same spans in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.labels import PREFIXES, first_wrong, split_label, told
from regard.errors import DataError

# What a span's words begin with, in any scheme.
_ALL = {prefix for prefixes in PREFIXES.values() for prefix in prefixes if prefix}


@dataclass(frozen=True)
class Part:
    """A word of a span: the span's kind, and whether the span begins or ends here (None where that hangs on an unknown
    label)."""

    kind: str
    begins: bool | None
    ends: bool | None


def converted(labels: Sequence[str | None], given: str, wanted: str, place: object) -> tuple[str | None, ...]:
    """The labels of the same spans in the wanted scheme; what breaks the given one is named with its place.

    A label that hangs on an unknown one is unknown. What is no label of a span, as O, stays.
    """
    wrong = first_unreadable(labels, given)
    if wrong is not None:
        raise DataError(
            f"{place}, {told(labels, wrong)} does not follow data.scheme = {given}; mend the labels, or name the "
            "files' own scheme"
        )
    return tuple(
        label if label is None or part is None else _written(part, wanted)
        for label, part in zip(labels, _parts(labels, given), strict=True)
    )


def first_unreadable(labels: Sequence[str | None], scheme: str) -> int | None:
    """Where the first label stands that breaks the scheme, or is a label of another one; None where there is none."""
    foreign = _ALL - set(_prefixes(scheme))
    strange = [place for place, label in enumerate(labels) if label and split_label(label)[0] in foreign]
    wrong = first_wrong(labels, scheme)
    return min((place for place in (*strange[:1], wrong) if place is not None), default=None)


def _prefixes(scheme: str) -> tuple[str | None, ...]:
    # IOB1 has the prefixes of IOB2, in another sense.
    return PREFIXES["IOB2" if scheme == "IOB1" else scheme]


def _parts(labels: Sequence[str | None], scheme: str) -> list[Part | None]:
    """For each label the part of a span that it stands for; None where it stands for none, or is unknown."""
    opens, inside, closes, single = _prefixes(scheme)
    parts: list[Part | None] = []
    for place, label in enumerate(labels):
        prefix, kind = split_label(label or "")
        if label is None or prefix not in (opens, inside, closes, single):
            parts.append(None)
        elif closes is not None:
            parts.append(Part(kind, begins=prefix in (opens, single), ends=prefix in (closes, single)))
        else:
            within = ((opens, kind), (inside, kind))
            before = labels[place - 1] if place else "O"
            after = labels[place + 1] if place + 1 < len(labels) else "O"
            begins = prefix == opens or (scheme == "IOB1" and _is_none_of(within, before))
            parts.append(Part(kind, begins=begins, ends=_is_none_of(within[1:], after)))
    return parts


def _is_none_of(some: Sequence[tuple[str | None, str]], label: str | None) -> bool | None:
    """Whether the label is none of some; None where it is not known."""
    return None if label is None else split_label(label) not in some


def _written(part: Part, scheme: str) -> str | None:
    """The label that stands for a part of a span."""
    opens, inside, closes, single = PREFIXES[scheme]
    if part.begins is None or (closes is not None and part.ends is None):
        return None
    if closes is None or single is None:
        prefix = opens if part.begins else inside
    else:
        prefix = {(True, True): single, (True, False): opens, (False, True): closes, (False, False): inside}[
            part.begins, bool(part.ends)
        ]
    return f"{prefix}-{part.kind}" if part.kind else prefix
