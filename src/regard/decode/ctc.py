"""Texts from frames: each frame says a symbol or nothing (blank), and what is said twice in a row is said once.

Source: Graves, Fernández, Gomez & Schmidhuber 2006, ICML, "Connectionist Temporal Classification", section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.decode.search import Hypothesis

NEVER = -math.inf

# Of each frame so many times as many symbols are followed as there are beginnings: the others are too improbable.
_SYMBOLS_FOR_EACH = 4

# Tables of frames and symbols up to this size are held at once.
_TABLE = 1 << 22


def frames_needed(tokens: Sequence[int]) -> int:
    """How many frames a text needs at least: one for each symbol, and a blank between two that are the same."""
    return len(tokens) + sum(one == other for one, other in pairwise(tokens))


def best_path(scores: Tensor, blank: int) -> tuple[int, ...]:
    """The text of the most probable symbol of each frame. scores: (time, symbols)"""
    return tuple(Following(blank).follow(scores))


@dataclass
class Following:
    """The same frame after frame, for sound that has not ended yet.

    latest: the symbol of the last frame
    """

    blank: int
    latest: int | None = None

    def follow(self, scores: Tensor) -> Iterator[int]:
        """The symbols that these frames begin. scores: (time, symbols)"""
        for symbol in scores.argmax(-1).tolist():
            if symbol not in (self.latest, self.blank):
                yield symbol
            self.latest = symbol


@dataclass(frozen=True)
class _Ways:
    """How probable a beginning is, by the ways that end with a blank and those that end with its last symbol."""

    blank: float = NEVER
    symbol: float = NEVER

    @property
    def total(self) -> float:
        return _add(self.blank, self.symbol)


@dataclass
class PrefixSearch:
    """The most probable texts, each by all ways to say it, and not by its best one alone.

    Source: Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", section 7.5.3 (prefix search);
    frame by frame with a beam: Hannun et al. 2014, arXiv:1408.2873, algorithm 1, here without a language model.

    beam: so many beginnings are followed
    """

    blank: int
    beam: int
    ways: dict[tuple[int, ...], _Ways] = field(default_factory=lambda: {(): _Ways(blank=0.0)})

    def follow(self, scores: Tensor) -> None:
        """Some frames more. scores: (time, symbols), log-probabilities"""
        top = scores.topk(min(scores.shape[-1], max(2, _SYMBOLS_FOR_EACH * self.beam)), -1)
        blanks = scores[:, self.blank].tolist()
        for values, symbols, blank in zip(top.values.tolist(), top.indices.tolist(), blanks, strict=True):
            said = {
                symbol: value
                for symbol, value in zip(symbols, values, strict=True)
                if symbol != self.blank and value > NEVER
            }
            self._frame(blank, said)

    def _frame(self, blank: float, said: dict[int, float]) -> None:
        ends_blank: dict[tuple[int, ...], float] = {}
        ends_symbol: dict[tuple[int, ...], float] = {}
        for text, ways in self.ways.items():
            ends_blank[text] = _add(ends_blank.get(text, NEVER), ways.total + blank)
            last = text[-1] if text else None
            for symbol, value in said.items():
                more = (*text, symbol)
                # The last symbol once more is the same one, unless a blank stands between.
                new = ways.blank if symbol == last else ways.total
                ends_symbol[more] = _add(ends_symbol.get(more, NEVER), new + value)
            if last in said:
                ends_symbol[text] = _add(ends_symbol.get(text, NEVER), ways.symbol + said[last])
        found = {
            text: _Ways(ends_blank.get(text, NEVER), ends_symbol.get(text, NEVER))
            for text in {**ends_blank, **ends_symbol}
        }
        best = sorted(found.items(), key=lambda one: (-one[1].total, one[0]))[: self.beam]
        self.ways = {text: ways for text, ways in best if ways.total > NEVER}

    def best(self, count: int) -> list[tuple[int, ...]]:
        return sorted(self.ways, key=lambda text: -self.ways[text].total)[:count]


def spoken(scores: Tensor, blank: int, *, beam: int, count: int = 1) -> list[Hypothesis]:
    """The best texts of one item, best first, each with the probability that all of its ways have together.

    scores: (time, symbols), log-probabilities; a beam of 1 takes the best symbol of each frame
    """
    if max(beam, count) == 1:
        texts = [best_path(scores, blank)]
    else:
        search = PrefixSearch(blank, max(beam, count))
        search.follow(scores)
        texts = search.best(max(beam, count))
    given = log_probability(scores, texts, blank)
    found = [Hypothesis(text, chance, chance) for text, chance in zip(texts, given, strict=True)]
    return sorted(found, key=lambda one: -one.log_probability)[:count]


def log_probability(scores: Tensor, texts: Sequence[Sequence[int]], blank: int) -> list[float]:
    """How probable each text is, by all ways to say it: what the search adds up, without a beam.

    scores: (time, symbols), log-probabilities
    """
    if not texts:
        return []
    if len(scores) * max(len(text) for text in texts) > _TABLE:
        return [_added_up(scores, text, blank) for text in texts]
    lengths = torch.tensor([len(text) for text in texts])
    targets = torch.full((len(texts), max(1, int(lengths.max()))), blank)
    for row, text in enumerate(texts):
        targets[row, : len(text)] = torch.tensor(text, dtype=torch.long)
    times = torch.full_like(lengths, len(scores))
    lost = F.ctc_loss(scores[:, None].expand(-1, len(texts), -1), targets, times, lengths, blank, reduction="none")
    return [-float(loss) for loss in lost]


def _added_up(scores: Tensor, text: Sequence[int], blank: int) -> float:
    """The same frame by frame, without the table of all frames and symbols, which for half an hour has gigabytes."""
    states, jumps = _states(text, blank)
    reached = torch.full((len(states),), NEVER, dtype=torch.float64)
    reached[:2] = scores[0, states[:2]].double()
    for frame in scores[1:]:
        one, two = _from_before(reached, jumps)
        reached = torch.logaddexp(torch.logaddexp(reached, one), two) + frame[states].double()
    return float(reached[-2:].logsumexp(0))


def _from_before(reached: Tensor, jumps: Tensor) -> tuple[Tensor, Tensor]:
    """What was reached one state before each, and two before where it may be come from."""
    one, two = (F.pad(reached, (steps, 0), value=NEVER)[: len(reached)] for steps in (1, 2))
    return one, two.masked_fill(~jumps, NEVER)


def _states(tokens: Sequence[int], blank: int) -> tuple[Tensor, Tensor]:
    """blank, symbol, blank, … of a text, and which of them may be reached from two before: a symbol from the one before
    it, unless it is the same."""
    states = torch.full((2 * len(tokens) + 1,), blank)
    states[1::2] = torch.tensor(list(tokens), dtype=torch.long)
    jumps = torch.zeros(len(states), dtype=torch.bool)
    jumps[3::2] = states[3::2] != states[1:-2:2]
    return states, jumps


@dataclass(frozen=True)
class Span:
    """The frames in which a symbol is said: from the first to the one before `end`."""

    begin: int
    end: int


def align(scores: Tensor, tokens: Sequence[int], blank: int) -> list[Span]:
    """When each symbol of a text is said, on the most probable of the text's ways.

    Source: Viterbi over the states blank, symbol, blank, … of Graves et al. 2006, section 4.1.
    scores: (time, symbols), log-probabilities
    """
    if not tokens or frames_needed(tokens) > len(scores):
        return []
    states, jumps = _states(tokens, blank)
    path = _best_states(scores[:, states].double().cpu(), jumps)
    spans = []
    for number in range(len(tokens)):
        frames = (path == 2 * number + 1).nonzero()[:, 0]
        spans.append(Span(int(frames[0]), int(frames[-1]) + 1))
    return spans


def _best_states(scores: Tensor, jumps: Tensor) -> Tensor:
    """(time, states) -> (time,): the best way from one of the first two states to one of the last two."""
    reached = torch.full_like(scores[0], NEVER)
    reached[:2] = scores[0, :2]
    steps = []
    for frame in scores[1:]:
        one, two = _from_before(reached, jumps)
        best, step = torch.stack((reached, one, two)).max(0)
        steps.append(step)
        reached = best + frame
    state = len(reached) - 1 if reached[-1] > reached[-2] else len(reached) - 2
    path = [state]
    for step in reversed(steps):
        path.append(path[-1] - int(step[path[-1]]))
    return torch.tensor(path[::-1])


def _add(one: float, other: float) -> float:
    """The logarithm of the sum."""
    low, high = (one, other) if one < other else (other, one)
    return high if low == NEVER else high + math.log1p(math.exp(low - high))
