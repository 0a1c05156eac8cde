"""What is real is brought side by side, for layers to whom only neighbours and order matter."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.errors import ShapeError

# Puts vectors back to where they stood: (rows, longest, width) -> (batch, time, width).
Back = Callable[[Tensor], Tensor]


def side_by_side(x: Tensor, mask: Mask | None, *, causal: bool = False) -> tuple[Tensor, Tensor | None, Back]:
    """Rows in which what is real comes first, one row for each text; which of them is real; and the way back.

    Most masks are lengths, and then nothing moves. Where padding stands elsewhere, or several texts share a row
    (`Mask.blocks`), what is real is moved together, so that nothing that is not there comes between two neighbours.

    x:      (batch, time, width)
    causal: whether the layer looks back only, as a causal mask wants it
    output: (rows, longest, width), (rows, longest) or None where all are real, and the way back
    """
    if mask is None:
        return x, None, _as_they_are
    refuse_all_but_padding(mask, causal)
    real = mask.real_positions(x.shape[1])
    if mask.real_keys is None and mask.blocks_of_keys is None:
        return x, real, _as_they_are
    mine = _texts(mask, real, x)
    # False sorts before True, and stable keeps the order of what is real.
    order = (~mine).to(torch.uint8).argsort(dim=-1, stable=True)
    lengths = mine.sum(-1)
    longest = int(lengths.max()) if len(lengths) else 0
    order = order[:, :longest, None].expand(-1, -1, x.shape[-1])
    together = torch.arange(longest, device=x.device) < lengths[:, None]
    texts = len(mine) // max(len(x), 1)

    def back(y: Tensor) -> Tensor:
        placed = y.new_zeros(len(mine), *x.shape[1:]).scatter(1, order, y.masked_fill(~together[..., None], 0.0))
        return placed.unflatten(0, (-1, texts)).sum(1) if texts else placed

    return x.repeat_interleave(texts, 0).gather(1, order), together, back


def _as_they_are(y: Tensor) -> Tensor:
    return y


def _texts(mask: Mask, real: Tensor | None, x: Tensor) -> Tensor:
    """(batch * texts, time): which elements are real and of each text."""
    shape = x.shape[:2]
    there = torch.ones(shape, dtype=torch.bool, device=x.device) if real is None else real.expand(shape)
    if mask.blocks_of_keys is None:
        return there
    ids = mask.blocks_of_keys.to(x.device)
    if ids.shape[1] != shape[1]:
        raise ShapeError(f"the mask knows the blocks of {ids.shape[1]} elements, but there are {shape[1]}")
    kinds, number = ids.flatten(0, 1).unique(dim=0, return_inverse=True)
    number = number.view(ids.shape[:2]).expand(shape)
    # (batch, texts, time) -> (batch * texts, time)
    return (there[:, None] & (number[:, None] == torch.arange(len(kinds), device=x.device)[:, None])).flatten(0, 1)


def refuse_all_but_padding(mask: Mask, causal: bool) -> None:
    """Of a mask only what is real, and which text it belongs to, is of use where order decides who is seen."""
    after = None if causal and mask.after == 0 else mask.after
    others = {"before": mask.before, "after": after, "first": mask.first, "table": mask.table}
    found = [name for name, part in others.items() if part is not None]
    if found:
        raise ShapeError(
            f"the mask says who may look at whom (its {', '.join(found)}), but a convolution or a recurrence sees what "
            "stands beside it or before it; give it padding and blocks only, or use attention"
        )
