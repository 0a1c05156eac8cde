"""Other settings of [decode] when a trained run is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.errors import RecipeError, nearest
from regard.recipe.faults import unused
from regard.recipe.read import recipe_from
from regard.recipe.settings import DecodeSettings, Recipe
from regard.recipe.write import values


def with_decoding(recipe: Recipe, overrides: Mapping[str, Any]) -> Recipe:
    """A run's recipe with other settings of [decode], by dotted key; all that is wrong is said at once.

    What the run itself had set and now has no use is left out.
    """
    foreign = [key for key in overrides if not key.startswith("decode.")]
    if foreign:
        raise RecipeError("\n".join(_foreign(key) for key in foreign))
    given = values(recipe)
    decode = {**given.get("decode", {}), **{key.partition(".")[2]: value for key, value in overrides.items()}}
    known = {key: value for key, value in decode.items() if key in DecodeSettings.model_fields}
    try:
        trial = recipe.model_copy(update={"decode": DecodeSettings.model_validate(known)})
    except ValueError:
        return recipe_from(given, overrides)  # which says what is wrong
    useless = {key.partition(".")[2] for key, _ in unused(trial)}
    kept = {key: value for key, value in given.get("decode", {}).items() if key not in useless}
    return recipe_from({**given, "decode": kept}, overrides)


def _foreign(key: str) -> str:
    near = nearest(key, [f"decode.{name}" for name in DecodeSettings.model_fields])
    return f"{key} cannot be changed in a trained run, only settings of decode, as in decode.beam=8{near}"
