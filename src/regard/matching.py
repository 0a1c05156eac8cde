"""Networks of another kind and the same size, so that a comparison does not compare sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from regard.build import build
from regard.data.target import Target
from regard.data.tokenizer import Tokenizer
from regard.errors import RecipeError
from regard.recipe import recipe_from
from regard.recipe.faults import unused
from regard.recipe.settings import Recipe

# How far the number of parameters may be off.
TOLERANCE = 0.03


def parameters(recipe: Recipe, tokenizer: Tokenizer, targets: Mapping[str, Target]) -> int:
    """How many numbers the recipe's network learns; none of them is made for that."""
    with torch.device("meta"):
        model = build(recipe, tokenizer, targets).model
    return sum(parameter.numel() for parameter in model.parameters())


def matched(recipe: Recipe, encoder: str, count: int, tokenizer: Tokenizer, targets: Mapping[str, Target]) -> Recipe:
    """The recipe with another encoder, as wide as makes its network have about so many parameters.

    The width stays a multiple of what it must be a multiple of, and the width inside the feed-forward part grows with
    it. Where such widths are too far apart, that inner width makes up for the rest. Settings that the encoder does not
    use are taken out.
    """
    given = with_encoder(recipe, encoder)
    step = _width_step(given)

    def size(changed: Recipe) -> int:
        return parameters(changed, tokenizer, targets)

    found = _nearest(lambda number: _as_wide(given, number * step), size, count)
    if abs(size(found) - count) > TOLERANCE * count:
        wide = found
        found = _nearest(lambda inner: _changed(wide, inner=inner), size, count)
    if abs(size(found) - count) > TOLERANCE * count:
        raise RecipeError(
            f"no width gives a network with the encoder {encoder} about {count:,} parameters; the nearest has "
            f"{size(found):,}, {found.model.width} wide"
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


def _nearest(make: Callable[[int], Recipe], size: Callable[[Recipe], int], count: int) -> Recipe:
    """Of the recipes that are made from 2, 3, 4 …, ever larger, the one whose size is nearest to the count."""
    high = 2
    while size(make(high)) < count:
        high *= 2
    low = high // 2
    # make(low) is too small, or 1, and make(high) is large enough.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(make(middle)) < count else (low, middle)
    return min((make(number) for number in (low, high) if number > 1), key=lambda made: abs(size(made) - count))
