"""`certify`: every pair of ways of running a model, held against each other on a slice of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.certificate.asking import THRESHOLD, Distance, Found, ask, distance, telling
from regard.certificate.layers import first_departing, trace
from regard.certificate.process import in_a_new_process
from regard.certificate.ways import PAIRS, USUAL, Note, Way
from regard.data.batching import Item
from regard.data.example import Example
from regard.data.lines import digest
from regard.errors import DataError, FolderError
from regard.folder import CERTIFICATE, load_model
from regard.machine import environment
from regard.predict import Predictor

# Of data, so many items are taken at most (fewer where a text is searched for each), and no more elements than this
# beside the first: some seconds of work.
ITEMS, TEXTS, ELEMENTS = 23, 7, 1000


@dataclass(frozen=True)
class Line:
    """Two ways of running a model, and how far what they say lies apart.

    name:     by which the line is known
    ways:     what is held against what
    distance: how far scores and answers lie apart; None where it was not measured
    layer:    the path of the first layer that departs, where the line fails
    reason:   why it was not measured, or what went wrong
    failed:   whether the two ways do not say the same
    """

    name: str
    ways: tuple[str, str]
    distance: Distance | None = None
    layer: str | None = None
    reason: str | None = None
    failed: bool = False

    @property
    def verdict(self) -> str:
        """same, or what was found instead."""
        if self.failed:
            return f"DIFFERS, {self.reason or f'first at {self.layer}'}"
        return "same" if self.distance is not None else f"not compared: {self.reason}"

    def cells(self) -> tuple[str, str, str, str, str]:
        """The line as a row of a table, as in HEAD."""
        difference = answers = ""
        if self.distance is not None:
            difference = "not finite" if self.distance.scores is None else f"{self.distance.scores:.1e}"
            ties = f" ({self.distance.ties} of two as good as each other)" if self.distance.ties else ""
            answers = f"{self.distance.answers}{ties}"
        return self.name, " / ".join(self.ways), difference, answers, self.verdict

    def as_data(self) -> dict[str, Any]:
        """The line as JSON."""
        apart = self.distance
        return {
            "line": self.name,
            "ways": list(self.ways),
            "difference": None if apart is None else apart.scores,
            "answers that differ": None if apart is None else apart.answers,
            "of them ties": None if apart is None else apart.ties,
            "verdict": "differs" if self.failed else "not compared" if apart is None else "same",
            "layer": self.layer,
            "reason": self.reason,
        }


HEAD = ("line", "ways", "largest difference", "answers that differ", "verdict")


# Further lines of a certificate, found by asking a model the examples.
More = Callable[[Predictor, Sequence[Example]], Iterable[Line]]


@dataclass(frozen=True)
class Certificate:
    """What was shown of a model: each way of running it gives the same answers, or where it does not.

    items:  how many were asked
    files:  each file of the model and its SHA-256
    source: the data that the items are of: each file and its SHA-256
    """

    lines: tuple[Line, ...]
    items: int
    versions: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[Line, ...]:
        """The lines that do not hold."""
        return tuple(line for line in self.lines if line.failed)

    @property
    def sentence(self) -> str:
        """What came of it, in one sentence."""
        compared = sum(line.distance is not None or line.failed for line in self.lines)
        if not self.failed:
            return f"all {compared} pairs of ways give the same answers to {self.items} items"
        told = "; ".join(f"{line.name} {line.verdict}" for line in self.failed)
        return f"{len(self.failed)} of {compared} pairs of ways do not give the same answers: {told}"

    def rows(self) -> list[tuple[str, ...]]:
        """A table, whose columns are HEAD's."""
        return [line.cells() for line in self.lines]

    def told(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """For a page: what is told beside the table, its head and its rows."""
        return f"{self.sentence}. {STATED}", HEAD, self.rows()

    def as_data(self) -> dict[str, Any]:
        """The certificate as JSON."""
        return {
            "passed": not self.failed,
            "items": self.items,
            "thresholds": {"scores": THRESHOLD, "answers": THRESHOLD},
            "lines": [line.as_data() for line in self.lines],
            "versions": dict(self.versions),
            "files": dict(self.files),
            "data": dict(self.source),
        }


STATED = (
    f"Scores (probabilities, numbers in units of their spread, log-probabilities of a text for each piece) may lie "
    f"{THRESHOLD:g} apart; an answer may differ only where the two best lie within {THRESHOLD:g}."
)


def certify(
    predictor: Predictor,
    examples: Sequence[Example],
    *,
    folder: Path | None = None,
    code: Path | None = None,
    source: Mapping[str, str] | None = None,
    more: More | None = None,
) -> Certificate:
    """Run the model in every way there is, and hold what it says against what it says in another.

    examples: of which a slice is asked
    folder:   where the model lies, if it is to be read anew by a new process
    code:     the folder of the user's own files, where the model carries code that is trusted
    source:   the data that the examples are of: each file and its SHA-256
    more:     further lines, as of what was exported
    """
    certifier = _Certifier(predictor, some(predictor, examples), folder, code)
    return Certificate(
        lines=(*certifier.lines(), *(more(predictor, examples) if more is not None else ())),
        items=len(certifier.examples),
        versions=environment(),
        files={} if folder is None else _digests(folder),
        source=source or {},
    )


def some(predictor: Predictor, examples: Sequence[Example]) -> list[Example]:
    """A slice: examples from all over the data, few enough to be asked in many ways."""
    full = [example for example in examples if predictor.item(example).length]
    if not full:
        raise DataError("there is no item with anything in it, and so nothing to ask the model; give other data")
    count = min(ITEMS if predictor.writes is None else TEXTS, len(full))
    chosen: list[Example] = []
    elements = 0
    for place in range(count):
        example = full[place * len(full) // count]
        elements += predictor.item(example).length
        if not chosen or elements <= ELEMENTS:
            chosen.append(example)
    return chosen


def _digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != CERTIFICATE)
    return {str(path.relative_to(folder)): digest(path) for path in files if path.stat().st_size}


class _Certifier:
    """Asks a model in each way once, and compares."""

    def __init__(self, predictor: Predictor, examples: list[Example], folder: Path | None, code: Path | None) -> None:
        self.predictor, self.examples, self.folder, self.code = predictor, examples, folder, code
        self.items: list[Item] = telling(predictor, [predictor.item(example) for example in examples])
        self.asked: dict[Way, tuple[list[Found], Note]] = {}

    def lines(self) -> Iterator[Line]:
        """A line for each pair of ways; where a model does not even repeat itself, nothing else can be told."""
        steady = True
        for name, (one, other) in PAIRS.items():
            line = self._line(name, one, other) if steady else _unsteady(name, (one.says, other.says))
            steady = steady and not (name == "again" and line.failed)
            yield line
        yield self._anew() if steady else _unsteady(*_ANEW)

    def _line(self, name: str, one: Way, other: Way) -> Line:
        try:
            return self._compared(name, one, other)
        except Exception as error:  # a part of the user's own may raise anything in a way it was not tried in
            return Line(name, (one.says, other.says), reason=f"{type(error).__name__}: {error}", failed=True)

    def _compared(self, name: str, one: Way, other: Way) -> Line:
        ways = (one.says, other.says)
        if other.steps and self.predictor.writer is None:
            return Line(name, ways, reason="no text is written piece by piece")
        if other.streams and self.predictor.against_streaming is not None:
            return Line(name, ways, reason=self.predictor.against_streaming)
        there, note = self._ask(other)
        if note.against is not None:
            return Line(name, ways, reason=note.against)
        apart = distance(self.predictor, self._ask(one)[0], there)
        if apart.near:
            return Line(name, ways, apart)
        layer = first_departing(trace(self.predictor, self.items, one), trace(self.predictor, self.items, other))
        return Line(name, ways, apart, layer, None if layer else _NO_LAYER, failed=True)

    def _ask(self, way: Way) -> tuple[list[Found], Note]:
        if way not in self.asked:
            self.asked[way] = ask(self.predictor, self.items, way)
        return self.asked[way]

    def _anew(self) -> Line:
        """The same model, read from its folder by a new process."""
        if self.folder is None:
            return Line(*_ANEW, reason="the model lies in no folder")
        try:
            there: list[Found] = in_a_new_process(self.predictor, self.examples, self.items, self.folder, self.code)
        except FolderError as error:
            return Line(*_ANEW, reason=str(error), failed=True)
        apart = distance(self.predictor, self._ask(USUAL)[0], there)
        if apart.near:
            return Line(*_ANEW, apart)
        loaded = load_model(self.folder, own=self.code).predictor
        layer = first_departing(trace(self.predictor, self.items, USUAL), trace(loaded, self.items, USUAL))
        return Line(*_ANEW, apart, layer, None if layer else _NO_LAYER, failed=True)


_ANEW = ("process", ("as it is", "read from its folder by a new process"))

_NO_LAYER = "though no layer does by itself: in what is made of scores, or in the search"


def _unsteady(name: str, ways: tuple[str, str]) -> Line:
    return Line(name, ways, reason="asked again, the model says something else")
