"""How far each encoder can look: trained to find an item so many steps back, ever further."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.build import build
from regard.comparison.cells import check_bounds, in_turn
from regard.comparison.distance import items, lesson
from regard.comparison.flow import heard, seconds
from regard.errors import RegardError, choose
from regard.experiment import train
from regard.folder import write_file
from regard.machine import threads
from regard.recipe.read import recipe_from
from regard.recipe.settings import Recipe
from regard.run import Run, load
from regard.scoring import score
from regard.training.progress import Talk

# How far each element of truncated attention sees to either side, and of the convolution: the same.
REACH = 32

# One block of each, and no positions: a recurrence and a convolution need none, and attention finds what fits.
ENCODERS: dict[str, dict[str, Any]] = {
    "attention": {"encoder": "attention", "heads": 2, "position": "none"},
    "truncated": {"encoder": "attention", "heads": 2, "position": "none", "window": [REACH, REACH]},
    "rnn": {"encoder": "recurrent", "cell": "rnn", "directions": "forward"},
    "lstm": {"encoder": "recurrent", "cell": "lstm", "directions": "forward"},
    "gru": {"encoder": "recurrent", "cell": "gru", "directions": "forward"},
    "convolution": {"encoder": "convolution", "kernel": 2 * REACH + 1},
    "pointwise": {"encoder": "pointwise"},
}

DISTANCES = (16, 64, 256, 512, 1024)

# Lengths at which a pass forward is timed.
LENGTHS = (512, 1024, 2048, 4096, 8192)

_RECIPE: dict[str, dict[str, Any]] = {
    "data": {"train": "sequences made by regard study --long-range"},
    "input": {"tokens": "words", "word_width": 32, "dropout": 0.0},
    "model": {"width": 32, "inner": 64, "depth": 1, "dropout": 0.0},
    "train": {"epochs": 2.5, "lr": 5e-3, "warmup_steps": 20, "evaluate_every": 100, "threads": 1},
}

# So many items of the whole distance are a batch; of half of it twice as many.
_BATCH = 8

# How many items there are of each distance to learn from, and to choose the best model by, and to report on.
SIZES = {"train": 640, "dev": 200, "test": 1000}

# The norm of what is heard is the mean over so many sequences.
_HEARD = 3

# What is kept of a cell beside its run, and of all cells.
_KEPT, _TIMES = "long-range.json", "times.json"


@dataclass(frozen=True)
class Far:
    """One training: an encoder, how many steps back the item is, a seed."""

    encoder: str
    distance: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.encoder}-{self.distance}-seed-{self.seed}"


@dataclass(frozen=True)
class Reached:
    """What came of it.

    accuracy:      on sequences that training did not see
    begun, heard:  the norm of ∂ output at the end / ∂ input at the item, before training and after
    """

    cell: Far
    accuracy: float
    begun: float
    heard: float
    minutes: float


@dataclass(frozen=True)
class LongRange:
    """All that was found. seconds: of each encoder, by length, how long a pass forward takes; left: cells for which
    there was no time."""

    name: str
    reached: Sequence[Reached]
    seconds: Mapping[str, Mapping[int, float]]
    left: Sequence[Far]


def long_range(
    encoders: Sequence[str],
    distances: Sequence[int],
    seeds: int,
    *,
    lengths: Sequence[int] = LENGTHS,
    overrides: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] = SIZES,
    minutes: float | None = None,
    folder: str | Path,
    talk: Talk | None = None,
) -> LongRange:
    """Train each encoder at each distance from each of so many seeds.

    lengths: at which a pass forward is timed, once, by a network at its beginning
    sizes:   how many items train, dev and test have
    minutes: how long all trainings may take; what is left then is trained when the study is asked for again
    folder:  where the runs lie
    """
    check_bounds(seeds, minutes)
    grid = cells(list(dict.fromkeys(encoders)), distances_of(distances), range(1, seeds + 1))
    recipes = {cell: recipe_of(cell, overrides) for cell in grid}
    place = Path(folder)

    def work(cell: Far, of: Path, talk: Talk) -> Reached:
        return _reached(cell, recipes[cell], sizes, of, talk)

    reached, left = in_turn(grid, work, place, minutes, Talk() if talk is None else talk)
    trained = {of.cell.encoder: place / of.cell.name for of in reached}
    return LongRange(place.name, reached, _times(place, trained, lengths), left)


def cells(encoders: Sequence[str], distances: Sequence[int], seeds: Sequence[int]) -> list[Far]:
    """All cells, those of the first seed and the nearest items first."""
    return [Far(encoder, distance, seed) for seed in seeds for distance in distances for encoder in encoders]


def distances_of(asked: Sequence[int]) -> list[int]:
    """From near to far, each once."""
    if not asked or min(asked) < 1:
        raise RegardError(f"distances are numbers of steps back from 1, as in 16,64; found {list(asked)}")
    return sorted(set(asked))


def recipe_of(cell: Far, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of a cell: each distance has as many updates, whatever their length."""
    model = choose(ENCODERS, cell.encoder, "encoder of a long-range study")
    train = {"batch_tokens": _BATCH * (cell.distance + 1), "seed": cell.seed}
    changes = {"model": {**_RECIPE["model"], **model}, "train": {**_RECIPE["train"], **train}}
    return recipe_from({**_RECIPE, **changes}, overrides)


def _reached(cell: Far, recipe: Recipe, sizes: Mapping[str, int], folder: Path, talk: Talk) -> Reached:
    """Train a cell, and measure it where that has not been done."""
    data = {
        "train": lesson(cell.distance, sizes["train"], 3 * cell.seed),
        "dev": items(cell.distance, sizes["dev"], 3 * cell.seed + 1),
    }
    run = train(recipe, run=folder, data=data, talk=talk)
    path = folder / _KEPT
    if not path.is_file():
        test = items(cell.distance, sizes["test"], 3 * cell.seed + 2)
        write_file(path, json.dumps(_measured(run, test)))
    kept = json.loads(path.read_text(encoding="utf-8"))
    progress = json.loads((folder / "last" / "state" / "progress.json").read_text(encoding="utf-8"))
    return Reached(cell, **kept, minutes=progress["seconds"] / 60)


def _measured(run: Run, test: Sequence[Any]) -> dict[str, float]:
    predictor, examples = run.predictor, run.examples(test)
    begun = build(run.recipe, predictor.tokenizer, predictor.targets)
    return {
        "accuracy": score(predictor, examples, run.recipe).values["accuracy"],
        "begun": heard(begun, examples[:_HEARD]),
        "heard": heard(predictor, examples[:_HEARD]),
    }


def _times(folder: Path, trained: Mapping[str, Path], lengths: Sequence[int]) -> dict[str, dict[int, float]]:
    """Seconds by encoder and length; what was measured before is not measured again."""
    path = folder / _TIMES
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name, run in trained.items():
        of = kept.setdefault(name, {})
        missing = [length for length in lengths if str(length) not in of]
        if missing:
            of.update(_timed(load(run), missing))
            write_file(path, json.dumps(kept))
    return {name: {length: kept[name][str(length)] for length in lengths} for name in trained}


def _timed(run: Run, lengths: Sequence[int]) -> dict[str, float]:
    with threads(run.recipe.train.threads):
        return {str(length): seconds(run.predictor, run.recipe.model.width, length) for length in lengths}
