"""A study's encoders made alike in size, once: their widths stand in its folder, so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.build import learn
from regard.corpus import Corpus, given_corpus
from regard.errors import FolderError, choose
from regard.folder import write_file
from regard.matching import SIZES, matched
from regard.recipe.settings import Recipe
from regard.training.progress import Talk

MATCHED = "matched.json"

# What is changed to make networks alike.
_CHANGED = ("width", "inner")


def alike(
    plain: Recipe, recipes: Mapping[str, Recipe], corpus: Corpus, match: str, folder: Path, talk: Talk
) -> dict[str, Recipe]:
    """The recipes, as wide as makes each network as large as that of the recipe itself.

    match: parameters or time
    """
    kept = _kept(folder, match)
    found = {encoder: _again(recipe, kept[encoder]) for encoder, recipe in recipes.items() if encoder in kept}
    missing = {encoder: recipe for encoder, recipe in recipes.items() if encoder not in kept}
    if missing:
        found |= _made(plain, missing, corpus, match, talk)
        told = {encoder: _told(recipe) for encoder, recipe in found.items()}
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / MATCHED, json.dumps({"match": match, "model": kept | told}, indent=1))
    return {encoder: found[encoder] for encoder in recipes}


def _made(plain: Recipe, recipes: Mapping[str, Recipe], corpus: Corpus, match: str, talk: Talk) -> dict[str, Recipe]:
    train = given_corpus(plain, {"train": corpus.train, "dev": corpus.dev}, lambda sentence: None).train
    size = choose(SIZES, match, "--match")(*learn(plain, train, corpus.columns), train)
    wanted = size.of(plain)
    found = {}
    for encoder, recipe in recipes.items():
        same = encoder == plain.model.encoder
        found[encoder] = recipe if same else matched(recipe, encoder, wanted, size)
        has = wanted if same else size.of(found[encoder])
        talk.say(f"{encoder} is {found[encoder].model.width} wide, {size.unit.format(has)}")
    return found


def _kept(folder: Path, match: str) -> dict[str, Any]:
    """What was found before, by encoder."""
    path = folder / MATCHED
    if not path.is_file():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept["match"] != match:
        raise FolderError(f"{folder} was begun with --match {kept['match']}; name another folder with --folder")
    model: dict[str, Any] = kept["model"]
    return model


def _told(recipe: Recipe) -> dict[str, Any]:
    given = recipe.model_dump(exclude_unset=True)["model"]
    return {name: given[name] for name in _CHANGED if name in given}


def _again(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=changes)})
