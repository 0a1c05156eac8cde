"""A study's cells: each encoder, with each number of examples, from each seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.corpus import Corpus
from regard.data.example import Example
from regard.errors import DataError, RegardError, choose
from regard.recipe.faults import unused
from regard.recipe.read import recipe_from
from regard.recipe.settings import NAMES, Recipe
from regard.recipe.write import own_files, values

# As a size: all that there is.
ALL = "all"


@dataclass(frozen=True)
class Cell:
    """One training of a study."""

    encoder: str
    size: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.encoder}-{self.size}-seed-{self.seed}"


def cells(encoders: Sequence[str], sizes: Sequence[int], seeds: Sequence[int]) -> list[Cell]:
    """All cells, those of the first seed first: whoever stops early has seen every encoder and size."""
    return [Cell(encoder, size, seed) for seed in seeds for size in sizes for encoder in encoders]


def sizes_of(asked: Sequence[str], there: int) -> list[int]:
    """The numbers of examples, from few to many."""
    found = set()
    for size in asked:
        if size != ALL and not (size.isascii() and size.isdigit() and int(size) > 0):
            raise RegardError(f"a size is a number of examples or {ALL}, as in 100,300,{ALL}; found {size!r}")
        found.add(there if size == ALL else int(size))
    if not found:
        raise RegardError(f"no size is given; give numbers of examples, as in 100,300,{ALL}")
    if max(found) > there:
        raise DataError(f"the size {max(found)} is more than the {there} examples of train; the largest is {ALL}")
    return sorted(found)


def recipes_of(recipe: Recipe, encoders: Sequence[str]) -> tuple[dict[str, Recipe], list[str]]:
    """The recipe for each encoder, and what is said of settings that only another encoder uses."""
    check_own_files(recipe)
    known = {name: name for name in NAMES["model.encoder"]}
    found, said = {}, []
    for encoder in encoders:
        found[encoder], left = _with_encoder(recipe, choose(known, encoder, "model.encoder"))
        if left:
            said.append(f"{encoder} does without {', '.join(left)}")
    if not found:
        raise RegardError(f"no encoder is given; known: {', '.join(known)}")
    return found, said


def check_own_files(recipe: Recipe) -> None:
    """Refuse code of the user's own, which a study does not carry into its runs."""
    own = own_files(recipe)
    if own:
        setting, name = next(iter(own.items()))
        raise RegardError(f"{setting} is {name}, but a study does not train with code of one's own; use regard train")


def _with_encoder(recipe: Recipe, encoder: str) -> tuple[Recipe, list[str]]:
    """The recipe with another encoder, without the settings that this one has no use for, and their names."""
    given = values(recipe)
    model = {**given.get("model", {}), "encoder": encoder}
    changed = recipe.model_copy(update={"model": type(recipe.model).model_validate(_tuples(model))})
    left = [setting for setting, _ in unused(changed) if setting.startswith("model.")]
    kept = {name: value for name, value in model.items() if f"model.{name}" not in left}
    return recipe_from({**given, "model": kept}), left


def as_it_stands(recipe: Recipe) -> Recipe:
    """The recipe by which a study reads its data: labels stay as they are written, since each cell converts them."""
    return recipe.model_copy(
        update={
            "data": recipe.data.model_copy(update={"scheme": "none"}),
            "output": recipe.output.model_copy(update={"scheme": "none", "crf": False}),
        }
    )


def _tuples(settings: dict[str, object]) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def examples_of(corpus: Corpus, cell: Cell) -> dict[str, Sequence[Example]]:
    """What a cell learns from and is chosen by: of one seed, a smaller size is part of each larger one, whatever the
    encoder."""
    order = np.random.default_rng(cell.seed).permutation(len(corpus.train))[: cell.size]
    train = [corpus.train[number] for number in sorted(order.tolist())]
    return {"train": train, "dev": corpus.dev}
