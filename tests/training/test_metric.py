"""How good the answers are."""

import random
from pathlib import Path

import pytest

from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.training.metric import METRICS, LabelScores, count_labels

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
    assert LabelScores().values() == count_labels([]).values() == dict.fromkeys(METRICS, 0.0)


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
