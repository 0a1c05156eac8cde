"""Scores of models of language, and what is reached by counting."""

import math

import numpy as np
import pytest

from regard.training.interval import intervals
from regard.training.language_metric import LanguageScores, Unigram


def test_perplexity_is_the_root_of_the_inverse_product():
    told = [(math.log(0.5 * 0.25), 2, 1, 7), (math.log(0.125), 1, 0, 3)]
    found = LanguageScores.of(told, masked=False).values()
    assert found["perplexity"] == pytest.approx((0.5 * 0.25 * 0.125) ** (-1 / 3))
    assert found["character_perplexity"] == pytest.approx((0.5 * 0.25 * 0.125) ** (-1 / 10))
    assert LanguageScores.of(told, masked=True).values()["accuracy"] == pytest.approx(1 / 3)


def test_an_item_that_counts_twice_is_there_twice():
    told = [(-3.0, 2, 1, 7), (-5.0, 3, 2, 11), (-1.0, 1, 0, 2)]
    for masked in (True, False):
        twice = LanguageScores.of([told[0], told[0], told[2]], masked=masked).values()
        assert LanguageScores.of(told, masked=masked).values(np.array([2, 0, 1])) == pytest.approx(twice)


def test_intervals_hold_the_value():
    told = [(-float(n % 7) - 1, 1 + n % 3, n % 2, 5) for n in range(61)]
    scores = LanguageScores.of(told, masked=True)
    for name, (low, high) in intervals(scores, resamples=53).items():
        assert low <= scores.values()[name] <= high


def test_the_unigram_holds_all_pieces_together_for_certain():
    texts, pieces = [[2, 3, 3], [5, 3]], 7
    unigram = Unigram(texts, pieces)
    assert sum(math.exp(unigram.told([piece], 0)[0]) for piece in range(pieces)) == pytest.approx(1)
    assert unigram.told([3, 5, 6], 11)[1:] == (3, 1, 11)
    assert unigram.told([3], 0)[0] == pytest.approx(math.log((3 + 1) / (5 + pieces)))
