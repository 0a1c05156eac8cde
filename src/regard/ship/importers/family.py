"""A family of others' models: how their settings and names are called here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import FolderError

Tensors = dict[str, Tensor]
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """How one family's folders become a run.

    prefix:   what stands before all names of the body, where a head is beside it
    body, head: their name -> ours; {block} stands for the number of each block
    unused:   patterns of names for which there is no place here, and why
    tied:     their name -> the name of what it must be equal to
    settings: their config.json -> sections of a recipe
    signs:    what the tokenizer calls begin, end, unknown, mask and padding
    places:   how many rows of the table of places come before the first place
    pieces:   whether its lists of pieces (vocab.txt) go with BERT's way to part a text
    """

    prefix: str
    body: Mapping[str, str]
    head: Mapping[str, str]
    unused: Mapping[str, str]
    tied: Mapping[str, str]
    settings: Callable[[Config], dict[str, dict[str, Any]]]
    signs: Sequence[str]
    places: int = 0
    pieces: bool = True


def linear(theirs: str, ours: str) -> dict[str, str]:
    """A linear layer."""
    return {f"{theirs}.weight": f"{ours}.weight", f"{theirs}.bias": f"{ours}.bias"}


def norm(theirs: str, ours: str) -> dict[str, str]:
    """A layer norm."""
    return {f"{theirs}.weight": f"{ours}.scale", f"{theirs}.bias": f"{ours}.shift"}


def table(theirs: str, ours: str) -> dict[str, str]:
    """A table of vectors."""
    return {f"{theirs}.weight": f"{ours}.weight"}


@dataclass(frozen=True)
class Mapped:
    """Their tensors under our names.

    unused: their names for which there is no place here, each with the reason
    head:   whether there is a head
    """

    tensors: Tensors
    unused: Mapping[str, str]
    head: bool


def mapped(family: Family, tensors: Tensors, wanted: Mapping[str, Tensor], depth: int, where: str) -> Mapped:
    """Put others' tensors under our names; all that is missing, extra or of another shape is told at once."""
    given = {_modern(family, name, tensors): tensor for name, tensor in tensors.items()}
    # Theirs are saved under one name only where they are the same.
    names = _written_out({**family.body, **family.head}, depth)
    head = any(name in given for name in family.head)
    unused, faults = _unused(family, given, names)
    found = {}
    for theirs, ours in names.items():
        if theirs not in given:
            if ours in wanted and (head or theirs not in family.head):
                faults.append(f"{theirs} is missing")
        elif ours in wanted:
            found[ours] = _placed(family, ours, given[theirs])
            if found[ours].shape != wanted[ours].shape:
                faults.append(
                    f"{theirs} is {tuple(given[theirs].shape)} where {_expected(family, ours, wanted)} was expected"
                )
    faults += [f"no name is known for {ours}" for ours in wanted if ours not in names.values()]
    if faults:
        more = f" … and {len(faults) - 12} more" if len(faults) > 12 else ""
        raise FolderError(f"{where} does not fit its config.json: {'; '.join(faults[:12])}{more}")
    return Mapped(found, unused, head)


def _modern(family: Family, name: str, tensors: Tensors) -> str:
    """A name without the prefix, and with the words of later versions."""
    name = name.removeprefix(family.prefix)
    return re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))


def _written_out(names: Mapping[str, str], depth: int) -> dict[str, str]:
    """The names with the number of each block in the place of {block}."""
    found = {}
    for theirs, ours in names.items():
        for block in range(depth if "{block}" in theirs else 1):
            found[theirs.replace("{block}", str(block))] = ours.replace("{block}", str(block))
    return found


def _unused(family: Family, given: Tensors, names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What has no place here, with the reasons; and the faults: names that nobody knows, copies that differ."""
    unused, faults = {}, []
    for name, tensor in given.items():
        if name in names:
            continue
        reason = next((why for pattern, why in family.unused.items() if re.fullmatch(pattern, name)), None)
        original = family.tied.get(name)
        if original is not None and original in given and not torch.equal(tensor, given[original]):
            faults.append(
                f"{name} differs from {original}, of which it should be a copy: output and input are not shared"
            )
        elif original is None and reason is None:
            faults.append(f"{name} is not known")
        elif reason is not None:
            unused[name] = reason
    return unused, faults


def _placed(family: Family, ours: str, tensor: Tensor) -> Tensor:
    return tensor[family.places :] if ours == "input.places.weight" else tensor


def _expected(family: Family, ours: str, wanted: Mapping[str, Tensor]) -> tuple[int, ...]:
    """The shape that their tensor should have."""
    shape = tuple(wanted[ours].shape)
    return (shape[0] + family.places, *shape[1:]) if ours == "input.places.weight" else shape
