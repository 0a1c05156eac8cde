"""Sampling: the next symbol is drawn, each as often as the model holds it probable."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How symbols are drawn.

    temperature: below 1 probable symbols are drawn more often still, above 1 less; scores are divided by it
    top_k:       only so many of the most probable symbols may be drawn
    top_p:       only the fewest most probable symbols that together are so probable (the nucleus)
    seed:        another one, other texts
    """

    temperature: float
    top_k: int | None
    top_p: float
    seed: int

    def chances(self, item: Sequence[int], count: int, draw: int = 0) -> Tensor:
        """(count,), numbers from 0 to 1 that decide what is drawn for an item: a pure function of these three, so that
        neighbours do not matter.

        item: its numbers; items that are equal draw the same
        draw: which of several texts of the item it is
        """
        known = hashlib.blake2b(np.asarray(item, dtype=np.int64).tobytes(), digest_size=8).digest()
        random = np.random.default_rng((self.seed, int.from_bytes(known, "little"), draw))
        return torch.from_numpy(random.random(count))

    def draw(self, scores: Tensor, chances: Tensor) -> Tensor:
        """(rows,): a symbol for each row.

        scores:  (rows, vocabulary), log-probabilities, -inf where nothing may be drawn
        chances: (rows,), from 0 to 1
        """
        shares = self.kept((scores.double() / self.temperature).softmax(1))
        # The symbol at which the shares, added up in the order of the vocabulary, come above the chance.
        reached = shares.cumsum(1)
        below = reached <= chances[:, None] * reached[:, -1:]
        # Rounding may leave the chance above all: then it is the last that has a share.
        last = (shares > 0).long().cumsum(1).argmax(1)
        return torch.minimum(below.sum(1), last)

    def kept(self, shares: Tensor) -> Tensor:
        """The shares of what may be drawn, the others 0; not yet brought to a sum of 1. Of equals the first is kept.

        Source of the nucleus: Holtzman et al. 2020, arXiv:1904.09751, section 3.1; of the k best: Fan, Lewis & Dauphin
        2018, arXiv:1805.04833, section 5.4.
        """
        ordered, places = shares.sort(dim=1, descending=True, stable=True)
        before = ordered.cumsum(1) - ordered
        few = torch.arange(shares.shape[1]) < (shares.shape[1] if self.top_k is None else self.top_k)
        kept = few & (before < self.top_p)
        return torch.zeros_like(shares).scatter(1, places, ordered.where(kept, torch.zeros(()).double()))
