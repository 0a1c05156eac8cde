"""How good answered labels are."""

import random
from pathlib import Path

import numpy as np
import pytest

from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.training.label_metric import LabelScores, Marks, Tally, count_classes, count_labels, score_classes

Pair = tuple[dict[str, tuple[str, ...]], dict[str, tuple[str | None, ...]]]


def pair(answered: str, true: str) -> Pair:
    """Labels of one column, each a letter; ? stands for a label that is not known."""
    return {"upos": tuple(answered)}, {"upos": tuple(None if label == "?" else label for label in true)}


def marks_of(tally: Tally) -> tuple[Marks, Marks, Marks]:
    return tally.gold, tally.predicted, tally.right


PAIRS = [pair("AAB", "ABB"), pair("A", "A"), pair("CCB", "CAA"), pair("", ""), pair("BB", "?B")]


def test_counts_are_as_by_hand() -> None:
    counts = count_labels(PAIRS).columns["upos"].labels
    # Eight labels are known: A answered A A B C, standing A A A A; B three times; C once.
    assert counts.gold.counts() == {"A": 4, "B": 3, "C": 1}
    assert counts.predicted.counts() == {"A": 3, "B": 3, "C": 2}
    assert counts.right.counts() == {"A": 2, "B": 2, "C": 1}
    assert counts.recall() == 5 / 8


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
    assert (scores.items, scores.right.tolist()) == (5, [0, 1, 0, 1, 1])
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
        again = count_labels(pairs)
        assert again.values() == whole.values() and again.columns["upos"].table() == whole.columns["upos"].table()
        cut = draw.randrange(len(pairs))
        parts = [count_labels(part) for part in (pairs[:cut], pairs[cut:]) if part]
        for kind in ("gold", "predicted", "right"):
            totals = [getattr(part.columns["upos"].labels, kind).counts() for part in parts]
            assert sum(totals[1:], totals[0]) == getattr(whole.columns["upos"].labels, kind).counts()
        assert sum(part.right.sum() for part in parts) == whole.right.sum()


def test_ignored_labels_do_not_count() -> None:
    scores = count_labels([pair("AB", "A_"), pair("_", "_")], ignore=["_"])
    assert scores.values() == {"accuracy": 1.0, "exact": 1.0}
    assert scores.columns["upos"].labels.gold.counts() == {"A": 1}


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
    for whole, names in ((False, ("accuracy", "exact")), (True, ("accuracy", "macro_f1"))):
        nothing = dict.fromkeys(names, 0.0)
        assert LabelScores(whole=whole).values() == count_labels([], whole=whole).values() == nothing


def test_a_label_unseen_in_training_counts_as_missed(cases: Path) -> None:
    train, dev = (
        next(iter(Columns(None, ()).examples(read_lines(cases / name), name)))
        for name in ("b24_train.conll", "b24_dev.conll")
    )
    assert isinstance(train, Example) and isinstance(dev, Example)
    known = set(train.labels["-1"])
    assert "B-LOC" in dev.labels["-1"] and "B-LOC" not in known
    counts = count_labels([({"-1": ("B-PER", "O")}, dev.labels)]).columns["-1"]
    assert counts.labels.recall() == 1 / 2
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
        gold, predicted, right = (marks.counts()[label] for marks in marks_of(counts.labels))
        assert sum(count for (true, _), count in counts.pairs.items() if true == label) == gold
        assert sum(count for (_, answer), count in counts.pairs.items() if answer == label) == predicted
        assert counts.pairs[label, label] == right


def test_ignored_and_unknown_labels_part_no_spans_and_make_none() -> None:
    def found(gold: list[str | None], answered: list[str]) -> float:
        scores = count_labels([({"a": tuple(answered)}, {"a": tuple(gold)})], ["_"], scheme="IOB2")
        return scores.values()["span_f1"]

    assert found(["_", "B-P"], ["B-P", "B-P"]) == 1
    assert found(["B-P", None], ["B-P", "I-P"]) == 1
    assert found(["B-P", None], ["O", "I-P"]) == 0


# Several classes

CELLS = [("A|B", "A"), ("", ""), ("C", "B|A"), ("A|B", "B|A"), ("C", None)]


def several(cells: list[tuple[str, str | None]] = CELLS) -> LabelScores:
    return count_classes([({"y": (answered,)}, {"y": (true,)}) for answered, true in cells], "|")


def test_the_scores_of_several_classes_are_as_by_hand() -> None:
    # Of four known cells two are wholly right. Standing are A A A B B, answered A A B B C, right A A B.
    # A: 2 of 3 and 2, F1 4/5; B: 1 of 2 and 2, F1 1/2; C stands nowhere and has none of its own.
    assert several().values() == pytest.approx(
        {"micro_f1": 2 * 3 / 10, "macro_f1": (4 / 5 + 1 / 2) / 2, "exact": 2 / 4}
    )


def test_of_one_class_for_each_item_micro_f1_is_the_accuracy() -> None:
    pairs = [({"y": (answered,)}, {"y": (true,)}) for answered, true in ("AA", "AB", "BB", "CA", "AA")]
    one = count_labels(pairs, whole=True)
    assert count_classes(pairs, "|").values()["micro_f1"] == one.values()["accuracy"] == 3 / 5
    assert count_classes(pairs, "|").values()["macro_f1"] == one.values()["macro_f1"]


def test_the_order_of_classes_in_a_cell_does_not_matter() -> None:
    assert several([("B|A", "A|B")]).values() == {"micro_f1": 1, "macro_f1": 1, "exact": 1}


def test_tables_of_classes_count_as_cells_do() -> None:
    draw, names = random.Random(5), list("ABCDE")
    rows = [[[draw.random() < 0.4 for _ in names] for _ in range(97)] for _ in range(2)]
    as_cells = (
        ["|".join(name for name, there in zip(names, row, strict=True) if there) for row in part] for part in rows
    )
    gold, answered = (np.array(part) for part in rows)
    counted = count_classes([({"y": (a,)}, {"y": (g,)}) for g, a in zip(*as_cells, strict=True)], "|")
    assert score_classes(names, gold, answered).values() == pytest.approx(counted.values())


def test_where_nothing_stands_and_nothing_is_answered_there_is_no_f1_but_all_is_right() -> None:
    assert several([("", ""), ("", "")]).values() == {"micro_f1": 0, "macro_f1": 0, "exact": 1}
    assert count_classes([], "|").values() == {"micro_f1": 0, "macro_f1": 0, "exact": 0}
