"""How good the answers are."""

import random
from pathlib import Path

import numpy as np
import pytest

from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.training.metric import (
    LABEL_METRICS,
    METRICS,
    NUMBER_METRICS,
    LabelScores,
    NumberScores,
    collect_numbers,
    count_labels,
    pearson,
    rmse,
    shown,
    spearman,
)

Pair = tuple[dict[str, tuple[str, ...]], dict[str, tuple[str | None, ...]]]


def pair(answered: str, true: str) -> Pair:
    """Labels of one column, each a letter; ? stands for a label that is not known."""
    return {"upos": tuple(answered)}, {"upos": tuple(None if label == "?" else label for label in true)}


PAIRS = [pair("AAB", "ABB"), pair("A", "A"), pair("CCB", "CAA"), pair("", ""), pair("BB", "?B")]


def test_counts_are_as_by_hand() -> None:
    counts = count_labels(PAIRS).columns["upos"]
    # Eight labels are known: A answered A A B C, standing A A A A; B three times; C once.
    assert dict(counts.gold) == {"A": 4, "B": 3, "C": 1}
    assert dict(counts.predicted) == {"A": 3, "B": 3, "C": 2}
    assert {label: count for label, count in counts.right.items() if count} == {"A": 2, "B": 2, "C": 1}
    assert counts.accuracy == 5 / 8


def test_the_table_of_labels_is_as_by_hand() -> None:
    table = count_labels(PAIRS).columns["upos"].table()
    assert [(label, gold) for label, gold, *_ in table] == [("A", 4), ("B", 3), ("C", 1)]
    wanted = [(2 / 3, 2 / 4, 4 / 7), (2 / 3, 2 / 3, 2 / 3), (1 / 2, 1, 2 / 3)]
    for (*_, precision, recall, both), (p, r, f) in zip(table, wanted, strict=True):
        assert (precision, recall, both) == pytest.approx((p, r, f))
        assert both == pytest.approx(2 * p * r / (p + r))


def test_a_label_never_answered_or_never_standing_has_no_hits() -> None:
    table = count_labels([pair("AA", "AB"), pair("C", "A")]).columns["upos"].table()
    assert table == [("A", 2, 1 / 2, 1 / 2, 1 / 2), ("B", 1, 0.0, 0.0, 0.0), ("C", 0, 0.0, 0.0, 0.0)]


def test_items_right_in_everything_are_counted() -> None:
    scores = count_labels(PAIRS)
    assert (scores.items, scores.right_items) == (5, 3)
    assert scores.values() == {"accuracy": 5 / 8, "exact": 3 / 5}


def test_counts_do_not_depend_on_order_or_grouping() -> None:
    draw = random.Random(7)
    pairs = [
        pair("".join(draw.choices("ABC", k=size)), "".join(draw.choices("ABC?", k=size)))
        for size in (draw.randrange(7) for _ in range(101))
    ]
    whole = count_labels(pairs)
    for _ in range(7):
        draw.shuffle(pairs)
        assert count_labels(pairs) == whole
        cut = draw.randrange(len(pairs))
        parts = [count_labels(part) for part in (pairs[:cut], pairs[cut:]) if part]
        for kind in ("gold", "predicted", "right"):
            totals = [getattr(part.columns["upos"], kind) for part in parts]
            assert sum(totals[1:], totals[0]) == +getattr(whole.columns["upos"], kind)
        assert sum(part.right_items for part in parts) == whole.right_items


def test_ignored_labels_do_not_count() -> None:
    scores = count_labels([pair("AB", "A_"), pair("_", "_")], ignore=["_"])
    assert scores.values() == {"accuracy": 1.0, "exact": 1.0}
    assert dict(scores.columns["upos"].gold) == {"A": 1}


def test_of_several_columns_the_mean_counts() -> None:
    answered = {"upos": ("A", "B"), "xpos": ("x", "y")}
    true = {"upos": ("A", "B"), "xpos": ("x", "z")}
    assert count_labels([(answered, true)]).values() == {
        "accuracy": 3 / 4,
        "exact": 0.0,
        "accuracy upos": 1.0,
        "accuracy xpos": 1 / 2,
    }


def test_nothing_scores_zero() -> None:
    for whole, names in LABEL_METRICS.items():
        nothing = dict.fromkeys(names, 0.0)
        assert LabelScores(whole=whole).values() == count_labels([], whole=whole).values() == nothing
    assert NumberScores().values() == collect_numbers([]).values() == dict.fromkeys(NUMBER_METRICS, 0.0)


def test_a_label_unseen_in_training_counts_as_missed(cases: Path) -> None:
    train, dev = (
        next(iter(Columns(None, ()).examples(read_lines(cases / name), name)))
        for name in ("b24_train.conll", "b24_dev.conll")
    )
    assert isinstance(train, Example) and isinstance(dev, Example)
    known = set(train.labels["-1"])
    assert "B-LOC" in dev.labels["-1"] and "B-LOC" not in known
    counts = count_labels([({"-1": ("B-PER", "O")}, dev.labels)]).columns["-1"]
    assert counts.accuracy == 1 / 2
    assert ("B-LOC", 1, 0.0, 0.0, 0.0) in counts.table()


def test_as_many_answers_as_labels_are_wanted() -> None:
    with pytest.raises(ValueError, match="zip"):
        count_labels([pair("A", "AB")])


# Of the whole

WHOLE = [pair(answered, true) for answered, true in ("AA", "AA", "BA", "AB", "BB", "AC")]


def test_macro_f1_is_as_by_hand() -> None:
    scores = count_labels(WHOLE, whole=True)
    # A: 2 right of 4 answered and 3 true, F1 4/7; B: 1 of 2 and 2, F1 1/2; C: 0.
    assert list(scores.values()) == ["accuracy", "macro_f1"]
    assert scores.values() == pytest.approx({"accuracy": 1 / 2, "macro_f1": (4 / 7 + 1 / 2 + 0) / 3})


def test_a_class_that_is_only_answered_costs_recall_and_has_no_f1_of_its_own() -> None:
    scores = count_labels([pair("A", "A"), pair("C", "A")], whole=True)
    assert scores.values() == pytest.approx({"accuracy": 1 / 2, "macro_f1": 2 / 3})


def test_what_was_answered_for_what_is_counted() -> None:
    pairs = count_labels(WHOLE, whole=True).columns["upos"].pairs
    assert dict(pairs) == {("A", "A"): 2, ("A", "B"): 1, ("B", "A"): 1, ("B", "B"): 1, ("C", "A"): 1}
    counts = count_labels(PAIRS).columns["upos"]
    for label in "ABC":
        assert sum(count for (gold, _), count in counts.pairs.items() if gold == label) == counts.gold[label]
        assert sum(count for (_, answer), count in counts.pairs.items() if answer == label) == counts.predicted[label]
        assert counts.pairs[label, label] == counts.right[label]


# Of numbers


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


def test_ignored_and_unknown_labels_part_no_spans_and_make_none() -> None:
    def found(gold: list[str | None], answered: list[str]) -> float:
        scores = count_labels([({"a": tuple(answered)}, {"a": tuple(gold)})], ["_"], scheme="IOB2")
        return scores.values()["span_f1"]

    assert found(["_", "B-P"], ["B-P", "B-P"]) == 1
    assert found(["B-P", None], ["B-P", "I-P"]) == 1
    assert found(["B-P", None], ["O", "I-P"]) == 0


def test_the_error_is_as_by_hand() -> None:
    assert rmse(array(1, 2, 3), array(1, 4, 7)) == pytest.approx((20 / 3) ** 0.5)
    assert rmse(array(3), array(3)) == 0


def number_pair(answered: str, **true: str | None) -> Pair:
    return dict.fromkeys(true, (answered,)), {column: (value,) for column, value in true.items()}


def test_numbers_that_are_unknown_or_ignored_do_not_count() -> None:
    pairs = [number_pair("1", y="1"), number_pair("9", y=None), number_pair("9", y="NA"), number_pair("2", y="4")]
    scores = collect_numbers(pairs, ["NA"])
    assert scores.items == 4 and scores.columns == {"y": [(1.0, 1.0), (2.0, 4.0)]}
    assert scores.values() == pytest.approx({"pearson": 1.0, "spearman": 1.0, "rmse": 2**0.5})


def test_of_several_columns_of_numbers_the_mean_counts() -> None:
    scores = collect_numbers([number_pair("1", x="1", y="2"), number_pair("2", x="2", y="1")])
    assert scores.values() == pytest.approx({"pearson": 0.0, "spearman": 0.0, "rmse": (0 + 1) / 2}, abs=1e-12)


# As people read them


def test_shares_are_shown_in_percent_and_others_as_they_are() -> None:
    assert [shown(name, 0.5) for name in ("accuracy", "exact", "macro_f1", "accuracy upos")] == ["50.00%"] * 4
    assert [shown(name, -0.5) for name in NUMBER_METRICS] == ["-0.5000"] * 3


def test_less_is_better_of_errors_only() -> None:
    assert [name for name, metric in METRICS.items() if metric.sign < 0] == ["rmse"]
