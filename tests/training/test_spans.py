"""Spans are read strictly, by the scheme that is named."""

import json

import pytest
import small

import regard
from regard.data.labels import spans
from regard.training.metric import count_labels


@pytest.mark.parametrize(
    ("scheme", "labels", "wanted"),
    [
        ("IOB2", "O B-P I-P O B-L", {(1, 3, "P"), (4, 5, "L")}),
        ("IOB2", "B-P B-P I-L I-P", {(0, 1, "P"), (1, 2, "P")}),
        ("IOB2", "I-P I-P", set()),
        ("IOBES", "S-P B-L I-L E-L O", {(0, 1, "P"), (1, 4, "L")}),
        ("IOBES", "B-L I-L O E-L", set()),
        ("IOBES", "B-L I-P E-L", set()),
        ("IOBES", "B-L B-L E-L", {(1, 3, "L")}),
        ("BMES", "B-N M-N E-N S-N", {(0, 3, "N"), (3, 4, "N")}),
        ("BMES", "B E S", {(0, 2, ""), (2, 3, "")}),
        ("BMES", "B-N M-N", set()),
    ],
)
def test_spans_are_what_the_scheme_says_and_nothing_else(scheme, labels, wanted):
    assert spans(labels.split(" "), scheme) == wanted


def scored(gold, answered, scheme):
    pairs = [({"ner": tuple(a)}, {"ner": tuple(g)}) for g, a in zip(gold, answered, strict=True)]
    return count_labels(pairs, scheme=scheme)


def test_the_case_that_other_scorers_take_for_right(cases):
    case = json.loads((cases / "b51_iob.json").read_text())
    assert scored(case["gold"], case["pred"], "IOB2").values()["span_f1"] == case["iob2_strict_f1"] == 0
    counts = scored(case["gold2"], case["pred2"], "IOBES").columns["ner"].spans
    right = case["iobes_right"]
    assert counts.right.total() == right["tp"] and counts.gold.total() == right["gold"] and counts.f1() == right["f1"]
    # The stranger's count of one answered span takes B I I E for one; so do we.
    assert counts.predicted.total() == right["pred"]


def test_f1_is_twice_the_right_ones_over_all():
    scores = scored([["B-P", "I-P", "O", "B-L"]], [["B-P", "I-P", "B-L", "B-L"]], "IOB2")
    assert scores.values()["span_f1"] == pytest.approx(2 * 2 / (2 + 3))


def test_without_a_scheme_no_spans_are_scored():
    assert "span_f1" not in scored([["B-P"]], [["B-P"]], "none").values()


def test_spans_are_scored_and_chosen_by_where_each_label_is_answered_alone(tmp_path):
    pairs = [(["in", "new", "york"], ["O", "B-P", "I-P"]), (["john", "sleeps"], ["B-N", "O"])] * 40
    given = small.recipe(output={"scheme": "IOB2"}, train={"metric": "span_f1", "epochs": 6})
    run = regard.train(given, run=tmp_path / "run", data={"train": pairs, "dev": pairs[:9]})
    assert run.evaluate(pairs).values["span_f1"] > 0.9
    assert run.evaluate([(["in"], ["B-P"])]).values["span_f1"] == 0
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    scores = [row["scores"]["span_f1"] for row in rows]
    assert [row["best"] for row in rows] == [one > max(scores[:place], default=-1) for place, one in enumerate(scores)]
