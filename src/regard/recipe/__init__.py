"""One recipe file -> frozen, validated settings. Never imports torch."""

from regard.recipe.read import parse_overrides, read_recipe, recipe_from
from regard.recipe.settings import NAMES, Recipe
from regard.recipe.write import commented, differences, resolved

__all__ = ["NAMES", "Recipe", "commented", "differences", "parse_overrides", "read_recipe", "recipe_from", "resolved"]
