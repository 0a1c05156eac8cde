"""A long-range study as people read it: a sentence, tables, a page; and as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from regard.comparison.cells import left_out
from regard.comparison.distance import CHANCE
from regard.comparison.long_range import LongRange, Reached
from regard.page import curve, page, paragraph, section, table

# An encoder finds an item if it answers so often right, and guesses if it is no more than so much above chance.
FOUND, GUESSED = 0.99, CHANCE + 0.1


def encoders(found: LongRange) -> list[str]:
    return list(dict.fromkeys(of.cell.encoder for of in found.reached))


def distances(found: LongRange) -> list[int]:
    return sorted({of.cell.distance for of in found.reached})


def mean(found: LongRange, encoder: str, distance: int, value: Callable[[Reached], float]) -> float | None:
    """Of all seeds; None where nothing was trained."""
    some = [value(of) for of in found.reached if (of.cell.encoder, of.cell.distance) == (encoder, distance)]
    return sum(some) / len(some) if some else None


def accuracy(found: LongRange, encoder: str, distance: int) -> float | None:
    return mean(found, encoder, distance, lambda of: of.accuracy)


def sentence(found: LongRange) -> str:
    """How far each encoder finds the item, and from where on it only guesses."""
    if not found.reached:
        return "Nothing was trained."
    return "; ".join(_reach(found, name) for name in encoders(found)) + f". Chance is {CHANCE:.0%}."


def _reach(found: LongRange, encoder: str) -> str:
    known = [(distance, of) for distance in distances(found) if (of := accuracy(found, encoder, distance)) is not None]
    good = [distance for distance, of in known if of >= FOUND]
    # From where on nothing but guesses follows.
    guessed = [distance for distance, _ in known if all(of <= GUESSED for far, of in known if far >= distance)]
    parts = [f"finds the item {_listed(good)} steps back" if good else "finds the item at no distance"]
    parts += [f"guesses from {guessed[0]:,} on"] if guessed else []
    return f"{encoder} {' and '.join(parts)}"


def _listed(numbers: Sequence[int]) -> str:
    *most, last = [f"{number:,}" for number in numbers]
    return f"{', '.join(most)} and {last}" if most else last


HEAD = ("encoder", "steps back", "seeds", "accuracy", "gradient before", "gradient after", "minutes")


def rows(found: LongRange) -> Iterator[list[str]]:
    """A row for each encoder and distance."""
    for distance in distances(found):
        for name in encoders(found):
            right = accuracy(found, name, distance)
            if right is not None:
                seeds = sum((of.cell.encoder, of.cell.distance) == (name, distance) for of in found.reached)
                yield [name, str(distance), str(seeds), f"{right:.1%}", *_numbers(found, name, distance)]


def _numbers(found: LongRange, name: str, distance: int) -> list[str]:
    values = [mean(found, name, distance, value) or 0.0 for value in (_begun, _heard, _minutes)]
    return [f"{values[0]:.1e}", f"{values[1]:.1e}", f"{values[2]:.2f}"]


def _begun(of: Reached) -> float:
    return of.begun


def _heard(of: Reached) -> float:
    return of.heard


def _minutes(of: Reached) -> float:
    return of.minutes


def time_rows(found: LongRange) -> Iterator[list[str]]:
    """A head and a row for each encoder: milliseconds by length, and by which power of the length they grow."""
    lengths = list(next(iter(found.seconds.values()), {}))
    yield ["encoder", *(f"{length:,}" for length in lengths), "grows as"]
    for name, of in found.seconds.items():
        power = growth(of)
        grown = "–" if power is None else f"length^{power:.1f}"
        yield [name, *(f"{1000 * of[length]:.1f}" for length in lengths), grown]


def growth(seconds: Mapping[int, float]) -> float | None:
    """The power of the length by which time grows, from the third longest length (or the shortest) to the longest."""
    lengths = sorted(seconds)
    if len(lengths) < 2:
        return None
    short, long = lengths[max(0, len(lengths) - 3)], lengths[-1]
    return math.log(seconds[long] / seconds[short]) / math.log(long / short)


def told(found: LongRange) -> str:
    """All for a terminal."""
    body = "\n".join("\t".join(row) for row in (HEAD, *rows(found)))
    times = "\n".join("\t".join(row) for row in time_rows(found))
    parts = [body, f"milliseconds of a pass forward by length, of one thread\n{times}", sentence(found)]
    return "\n\n".join(part for part in (*parts, left_out(found.left)) if part)


def as_data(found: LongRange) -> dict[str, Any]:
    """All that was found, as JSON takes it."""
    return {
        "study": found.name,
        "chance": CHANCE,
        "cells": [
            {**asdict(of.cell), **{name: value for name, value in asdict(of).items() if name != "cell"}}
            for of in found.reached
        ],
        "seconds": {name: dict(of) for name, of in found.seconds.items()},
        "sentence": sentence(found),
        "left": [cell.name for cell in found.left],
    }


def html(found: LongRange) -> str:
    """The page."""
    head, *times = time_rows(found)
    after = [paragraph(text) for text in (sentence(found), left_out(found.left)) if text]
    sections = [
        section("What came of it", paragraph(TASK), *after),
        section("How far they find it", _accuracies(found), note=LEARNT),
        section(
            "What the end hears of the item",
            _norms(found, "before training", _begun),
            _norms(found, "after training", _heard),
            note=NORMS,
        ),
        section("How long they take", _speeds(found), table(head, times), note=TIMES),
        section("Every encoder and distance", table(HEAD, rows(found))),
    ]
    return page("How far encoders look", *sections, subtitle="trained with regard")


TASK = (
    "Each sequence ends with a question for a key. Exactly one item before it has that key, and stands so many steps "
    "back; what is between has other keys, and values that tell nothing. The answer is the item's value."
)
LEARNT = (
    "each encoder is one block of the same width; it learns from sequences of the distance, of half of it, of a "
    "quarter … down to 1, and answers sequences of the whole distance that training did not see"
)
NORMS = (
    "the norm of ∂ output at the end / ∂ input at the item, as a power of ten; what is exactly 0 is not drawn: whoever "
    "sees so many neighbours, or each element alone, hears nothing from beyond"
)
TIMES = (
    "the shortest of five passes of the encoder over one sequence, as long as one thread computes; grows: from a "
    "quarter of the longest length to all of it"
)


def _accuracies(found: LongRange) -> str:
    lines = {
        name: [
            (math.log2(distance), of)
            for distance in distances(found)
            if (of := accuracy(found, name, distance)) is not None
        ]
        for name in encoders(found)
    }
    return curve(
        lines,
        title="Accuracy on unseen sequences",
        x_label="steps back to the item, as a power of two",
        y_label="accuracy (1 is all)",
        levels={"chance": CHANCE},
    )


def _norms(found: LongRange, when: str, value: Callable[[Reached], float]) -> str:
    lines = {
        name: [
            (math.log2(distance), math.log10(of))
            for distance in distances(found)
            if (of := mean(found, name, distance, value))
        ]
        for name in encoders(found)
    }
    return curve(
        lines,
        title=f"What the end hears of the item, {when}",
        x_label="steps back to the item, as a power of two",
        y_label="norm of the gradient, as a power of ten",
    )


def _speeds(found: LongRange) -> str:
    return curve(
        {
            name: [(math.log2(length), math.log10(1000 * of[length])) for length in of]
            for name, of in found.seconds.items()
        },
        title="Time of a pass forward",
        x_label="length, as a power of two",
        y_label="milliseconds, as a power of ten",
    )
