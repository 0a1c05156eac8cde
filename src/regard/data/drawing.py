"""What training sees anew each time: an item changed at random, by (seed, epoch, item) alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.data.batching import Batch, Item, collate

Labels = Mapping[str, tuple[int, ...] | tuple[float, ...]]


@dataclass(frozen=True)
class Draws:
    """How an input is changed at random in training; each kind of input says how, in a class of these.

    mixup: how strongly items are mixed: shares come from a beta distribution with this parameter; 0 mixes none
    """

    mixup: float = 0.0

    @property
    def any(self) -> bool:
        """Whether anything is changed."""
        return self != type(self)()

    def __call__(self, encoded: Any, random: np.random.Generator) -> Any:
        """An item as the network reads it, changed at random."""
        raise NotImplementedError

    def mixed(self, one: Any, other: Any, share: float) -> Any:
        """A share of the one and the rest of the other, as long as the one."""
        raise NotImplementedError


@dataclass(frozen=True)
class Kept:
    """Items in memory, of which something may be drawn anew in each epoch."""

    items: Sequence[Item]
    draws: Draws = Draws()
    seed: int = 0

    @property
    def sizes(self) -> Sequence[int]:
        return [item.size for item in self.items]

    def batch(self, numbers: Sequence[int], epoch: int) -> Batch:
        """Some of the items as training sees them in this epoch."""
        if not self.draws.any:
            return collate(self.items, numbers)
        seen = [drawn(self.draws, self.items, number, seed=self.seed, epoch=epoch) for number in numbers]
        return replace(collate(seen, range(len(seen))), items=list(numbers))


def drawn(draws: Draws, items: Sequence[Item], number: int, *, seed: int, epoch: int) -> Item:
    """One of the items as training sees it in an epoch, whatever batch it is in: so a run that goes on sees the same.

    Mixing follows Zhang et al. 2018, arXiv:1710.09412, with the larger share for the item itself. Theirs sums the
    losses of both labels by their shares; here one of the two is drawn by its share, which is the same on average.
    """
    random = np.random.default_rng((seed, epoch, number))
    item = items[number]
    encoded, labels = draws(item.encoded, random), item.labels
    if draws.mixup:
        other = items[int(random.integers(len(items)))]
        share = float(random.beta(draws.mixup, draws.mixup))
        share = max(share, 1 - share)
        encoded = draws.mixed(encoded, draws(other.encoded, random), share)
        labels = {column: _mixed(of, other.labels[column], share, random.random()) for column, of in labels.items()}
    answers = encoded.length if item.spelled else item.answers
    return replace(item, encoded=encoded, labels=labels, answers=answers)


def _mixed(one: tuple[Any, ...], other: tuple[Any, ...], share: float, drawn: float) -> tuple[Any, ...]:
    """Numbers between both numbers; of labels the one or the other."""
    if all(isinstance(value, float) for value in (*one, *other)):
        return tuple(share * here + (1 - share) * there for here, there in zip(one, other, strict=True))
    return one if drawn < share else other
