"""Networks of another kind and the same size, so that a comparison does not compare sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.build import build
from regard.data.batching import collate, plan
from regard.data.example import Example
from regard.data.kind import InputKind
from regard.data.target import Target
from regard.errors import RecipeError
from regard.recipe import recipe_from
from regard.recipe.faults import unused
from regard.recipe.settings import Recipe
from regard.training.objective import training_loss

# How far the number of parameters may be off, and how far the time, which is never the same twice.
TOLERANCE, TIME_TOLERANCE = 0.03, 0.1

# Of so many updates the fastest is an update's time: whatever else the machine does only makes it longer.
_UPDATES = 5


@dataclass(frozen=True)
class Size:
    """What networks are to have alike.

    of:        a recipe's size, which grows with the width
    unit:      what it is counted in, as text to put a number into
    tolerance: how far it may be off, as a share
    """

    of: Callable[[Recipe], float]
    unit: str
    tolerance: float


def parameters(recipe: Recipe, tokenizer: InputKind, targets: Mapping[str, Target]) -> int:
    """How many numbers the recipe's network learns; none of them is made for that."""
    with torch.device("meta"):
        model = build(recipe, tokenizer, targets).model
    return sum(parameter.numel() for parameter in model.parameters())


def seconds(recipe: Recipe, tokenizer: InputKind, targets: Mapping[str, Target], examples: Sequence[Example]) -> float:
    """How long an update takes from a batch of the recipe's size, of examples that are as long as most."""
    predictor = build(recipe, tokenizer, targets)
    model = predictor.model.train()
    items = [predictor.item(example) for example in examples]
    batches = plan([item.size for item in items], recipe.train.batch_tokens)
    batch = collate(items, batches[len(batches) // 2])

    def update() -> float:
        started = time.perf_counter()
        training_loss(model, batch, recipe.train.label_smoothing).backward()
        return time.perf_counter() - started

    return min(update() for _ in range(_UPDATES))


def by_parameters(tokenizer: InputKind, targets: Mapping[str, Target], examples: Sequence[Example]) -> Size:
    """Networks that learn about as many numbers."""
    return Size(lambda recipe: parameters(recipe, tokenizer, targets), "{:,.0f} parameters", TOLERANCE)


def by_time(tokenizer: InputKind, targets: Mapping[str, Target], examples: Sequence[Example]) -> Size:
    """Networks whose updates take about as long, here and now."""
    return Size(lambda recipe: seconds(recipe, tokenizer, targets, examples), "{:.4f} s an update", TIME_TOLERANCE)


def matched(recipe: Recipe, encoder: str, wanted: float, size: Size) -> Recipe:
    """The recipe with another encoder, as wide as makes its network have about the wanted size.

    The width stays a multiple of what it must be a multiple of, and the width inside the feed-forward part grows with
    it. Where such widths are too far apart, that inner width makes up for the rest. Settings that the encoder does not
    use are taken out.
    """
    given = with_encoder(recipe, encoder)
    step = _width_step(given)
    found, has = _nearest(lambda number: _as_wide(given, number * step), size.of, wanted)
    if abs(has - wanted) > size.tolerance * wanted:
        wide = found
        found, has = _nearest(lambda inner: _changed(wide, inner=inner), size.of, wanted)
    if abs(has - wanted) > size.tolerance * wanted:
        raise RecipeError(
            f"no width gives a network with the encoder {encoder} about {size.unit.format(wanted)}; the nearest has "
            f"{size.unit.format(has)}, {found.model.width} wide"
        )
    return found


def with_encoder(recipe: Recipe, encoder: str) -> Recipe:
    """The recipe with another encoder, without the settings that it does not use; it is wider where its heads could not
    share the width."""
    values = recipe.model_dump(exclude_unset=True)
    values["model"] = {**values.get("model", {}), "encoder": encoder}
    for setting, _ in unused(Recipe.model_validate(values)):
        section, _, name = setting.partition(".")
        if section == "model":
            del values[section][name]
    changed = Recipe.model_validate(values)
    share = _sharing_heads(changed)
    values["model"]["width"] = -(-changed.model.width // share) * share
    return recipe_from(values)


def _sharing_heads(recipe: Recipe) -> int:
    """How many heads share the width."""
    model = recipe.model
    attends = model.encoder == "attention" or recipe.task.kind == "seq2seq"
    return model.heads if attends and model.head_width is None else 1


def _width_step(recipe: Recipe) -> int:
    """What the width is a multiple of: of the heads that share it, twice as many where pairs are turned."""
    heads = _sharing_heads(recipe)
    return 2 * heads if heads > 1 and recipe.model.position == "rotary" else heads


def _as_wide(recipe: Recipe, width: int) -> Recipe:
    """The recipe with another width, and an inner width that keeps its share of it."""
    inner = recipe.model.inner
    if inner is None:
        return _changed(recipe, width=width)
    return _changed(recipe, width=width, inner=max(1, round(inner * width / recipe.model.width)))


def _changed(recipe: Recipe, **changes: Any) -> Recipe:
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=changes)})


def _nearest(make: Callable[[int], Recipe], size: Callable[[Recipe], float], wanted: float) -> tuple[Recipe, float]:
    """Of the recipes that are made from 2, 3, 4 …, ever larger, the one whose size is nearest, and its size."""
    sizes: dict[int, float] = {}

    def of(number: int) -> float:
        if number not in sizes:
            sizes[number] = size(make(number))
        return sizes[number]

    high = 2
    while of(high) < wanted:
        high *= 2
    low = high // 2
    # make(low) is too small, or 1, and make(high) is large enough.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if of(middle) < wanted else (low, middle)
    nearest = min((number for number in (low, high) if number > 1), key=lambda number: abs(of(number) - wanted))
    return make(nearest), of(nearest)


# What networks can have alike; each takes what train teaches before training.
SIZES: dict[str, Callable[[InputKind, Mapping[str, Target], Sequence[Example]], Size]] = {
    "parameters": by_parameters,
    "time": by_time,
}
