"""Filters: what may be written next, beside what the model thinks of it. Each is a plain function

(scores, written, room) -> scores

scores:  (rows, vocabulary), log-probabilities; what must not be written becomes -inf, all else stays as it is, so
         that the probability of a text remains that of the model itself
written: (rows, length), the symbols so far
room:    (rows,), how many symbols there may still be, the end among them
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

Filter = Callable[[Tensor, Tensor, Tensor], Tensor]

# What symbols are spelled in: letters, bytes, or whole words.
Spelling = Sequence[Hashable]


def through(filters: Sequence[Filter], scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
    """The scores after all filters, one after the other."""
    return reduce(lambda left, filter: filter(left, written, room), filters, scores)


def min_length(count: int, end: int) -> Filter:
    """The end is not possible before so many symbols are written."""

    def filter(scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
        return scores if written.shape[1] >= count else _without(scores, end)

    return filter


def no_repeat(size: int) -> Filter:
    """No run of so many symbols is written twice.

    Source: Paulus, Xiong & Socher 2017, arXiv:1705.04304, section 2.5 (there of three).
    """

    def filter(scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
        length = written.shape[1]
        if length < size:
            return scores
        # (rows, runs, size): a run that begins like what stands at the end must not end like before
        runs = written.unfold(1, size, 1)
        like = (runs[:, :, :-1] == written[:, None, length - size + 1 :]).all(2)
        again = torch.zeros_like(scores, dtype=torch.long).scatter_add(1, runs[:, :, -1], like.long())
        return scores.masked_fill(again > 0, -torch.inf)

    return filter


class Phrase:
    """Follows how much of a phrase stands at the end of what is written, whichever symbols spell it.

    Source: the automaton of Knuth, Morris & Pratt 1977, "Fast pattern matching in strings", fed with whole symbols.

    after:    (states, vocabulary): the state after each symbol; a state is how many units of the phrase stand there,
              and the last one, in which it was written, is never left
    distance: (states,), how many symbols it takes at least from there until it is written
    """

    def __init__(self, phrase: Spelling, spelled: Sequence[Spelling]) -> None:
        self.whole = len(phrase)
        falls = _falls(phrase)
        steps = [[_follow(phrase, falls, state, units) for units in spelled] for state in range(self.whole)]
        self.after = torch.tensor([*steps, [self.whole] * len(spelled)])
        self.distance = self._distances()

    def _distances(self) -> Tensor:
        """Backwards from the last state; what cannot be spelled at all is infinitely far."""
        distance = torch.full((self.whole + 1,), torch.inf)
        distance[self.whole] = 0
        for _ in range(self.whole):
            distance = torch.minimum(distance, 1 + distance[self.after].amin(1))
        return distance

    def state(self, written: Tensor) -> Tensor:
        """(rows,): where each row stands. written: (rows, length)"""
        state = torch.zeros(len(written), dtype=torch.long)
        for symbols in written.T:
            state = self.after[state, symbols]
        return state


def _falls(phrase: Spelling) -> list[int]:
    """For each place, how much of the phrase's beginning still stands there when the next unit does not fit."""
    falls = [0] * (len(phrase) + 1)
    length = 0
    for place in range(1, len(phrase)):
        while length and phrase[place] != phrase[length]:
            length = falls[length]
        length += phrase[place] == phrase[length]
        falls[place + 1] = length
    return falls


def _follow(phrase: Spelling, falls: Sequence[int], state: int, units: Spelling) -> int:
    for unit in units:
        if state == len(phrase):
            break
        while state and phrase[state] != unit:
            state = falls[state]
        state += phrase[state] == unit
    return state


def forbidden(phrases: Sequence[Phrase]) -> Filter:
    """None of these is ever written, whichever symbols would spell it."""

    def filter(scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
        for phrase in phrases:
            scores = scores.masked_fill(phrase.after[phrase.state(written)] == phrase.whole, -torch.inf)
        return scores

    return filter


class Required:
    """All of these are written before the end is possible.

    The search keeps beginnings with much and with little of them side by side (`need`, Post & Vilar 2018,
    arXiv:1804.06609, section 4: their banks); where there is only just room for what is missing, all else is ruled out.
    """

    def __init__(self, phrases: Sequence[Phrase], end: int) -> None:
        self.phrases = phrases
        self.end = end
        self.most = int(sum(float(phrase.distance[0]) for phrase in phrases))

    def __call__(self, scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
        states = [phrase.state(written) for phrase in self.phrases]
        now, after = self._missing(states), self.need(written)
        scores = torch.where((now > 0)[:, None], _without(scores, self.end), scores)
        # What is begun may have to begin anew: what counts is whether there will be room for what is missing then.
        return scores.masked_fill(after > (room - 2).clamp(min=0)[:, None], -torch.inf)

    def need(self, written: Tensor) -> Tensor:
        """(rows, vocabulary): how many symbols are missing after each that might be next."""
        return self._missing([phrase.after[phrase.state(written)] for phrase in self.phrases])

    def _missing(self, states: Sequence[Tensor]) -> Tensor:
        """How many symbols are missing at most, if that which is furthest is gone on with and the others follow."""
        missing, begun = torch.zeros(states[0].shape), torch.zeros(states[0].shape)
        for phrase, state in zip(self.phrases, states, strict=True):
            whole, left = phrase.distance[0], phrase.distance[state]
            missing = missing + torch.where(left > 0, whole, torch.zeros(()))
            begun = torch.where(left > 0, torch.maximum(begun, whole - left), begun)
        return (missing - begun).long()


def prefix(symbols: Sequence[int]) -> Filter:
    """The text begins with these: nothing else is possible until they are written."""

    def filter(scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
        if written.shape[1] >= len(symbols):
            return scores
        only = scores.new_full(scores.shape, -torch.inf)
        next = symbols[written.shape[1]]
        only[:, next] = scores[:, next]
        return only

    return filter


def where_free(filter: Filter) -> Filter:
    """The same where there is a choice: what is certain anyway, as a text's given beginning, is left as it is."""

    def lenient(scores: Tensor, written: Tensor, room: Tensor) -> Tensor:
        certain = (scores == 0).any(1, keepdim=True)
        return torch.where(certain, scores, filter(scores, written, room))

    return lenient


def _without(scores: Tensor, symbol: int) -> Tensor:
    return scores.index_fill(1, torch.tensor([symbol]), -torch.inf)


# By the setting of [decode] that asks for it, in the order in which they are applied.
FILTERS: dict[str, Callable[..., Any]] = {
    "forbidden": forbidden,
    "no_repeat": no_repeat,
    "min_length": min_length,
    "required": Required,
    "prefix": prefix,
}
