"""How probable a class must be to be answered."""

import numpy as np
import pytest

from regard.training.label_metric import LABEL_METRICS, score_classes
from regard.training.threshold import CANDIDATES, best_threshold

random = np.random.default_rng(3)
SHARES = random.random((53, 5))


@pytest.mark.parametrize("planted", [0.13, 0.5, 0.71])
@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1", "exact"])
def test_a_planted_threshold_is_found_again(planted: float, metric: str) -> None:
    true = planted < SHARES
    found = best_threshold(SHARES, true, metric)
    assert ((found < SHARES) == true).all()


def test_of_equally_good_ones_the_nearest_to_a_half_is_taken() -> None:
    shares = np.array([[0.1, 0.9], [0.9, 0.1], [0.05, 0.05]])
    assert best_threshold(shares, shares > 0.3, "micro_f1") == 0.5
    assert best_threshold(np.array([[0.1], [0.7], [0.8]]), np.array([[False], [False], [True]]), "exact") == 0.7


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1", "exact"])
def test_no_candidate_is_better(metric: str) -> None:
    true = random.random((53, 5)) < SHARES
    weights = np.ones(53, dtype=int)
    worth = {
        threshold: LABEL_METRICS[metric].of(score_classes("abcde", true, threshold < SHARES), weights)
        for threshold in CANDIDATES
    }
    assert worth[best_threshold(SHARES, true, metric)] == max(worth.values()) > worth[0.5] - 1e-12
