"""Where a number first stopped being finite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError


class NotFiniteError(RegardError):
    """A model computed NaN or infinity; the text names the first module and the row.

    module: path of the first module that gave such a number (or met it in what came in); "" is the model itself
    row:    of the batch, from 0; None where there is no batch
    """

    def __init__(self, text: str, module: str, row: int | None) -> None:
        super().__init__(text)
        self.module = module
        self.row = row


@contextmanager
def check(model: nn.Module) -> Iterator[None]:
    """While this is open, the first number that is NaN or infinite stops the model, named with its module and row.

    Modules are watched in the order in which they compute, what goes in before what comes out: so a NaN of the data is
    told from one that a layer made. Answers stay the same; attention takes the path on which its weights exist, so that
    they are looked at too.
    """
    handles = []
    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(partial(_goes_in, path), with_kwargs=True))
        handles.append(module.register_forward_hook(partial(_comes_out, path)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _goes_in(path: str, module: nn.Module, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    _stop_at(path, module, "what goes into", (*inputs, *named.values()))


def _comes_out(path: str, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
    _stop_at(path, module, "what comes out of", output)


def _stop_at(path: str, module: nn.Module, which: str, found: Any) -> None:
    for tensor in _tensors(found):
        bad = ~tensor.isfinite()
        if not bad.any():
            continue
        place = bad.nonzero()[0].tolist()
        value = tensor[tuple(place)].item()
        rows = bad.flatten(1).any(1).nonzero().flatten().tolist() if tensor.dim() else []
        where = f" at {place}, row {place[0]} of the batch" if place else ""
        others = f" (rows {rows} have such numbers)" if len(rows) > 1 else ""
        name = f"{path or 'the model'} ({type(module).__name__})"
        raise NotFiniteError(
            f"{which} {name} is not finite: {value}{where}, shape {tuple(tensor.shape)}{others}; all before it was",
            path,
            place[0] if place else None,
        )


def _tensors(found: Any) -> Iterator[Tensor]:
    """The tensors of numbers in arguments or an output, however they are packed."""
    if isinstance(found, Tensor):
        if torch.is_floating_point(found):
            yield found
    elif isinstance(found, Mapping):
        yield from _tensors(list(found.values()))
    elif isinstance(found, list | tuple):
        for one in found:
            yield from _tensors(one)
