"""What each part of a network buys: the recipe with that part taken out, at several depths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.comparison.cells import check_bounds, in_turn
from regard.comparison.grid import Cell, as_it_stands, check_own_files
from regard.comparison.paired import Difference
from regard.comparison.study import STUDIES, Trained, pooled, trained_cell
from regard.corpus import read_corpus, settled
from regard.errors import RegardError, choose
from regard.recipe.faults import unused
from regard.recipe.read import read_recipe, recipe_from
from regard.recipe.settings import Recipe
from regard.recipe.write import values
from regard.training.progress import Talk

# The recipe as it is.
WHOLE = "whole"

# For each part that can be taken out the networks without it: settings of [model]; None lets a setting go.
PARTS: dict[str, dict[str, dict[str, Any]]] = {
    "residual": {"no-residual": {"residual": False}},
    "norm": {"no-norm": {"norm": "none"}, "batch-norm": {"norm": "batch"}},
    "positions": {"no-positions": {"position": "none"}},
    "scale": {"no-scale": {"scale": 1.0}},
    "heads": {"one-head": {"heads": 1, "head_width": None, "key_heads": None, "value_width": None}},
}


@dataclass(frozen=True)
class Without(Cell):
    """One training: a network, how many blocks it has, with how many examples, from which seed."""

    depth: int

    @property
    def name(self) -> str:
        return f"{self.encoder}-depth-{self.depth}-seed-{self.seed}"


@dataclass(frozen=True)
class Bought:
    """How far the whole network and one without a part are apart, at the same depth and seeds."""

    without: str
    depth: int
    seeds: Sequence[int]
    difference: Difference


@dataclass(frozen=True)
class Ablation:
    """All that was found. part: what was scored (test, or dev); left: cells for which there was no time."""

    name: str
    metric: str
    part: str
    trained: Sequence[Trained]
    left: Sequence[Cell]
    bought: Sequence[Bought]


def ablation(
    recipe: str | Path,
    without: Sequence[str],
    depths: Sequence[int],
    seeds: int,
    *,
    overrides: Mapping[str, Any] | None = None,
    minutes: float | None = None,
    folder: str | Path | None = None,
    talk: Talk | None = None,
) -> Ablation:
    """Train the recipe, and the recipe without each part, at each depth from each of so many seeds.

    depths:  numbers of blocks; the recipe's own where none is given
    minutes: how long all may take; what is left then is trained when the study is asked for again
    folder:  where the runs lie; studies/<the recipe's name> where it is not given
    """
    check_bounds(seeds, minutes)
    talk = Talk() if talk is None else talk
    plain = settled(read_recipe(recipe, overrides))
    check_own_files(plain)
    numbers = depths_of(depths, plain.model.depth)
    recipes = {depth: recipes_without(changed(plain, {"depth": depth}), without) for depth in numbers}
    corpus = read_corpus(as_it_stands(plain), talk.say)
    of_seeds = range(plain.train.seed, plain.train.seed + seeds)
    grid = [
        Without(name, len(corpus.train), seed, depth)
        for seed in of_seeds
        for depth in numbers
        for name in recipes[depth]
    ]
    place = STUDIES / Path(recipe).stem if folder is None else Path(folder)

    def work(cell: Without, of: Path, talk: Talk) -> Trained:
        return trained_cell(cell, recipes[cell.depth][cell.encoder], corpus, of, talk)

    trained, left = in_turn(grid, work, place, minutes, talk)
    part = "test" if corpus.test else "dev"
    return Ablation(place.name, plain.metric, part, trained, left, bought(trained, plain.metric))


def depths_of(asked: Sequence[int], own: int) -> list[int]:
    """The numbers of blocks, from few to many, each once."""
    if asked and min(asked) < 1:
        raise RegardError(f"depths are numbers of blocks from 1, as in 1,2,4; found {', '.join(map(str, asked))}")
    return sorted(set(asked)) or [own]


def recipes_without(recipe: Recipe, parts: Sequence[str]) -> dict[str, Recipe]:
    """The recipe, and the recipe without each of some parts; a part that it does not have is refused by name."""
    if not parts:
        raise RegardError(f"no part is given; known: {', '.join(PARTS)}")
    found = {WHOLE: recipe}
    for part in parts:
        for name, changes in choose(PARTS, part, "part").items():
            _check(recipe, part, changes)
            if not _same(recipe, changes):
                found[name] = changed(recipe, changes)
    return found


def _check(recipe: Recipe, part: str, changes: Mapping[str, Any]) -> None:
    """Refuse a part that is not there."""
    model = recipe.model
    given = model.model_copy(update=dict(changes))
    asked = {f"model.{name}" for name, value in changes.items() if value is not None}
    idle = [reason for setting, reason in unused(recipe.model_copy(update={"model": given})) if setting in asked]
    if idle:
        raise RegardError(f"{part} cannot be taken out: {idle[0].removesuffix('; take it out')}")
    if part == "scale" and model.score != "scaled_dot":
        raise RegardError(
            f"scale cannot be taken out: model.score is {model.score}, and only scaled_dot is divided by √head_width"
        )
    first = next(iter(PARTS[part].values()))
    if _same(recipe, first):
        ((name, value), *_) = first.items()
        shown = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
        raise RegardError(f"{part} cannot be taken out: model.{name} is {shown} already")


def _same(recipe: Recipe, changes: Mapping[str, Any]) -> bool:
    """Whether the recipe has these settings; of heads their number decides."""
    return all(getattr(recipe.model, name) == value for name, value in changes.items() if value is not None)


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with other settings of [model], without those that it then has no use for."""
    given = values(recipe)
    model = {**given.get("model", {}), **changes}
    kept = {name: value for name, value in model.items() if value is not None}
    as_given = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    idle = unused(recipe.model_copy(update={"model": type(recipe.model).model_validate(as_given)}))
    left = {setting for setting, _ in idle}
    return recipe_from({**given, "model": {name: value for name, value in kept.items() if f"model.{name}" not in left}})


def bought(trained: Sequence[Trained], metric: str) -> list[Bought]:
    """At each depth, the whole network against each one without a part, of the seeds that both have."""
    found = []
    for depth, name in dict.fromkeys((_depth(of), of.cell.encoder) for of in trained):
        whole, other = (
            {of.cell.seed: of for of in trained if (_depth(of), of.cell.encoder) == (depth, which)}
            for which in (WHOLE, name)
        )
        seeds = sorted(whole.keys() & other.keys())
        if name != WHOLE and seeds:
            apart = pooled([whole[seed] for seed in seeds], [other[seed] for seed in seeds], metric)
            found.append(Bought(name, depth, seeds, apart))
    return found


def _depth(of: Trained) -> int:
    assert isinstance(of.cell, Without)
    return of.cell.depth
