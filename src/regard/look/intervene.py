"""Interventions: heads switched off or replaced, edges cut, states taken from another input.

Each is a context manager; when it is closed the model answers as before, bit for bit, since nothing in it was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError, nearest
from regard.layers.multihead import MultiHeadAttention
from regard.look.record import attention_layers

# Some rows of weights, (batch, heads, rows, keys), and which rows -> what is used in their place.
Edit = Callable[[Tensor, slice], Tensor]


@contextmanager
def changing(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """While this is open, the weights of these layers are what the edits make of them. Paths are those of `record`."""
    with ExitStack() as stack:
        for path, edit in edits.items():
            handle = layer_at(model, path).weights.register_forward_hook(_as_hook(edit))
            stack.callback(handle.remove)
        yield


def without_heads(model: nn.Module, heads: Mapping[str, Sequence[int]]) -> Any:
    """While this is open, these heads gather nothing: path -> heads, numbered from 0."""
    for path, numbers in heads.items():
        _check_heads(model, path, numbers)
    return changing(model, {path: _off(list(numbers)) for path, numbers in heads.items()})


def replacing(model: nn.Module, path: str, head: int, weights: Tensor) -> Any:
    """While this is open, a head looks as it is told. weights: (queries, keys) or (batch, queries, keys)"""
    _check_heads(model, path, [head])

    def edit(found: Tensor, rows: slice) -> Tensor:
        told = weights[..., rows, :]
        if found[:, head].shape[-2:] != told.shape[-2:]:
            there = (rows.start or 0) + found.shape[2]
            raise RegardError(
                f"{path} looks from at least {there} elements at {found.shape[3]}, but the weights to put in its place "
                f"are {tuple(weights.shape)} (queries, keys)"
            )
        changed = found.clone()
        changed[:, head] = told.to(found)
        return changed

    return changing(model, {path: edit})


@contextmanager
def cutting(model: nn.Module, path: str, head: int, edges: Sequence[tuple[int, int]]) -> Iterator[None]:
    """While this is open, these queries do not see these keys in one head: (query, key), numbered from 0.

    What was on the edge goes to the rest of its row in proportion: with softmax, just as if the edge had been masked.
    """
    _check_heads(model, path, [head])
    most = (0, 0)

    def edit(found: Tensor, rows: slice) -> Tensor:
        nonlocal most
        first = rows.start or 0
        most = max(most[0], first + found.shape[2]), found.shape[3]
        return cut_of(found, rows, head, [edge for edge in edges if 0 <= edge[1] < found.shape[3]])

    with changing(model, {path: edit}):
        yield
    for query, key in edges:
        # How many rows there are is known when the last tile has passed.
        if most != (0, 0) and not (0 <= query < most[0] and 0 <= key < most[1]):
            raise RegardError(
                f"there is no edge from {query} to {key} in {path}; there are {most[0]} queries and {most[1]} keys, "
                "numbered from 0"
            )


def cut_of(weights: Tensor, rows: slice, head: int, edges: Sequence[tuple[int, int]]) -> Tensor:
    """A tile of weights with those of the edges cut that are in it."""
    first = rows.start or 0
    inside = [(query - first, key) for query, key in edges if 0 <= query - first < weights.shape[2]]
    if not inside:
        return weights
    cut = torch.zeros_like(weights[0], dtype=torch.bool)
    for query, key in inside:
        cut[head, query, key] = True
    return without(weights, cut)


@contextmanager
def patching(model: nn.Module, states: Mapping[str, Tensor], elements: Sequence[int] | None = None) -> Iterator[None]:
    """While this is open, these modules give the states that another input had there, for all or some elements.

    states:   module path -> (batch, time, width), as a recording's `hidden`
    elements: which places in time, numbered from 0; all where not given
    """
    modules = dict(model.named_modules())
    with ExitStack() as stack:
        for path, state in states.items():
            if path not in modules:
                raise RegardError(f"the model has no part {path} to patch{nearest(path, modules)}")
            handle = modules[path].register_forward_hook(_patch(path, state, elements))
            stack.callback(handle.remove)
        yield


def without(weights: Tensor, cut: Tensor) -> Tensor:
    """The weights with some edges cut; the rest of each row shares what was on them.

    weights: (batch, heads, queries, keys); cut: the same, or without the batch
    """
    kept = weights.masked_fill(cut, 0.0)
    left = kept.sum(-1, keepdim=True)
    # A row of which nothing is left gathers nothing, as one that may see nothing.
    scaled = kept * (weights.sum(-1, keepdim=True) / left.where(left != 0, left.new_ones(())))
    return scaled.where(cut.any(-1, keepdim=True), weights)


def layer_at(model: nn.Module, path: str) -> MultiHeadAttention:
    """The attention layer of that path."""
    layers = attention_layers(model)
    if path not in layers:
        known = f"there are {', '.join(layers)}" if layers else "this model has none"
        raise RegardError(f"there is no attention {path}; {known}{nearest(path, layers)}")
    return layers[path]


def _check_heads(model: nn.Module, path: str, heads: Sequence[int]) -> None:
    count = layer_at(model, path).heads
    for head in heads:
        if not 0 <= head < count:
            raise RegardError(f"there is no head {head} in {path}; the heads are 0 to {count - 1}")


def _as_hook(edit: Edit) -> Callable[[nn.Module, tuple[Tensor, slice], Tensor], Tensor]:
    def hook(point: nn.Module, inputs: tuple[Tensor, slice], weights: Tensor) -> Tensor:
        return edit(weights, inputs[1])

    return hook


def _off(heads: list[int]) -> Edit:
    def edit(weights: Tensor, rows: slice) -> Tensor:
        changed = weights.clone()
        changed[:, heads] = 0.0
        return changed

    return edit


def _patch(path: str, state: Tensor, elements: Sequence[int] | None) -> Callable[[nn.Module, Any, Tensor], Tensor]:
    def hook(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        if elements is None and state.shape != output.shape:
            raise RegardError(
                f"{path} gives {tuple(output.shape)} (batch, time, width), but the state to put in its place is "
                f"{tuple(state.shape)}; name the elements that both have"
            )
        if elements is None:
            return state.to(output)
        there = list(elements)
        most = min(state.shape[1], output.shape[1])
        if any(not 0 <= place < most for place in there):
            raise RegardError(
                f"elements {there} are to be patched in {path}, but both inputs have only 0 to {most - 1}"
            )
        changed = output.clone()
        changed[:, there] = state[:, there].to(output)
        return changed

    return hook
