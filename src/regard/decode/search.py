"""Beam search: several beginnings of a text are followed side by side, and the best whole text is kept.

Source of the search: Graves 2012, arXiv:1211.3711, section 2.3; of what texts are compared by: Wu et al. 2016,
arXiv:1609.08144, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.decode.filter import Filter, Required, through
from regard.decode.sample import Sampling
from regard.errors import choose


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
    score:           what texts are compared by: log_probability divided by a norm of the length, the end counted, and
                     less where the source was not looked at (`Ranking`)
    cut:             whether it was stopped at its longest length, before its end was written; what is told of its
                     probability is then of the symbols that are there
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    cut: bool = False


@dataclass(frozen=True)
class Ranking:
    """What whole texts are compared by: log_probability / norm(length) + coverage.

    length_norm:      the form of the norm, a name of LENGTH_NORMS
    length_penalty:   the exponent in it; 0 compares log-probabilities as they are
    coverage_penalty: how much it counts against a text that it hardly looked at parts of the source. Source: Wu et al.
                      2016, equation 15
    """

    length_penalty: float = 1.0
    length_norm: str = "power"
    coverage_penalty: float = 0.0

    def score(self, log_probability: float, length: int, looked: Tensor | None = None) -> float:
        """looked: (time,), how much was looked at each element of the source, all in all"""
        norm = choose(LENGTH_NORMS, self.length_norm, "decode.length_norm")(length, self.length_penalty)
        return log_probability / norm + self._coverage(looked)

    def bound(self, log_probability: float, longest: int) -> float:
        """The most that a beginning can still become: log-probabilities only fall, norms only grow, and nothing is
        better than having looked at everything."""
        return self.score(log_probability, longest)

    def _coverage(self, looked: Tensor | None) -> float:
        if looked is None or not self.coverage_penalty:
            return 0.0
        # What was never looked at at all (as without softmax) counts as a billionth, since there is no logarithm of 0.
        return self.coverage_penalty * float(looked.clamp(1e-9, 1.0).log().sum())


# By name: (length, exponent) -> what log-probabilities are divided by. Source of gnmt: Wu et al. 2016, equation 14.
LENGTH_NORMS: dict[str, Callable[[int, float], float]] = {
    "power": lambda length, exponent: float(length**exponent),
    "gnmt": lambda length, exponent: float(((5 + length) / 6) ** exponent),
}


def search(
    step: Step,
    limits: Sequence[int],
    *,
    start: int,
    end: int,
    beam: int = 1,
    ranking: Ranking = Ranking(),
    count: int = 1,
    enough: int | None = None,
    filters: Sequence[Filter] = (),
    required: Required | None = None,
    looked: Callable[[], Tensor] | None = None,
    draw: Draw | None = None,
    enter: Callable[[Tensor], None] | None = None,
    at_once: int | None = None,
    told: Callable[[int], None] = lambda count: None,
) -> list[list[Hypothesis]]:
    """The best texts for each item, best first.

    A beam of 1 takes the best symbol at each step. A wider one goes on until nothing that is still open could become
    better than what was found. Each item ends by itself and leaves: its answer does not depend on its neighbours.

    limits:   for each item, how many symbols a text may have at most, its end included
    count:    how many texts are wanted of each item; there may be fewer
    enough:   the search for an item ends when so many of its texts have ended, be it that a better one could still be
              found. Source: Kasai et al. 2022, arXiv:2204.05424, section 3 (there `patience` times the beam)
    filters:  what may be written at all
    required: what must be written; it is one of the filters, and beginnings that have more or less of it are kept side
              by side
    looked:   gives (rows, time), how much the latest call of `step` looked at each element of the source; wanted where
              the ranking has a coverage_penalty
    draw:     symbols are drawn instead of searched for; the beam is 1
    enter:    is told, between two calls of `step`, in which places of the last call's items the next ones begin
    at_once:  how many items are there at a time; the others wait until one is done, whose place they take
    told:     hears how many items were done, each time some are
    """
    run = _Search(limits, start, end, beam, ranking, count, filters, required, looked, draw, enter, at_once)
    run.enough, run.told = enough, told
    rows: Tensor | None = None
    items: Tensor | None = None
    while len(run.items):
        rows, items = run.advance(step(run.tokens, rows, items))
    return [run.best(item) for item in range(len(limits))]


def follow(
    step: Step, limit: int, *, start: int, end: int, filters: Sequence[Filter] = (), draw: Draw | None = None
) -> Iterator[int]:
    """The symbols that `search` with a beam of 1 writes of one item, each as soon as it is decided."""
    run = _Search([limit], start, end, 1, Ranking(), 1, filters, None, None, draw)
    rows: Tensor | None = None
    items: Tensor | None = None
    while len(run.items):
        rows, items = run.advance(step(run.tokens, rows, items))
        if len(run.items):
            yield int(run.tokens[0])


@dataclass(frozen=True)
class Draw:
    """Symbols are drawn: how, and (items, longest), the chances that decide."""

    sampling: Sampling
    chances: Tensor


class _Search:
    """The beams of all items that are being written.

    items:   (items,), their numbers
    lengths: (items,), how many symbols were written of each
    written: (items, beam, longest + 1), what was written, the beginning sign first and the latest last; what stands
             before the beginning of those that entered later means nothing
    totals:  (items, beam), log-probabilities; -inf where a beam is not used
    covered: (items, beam, time), how much was looked at each element of the source; None where that does not count
    found:   for every item its whole texts
    begun:   (written, totals, covered) as they were before the latest symbol
    """

    def __init__(
        self,
        limits: Sequence[int],
        start: int,
        end: int,
        beam: int,
        ranking: Ranking,
        count: int,
        filters: Sequence[Filter],
        required: Required | None,
        looked: Callable[[], Tensor] | None,
        draw: Draw | None,
        enter: Callable[[Tensor], None] | None = None,
        at_once: int | None = None,
    ) -> None:
        assert draw is None or beam == 1
        self.limits = torch.tensor(limits, dtype=torch.long)
        self.start, self.end, self.beam, self.ranking, self.count = start, end, beam, ranking, max(1, count)
        self.filters, self.required, self.looked, self.draw = filters, required, looked, draw
        self.enter = enter
        self.enough: int | None = None
        self.told: Callable[[int], None] = lambda count: None
        self.items = torch.arange(len(limits) if enter is None or at_once is None else min(at_once, len(limits)))
        self.waiting = len(self.items)  # the number of the first that is not there yet
        self.lengths = torch.zeros_like(self.items)
        self.written = torch.full((len(self.items), beam, 1), start)
        self.totals = self._beginning(len(self.items))
        self.covered: Tensor | None = None
        self.found: list[list[Hypothesis]] = [[] for _ in limits]
        self.begun: tuple[Tensor, Tensor, Tensor | None] = (self.written, self.totals, None)
        if enter is not None and len(self.items):
            enter(torch.arange(len(self.items)))

    def _beginning(self, items: int) -> Tensor:
        """(items, beam): all beams begin alike, so the first stands for them."""
        totals = torch.full((items, self.beam), -torch.inf)
        totals[:, 0] = 0.0
        return totals

    @property
    def tokens(self) -> Tensor:
        """(items * beam,), the latest symbol of each beam."""
        return self.written[:, :, -1].flatten()

    def advance(self, scores: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """One symbol more: (which rows the new ones go on from, which items are left)."""
        before, seen = self.covered, self._seen()
        origins, tokens, totals = self._candidates(self._filtered(scores))
        ended = (tokens == self.end) & (totals > -torch.inf)
        self._collect(origins, totals, ended, seen)
        self.begun = self.written, self.totals, before
        self.covered = seen
        origins = self._open_on(origins, tokens, totals, ended)
        left = self._left(ended)
        self.told(int((~left).sum()))
        left = self._refilled(left)
        # (items, beam) -> (rows,): a row's number in the last call
        rows = (origins + self.beam * torch.arange(len(origins))[:, None])[left].flatten()
        if bool(left.all()):
            return None if self.beam == 1 else rows, None
        self._keep(left)
        return rows, left.nonzero()[:, 0]

    def _keep(self, left: Tensor) -> None:
        """Let go of the items that are done."""
        self.items, self.lengths, self.totals = self.items[left], self.lengths[left], self.totals[left]
        self.written = self.written[left]
        self.covered = None if self.covered is None else self.covered[left]

    def _refilled(self, left: Tensor) -> Tensor:
        """Those that wait take the places of those that are done; (items,), where there is still one."""
        places = (~left).nonzero()[: len(self.limits) - self.waiting, 0]
        if not len(places) or self.enter is None:
            return left
        self.items[places] = torch.arange(self.waiting, self.waiting + len(places))
        self.waiting += len(places)
        self.lengths[places] = 0
        self.written[places] = self.start
        self.totals[places] = self._beginning(len(places))
        self.written = self.written[:, :, -1 - int(self.lengths.max()) :]
        self.enter(places)
        return left.index_fill(0, places, True)

    def _of_each_length(self, rows: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """What a function says of rows, asked for all of a length at once.

        rows: (which rows, (rows, length) what was written of them) -> (rows, …)
        """
        lengths = self.lengths.repeat_interleave(self.beam)
        written = self.written.flatten(0, 1)
        parts = [(lengths == length).nonzero()[:, 0] for length in self.lengths.unique().tolist()]
        told = [rows(part, written[part, written.shape[1] - int(lengths[part[0]]) :]) for part in parts]
        if len(parts) == 1:
            return told[0]
        return torch.cat(told)[torch.cat(parts).argsort()]

    def _seen(self) -> Tensor | None:
        """(items, beam, time): what was looked at before, and for the symbol that comes now."""
        if not self.ranking.coverage_penalty:
            return None
        assert self.looked is not None, "a coverage_penalty needs to know what was looked at"
        now = self.looked().cpu().unflatten(0, (-1, self.beam))
        if self.covered is None:
            return now
        # Those that begin anew have looked at nothing; sources may have become longer or shorter, and of what is not
        # there nothing is missed.
        before = torch.where((self.lengths > 0)[:, None, None], self.covered, torch.zeros(()))
        more = now.shape[2] - before.shape[2]
        return now + (torch.nn.functional.pad(before, (0, more)) if more > 0 else before[:, :, : now.shape[2]])

    def _filtered(self, scores: Tensor) -> Tensor:
        """(rows, vocabulary): what may be written of it."""
        scores = scores.cpu()
        if not self.filters:
            return scores
        room = (self.limits[self.items] - self.lengths).repeat_interleave(self.beam)
        return self._of_each_length(lambda rows, written: through(self.filters, scores[rows], written, room[rows]))

    def _candidates(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations of each item, twice as many as beams, so that enough are left if all beams end:
        the beam each goes on from, its symbol, its log-probability, each (items, 2 * beam)."""
        if self.draw is not None:
            return self._drawn(scores)
        if self.required is None:
            totals, places = best_sums(self.totals, scores.view(*self.totals.shape, -1), 2 * self.beam)
        else:
            totals, places = self._side_by_side((self.totals.flatten()[:, None] + scores).view(len(self.items), -1))
        return places // scores.shape[-1], places % scores.shape[-1], totals

    def _side_by_side(self, together: Tensor) -> tuple[Tensor, Tensor]:
        """The best of those that need nothing more, the best of those that need one symbol more, and so on; then the
        second of each. together: (items, beam * vocabulary)"""
        assert self.required is not None
        required = self.required
        need = self._of_each_length(lambda rows, written: required.need(written)).view(len(together), -1)
        kept = []
        for bank in need[together > -torch.inf].unique().tolist():
            best = together.masked_fill(need != bank, -torch.inf).topk(min(2 * self.beam, together.shape[1]))
            kept.append((best.values, best.indices))
        if not kept:
            return together.topk(min(2 * self.beam, together.shape[1]))
        # (items, place in its bank, banks) -> (items, candidates), the first of each bank first
        totals, places = (torch.stack(of_all, 2).flatten(1) for of_all in zip(*kept, strict=True))
        order = (totals == -torch.inf).long().argsort(dim=1, stable=True)[:, : 2 * self.beam]
        return totals.gather(1, order), places.gather(1, order)

    def _drawn(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One symbol for each item, drawn."""
        assert self.draw is not None
        tokens = self.draw.sampling.draw(scores, self.draw.chances[self.items, self.lengths])[:, None]
        return torch.zeros_like(tokens), tokens, self.totals + scores.gather(1, tokens)

    def _collect(self, origins: Tensor, totals: Tensor, ended: Tensor, seen: Tensor | None) -> None:
        """Keep the texts that end here among the best."""
        places = ended[:, : self.beam].nonzero()
        if not len(places):
            return
        rows, beams = places.T
        origins, totals = origins[rows, beams], totals[rows, beams]
        written = self.written[rows, origins]
        told = zip(*(part.tolist() for part in (self.items[rows], self.lengths[rows], totals)), strict=True)
        for number, (item, length, total) in enumerate(told):
            looked = None if seen is None else seen[rows[number], origins[number]]
            tokens = self._symbols(written[number], length)
            self.found[item].append(self._hypothesis(tokens, total, length + 1, looked))

    @staticmethod
    def _symbols(written: Tensor, length: int) -> list[int]:
        return written[len(written) - length :].tolist()

    def _open_on(self, origins: Tensor, tokens: Tensor, totals: Tensor, ended: Tensor) -> Tensor:
        """Go on with the best that did not end; gives the beam that each comes from."""
        chosen = ended.long().argsort(dim=1, stable=True)[:, : self.beam]
        # There are fewer continuations than beams where both are many and symbols few.
        short = self.beam - chosen.shape[1]
        origins, tokens = origins.gather(1, chosen), tokens.gather(1, chosen)
        totals = totals.gather(1, chosen).masked_fill(ended.gather(1, chosen), -torch.inf)
        if short:
            origins, tokens = (torch.nn.functional.pad(part, (0, short)) for part in (origins, tokens))
            totals = torch.nn.functional.pad(totals, (0, short), value=-torch.inf)
        self.totals = totals
        before = self.written.gather(1, origins[:, :, None].expand(-1, -1, self.written.shape[2]))
        self.written = torch.cat((before, tokens[:, :, None]), 2)
        self.lengths = self.lengths + 1
        if self.covered is not None:
            self.covered = self.covered.gather(1, origins[:, :, None].expand(-1, -1, self.covered.shape[2]))
        return origins

    def _left(self, ended: Tensor) -> Tensor:
        """(items,), which are not done. Those at their longest length are cut if nothing whole was found."""
        limits, lengths = self.limits[self.items].tolist(), self.lengths.tolist()
        most = self.totals.amax(1).tolist()
        best_ended = ended[:, 0].tolist()
        left = []
        for row, item in enumerate(self.items.tolist()):
            full = lengths[row] >= limits[row]
            if full and not self.found[item]:
                self._cut(row, item)
            bound = self.ranking.bound(most[row], limits[row])
            settled = best_ended[row] if self.beam == 1 else self._settled(item, bound)
            left.append(not (full or settled or most[row] == -torch.inf))
        return torch.tensor(left, dtype=torch.bool)

    def _cut(self, row: int, item: int) -> None:
        """The best beginning stands for the text; it leaves out the latest symbol, in whose place its end would be."""
        written, totals, covered = self.begun
        place = int(totals[row].argmax())
        tokens, total = self._symbols(written[row, place], int(self.lengths[row]) - 1), float(totals[row, place])
        if total > -torch.inf:
            looked = None if covered is None else covered[row, place]
            self.found[item].append(self._hypothesis(tokens, total, max(1, len(tokens)), looked, cut=True))

    def _settled(self, item: int, bound: float) -> bool:
        """Whether as many texts as wanted were found, and nothing open can become better than the last of them."""
        found = self.found[item]
        if self.enough is not None and len(found) >= self.enough:
            return True
        if bound == -torch.inf or len(found) < self.count:
            return bound == -torch.inf
        return sorted([one.score for one in found], reverse=True)[self.count - 1] >= bound

    def _hypothesis(
        self, tokens: Sequence[int], total: float, length: int, looked: Tensor | None = None, cut: bool = False
    ) -> Hypothesis:
        return Hypothesis(tuple(tokens), total, self.ranking.score(total, length, looked), cut)

    def best(self, item: int) -> list[Hypothesis]:
        """What was found for an item, the best first."""
        return sorted(self.found[item], key=lambda found: -found.score)[: self.count]


# Below so many symbols nothing is gained by looking at blocks.
_MANY, _BLOCK = 512, 64


def best_sums(totals: Tensor, scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The best of totals + scores for each item: their values and places, (items, count), best first.

    Of each block of scores the best is looked for first, and then only inside of the best blocks: whatever is among the
    best of all is in a block that is among the best. The sums themselves are never written down.

    totals: (items, beam); scores: (items, beam, symbols); a place is beam number * symbols + symbol
    """
    symbols = scores.shape[2]
    blocks = symbols // _BLOCK
    if symbols < _MANY or count > blocks:
        return (totals[:, :, None] + scores).flatten(1).topk(min(count, totals.shape[1] * symbols))
    # (items, beam, blocks, _BLOCK); what is left over when blocks are full is looked at by itself
    whole = scores[:, :, : blocks * _BLOCK].unflatten(2, (blocks, _BLOCK))
    rest = scores[:, :, blocks * _BLOCK :]
    chosen = (totals[:, :, None] + whole.amax(3)).flatten(1).topk(count).indices
    beams, numbers = chosen // blocks, chosen % blocks
    items = torch.arange(len(totals))[:, None]
    inside = totals[items, beams][:, :, None] + whole[items, beams, numbers]
    places = (beams * symbols + numbers * _BLOCK)[:, :, None] + torch.arange(_BLOCK)
    if not rest.shape[2]:
        best = inside.flatten(1).topk(count)
        return best.values, places.flatten(1).gather(1, best.indices)
    left_over = torch.arange(totals.shape[1])[:, None] * symbols + torch.arange(blocks * _BLOCK, symbols)
    sums = torch.cat((inside.flatten(1), (totals[:, :, None] + rest).flatten(1)), 1)
    places = torch.cat((places.flatten(1), left_over.flatten().expand(len(totals), -1)), 1)
    best = sums.topk(count)
    return best.values, places.gather(1, best.indices)
