"""Recurrence: a memory walks along the sequence and takes in one element after the other."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.errors import choose


class Recurrence(nn.Module):
    """What an element gives is what the memory holds after taking it in.

    Sources of the cells: rnn: Elman 1990, Cognitive Science 14; lstm: Hochreiter & Schmidhuber 1997, Neural Computation
    9(8), with the forget gate of Gers et al. 2000; gru: Cho et al. 2014, arXiv:1406.1078, section 2.3 (PyTorch resets
    after the product with the memory, they before it). Of two directions: Schuster & Paliwal 1997, IEEE Transactions on
    Signal Processing 45(11): each walks with a memory of half the width, and both are joined.

    Padding stands at the end, where it changes nothing for one who comes from the start; for one who comes from the end
    each row is turned round without its padding. This takes less time than PyTorch's packing, which computes padding
    neither (bench/encoders.py).
    """

    def __init__(self, width: int, *, cell: str = "lstm", directions: str = "both") -> None:
        super().__init__()
        sizes = choose(DIRECTIONS, directions, "directions")(width)
        make = choose(CELLS, cell, "cell")
        # The first walks from the start, the second, if there, from the end.
        self.walks = nn.ModuleList(make(width, size, batch_first=True) for size in sizes)
        self.causal = len(sizes) == 1

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """x, output: (batch, time, width); real: (batch, time), the first so many of each row; None where all are"""
        if not x.numel():
            return x
        found = [self.walks[0](x)[0]]
        for walk in self.walks[1:]:
            found.append(turned_round(walk(turned_round(x, real))[0], real))
        return torch.cat(found, -1)

    def step(self, x: Tensor, state: tuple[Tensor, ...] | None) -> tuple[Tensor, tuple[Tensor, ...] | None]:
        """Goes on after what was seen before; gives the new elements' output and what to remember.

        x, output: (batch, time, width), the new elements; state: tensors (batch, 1, width), what the memory holds
        """
        if not x.numel():
            return x, state
        # PyTorch has the layers first: (batch, 1, width) <-> (1, batch, width)
        before = None if state is None else [part.transpose(0, 1).contiguous() for part in state]
        walk = self.walks[0]
        given = before if before is None or isinstance(walk, nn.LSTM) else before[0]
        output, after = walk(x, given)
        parts = after if isinstance(after, tuple) else (after,)
        return output, tuple(part.transpose(0, 1) for part in parts)


def turned_round(x: Tensor, real: Tensor | None) -> Tensor:
    """What is real in each row from its end to its start; padding stays where it is.

    x, output: (batch, time, width); real: (batch, time), the first so many of each row
    """
    if real is None:
        return x.flip(1)
    place = torch.arange(x.shape[1], device=x.device)
    lengths = real.sum(1, keepdim=True)
    source = torch.where(place < lengths, lengths - 1 - place, place)
    return x.gather(1, source[..., None].expand(len(x), -1, x.shape[-1]))


CELLS: dict[str, Callable[..., nn.Module]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}

# How much of the width the memory of each direction has.
DIRECTIONS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "both": lambda width: (width - width // 2, width // 2),
    "forward": lambda width: (width,),
}
