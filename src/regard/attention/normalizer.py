"""From scores to weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import ShapeError


class Normalizer(nn.Module):
    """A normaliser turns one query's scores into its weights.

    softmax_factor: the factor on the scores with which a softmax gives the same weights, so that the fused path can be
    taken; None where no softmax does.
    """

    softmax_factor: float | None = None

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Weigh the allowed keys; the others get exactly 0, and so does everything in a row that allows none.

        scores:  (batch, heads, queries, keys)
        allowed: broadcasts to the scores; None allows all
        output:  (batch, heads, queries, keys)
        """
        raise NotImplementedError


class Softmax(Normalizer):
    """Weights are positive and sum to 1; a score that is larger by 1 weighs e times as much.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1. A temperature divides the scores, so that above 1 the
    weights are more even: Hinton, Vinyals & Dean 2015, arXiv:1503.02531, equation 1.
    """

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        if not temperature > 0:
            raise ShapeError(f"a temperature is above 0, not {temperature}")
        self.softmax_factor = 1 / temperature

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        assert self.softmax_factor is not None
        scores = scores if self.softmax_factor == 1 else scores * self.softmax_factor
        if allowed is None:
            return scores.softmax(-1)
        # The most negative finite number and not -inf: a row of -inf is NaN forward and backward. Such a row becomes
        # uniform here and zero in the second step, so that neither its value nor its gradient reaches anything.
        hidden = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        return hidden.softmax(-1).masked_fill(~allowed, 0.0)


class Relu(Normalizer):
    """Scores below 0 weigh nothing, the others as much as they are, divided by how many keys there are to see.

    relu(score) / n. Source: Wortsman et al. 2023, arXiv:2309.08586, section 3, with α = 1. Their L is the length; here
    n counts the keys that a query may see, so that padding changes nothing. A row need not sum to 1.
    """

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        return _hide(scores.relu() / _seen(scores, allowed), allowed)


class Sigmoid(Normalizer):
    """Each key is weighed on its own: it need not compete with the others.

    σ(score − log n). Source: Ramapuram et al. 2024, arXiv:2409.04431, whose bias b this is. Their n is the length; here
    it counts the keys that a query may see, so that padding changes nothing. A row need not sum to 1.
    """

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        return _hide((scores - _seen(scores, allowed).log()).sigmoid(), allowed)


class Sparsemax(Normalizer):
    """The nearest point to the scores whose numbers are at least 0 and sum to 1: low scores weigh exactly nothing.

    max(0, z − τ), with τ such that the row sums to 1. Source: Martins & Astudillo 2016, arXiv:1602.02068, algorithm 1.
    """

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        lowered = _lowered(scores, allowed)
        supported = _supported(lowered, 1)
        kept = lowered.where(supported, 0.0)
        threshold = (kept.sum(-1, keepdim=True) - 1) / supported.sum(-1, keepdim=True)
        weights = (lowered - threshold).relu().where(supported, 0.0)
        return _hide(weights.to(scores.dtype), allowed)


class Entmax15(Normalizer):
    """Half-way between softmax and sparsemax: low scores weigh exactly nothing, high ones bend smoothly.

    max(0, z/2 − τ)², with τ such that the row sums to 1. Source: Peters, Niculae & Martins 2019, arXiv:1905.05702,
    section 3 and algorithm 2.
    """

    def forward(self, scores: Tensor, allowed: Tensor | None = None) -> Tensor:
        lowered = _lowered(scores / 2, allowed)
        supported = _supported(lowered, 2)
        count = supported.sum(-1, keepdim=True)
        mean = lowered.where(supported, 0.0).sum(-1, keepdim=True) / count
        spread = (lowered - mean).where(supported, 0.0).square().sum(-1, keepdim=True)
        threshold = mean - ((1 - spread) / count).sqrt()
        weights = (lowered - threshold).relu().where(supported, 0.0).square()
        return _hide(weights.to(scores.dtype), allowed)


NORMALIZERS: dict[str, type[Normalizer]] = {
    "softmax": Softmax,
    "relu": Relu,
    "sigmoid": Sigmoid,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
}


def _hide(weights: Tensor, allowed: Tensor | None) -> Tensor:
    return weights if allowed is None else weights.masked_fill(~allowed, 0.0)


def _seen(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """How many keys each query may see, at least 1: broadcasts to the scores."""
    if allowed is None:
        return scores.new_full((1,), max(1, scores.shape[-1]))
    every = allowed.expand(*allowed.shape[:-1], scores.shape[-1])
    return every.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)


def _lowered(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """The scores below the row's largest, at least −1: a score that far below weighs nothing for either of the sparse
    normalisers, so that it need not be known better, and no number is too large to be squared and summed.
    """
    scores = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    if not scores.shape[-1]:  # there is no key
        return scores
    hidden = scores if allowed is None else scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    return (hidden - hidden.amax(-1, keepdim=True).detach()).clamp(min=-1)


@torch.no_grad()
def _supported(lowered: Tensor, power: int) -> Tensor:
    """Which scores weigh anything: those above the threshold τ with Σ max(0, score − τ)^power = 1."""
    if not lowered.shape[-1]:
        return lowered.bool()
    if torch.compiler.is_compiling():  # how many steps Newton takes depends on the numbers
        return _supported_by_sorting(lowered, power)
    # Not below, rather than above: so that a row with NaN is all in, and its NaN is not lost.
    return ~(lowered <= _threshold(lowered, power))


def _threshold(lowered: Tensor, power: int) -> Tensor:
    """τ by Newton's method from below, where it never goes too far, since the sum is convex in τ; six to ten steps,
    several times as fast as sorting the row (bench/attention.py). output: (…, 1)
    """
    threshold = torch.full_like(lowered[..., :1], -1.0)
    while True:
        above = (lowered - threshold).clamp_(min=0)
        slope = above.count_nonzero(-1)[..., None] if power == 1 else 2 * above.sum(-1, keepdim=True)
        total = above.sum(-1, keepdim=True) if power == 1 else above.square_().sum(-1, keepdim=True)
        step = (total - 1) / slope
        threshold += step
        if not (step > 4 * torch.finfo(step.dtype).eps).any():
            return threshold


def _supported_by_sorting(lowered: Tensor, power: int) -> Tensor:
    """The same: those for which Σ (higher score − mine)^power < 1, since the higher ones then leave something of the
    sum of 1.

    In a sorted row the sum is had from sums that grow by one score at a time.
    """
    ordered = lowered.sort(-1, descending=True).values
    count = torch.arange(1, lowered.shape[-1] + 1, device=lowered.device)
    above = ordered.cumsum(-1)
    taken = above - count * ordered
    if power == 2:
        taken = ordered.square().cumsum(-1) - 2 * ordered * above + count * ordered.square()
    # The scores that are in are the first ones of the row, and equal ones are in together. Not below rather than at
    # least: so that a row with NaN is all in, and its NaN is not lost.
    last = (taken < 1).sum(-1, keepdim=True).clamp(min=1) - 1
    return ~(lowered < ordered.gather(-1, last))
