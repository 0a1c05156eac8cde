"""Encoders over sizes of data and seeds: a grid of trainings, each a run's folder, that goes on where it was left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.comparison import SEED, TRIALS
from regard.comparison.alike import alike
from regard.comparison.both import both, counted, every_score
from regard.comparison.cells import check_bounds, in_turn
from regard.comparison.grid import Cell, as_it_stands, cells, examples_of, recipes_of, sizes_of
from regard.comparison.memory import watched
from regard.comparison.paired import Difference, Measure, paired
from regard.corpus import Corpus, read_corpus, settled
from regard.experiment import train
from regard.folder import write_file
from regard.recipe.read import read_recipe
from regard.recipe.settings import Recipe
from regard.run import Run
from regard.scoring import Scored, score
from regard.training.metric import METRICS
from regard.training.progress import Talk

STUDIES = Path("studies")

# What is kept of a cell beside its run.
_KEPT = "study.json"


@dataclass(frozen=True)
class Trained:
    """What came of a cell."""

    cell: Cell
    run: Run
    scored: Scored
    parameters: int
    minutes: float
    megabytes: float | None


@dataclass(frozen=True)
class Verdict:
    """How far the best encoder and another one are apart, both with the same size and seeds."""

    best: str
    other: str
    size: int
    seeds: Sequence[int]
    difference: Difference


@dataclass(frozen=True)
class Study:
    """All that was found. part: what was scored (test, or dev); left: cells for which there was no time."""

    name: str
    metric: str
    part: str
    trained: Sequence[Trained]
    left: Sequence[Cell]
    verdicts: Sequence[Verdict]


def study(
    recipe: str | Path,
    encoders: Sequence[str],
    sizes: Sequence[str],
    seeds: int,
    *,
    match: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    minutes: float | None = None,
    folder: str | Path | None = None,
    talk: Talk | None = None,
) -> Study:
    """Train each encoder with each number of examples from each of so many seeds, and hold them against each other.

    sizes:   numbers of examples, as text, or "all"
    match:   what their networks have alike: "parameters" or an update's "time", as with the recipe's own encoder;
             where it is not given, their widths
    minutes: how long all may take; what is left then is trained when the study is asked for again
    folder:  where the runs lie; studies/<the recipe's name> where it is not given
    """
    check_bounds(seeds, minutes)
    talk = Talk() if talk is None else talk
    plain = settled(read_recipe(recipe, overrides))
    recipes, said = recipes_of(plain, encoders)
    corpus = read_corpus(as_it_stands(plain), talk.say)
    numbers = [plain.train.seed + number for number in range(seeds)]
    grid = cells(list(recipes), sizes_of(sizes, len(corpus.train)), numbers)
    for sentence in said:
        talk.say(sentence)
    place = STUDIES / Path(recipe).stem if folder is None else Path(folder)
    if match is not None:
        recipes = alike(plain, recipes, corpus, match, place, talk)

    def work(cell: Cell, of: Path, talk: Talk) -> Trained:
        return trained_cell(cell, recipes[cell.encoder], corpus, of, talk)

    trained, left = in_turn(grid, work, place, minutes, talk)
    part = "test" if corpus.test else "dev"
    return Study(place.name, plain.metric, part, trained, left, verdicts(trained, plain.metric))


def trained_cell(cell: Cell, recipe: Recipe, corpus: Corpus, folder: Path, talk: Talk) -> Trained:
    """Train a cell, or read what came of it before."""
    seeded = recipe.model_copy(update={"train": recipe.train.model_copy(update={"seed": cell.seed})})
    path = folder / _KEPT
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    with watched() as peak:
        run = train(seeded, run=folder, data=examples_of(corpus, cell), talk=talk)
    progress = json.loads((folder / "last" / "state" / "progress.json").read_text(encoding="utf-8"))
    if not kept:  # a cell that was trained before tells what it needed then
        kept = {"megabytes": peak.megabytes}
        write_file(path, json.dumps(kept))
    return Trained(
        cell,
        run,
        score(run.predictor, run.examples(corpus.test or corpus.dev), run.recipe),
        sum(parameter.numel() for parameter in run.predictor.model.parameters()),
        progress["seconds"] / 60,
        kept["megabytes"],
    )


def verdicts(trained: Sequence[Trained], metric: str) -> list[Verdict]:
    """At the largest size with which two encoders were trained: the best one against each other one."""
    sizes = sorted({of.cell.size for of in trained}, reverse=True)
    for size in sizes:
        by: dict[str, dict[int, Trained]] = {}
        for of in trained:
            if of.cell.size == size:
                by.setdefault(of.cell.encoder, {})[of.cell.seed] = of
        seeds = sorted(set.intersection(*(set(of) for of in by.values())))
        if len(by) > 1 and seeds:
            return _against(by, seeds, size, metric)
    return []


def _against(by: Mapping[str, Mapping[int, Trained]], seeds: Sequence[int], size: int, metric: str) -> list[Verdict]:
    means = {name: np.mean([of[seed].scored.values[metric] for seed in seeds]) for name, of in by.items()}
    best = max(means, key=lambda name: METRICS[metric].sign * float(means[name]))
    return [
        Verdict(best, name, size, seeds, pooled([by[best][s] for s in seeds], [of[s] for s in seeds], metric))
        for name, of in by.items()
        if name != best
    ]


def pooled(one: Sequence[Trained], other: Sequence[Trained], metric: str) -> Difference:
    """Two networks' answers of all seeds. An item is drawn with all its answers, since those of several seeds to one
    item are not independent."""
    run = one[0].run
    joined = [_joined(some) for some in (one, other)]
    scores = both(run, *joined)
    items = len(counted(one[0].scored))
    measure = together(every_score(scores), items, len(one))
    place = list(scores.values()).index(metric)
    return paired(measure, items, trials=TRIALS, seed=SEED).differences[place]


def together(measure: Measure, items: int, copies: int) -> Measure:
    """A measure of each run's items, from one of so many answers of each run to them, one after the other."""
    return lambda weights: measure(np.concatenate([np.tile(weights[:items], copies), np.tile(weights[items:], copies)]))


def _joined(some: Sequence[Trained]) -> Scored:
    """The answers of all seeds, one after the other."""
    first = some[0]
    scored = first.scored
    for of in some[1:]:
        scores = both(first.run, scored, of.scored)
        scored = Scored(scores, [*scored.answers, *of.scored.answers])
    return scored
