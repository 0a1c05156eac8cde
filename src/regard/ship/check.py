"""A graph is held against the model it was drawn from: on real items, on lengths it was not drawn by, and padded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice

from regard.certificate import Line
from regard.certificate.asking import Found, ask, distance, telling
from regard.certificate.certify import some
from regard.certificate.ways import PADDING, USUAL, Way, alone, alone_and_padded, as_it_is, in_groups
from regard.data.batching import Item
from regard.data.example import Example
from regard.predict import Predictor
from regard.ship.formats import Runner
from regard.ship.standing import plainly, standing_in

# Lengths in words that a graph is asked, each by itself and all together, padded.
LENGTHS = (1, 7, 33)

_WAYS = (
    USUAL,
    Way("alone", as_it_is, alone),
    Way(f"alone, with {PADDING} more of padding", as_it_is, alone_and_padded),
    Way(f"{len(LENGTHS)} at a time", as_it_is, partial(in_groups, size=len(LENGTHS), backwards=True)),
)


def compare(
    predictor: Predictor, runs: Mapping[str, Runner], examples: Sequence[Example], name: str, longest: int | None
) -> Line:
    """The certificate's line of an export.

    runs:    what asks each graph, by its name
    longest: how long an item may be
    """
    ways = ("as it is", f"exported to {name.removeprefix('export ')}")
    asked = [*some(predictor, examples), *_of_lengths(predictor, examples)]
    fitting = [item for item in map(predictor.item, asked) if longest is None or item.length <= longest]
    predictor = plainly(predictor)
    items, other = telling(predictor, fitting), standing_in(predictor, runs)
    wanted = ask(predictor, items)[0]
    apart = distance(predictor, wanted, wanted)
    for way in _WAYS:
        try:
            found = ask(other, items, way)[0]
        except Exception as error:  # another library's, of whatever kind
            told = str(error).strip().splitlines() or [type(error).__name__]
            return Line(name, ways, reason=f"{way.says} it fails: {told[0]}", failed=True)
        apart = distance(predictor, wanted, found)
        if not apart.near:
            return Line(name, ways, apart, reason=_where(predictor, items, wanted, found, way), failed=True)
    return Line(name, ways, apart)


def _of_lengths(predictor: Predictor, examples: Sequence[Example]) -> Iterator[Example]:
    """Words of the examples as texts of other lengths."""
    full = [example for example in examples if example.words]
    words = [word for example in full for word in example.words]
    for length in LENGTHS:
        yield Example(tuple(islice(cycle(words), length)), whole=predictor.whole)


def _where(predictor: Predictor, items: Sequence[Item], wanted: list[Found], found: list[Found], way: Way) -> str:
    """The first item that gets something else."""
    for number, (here, there) in enumerate(zip(wanted, found, strict=True)):
        if not distance(predictor, [here], [there]).near:
            return f"{way.says}, at item {number + 1} of {len(items)} with {items[number].length} elements"
    raise AssertionError("nothing differs")
