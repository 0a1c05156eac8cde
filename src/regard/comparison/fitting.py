"""Which two runs can be compared, and what must be said of those that can."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.comparison import TRIALS
from regard.data.example import Example
from regard.data.lines import digest
from regard.errors import DataError, RegardError
from regard.run import Run

# Settings by which answers are counted: two runs that differ in one have scores of different things.
COUNTED_BY = (
    "task.kind", "data.separator", "data.ignore", "data.several_right", "output.scheme", "output.bleu_tokens",
)  # fmt: skip

# With fewer trials no p could be below 0.05.
FEWEST_TRIALS = 20


def names_of(one: Run, other: Run) -> tuple[str, str]:
    """What the runs are called: their folders' names, or as much of their paths as tells them apart."""
    paths = [run.folder.parts for run in (one, other)]
    for parts in range(1, max(map(len, paths)) + 1):
        names = ["/".join(path[-parts:]) for path in paths]
        if names[0] != names[1] and all(path[-parts:][0] not in ("best", "last") for path in paths):
            return names[0], names[1]
    return f"{paths[0][-1]} (first)", f"{paths[1][-1]} (second)"


def check_runs(one: Run, other: Run, names: tuple[str, str]) -> None:
    """Refuse runs whose answers are not answers to the same question."""
    for setting in COUNTED_BY:
        section, _, key = setting.partition(".")
        found = [getattr(getattr(run.recipe, section), key) for run in (one, other)]
        if _plain(found[0]) != _plain(found[1]):
            told = " and ".join(f"{_shown(value)} in {name}" for value, name in zip(found, names, strict=True))
            raise RegardError(f"{setting} is {told}: their scores are not of the same thing; compare runs that agree")
    columns = [sorted(run.predictor.targets) for run in (one, other)]
    if columns[0] != columns[1]:
        told = " and ".join(f"{name} answers {', '.join(of)}" for name, of in zip(names, columns, strict=True))
        raise RegardError(f"{told}; only runs with the same target columns can be compared")


def check_trials(trials: int) -> None:
    if trials < FEWEST_TRIALS:
        raise RegardError(
            f"trials is {trials}; no p can be below 1 / (trials + 1), so use {FEWEST_TRIALS} or more "
            f"({TRIALS} are usual)"
        )


def check_items(one: Sequence[Example], other: Sequence[Example], names: tuple[str, str], data: str) -> None:
    """Refuse data that the runs do not read as the same items."""
    if len(one) != len(other):
        told = " and ".join(f"{len(of)} items by {name}" for of, name in zip((one, other), names, strict=True))
        raise DataError(f"{data} is read as {told}; the runs' [data] and [input] settings must read it alike")
    for first, second in zip(one, other, strict=True):
        alike = first.words == second.words or first.whole
        if first.labels != second.labels or set(first.others) != set(second.others) or not alike:
            raise DataError(
                f"{first.place}: {names[0]} and {names[1]} do not read the same answers there; the runs' [data] and "
                "[input] settings must read it alike"
            )


def check_enough(items: int, data: str) -> None:
    """Refuse what is too little to draw from."""
    if items < 2:
        count = "one item" if items else "no item"
        raise DataError(f"{data} has {count} with an answer; whether runs differ can be told of two or more")


def notes(one: Run, other: Run, names: tuple[str, str], data: Sequence[str]) -> Iterator[str]:
    """What a reader must know: other training data, and data that a run has met before."""
    known = [_recorded(run) for run in (one, other)]
    learnt = [known_of(run.recipe.data.train, of) for run, of in zip((one, other), known, strict=True)]
    if learnt[0] and learnt[1] and learnt[0] != learnt[1]:
        yield f"{names[0]} and {names[1]} were trained on different data: what is compared is model and data together"
    if one.recipe.metric != other.recipe.metric:
        yield f"{names[0]} was chosen by {one.recipe.metric}, {names[1]} by {other.recipe.metric}"
    here = {digest(path) for path in data}
    for run, of, name in zip((one, other), known, names, strict=True):
        for part, met in (("train", "was trained on"), ("dev", "was chosen by")):
            if here & set(known_of(getattr(run.recipe.data, part), of)):
                yield f"{name} {met} this data: its scores here flatter it"


def known_of(paths: Sequence[str], recorded: Mapping[str, str]) -> list[str]:
    """The digests of some files, or of the sequences that a run was given; nothing where they were not recorded."""
    files = [recorded[path] for path in paths if path in recorded]
    return files or [recorded["train"]] * ("train" in recorded and bool(paths))


def _recorded(run: Run) -> dict[str, str]:
    """What a run knows its data by again; a model that was copied alone knows nothing."""
    folder = run.folder.parent if run.folder.name in ("best", "last") else run.folder
    path: Path = folder / "last" / "state" / "data.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "not given"
    return "not given" if value is None else str(value)
