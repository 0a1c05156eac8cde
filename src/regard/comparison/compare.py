"""Two runs on the same items: how far they are apart, how probable that is by chance, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.comparison import SEED, TRIALS
from regard.comparison.both import both, counted, every_score, losses
from regard.comparison.fitting import check_enough, check_items, check_runs, check_trials, names_of, notes
from regard.comparison.paired import Difference, paired
from regard.comparison.parts import Answered, Part, parts
from regard.comparison.telling import Cases, cases
from regard.corpus import Pairs
from regard.data.example import Example
from regard.errors import choose
from regard.predict import Answer
from regard.run import Run, load
from regard.scoring import Scored, score_answers

Point = tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """What came of it.

    names:     what the runs are called
    metric:    what is looked at most closely
    scores:    every score of both, the metric first
    drawn:     of the metric, the differences in resamples and those with answers swapped by chance
    histories: of each run whose evaluations are known, the metric on dev: (update, value)
    notes:     what a reader must know
    """

    names: tuple[str, str]
    data: str
    items: int
    metric: str
    scores: Mapping[str, Difference]
    drawn: Mapping[str, np.ndarray]
    parts: Sequence[Part]
    cases: Cases
    histories: Mapping[str, Sequence[Point]]
    notes: Sequence[str]
    trials: int
    seed: int


def compare(
    one: Run | str | Path,
    other: Run | str | Path,
    data: str | Path | Pairs,
    reference: str | Path | None = None,
    *,
    metric: str | None = None,
    trials: int = TRIALS,
    seed: int = SEED,
    trust_code: bool = False,
    say: Callable[[str], None] = lambda sentence: None,
    watch: Callable[[Iterator[Answer]], Iterator[Answer]] = lambda answers: answers,
) -> Comparison:
    """Both runs' answers to the same data with targets, held against each other.

    reference: a file with the targets of data, line by line
    metric:    what is looked at most closely; what the first run was chosen by, where not given
    trials:    how many resamples and swaps are drawn, from seed
    watch:     is handed the answers as they come
    """
    check_trials(trials)
    first, second = (run if isinstance(run, Run) else load(run, trust_code=trust_code) for run in (one, other))
    names = names_of(first, second)
    check_runs(first, second, names)
    paths = [str(path) for path in (data, reference) if isinstance(path, str | Path)]
    shown = " and ".join(paths) or "the data"
    examples = [first.examples(data, reference, say=say), second.examples(data, reference)]
    check_items(examples[0], examples[1], names, shown)
    scored = [_scored(run, of, watch) for run, of in zip((first, second), examples, strict=True)]
    answered = Answered((first, second), (counted(scored[0]), counted(scored[1])), both(first, *scored), trials, seed)
    check_enough(answered.items, shown)
    metric = _metric(metric, scored[0].values, first, second)
    found, drawn = _differences(answered, list(scored[0].values), metric)
    return Comparison(
        names=names,
        data=shown,
        items=answered.items,
        metric=metric,
        scores=found,
        drawn=drawn,
        parts=parts(answered, metric),
        cases=cases(*answered.answers, losses(answered.scores)),
        histories={name: of for name, run in zip(names, (first, second), strict=True) if (of := _history(run, metric))},
        notes=list(notes(first, second, names, paths)),
        trials=trials,
        seed=seed,
    )


def _scored(run: Run, examples: Sequence[Example], watch: Callable[[Iterator[Answer]], Iterator[Answer]]) -> Scored:
    return score_answers(run.predictor, list(watch(run.predictor.predict(examples))), run.recipe)


def _metric(asked: str | None, values: Mapping[str, float], one: Run, other: Run) -> str:
    """The metric that was asked for, or that a run was chosen by; else the first that these answers have."""
    alone = {name: name for name in values if " " not in name}
    if asked is not None:
        return choose(alone, asked, "metric")
    return next((run.recipe.metric for run in (one, other) if run.recipe.metric in alone), next(iter(alone)))


def _differences(
    answered: Answered, names: Sequence[str], metric: str
) -> tuple[dict[str, Difference], dict[str, np.ndarray]]:
    """All scores' differences, the metric's first, and the metric's draws."""
    found = paired(every_score(answered.scores), answered.items, trials=answered.trials, seed=answered.seed)
    place = names.index(metric)
    rows = dict(zip(names, found.differences, strict=True))
    drawn = {
        "in resamples of the items": found.resampled[:, place],
        "with answers swapped by chance": found.swapped[:, place],
    }
    return {metric: rows.pop(metric), **rows}, drawn


def _history(run: Run, metric: str) -> list[Point]:
    """The metric on dev at each evaluation of a run, where they are known."""
    folder = run.folder.parent if run.folder.name in ("best", "last") else run.folder
    path = folder / "metrics.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.is_file() else iter(())
    found: list[dict[str, Any]] = list(rows)
    return [(row["update"], row["scores"][metric]) for row in found if metric in row.get("scores", {})]
