"""How good answered numbers are."""

import numpy as np
import pytest

from regard.training.number_metric import NUMBER_METRICS, NumberScores, collect_numbers, pearson, rmse, spearman

Pair = tuple[dict[str, tuple[str, ...]], dict[str, tuple[str | None, ...]]]


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_the_correlation_is_as_by_hand() -> None:
    # Deviations -1.5 -0.5 0.5 1.5 and -1 1 -2 2: their products sum to 3, their squares to 5 and 10.
    assert pearson(array(1, 2, 3, 4), array(2, 4, 1, 5)) == pytest.approx(3 / 50**0.5)
    assert pearson(array(1, 2, 3), array(-2, -4, -6)) == pytest.approx(-1)
    assert pearson(array(1, 2, 3), array(1e6 + 0.1, 1e6 + 0.2, 1e6 + 0.3)) == pytest.approx(1)


def test_equal_numbers_share_the_mean_of_their_ranks() -> None:
    # Ranks 1, 2.5, 2.5, 4 and 3, 3, 3, 1: deviations -1.5 0 0 1.5 and 0.5 0.5 0.5 -1.5.
    assert spearman(array(-7, 0.5, 0.5, 99), array(3, 3, 3, 1)) == pytest.approx(-3 / (4.5 * 3) ** 0.5)
    assert spearman(array(1, 2, 3, 4), array(1, 10, 100, 1000)) == pytest.approx(1)
    assert spearman(array(1, 1, 1, 2), array(5, 5, 5, 6)) == pytest.approx(1)
    # Without ties: 1 - 6 Σd² / (n (n² - 1)), d = -1, 1, 0, -1, 1.
    assert spearman(array(1, 2, 3, 4, 5), array(20, 10, 30, 60, 31)) == pytest.approx(1 - 6 * 4 / 120)


@pytest.mark.parametrize("measure", [pearson, spearman])
def test_what_does_not_vary_correlates_with_nothing(measure) -> None:
    for one, other in [(array(2, 2, 2), array(1, 2, 3)), (array(1, 2, 3), array(5, 5, 5)), (array(7), array(7))]:
        assert measure(one, other) == 0


def test_constants_that_are_no_binary_fractions_correlate_with_nothing() -> None:
    assert pearson(array(0.1, 0.1, 0.1), array(0.1, 0.1, 0.1)) == 0


def test_neither_tiny_nor_huge_numbers_spoil_the_correlation() -> None:
    for size in (1e-200, 1e-100, 1e200):
        assert pearson(array(0, size), array(1, 2)) == pytest.approx(1)
        assert pearson(array(size, 3 * size, 2 * size), array(1, 3, 2)) == pytest.approx(1)


def test_the_error_is_as_by_hand() -> None:
    assert rmse(array(1, 2, 3), array(1, 4, 7)) == pytest.approx((20 / 3) ** 0.5)
    assert rmse(array(3), array(3)) == 0


def number_pair(answered: str, **true: str | None) -> Pair:
    return dict.fromkeys(true, (answered,)), {column: (value,) for column, value in true.items()}


def pairs_of(scores: NumberScores, column: str) -> list[tuple[float, ...]]:
    """(item, answered, true)"""
    found = scores.columns[column]
    return list(zip(found.items.tolist(), found.answered.tolist(), found.true.tolist(), strict=True))


def test_nothing_scores_zero() -> None:
    assert NumberScores().values() == collect_numbers([]).values() == dict.fromkeys(NUMBER_METRICS, 0.0)


def test_numbers_that_are_unknown_or_ignored_do_not_count() -> None:
    pairs = [number_pair("1", y="1"), number_pair("9", y=None), number_pair("9", y="NA"), number_pair("2", y="4")]
    scores = collect_numbers(pairs, ["NA"])
    assert scores.items == 4 and pairs_of(scores, "y") == [(0, 1.0, 1.0), (3, 2.0, 4.0)]
    assert scores.values() == pytest.approx({"pearson": 1.0, "spearman": 1.0, "rmse": 2**0.5})


def test_of_several_columns_of_numbers_the_mean_counts() -> None:
    scores = collect_numbers([number_pair("1", x="1", y="2"), number_pair("2", x="2", y="1")])
    assert scores.values() == pytest.approx({"pearson": 0.0, "spearman": 0.0, "rmse": (0 + 1) / 2}, abs=1e-12)
