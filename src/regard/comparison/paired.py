"""Whether a difference is more than chance: two runs answered the same items, so items are drawn in pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regard.comparison import SEED, TRIALS
from regard.training.interval import middle, resample
from regard.training.scores import Weights

# How often each answer counts, those of one run before those of the other (2 * items,) -> values (values,).
Measure = Callable[[Weights], np.ndarray]

# Sums in another order differ by rounding: what is no more than this share of the scores is no difference.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Difference:
    """How far two runs are apart in one measure.

    one, other:  what each run has
    difference:  the one less the other
    low, high:   hold 95 % of the differences in resamples of the items
    p:           how probable a difference as large is, were it chance which run gave which of an item's two answers
    p_resampled: how probable it is, were the true difference none, by how far resamples lie from what was found
    """

    one: float
    other: float
    difference: float
    low: float
    high: float
    p: float
    p_resampled: float


@dataclass(frozen=True)
class Paired:
    """What was found for each value of a measure, and what chance gave. resampled, swapped: (trials, values)"""

    differences: list[Difference]
    resampled: np.ndarray
    swapped: np.ndarray


def paired(
    measure: Measure, items: int, *, among: np.ndarray | None = None, trials: int = TRIALS, seed: int = SEED
) -> Paired:
    """Both tests of both runs' answers.

    Paired bootstrap: Efron & Tibshirani 1993, sections 13.3 (interval) and 16.4 (p, from differences moved to where
    none would be); of translations, Koehn 2004, EMNLP, section 3. Approximate randomisation: Noreen 1989, section 2.4;
    Riezler & Maxwell 2005, section 4.

    among: the numbers of those items that count, where not all do
    """
    among = np.arange(items) if among is None else among
    random = np.random.default_rng(seed)
    each = np.bincount(among, minlength=items)
    one, other = measure(_beside(each, 0 * each)), measure(_beside(0 * each, each))
    resampled = by_resamples(measure, (_spread(resample(random, len(among)), among, items) for _ in range(trials)))
    swapped = by_swaps(measure, (random.integers(2, size=items) for _ in range(trials)), each)
    slack = _ROUNDING * np.maximum(np.abs(one), np.abs(other))
    found, resampled, swapped = (np.where(np.abs(d) > slack, d, 0.0) for d in (one - other, resampled, swapped))
    ps, ps_resampled = chance(swapped, found, slack), chance(resampled - found, found, slack)
    edges = np.array([middle(values) for values in resampled.T]).reshape(-1, 2).T
    table = np.stack([one, other, found, *edges, ps, ps_resampled], axis=1)
    return Paired([Difference(*row) for row in table.tolist()], resampled, swapped)


def by_resamples(measure: Measure, draws: Iterable[Weights]) -> np.ndarray:
    """(draws, values): the difference with each item as often as it was drawn, the same items for both runs."""
    return _rows(measure(_beside(often, 0 * often)) - measure(_beside(0 * often, often)) for often in draws)


def by_swaps(measure: Measure, swaps: Iterable[Weights], each: Weights) -> np.ndarray:
    """(swaps, values): the difference with the two answers of some items swapped.

    swaps: 1 where an item's answers are; each: how often each item counts
    """
    return _rows(
        measure(_beside(each * (1 - swap), each * swap)) - measure(_beside(each * swap, each * (1 - swap)))
        for swap in swaps
    )


def chance(drawn: np.ndarray, found: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """(values,): the share of drawn differences that are as large as what was found, in either direction; what was
    found is one of them, so that no share is 0 (Noreen 1989, section 2.4).

    drawn: (trials, values); slack: (values,), by how much rounding may make one smaller
    """
    return (1 + (np.abs(drawn) >= np.abs(found) - slack).sum(0)) / (1 + len(drawn))


def _beside(one: Weights, other: Weights) -> Weights:
    return np.concatenate([one, other])


def _spread(often: Weights, among: np.ndarray, items: int) -> Weights:
    """How often each of all items counts, from how often those do that were drawn from."""
    weights = np.zeros(items, dtype=np.int64)
    weights[among] = often
    return weights


def _rows(values: Iterator[np.ndarray]) -> np.ndarray:
    return np.stack(list(values))
