"""Fine-tuning: a network begins with the body of another run, and with a head of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.kind import InputKind
from regard.data.target import Target
from regard.errors import FolderError, RecipeError
from regard.folder import Loaded, load_model, model_folder, unique_tensors
from regard.models.model import DecoderModel
from regard.predict import Predictor
from regard.recipe.faults import unused
from regard.recipe.read import recipe_from
from regard.recipe.settings import BODY, WRITING_TASKS, Recipe
from regard.recipe.write import values

# How a text is split decides which words there are, not what they mean; it may be another.
_MAY_DIFFER = ("input.split",)

# Of tables of pieces some rows may be there on one side only: those of a text's beginning and end, which come last.
_TABLES = ("input.pieces.table.weight", "written.table.weight")

# Tensors by the place that they have in any model.
Placed = Mapping[str, Tensor]


@dataclass(frozen=True)
class Taken:
    """What a network began with. Each is a part and how many numbers it has."""

    name: str
    taken: Mapping[str, int]
    new: Mapping[str, int]

    def told(self) -> str:
        """input (1,234 numbers) and encoder (…) from runs/words; new: output (…)."""

        def parts(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{part} ({count:,} numbers)" for part, count in counts.items()) or "nothing"

        return f"taken from {self.name}: {parts(self.taken)}; new: {parts(self.new)}"


@dataclass(frozen=True)
class Start:
    """A run that another one begins with."""

    name: str
    loaded: Loaded

    @classmethod
    def of(cls, recipe: Recipe) -> Start | None:
        """The run that a recipe names, if it does; one that carries code is refused."""
        name = recipe.model.start
        if name is None:
            return None
        try:
            loaded = load_model(model_folder(name))
        except FolderError as error:
            raise FolderError(f"model.start: {error}") from None
        return cls(name, loaded)

    def inherited(self, recipe: Recipe) -> Recipe:
        """The recipe with the settings of the body; another value for one of them is refused."""
        given, own = values(recipe), values(self.loaded.recipe)
        self._check(given, own)
        merged = {section: {**_of_body(section, own), **given.get(section, {})} for section in {**given, **BODY}}
        # What the other task used and this one does not, as a decoder's settings.
        for setting, _ in unused(Recipe.model_validate(merged)):
            section, _, key = setting.partition(".")
            if key not in given.get(section, {}):
                del merged[section][key]
        return recipe_from(merged)

    def _check(self, given: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        found = []
        defaults = self.loaded.recipe.model_dump()
        for section, names in BODY.items():
            for name in names:
                wanted = own.get(section, {}).get(name, defaults[section][name])
                value = given.get(section, {}).get(name, wanted)
                if value != wanted and f"{section}.{name}" not in _MAY_DIFFER:
                    found.append(
                        f"{section}.{name} is {value}, but {self.name} has {wanted}; take it out, or begin anew"
                    )
        if found:
            raise RecipeError("\n".join(found))

    @property
    def tokenizer(self) -> InputKind:
        """What the input is read in."""
        return self.loaded.predictor.tokenizer

    def targets(self, recipe: Recipe) -> Mapping[str, Target] | None:
        """What is written in, where both write: it is kept; None where it is new."""
        task, other = recipe.task.kind, self.loaded.recipe.task.kind
        return self.loaded.predictor.targets if task == other and task in (*WRITING_TASKS, "mlm") else None

    def put_into(self, predictor: Predictor, recipe: Recipe) -> Taken:
        """Put the body's weights into a new model; what does not fit is named with both shapes."""
        head = self.targets(recipe) is not None
        wanted, there = placed(predictor.model), placed(self.loaded.predictor.model)
        faults, taken, new = [], dict[str, int](), dict[str, int]()
        with torch.no_grad():
            for place, tensor in wanted.items():
                part = place.partition(".")[0]
                source = there.get(place)
                if (part == "output" and not head) or (source is None and _may_be_new(place, there)):
                    new[part] = new.get(part, 0) + tensor.numel()
                elif source is None or not _fits(place, tensor, source):
                    shape = "nothing" if source is None else tuple(source.shape)
                    faults.append(f"{place} is {tuple(tensor.shape)} here, but {shape} in {self.name}")
                else:
                    rows = min(len(tensor), len(source)) if tensor.dim() else None
                    tensor[:rows].copy_(source[:rows]) if rows is not None else tensor.copy_(source)
                    taken[part] = taken.get(part, 0) + tensor.numel()
        if faults:
            more = f" … and {len(faults) - 4} more" if len(faults) > 4 else ""
            raise FolderError(f"model.start: {'; '.join(faults[:4])}{more}")
        return Taken(self.name, taken, new)


def placed(model: nn.Module) -> Placed:
    """A model's tensors by the place that they have in any model: what only reads its own writing has them where others
    have what they read, and marks stand beside what is read."""
    found = {}
    for name, tensor in unique_tensors(model).items():
        place = "input." + name.removeprefix("input.read.") if name.startswith("input.read.") else name
        if isinstance(model, DecoderModel):
            place = place.replace("written.", "input.pieces.", 1).replace("decoder.", "encoder.", 1)
        found[place] = tensor
    return found


def _may_be_new(place: str, there: Placed) -> bool:
    """Whether a part that the other run does not have is learnt anew: a head, a decoder, marks."""
    part = place.partition(".")[0]
    return place.startswith("input.marks") or not any(other.startswith(f"{part}.") for other in there)


def _fits(place: str, tensor: Tensor, source: Tensor) -> bool:
    if place in _TABLES:
        return tensor.shape[1:] == source.shape[1:] and abs(len(tensor) - len(source)) <= 2
    return tensor.shape == source.shape


def _of_body(section: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.get(section, {}).items() if key in BODY.get(section, ())}
