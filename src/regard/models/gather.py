"""Gathering: of the encoded vectors, one for each element that gets an answer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.inputs import Inputs
from regard.models.outputs import NumberHead


class EachWord(nn.Module):
    """Each word answers; of a word in several pieces the mean of its pieces."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, words, width); of an exported model as many as there are pieces"""
        if "word_of_piece" not in inputs:
            return x
        longest = _most_words(x, inputs)
        # (batch, words, time): which pieces make up which word
        mine = inputs["word_of_piece"][:, None] == torch.arange(longest, device=x.device)[:, None]
        return _mean(mine & real(x, inputs)[:, None]).to(x.dtype) @ x


def _most_words(x: Tensor, inputs: Inputs) -> int:
    """How many words the longest item has; while an export is traced, at most as many as pieces."""
    if torch.compiler.is_compiling():
        return x.shape[1]
    return int(inputs["words"].max()) if len(x) else 0


class EachElement(nn.Module):
    """Each element that was read answers, whatever words they make up."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x, output: (batch, time, width)"""
        return x


class Asked(nn.Module):
    """Those elements answer that are asked for."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, asked, width); none where nothing is asked for"""
        asked = inputs["asked"] if "asked" in inputs else inputs["lengths"].new_zeros(len(x), 0)
        return x.gather(1, asked[..., None].expand(-1, -1, x.shape[-1]))


class MeanPool(nn.Module):
    """All elements together give one answer: their mean."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, mine: Tensor) -> Tensor:
        """x: (batch, time, width); mine: (batch, time), which elements count; output: (batch, width)"""
        return (_mean(mine[:, None]).to(x.dtype) @ x)[:, 0]


class FirstPool(nn.Module):
    """The first element answers for all (it has seen them)."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, mine: Tensor) -> Tensor:
        """x: (batch, time, width); mine: (batch, time), which elements count; output: (batch, width)"""
        first = mine.long().argmax(1)
        return x[torch.arange(len(x), device=x.device), first] * mine.any(1, keepdim=True)


class LastPool(nn.Module):
    """The last element answers for all (it has seen them)."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, mine: Tensor) -> Tensor:
        """x: (batch, time, width); mine: (batch, time), which elements count; output: (batch, width)"""
        last = x.shape[1] - 1 - mine.flip(1).long().argmax(1)
        return x[torch.arange(len(x), device=x.device), last] * mine.any(1, keepdim=True)


class AttentionPool(nn.Module):
    """One learned question weighs all elements.

    Source: Yang et al. 2016, NAACL, section 2.2 (their context vector u_w is our question).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.question = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor, mine: Tensor) -> Tensor:
        """x: (batch, time, width); mine: (batch, time), which elements count; output: (batch, width)"""
        scores = torch.tanh(self.project(x)) @ self.question
        hidden = scores.masked_fill(~mine, torch.finfo(scores.dtype).min)
        return (hidden.softmax(-1)[:, None] @ x)[:, 0] * mine.any(1, keepdim=True)


POOLINGS: dict[str, type[nn.Module]] = {
    "mean": MeanPool,
    "first": FirstPool,
    "last": LastPool,
    "attention": AttentionPool,
}


class Together(nn.Module):
    """All that was read is pooled into one vector, which answers."""

    def __init__(self, pool: nn.Module, width: int) -> None:
        super().__init__()
        self.pool = pool
        self.width = width

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, 1, width)"""
        return self.pool(x, real(x, inputs))[:, None]


class Compared(nn.Module):
    """Two texts are pooled each on its own; what answers is both vectors, their distance, their product, their cosine.

    Source: Conneau et al. 2017, arXiv:1705.02364, section 3.1 (their u and v); the cosine: Reimers & Gurevych 2019,
    arXiv:1908.10084, section 3. It is scaled by the root of the width, so that it is no smaller than the others.
    """

    def __init__(self, pool: nn.Module, width: int) -> None:
        super().__init__()
        self.pool = pool
        self.scale = width**0.5
        self.width = 4 * width + 1

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, 1, 4 * width + 1)"""
        one, other = (self.pool(x, inputs["texts"] == text) for text in (0, 1))
        cosine = self.scale * F.cosine_similarity(one, other, dim=-1)[:, None]
        return torch.cat((one, other, (one - other).abs(), one * other, cosine), -1)[:, None]


class Ahead(nn.Module):
    """What was read becomes a vector for each of the steps to come; beside it stands where each column would go by a
    linear map of the steps before.

    The linear map is of distances from the value that is known last: Zeng et al. 2023, arXiv:2205.13504, section 4
    (NLinear). It begins at no change, so that a forecast begins where the series stands, and what the network adds is
    what is not linear.

    context: how many steps are looked back at, at most
    """

    def __init__(self, pool: nn.Module, width: int, *, horizon: int, context: int, columns: int) -> None:
        super().__init__()
        self.pool = pool
        self.each = nn.Linear(width, horizon * width)
        self.drift = nn.Linear(context * columns, horizon * columns)
        nn.init.zeros_(self.drift.weight)
        nn.init.zeros_(self.drift.bias)
        self.horizon = horizon
        self.context = context
        self.columns = columns
        self.width = width + columns

    def forward(self, x: Tensor, inputs: Inputs) -> Tensor:
        """x: (batch, time, width); output: (batch, horizon, width + columns)"""
        # (batch, horizon * width) -> (batch, horizon, width)
        steps = F.gelu(self.each(self.pool(x, real(x, inputs)))).unflatten(-1, (self.horizon, -1))
        last = last_known(inputs["vectors"])[:, None]
        back = self._back(inputs["vectors"] - last, inputs["steps"])
        # (batch, horizon * columns) -> (batch, horizon, columns)
        drift = self.drift(back.flatten(1)).unflatten(-1, (self.horizon, -1))
        return torch.cat((steps, last + drift), -1)

    def _back(self, apart: Tensor, steps: Tensor) -> Tensor:
        """The last steps of each item, (batch, context, columns); 0 where a value is missing, or none so far back."""
        places = steps[:, None] - self.context + torch.arange(self.context, device=apart.device)
        chosen = apart.gather(1, places.clamp(min=0)[..., None].expand(-1, -1, self.columns))
        return chosen.nan_to_num(0.0).masked_fill((places < 0)[..., None], 0.0)

    def begin(self, head: nn.Module, column: int) -> None:
        """Let a head begin with where its own column goes."""
        assert isinstance(head, NumberHead)
        with torch.no_grad():
            head.project.weight[:, -self.columns :] = 0.0
            head.project.weight[:, self.width - self.columns + column] = 1.0


def last_known(values: Tensor) -> Tensor:
    """The last value of each column that is not missing; 0, the column's mean, where all are.

    values: (batch, time, columns); output: (batch, columns)
    """
    known = ~values.isnan()
    last = values.shape[1] - 1 - known.flip(1).long().argmax(1)
    found = values.gather(1, last[:, None])[:, 0]
    return torch.where(known.any(1), found, torch.zeros_like(found))


def real(x: Tensor, inputs: Inputs) -> Tensor:
    """(batch, time): which elements are no padding."""
    return torch.arange(x.shape[1], device=x.device) < inputs["lengths"][:, None]


def _mean(mine: Tensor) -> Tensor:
    """What share each has in the mean of those that are marked; all 0 where none is."""
    return mine / mine.sum(-1, keepdim=True).clamp(min=1)
