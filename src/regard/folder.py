"""A run as a folder: saved so that a kill loses nothing, loaded without running anything that is in it.

runs/NAME/
  recipe.toml  resolved.toml  metrics.jsonl  report.html  env.json
  best/  model.safetensors  recipe.toml  tokenizer.json  labels.json  card.md  (code/)
  last/  the same, and state/
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import tomlkit
from torch import Tensor, nn

from regard.build import build
from regard.data.lines import digest
from regard.data.signal.kinds import input_from_json, input_to_json
from regard.data.target import Target, target_from
from regard.errors import DataError, FolderError, RecipeError
from regard.predict import Predictor
from regard.recipe.read import recipe_from
from regard.recipe.settings import Recipe
from regard.recipe.write import FORMAT_VERSION, own_files, resolved

WEIGHTS, RECIPE, TOKENIZER, LABELS, CARD, CODE, CERTIFICATE = (
    "model.safetensors",
    "recipe.toml",
    "tokenizer.json",
    "labels.json",
    "card.md",
    "code",
    "certificate.json",
)


# Beside the models, the recipe with all defaults: by it a run's folder is known.
RESOLVED = "resolved.toml"


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder to fill, which takes the old one's place only when all of it is on the disk.

    Whenever the process is killed, either the old or the new folder is there, whole; `recover` puts it in its place.
    """
    new, old = _new(folder), _old(folder)
    for left in (new, old):
        if folder.exists():
            shutil.rmtree(left, ignore_errors=True)
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        yield new
        for path in (*new.rglob("*"), new):
            _sync(path)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise FolderError(
            f"cannot save {folder}: {error.strerror or error}; what was saved before is still there. Make room, then "
            "give the same command again"
        ) from None
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put back the folder if a kill came between taking the old one away and putting the new one in its place."""
    if not folder.exists() and _old(folder).exists():
        _old(folder).rename(folder)


def _new(folder: Path) -> Path:
    return folder.with_name(folder.name + ".new")


def _old(folder: Path) -> Path:
    return folder.with_name(folder.name + ".old")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, text: str) -> None:
    """A file that is either the old or the new one, whole."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(text, encoding="utf-8")
        _sync(new)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise FolderError(f"cannot write {path}: {error.strerror or error}") from None


def append_line(path: Path, line: str) -> None:
    """One more line at the end of a file."""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
    except OSError as error:
        raise FolderError(f"cannot write {path}: {error.strerror or error}") from None


def save_model(folder: Path, predictor: Predictor, recipe: Recipe, *, code: Path | None, card: str) -> None:
    """A model with all it needs, into an empty folder."""
    save_tensors(folder / WEIGHTS, unique_tensors(predictor.model))
    head = tomlkit.dumps({"regard": {"format": FORMAT_VERSION, "code": _digests(recipe, code)}})
    (folder / RECIPE).write_text(f"{head}\n{resolved(recipe)}", encoding="utf-8")
    (folder / TOKENIZER).write_text(input_to_json(predictor.tokenizer), encoding="utf-8")
    (folder / LABELS).write_text(_labels(predictor), encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")
    if code is not None and own_files(recipe):
        (folder / CODE).mkdir()
        for file in _own_paths(recipe):
            shutil.copy(code / file, folder / CODE / file)


def save_labels(folder: Path, predictor: Predictor) -> None:
    """What is learnt, anew beside a model that is saved already."""
    write_file(folder / LABELS, _labels(predictor))


def _labels(predictor: Predictor) -> str:
    targets = {column: target.saved() for column, target in predictor.targets.items()}
    return json.dumps(targets, ensure_ascii=False)


def model_folder(run: str | Path) -> Path:
    """The folder of the model that is meant: a run's best/, or the folder itself if it is a model's."""
    run = Path(run)
    for folder in (run, run / "best", run / "last"):
        recover(folder)
    if not run.exists():
        near = sorted(path.name for path in run.parent.glob("*/") if path.is_dir())[:8] if run.parent.is_dir() else []
        there = f"; beside it there are {', '.join(near)}" if near else ""
        raise FolderError(f"there is no run {run}{there}")
    if not run.is_dir():
        raise FolderError(f"{run} is a file where a run's folder was expected; files such as .pt are never loaded")
    for folder in (run, run / "best"):
        if (folder / WEIGHTS).exists():
            return folder
    if (run / "last" / WEIGHTS).exists():
        raise FolderError(f"{run} has no best model yet; {run / 'last'} can be used as it stands")
    raise FolderError(f"{run} is not a run: there is no {WEIGHTS} in it, nor in {run / 'best'}")


@dataclass(frozen=True)
class Loaded:
    """A model from a folder, with the recipe it was made by."""

    recipe: Recipe
    predictor: Predictor
    code: Path | None


def load_model(folder: Path, *, trust_code: bool = False, own: Path | None = None) -> Loaded:
    """The model in a folder. Nothing in it is run, unless it carries code and that is trusted.

    own: the folder of the user's own files, which are run in place of what the model carries; they must be the same
    """
    recipe, digests = _read_recipe(folder)
    needed = {**dict.fromkeys(_own_paths(recipe), ""), **digests}
    code = _trusted(folder, needed, trust_code) if own is None else _same(folder, needed, own)
    tokenizer = input_from_json(_read(folder / TOKENIZER), str(folder / TOKENIZER))
    targets = _targets(folder / LABELS)
    predictor = build(recipe, tokenizer, targets, code=code)
    load_weights(predictor.model, folder / WEIGHTS)
    predictor.model.eval()
    return Loaded(recipe, predictor, code)


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Tensors as safetensors: numbers and nothing that can be run."""
    try:
        safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    except safetensors.SafetensorError as error:  # this is how the library tells of a full disk
        raise OSError(f"writing {path.name}: {error}") from None


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors in a file of safetensors; a file cut short or of another kind is refused by name."""
    try:
        return safetensors.torch.load_file(path)
    except FileNotFoundError:
        raise FolderError(f"{path} is missing; the folder is incomplete") from None
    except (safetensors.SafetensorError, OSError) as error:
        raise FolderError(f"{path} is incomplete or no safetensors file: {error}") from None


def unique_tensors(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights, those that are shared under one name only."""
    seen: dict[int, str] = {}
    tensors = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen[id(tensor)] = name
            tensors[name] = tensor.detach()
    return tensors


def load_weights(model: nn.Module, path: Path) -> None:
    """Put a file's tensors into a model; whatever is missing, extra or of another shape is named, all at once."""
    tensors, wanted = load_tensors(path), unique_tensors(model)
    faults = [f"{name} is missing" for name in wanted if name not in tensors]
    faults += [f"{name} is not known" for name in tensors if name not in wanted]
    faults += [
        f"{name} is {tuple(tensors[name].shape)} where {tuple(wanted[name].shape)} was expected"
        for name in wanted
        if name in tensors and tensors[name].shape != wanted[name].shape
    ]
    if faults:
        raise FolderError(f"{path} does not fit its recipe: {'; '.join(faults[:8])}{' …' if len(faults) > 8 else ''}")
    for name, tensor in wanted.items():
        tensor.copy_(tensors[name])


def _read_recipe(folder: Path) -> tuple[Recipe, dict[str, str]]:
    path = folder / RECIPE
    try:
        values = tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError as error:
        raise FolderError(f"{path} is damaged: {error}") from None
    head = values.pop("regard", {})
    version = head.get("format") if isinstance(head, dict) else None
    if version != FORMAT_VERSION:
        newer = isinstance(version, int) and version > FORMAT_VERSION
        raise FolderError(
            f"{folder} has format {version}, but this regard reads format {FORMAT_VERSION}"
            + ("; install a newer regard" if newer else "")
        )
    code = head.get("code", {})
    if not isinstance(code, dict):
        raise FolderError(f"{path} is damaged: [regard] code is no table of digests")
    try:
        return recipe_from(values, name=str(path)), code
    except RecipeError as error:
        raise FolderError(f"{path} does not fit this version of regard: {error}") from None


def _trusted(folder: Path, digests: Mapping[str, str], trust: bool) -> Path | None:
    if not digests:
        return None
    if not trust:
        raise FolderError(
            f"{folder} carries code of its own ({', '.join(digests)}), which would be run; read it, then say so with "
            "--trust-code (trust_code=True)"
        )
    for file, wanted in digests.items():
        path = folder / CODE / file
        if not path.is_file() or digest(path) != wanted:
            raise FolderError(f"{path} is not the code that was saved with the model")
    return folder / CODE


def _same(folder: Path, digests: Mapping[str, str], own: Path) -> Path:
    """The user's own files, if they are those that the model was made with."""
    for file, wanted in digests.items():
        if not (own / file).is_file() or digest(own / file) != wanted:
            raise FolderError(f"{folder} was made with another {file} than {own / file}; put it back as it was")
    return own


def _targets(path: Path) -> dict[str, Target]:
    try:
        return {column: target_from(saved, f"{path}, {column},") for column, saved in _read_json(path).items()}
    except DataError as error:
        raise FolderError(str(error)) from None


def _own_paths(recipe: Recipe) -> list[str]:
    return sorted({f"{name.partition(':')[0]}.py" for name in own_files(recipe).values()})


def _digests(recipe: Recipe, code: Path | None) -> dict[str, str]:
    return {} if code is None else {file: digest(code / file) for file in _own_paths(recipe)}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FolderError(f"{path} is missing; the folder is incomplete") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FolderError(f"cannot read {path}: {error}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(_read(path))
    except ValueError as error:
        raise FolderError(f"{path} is damaged: {error}") from None
    if not isinstance(values, dict):
        raise FolderError(f"{path} is damaged: it is no table")
    return values
