"""Others' weights are read without running anything that is in them."""

from __future__ import annotations

import json
import pickle
import pickletools
import warnings
import zipfile
from pathlib import Path

import torch
from torch import Tensor

from regard.corpus import Say
from regard.errors import FolderError
from regard.folder import load_tensors

# In the order in which they are looked for.
SAFE, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"


def read_weights(folder: Path, say: Say) -> dict[str, Tensor]:
    """All tensors in a folder."""
    if (folder / SAFE).is_file():
        return load_tensors(folder / SAFE)
    if (folder / INDEX).is_file():
        return _parts(folder)
    if (folder / PICKLE).is_file():
        return _pickled(folder / PICKLE, say)
    there = ", ".join(sorted(path.name for path in folder.iterdir())[:8])
    raise FolderError(
        f"{folder} has no weights ({SAFE} or {PICKLE}); is it half downloaded? there is {there or 'nothing'}"
    )


def _parts(folder: Path) -> dict[str, Tensor]:
    files = sorted(set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()))
    missing = [name for name in files if not (folder / Path(name).name).is_file()]
    if missing:
        raise FolderError(f"{folder} is half downloaded: {', '.join(missing)} of {len(files)} files are missing")
    return {name: tensor for file in files for name, tensor in load_tensors(folder / Path(file).name).items()}


def _pickled(path: Path, say: Say) -> dict[str, Tensor]:
    """Tensors in a pickle, by PyTorch's loader that makes nothing but plain classes."""
    classes = _classes(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        if not path.stat().st_size or not classes:
            raise FolderError(f"{path} is incomplete or no file of weights") from None
        raise FolderError(
            f"{path} could run code when it is read and is refused; it names {', '.join(classes)}; nothing was "
            f"run; ask for {SAFE}"
        ) from None
    except Exception as error:  # zip files that are cut short, of whatever kind
        raise FolderError(f"{path} is incomplete or no file of weights: {_first(error)}") from None
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise FolderError(f"{path} holds something else than tensors by their names")
    say(f"{path} is a pickle, read without running anything; it names {', '.join(classes)}")
    return dict(found)


def _classes(path: Path) -> list[str]:
    """The classes and functions that a pickle names, read as text; nothing is made of them."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
                return _named(archive.read(name))
        return _named(path.read_bytes()[: 2**24])
    except (OSError, StopIteration, zipfile.BadZipFile):
        return []


def _named(data: bytes) -> list[str]:
    found, texts, rest = dict[str, None](), ["", ""], data
    while rest:
        end = 0
        try:
            for code, argument, place in pickletools.genops(rest):
                end = (place or 0) + 1
                if isinstance(argument, str) and code.name != "GLOBAL":
                    texts = [texts[1], argument]
                if code.name == "GLOBAL":
                    found[str(argument).replace(" ", ".")] = None
                elif code.name == "STACK_GLOBAL":
                    found[".".join(texts)] = None
        except Exception:  # what stands behind the pickles: numbers
            return list(found)
        rest = rest[end:]
    return list(found)


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
