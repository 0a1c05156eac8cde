"""Runs that cannot be compared are refused by name."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.comparison.fitting import COUNTED_BY, check_enough, check_items, check_runs, names_of
from regard.data.example import Example, Place
from regard.errors import DataError, RegardError
from regard.recipe import recipe_from

NAMES = ("one", "other")


def run(columns=("upos",), folder="runs/one", **sections):
    """What is asked of a run: its recipe, its columns and where it lies."""
    recipe = recipe_from({"data": {"train": "train.conllu", **sections.pop("data", {})}, **sections})
    return SimpleNamespace(
        recipe=recipe, predictor=SimpleNamespace(targets=dict.fromkeys(columns)), folder=Path(folder)
    )


# For each setting by which answers are counted, a run that has another value than the plain one, and the words.
OTHERS = {
    "task.kind": (run(task={"kind": "regress"}), "task.kind is label in one and regress in other"),
    "data.separator": (
        run(task={"kind": "classify"}, data={"separator": "|"}),
        "data.separator is not given in one and | in other",
    ),
    "data.ignore": (run(data={"ignore": ["X", "Y"]}), "data.ignore is not given in one and X, Y in other"),
    "data.several_right": (
        run(task={"kind": "seq2seq"}, input={"tokens": "characters"}, data={"several_right": True}),
        "data.several_right is False in one and True in other",
    ),
    "output.scheme": (run(output={"scheme": "BIO"}), "output.scheme is none in one and IOB2 in other"),
    "output.bleu_tokens": (
        run(task={"kind": "seq2seq"}, input={"tokens": "characters"}, output={"bleu_tokens": "zh"}),
        "output.bleu_tokens is 13a in one and zh in other",
    ),
}


@pytest.mark.parametrize("setting", COUNTED_BY)
def test_runs_that_count_answers_in_another_way_are_refused(setting):
    other, words = OTHERS[setting]
    kind = {} if setting == "task.kind" else {"task": {"kind": other.recipe.task.kind}}
    inputs = {"input": {"tokens": "characters"}} if other.recipe.task.kind == "seq2seq" and kind else {}
    with pytest.raises(RegardError) as raised:
        check_runs(run(**kind, **inputs), other, NAMES)
    assert str(raised.value) == f"{words}: their scores are not of the same thing; compare runs that agree"


def test_labels_may_be_ignored_in_any_order_but_must_be_the_same():
    one = run(data={"ignore": ["X", "Y"]})
    assert check_runs(one, run(data={"ignore": ["Y", "X"]}), NAMES) is None
    with pytest.raises(RegardError, match=r"data\.ignore"):
        check_runs(one, run(data={"ignore": ["Y"]}), NAMES)


def test_other_target_columns_are_refused():
    with pytest.raises(RegardError) as raised:
        check_runs(run(("upos", "feats")), run(("label",)), NAMES)
    assert str(raised.value) == (
        "one answers feats, upos and other answers label; only runs with the same target columns can be compared"
    )


def item(words="a b", labels="XY", line=3, **more):
    return Example(tuple(words.split()), {"upos": tuple(labels)}, Place("test", line), **more)


def test_data_that_is_read_as_other_items_is_refused():
    with pytest.raises(DataError) as raised:
        check_items([item()] * 3, [item()] * 2, NAMES, "test")
    assert str(raised.value) == (
        "test is read as 3 items by one and 2 items by other; the runs' [data] and [input] settings must read it alike"
    )
    for changed in (item(labels="XX"), item("a c"), item("a", "X", whole=True)):
        with pytest.raises(DataError, match="test:3: one and other do not read the same answers there"):
            check_items([item(line=1), item()], [item(line=1), changed], NAMES, "test")


def test_a_whole_text_may_be_parted_into_words_in_two_ways():
    one = item("a b", "X", whole=True)
    check_items([one], [replace(one, words=("a b",))], NAMES, "test")
    with pytest.raises(DataError, match="do not read the same answers"):
        check_items([one], [replace(one, others=("Z",))], NAMES, "test")


def test_too_little_to_draw_from_is_refused():
    check_enough(2, "test")
    for items, count in ((0, "no item"), (1, "one item")):
        with pytest.raises(DataError) as raised:
            check_enough(items, "test")
        assert str(raised.value) == f"test has {count} with an answer; whether runs differ can be told of two or more"


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (("runs/a", "runs/b"), ("a", "b")),
        (("runs/a", "old/a"), ("runs/a", "old/a")),
        (("runs/a/best", "runs/b/best"), ("a/best", "b/best")),
        (("runs/a/best", "runs/b"), ("a/best", "runs/b")),
        (("runs/a", "runs/a"), ("a (first)", "a (second)")),
        (("best", "last"), ("best (first)", "last (second)")),
    ],
)
def test_names_tell_the_runs_apart(folders, names):
    assert names_of(*(run(folder=folder) for folder in folders)) == names
