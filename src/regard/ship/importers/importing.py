"""`regard import`: a folder of others' becomes a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.build import build
from regard.corpus import Say
from regard.data.lines import digest
from regard.data.target import Pieces
from regard.errors import FolderError, RegardError, choose
from regard.folder import replacing, save_model, unique_tensors
from regard.plain_text import TEXT
from regard.recipe.read import recipe_from
from regard.recipe.settings import Recipe
from regard.ship.importers.encoders import FAMILIES
from regard.ship.importers.family import Family, Mapped, Tensors, mapped
from regard.ship.importers.tokens import read_tokenizer
from regard.ship.importers.weights import read_weights

CONFIG = "config.json"

_TABLE = "embeddings.word_embeddings.weight"


@dataclass(frozen=True)
class Imported:
    """A run that was made of others' weights.

    unused: their names for which there is no place here, each with the reason
    head:   whether what stands behind masks is known; without, the head is new and has to be learnt
    """

    folder: Path
    family: str
    numbers: int
    unused: Mapping[str, str]
    head: bool

    def told(self) -> str:
        """What came in, as sentences."""
        sentences = [f"{self.family}: {self.numbers:,} numbers, each under a name of ours"]
        reasons: dict[str, list[str]] = {}
        for name, reason in self.unused.items():
            reasons.setdefault(reason, []).append(name)
        sentences += [f"left out {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        if not self.head:
            sentences.append(
                "the folder has no head for masks: this run's is new and knows nothing; begin another run with its "
                f"body (model.start = {self.folder})"
            )
        return "\n".join(sentences)


def import_run(path: str | Path, out: str | Path, *, say: Say = lambda sentence: None) -> Imported:
    """Make a run of a folder as Hugging Face's libraries save it. Nothing in it is run."""
    source, target = Path(path), Path(out)
    if target.exists():
        raise FolderError(f"{target} exists already; name another folder")
    config = _config(source)
    name = str(config.get("model_type"))
    family = choose(FAMILIES, name, f"architecture in {source / CONFIG}")
    try:
        settings = family.settings(config)
    except KeyError as missing:
        raise FolderError(f"{source / CONFIG} does not say {missing}") from None
    except RegardError as error:
        raise FolderError(f"{source / CONFIG}: {error}") from None
    tensors = _folded(family, settings, read_weights(source, say))
    recipe = recipe_from({"task": {"kind": "mlm"}, "data": {"train": [str(source)]}, **settings})
    found, numbers = _write(source, target, family, recipe, tensors)
    return Imported(target, name, numbers, found.unused, found.head)


def _config(source: Path) -> dict[str, Any]:
    if not source.is_dir():
        raise FolderError(f"{source} is no folder; a folder with {CONFIG}, weights and a tokenizer is imported")
    path = source / CONFIG
    if not path.is_file():
        there = ", ".join(sorted(one.name for one in source.iterdir())[:8])
        raise FolderError(f"{path} is missing; is the folder half downloaded? there is {there or 'nothing'}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FolderError(f"{path} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise FolderError(f"{path} is damaged: it is no table")
    return found


def _folded(family: Family, settings: dict[str, dict[str, Any]], tensors: Tensors) -> Tensors:
    """Where all texts are of one segment, its vector is a part of that of each place."""
    if settings["input"]["segments"] != 1:
        return tensors
    settings["input"]["segments"] = 0
    segments, places = (f"embeddings.{kind}_embeddings.weight" for kind in ("token_type", "position"))
    prefix = family.prefix if f"{family.prefix}{places}" in tensors else ""
    if {prefix + segments, prefix + places} <= set(tensors):
        tensors = {**tensors, prefix + places: tensors[prefix + places] + tensors[prefix + segments][0]}
    return {name: tensor for name, tensor in tensors.items() if name != prefix + segments}


def _write(source: Path, target: Path, family: Family, recipe: Recipe, tensors: Tensors) -> tuple[Mapped, int]:
    pieces = next((tensors[name] for name in (family.prefix + _TABLE, _TABLE) if name in tensors), None)
    if pieces is None:
        raise FolderError(f"{source} has no {_TABLE}; its weights are of another model than config.json says")
    tokenizer = read_tokenizer(source, family.signs, len(pieces), bert=family.pieces)
    predictor = build(recipe, tokenizer, {TEXT: Pieces(tokenizer)})
    wanted = unique_tensors(predictor.model)
    found = mapped(family, tensors, wanted, recipe.model.depth, str(source))
    with torch.no_grad():
        for name, tensor in found.tensors.items():
            wanted[name].copy_(tensor)
    target.mkdir(parents=True)
    with replacing(target / "best") as folder:
        save_model(folder, predictor, recipe, code=None, card=_card(source, target))
    return found, sum(tensor.numel() for tensor in found.tensors.values())


def _card(source: Path, target: Path) -> str:
    files = [path for path in sorted(source.iterdir()) if path.is_file() and path.stat().st_size]
    digests = "\n".join(f"- {path.name}: sha256 {digest(path)}" for path in files)
    head = f"# {target.name}\n\nImported from {source.name}.\n\n## Files\n\n{digests}\n\n"
    return f"{head}## Licence and intended use\n\n(see where it came from)\n"
