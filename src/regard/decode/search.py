"""Beam search: several beginnings of a text are followed side by side, and the best whole text is kept.

Source of the search: Graves 2012, arXiv:1211.3711, section 2.3; with length normalisation: Wu et al. 2016,
arXiv:1609.08144, section 7 (their penalty has another form; ours is the power of the length).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Step(Protocol):
    """What the search asks of a model, once for each piece."""

    def __call__(self, tokens: Tensor, rows: Tensor | None, items: Tensor | None) -> Tensor:
        """How probable each symbol is as the next one of each row.

        tokens: (rows,), each row's latest symbol
        rows:   (rows,), which of the last call's rows each row goes on from; None where they are the same
        items:  which of the last call's items are still there; None where all are
        output: (rows, vocabulary), log-probabilities; -inf for what must not be written
        """


@dataclass(frozen=True)
class Hypothesis:
    """A text that was found.

    tokens:          its symbols, without those that begin and end it
    log_probability: of the whole text, its end included
    score:           what texts are compared by: log_probability / length ** length_penalty, the end counted
    cut:             whether it was stopped at its longest length, before its end was written; what is told of its
                     probability is then of the symbols that are there
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    cut: bool = False


def search(
    step: Step,
    limits: Sequence[int],
    *,
    start: int,
    end: int,
    beam: int = 1,
    length_penalty: float = 1.0,
    count: int = 1,
) -> list[list[Hypothesis]]:
    """The best texts for each item, best first.

    A beam of 1 takes the best symbol at each step. A wider one goes on until nothing that is still open could become
    better than what was found. Each item ends by itself and leaves: its answer does not depend on its neighbours.

    limits: for each item, how many symbols a text may have at most, its end included
    count:  how many texts are wanted of each item; there may be fewer
    """
    run = _Search(limits, start=start, end=end, beam=beam, length_penalty=length_penalty, count=count)
    rows: Tensor | None = None
    items: Tensor | None = None
    while len(run.items):
        scores = step(run.tokens, rows, items)
        rows, items = run.advance(scores)
    return [run.best(item) for item in range(len(limits))]


class _Search:
    """The beams of all items that are not done.

    items:   (items,), their numbers
    written: (items, beam, length), what was written, the beginning sign first
    totals:  (items, beam), log-probabilities; -inf where a beam is not used
    found:   for every item its whole texts
    begun:   (written, totals) as they were before the latest symbol
    """

    def __init__(
        self, limits: Sequence[int], *, start: int, end: int, beam: int, length_penalty: float, count: int
    ) -> None:
        self.limits = torch.tensor(limits)
        self.end, self.beam, self.length_penalty, self.count = end, beam, length_penalty, max(1, count)
        self.items = torch.arange(len(limits))
        self.written = torch.full((len(limits), beam, 1), start)
        self.totals = torch.full((len(limits), beam), -torch.inf)
        self.totals[:, 0] = 0.0  # all beams begin alike: the first stands for them
        self.found: list[list[Hypothesis]] = [[] for _ in limits]
        self.begun = self.written, self.totals

    @property
    def tokens(self) -> Tensor:
        """(items * beam,), the latest symbol of each beam."""
        return self.written[:, :, -1].flatten()

    @property
    def length(self) -> int:
        """How many symbols were written."""
        return self.written.shape[2] - 1

    def advance(self, scores: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """One symbol more: (which rows the new ones go on from, which items are left)."""
        origins, tokens, totals = self._candidates(scores)
        ended = (tokens == self.end) & (totals > -torch.inf)
        self._collect(origins, totals, ended)
        origins = self._open_on(origins, tokens, totals, ended)
        left = self._left(ended)
        # (items, beam) -> (rows,): a row's number in the last call
        rows = (origins + self.beam * torch.arange(len(origins))[:, None])[left].flatten()
        same = self.beam == 1 and bool(left.all())
        items = None if bool(left.all()) else left.nonzero()[:, 0]
        self.items, self.written, self.totals = self.items[left], self.written[left], self.totals[left]
        return None if same else rows, items

    def _candidates(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations of each item, twice as many as beams, so that enough are left if all beams end:
        the beam each goes on from, its symbol, its log-probability, each (items, 2 * beam)."""
        scores = scores.cpu().view(len(self.items), self.beam, -1)
        together = (self.totals[:, :, None] + scores).flatten(1)
        totals, places = together.topk(2 * self.beam)
        return places // scores.shape[-1], places % scores.shape[-1], totals

    def _collect(self, origins: Tensor, totals: Tensor, ended: Tensor) -> None:
        """Keep the texts that end here among the best."""
        for row, place in ended[:, : self.beam].nonzero().tolist():
            item = int(self.items[row])
            tokens = self.written[row, origins[row, place], 1:].tolist()
            self.found[item].append(self._hypothesis(tokens, float(totals[row, place]), self.length + 1))

    def _open_on(self, origins: Tensor, tokens: Tensor, totals: Tensor, ended: Tensor) -> Tensor:
        """Go on with the best that did not end; gives the beam that each comes from."""
        self.begun = self.written, self.totals
        chosen = ended.long().argsort(dim=1, stable=True)[:, : self.beam]
        origins, tokens = origins.gather(1, chosen), tokens.gather(1, chosen)
        self.totals = totals.gather(1, chosen).masked_fill(ended.gather(1, chosen), -torch.inf)
        before = self.written.gather(1, origins[:, :, None].expand(-1, -1, self.written.shape[2]))
        self.written = torch.cat((before, tokens[:, :, None]), 2)
        return origins

    def _left(self, ended: Tensor) -> Tensor:
        """(items,), which are not done. Those at their longest length are cut if nothing whole was found."""
        limits = self.limits[self.items]
        # Log-probabilities only fall, so this is the most that anything open can still become.
        bounds = (self.totals.amax(1) / limits**self.length_penalty).tolist()
        full = (self.length >= limits).tolist()
        best_ended = ended[:, 0].tolist()
        left = []
        for row, item in enumerate(self.items.tolist()):
            if full[row] and not self.found[item]:
                self._cut(row, item)
            settled = best_ended[row] if self.beam == 1 else self._settled(item, bounds[row])
            left.append(not (full[row] or settled))
        return torch.tensor(left, dtype=torch.bool)

    def _cut(self, row: int, item: int) -> None:
        """The best beginning stands for the text; it leaves out the latest symbol, in whose place its end would be."""
        written, totals = self.begun
        place = int(totals[row].argmax())
        tokens, total = written[row, place, 1:].tolist(), float(totals[row, place])
        if total > -torch.inf:
            self.found[item].append(self._hypothesis(tokens, total, max(1, len(tokens)), cut=True))

    def _settled(self, item: int, bound: float) -> bool:
        """Whether as many texts as wanted were found, and nothing open can become better than the last of them."""
        scores = sorted((found.score for found in self.found[item]), reverse=True)[: self.count]
        return bound == -torch.inf or (len(scores) == self.count and scores[-1] >= bound)

    def _hypothesis(self, tokens: Sequence[int], total: float, length: int, cut: bool = False) -> Hypothesis:
        return Hypothesis(tuple(tokens), total, total / length**self.length_penalty, cut)

    def best(self, item: int) -> list[Hypothesis]:
        """What was found for an item, the best first."""
        return sorted(self.found[item], key=lambda found: -found.score)[: self.count]
