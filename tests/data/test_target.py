"""Targets: text in files ↔ numbers in the network."""

import json
import math
import random
from typing import Any

import numpy as np
import pytest

from regard.data.batching import IGNORED
from regard.data.example import Example, Place
from regard.data.labels import Labels
from regard.data.target import Classes, Numbers, number, parted, target_from
from regard.errors import DataError


def examples(*values: str | None) -> list[Example]:
    return [
        Example(("a",), {"y": (value,)}, Place("train.tsv", line), whole=True) for line, value in enumerate(values, 2)
    ]


def learnt(*values: str | None, ignore: tuple[str, ...] = ()) -> Numbers:
    return Numbers.of(examples(*values), "y", ignore)


def test_mean_and_spread_are_as_by_hand() -> None:
    # Around 3: -2, -1, 1, 2; their squares have the mean 10 / 4.
    found = learnt("1", "2.0", " 4", "5e0")
    assert (found.mean, found.deviation) == pytest.approx((3, 2.5**0.5))
    draw = random.Random(3)
    numbers = [draw.gauss(-7, 31) for _ in range(997)]
    found = learnt(*map(repr, numbers))
    assert (found.mean, found.deviation) == pytest.approx((np.mean(numbers), np.std(numbers)))


def test_the_network_sees_numbers_with_mean_0_and_spread_1() -> None:
    values = ("1", "2", "4", "5")
    seen = np.array(learnt(*values).encode(values))
    assert (seen.mean(), seen.std()) == pytest.approx((0, 1))


def test_unknown_and_ignored_numbers_do_not_count() -> None:
    found = learnt("1", None, "NA", "3", ignore=("NA",))
    assert (found.mean, found.deviation) == pytest.approx((2, 1))
    assert found.encode(["3"]) == pytest.approx((1,)) and math.isnan(found.encode([None])[0])


def test_an_ignored_value_is_seen_as_unknown() -> None:
    assert math.isnan(learnt("1", "NA", "3", ignore=("NA",)).encode(["NA"])[0])


@pytest.mark.parametrize("value", ["two", "", "1,5"])
def test_the_network_sees_what_is_no_number_as_unknown(value: str) -> None:
    """Files are checked where they are read, with their lines."""
    one, other = learnt("1", "3").encode([value, "3"])
    assert math.isnan(one) and other == pytest.approx(1)


def test_where_all_numbers_are_equal_the_mean_is_answered() -> None:
    found = learnt("2.5", "2.5", "2.5")
    assert (found.mean, found.deviation) == (2.5, 1.0)
    assert found.encode(["2.5"]) == (0.0,) and float(found.decode(0.0)) == 2.5


def test_where_all_numbers_are_equal_and_no_binary_fractions_the_spread_is_1() -> None:
    for value in ("0.1", "-1e-9", "123456.7", "1e100"):
        assert learnt(*[value] * 3).deviation == learnt(*[value] * 7).deviation == 1.0


def test_one_number_is_enough() -> None:
    assert float(learnt("7").decode(0.0)) == 7


@pytest.mark.parametrize("value", ["", "two", "1,5", "1 2", "nan", "NaN", "inf", "-Infinity", "1e999", "None", "0x10"])
def test_what_is_no_finite_number_is_named_with_its_place(value: str) -> None:
    with pytest.raises(DataError) as raised:
        learnt("1", value, "3")
    assert str(raised.value) == f"train.tsv:3: the target {value!r} is not a number"
    with pytest.raises(DataError, match=r"^here: the target "):
        number(value, "here")


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("-1.5", -1.5), (" 2 ", 2), ("1e3", 1000), (".5", 0.5), ("+7", 7)]
)
def test_numbers_are_read_as_people_write_them(text: str, value: float) -> None:
    assert number(text, "here") == value


def test_a_column_without_numbers_is_named() -> None:
    for values in ((None, None), ("NA", None), ()):
        with pytest.raises(DataError) as raised:
            learnt(*values, ignore=("NA",))
        assert str(raised.value) == "the column y holds no number to learn; is data.target the right column?"


def test_what_is_encoded_and_decoded_is_the_same_to_four_digits_of_the_spread() -> None:
    draw = random.Random(7)
    for scale in (1e-9, 1e-3, 1, 1e5, 1e12):
        numbers = [draw.gauss(draw.choice((-1, 0, 1)), 1) * scale for _ in range(97)]
        found = learnt(*map(repr, numbers))
        for value in numbers:
            back = float(found.decode(found.encode([repr(value)])[0]))
            assert back == pytest.approx(value, abs=0.51e-4 * found.deviation)


@pytest.mark.parametrize(
    ("mean", "deviation", "text"),
    [(2.5, 1, "2.5000"), (0, 0.03, "0.000000"), (0.1, 9.9, "0.1000"), (1e6, 2e4, "1000000"), (7, 1e9, "7")],
)
def test_as_many_digits_are_shown_as_matter_for_the_spread(mean: float, deviation: float, text: str) -> None:
    assert Numbers(mean, deviation).decode(0.0) == text


def test_numbers_far_from_0_that_lie_close_together_stay_apart() -> None:
    found = learnt("1700000000", "1700000060")
    values = ["1700000000.000", "1700000060.000"]
    assert [found.decode(one) for one in found.encode(values)] == values


def test_numbers_however_large_have_a_mean_and_a_spread() -> None:
    found = learnt("1e200", "3e200")
    assert (found.mean, found.deviation) == pytest.approx((2e200, 1e200))


def test_numbers_whose_spread_is_beyond_all_numbers_are_refused() -> None:
    with pytest.raises(DataError) as raised:
        learnt("1.7e308", "-1.7e308", "1.7e308")
    assert str(raised.value) == "the numbers of the column y are too large to be learnt; give them in another unit"


# Several classes


def test_a_cell_holds_each_class_once_and_an_empty_one_none() -> None:
    assert parted("b; a;b ;", ";") == ("a", "b") and parted("b, a", ", ") == ("a", "b")
    assert parted("", ";") == parted(" ; ", ";") == () and parted("a;b", "|") == ("a;b",)


def test_the_network_sees_for_each_class_whether_it_is_there() -> None:
    found = Classes.of(examples("b|a", "", None, "c"), "y", "|")
    assert found.names == ("a", "b", "c")
    assert found.encode(["c|a"]) == (1, 0, 1) and found.encode([""]) == (0, 0, 0)
    assert found.encode(["new|b"]) == (0, 1, 0) and found.encode([None]) == (IGNORED,) * 3


def test_the_classes_above_the_threshold_are_answered() -> None:
    found = Classes(["a", "b", "c"], " / ", 0.3)
    assert found.decode([0.31, 0.3, 0.9]) == "a / c" and found.decode([0, 0, 0]) == ""
    assert found.certainty([0.31, 0.3, 0.9]) == {"a": 0.31, "b": 0.3, "c": 0.9}


def test_what_is_encoded_is_decoded_to_the_same_cell() -> None:
    found = Classes(["a", "b", "c"], "|")
    for cell in ("", "a", "a|c", "a|b|c"):
        assert found.decode(found.encode([cell])) == cell


def test_a_column_without_any_class_is_refused() -> None:
    with pytest.raises(DataError, match=r"^the column y holds no class to learn; is data\.target the right column\?$"):
        Classes.of(examples("", None, "|"), "y", "|")


# Saved and damaged


def test_classes_survive_being_saved_with_their_threshold() -> None:
    found = Classes(["a", "\u0301", '"'], "; ", 0.37)
    back = target_from(json.loads(json.dumps(found.saved())), "here")
    assert isinstance(back, Classes)
    assert (back.names, back.separator, back.threshold) == (found.names, "; ", 0.37)


def test_numbers_survive_being_saved() -> None:
    found = learnt("0.1", "7", "-3e-5")
    back = target_from(json.loads(json.dumps(found.saved())), "here")
    assert isinstance(back, Numbers) and (back.mean, back.deviation) == (found.mean, found.deviation)


def test_labels_survive_being_saved() -> None:
    found = Labels(["a", "", "NA", "\u0301", '"'])
    back = target_from(json.loads(json.dumps(found.saved())), "here")
    assert isinstance(back, Labels) and back.names == found.names
    assert [back.decode(one) for one in back.encode(["NA", ""])] == ["NA", ""] and back.encode(["b"]) == (IGNORED,)


DAMAGED: list[tuple[Any, str]] = [
    (3, "it is no list of texts"),
    (None, "it is no list of texts"),
    ("ab", "it is no list of texts"),
    ([], "it is no list of texts"),
    (["a", 3], "it is no list of texts"),
    ({}, "'mean'"),
    ({"mean": 1.0}, "'deviation'"),
    ({"mean": "x", "deviation": 1.0}, "could not convert"),
    ({"mean": [1.0], "deviation": 1.0}, "float\\(\\) argument"),
    ({"mean": None, "deviation": 1.0}, "float\\(\\) argument"),
    ({"classes": [], "separator": "|", "threshold": 0.5}, "{'classes'"),
    ({"classes": ["a"], "separator": "", "threshold": 0.5}, "{'classes'"),
    ({"classes": ["a"], "separator": "|"}, "the threshold is None"),
    ({"classes": ["a"], "separator": "|", "threshold": 1.0}, "the threshold is 1.0"),
]


@pytest.mark.parametrize(("saved", "words"), DAMAGED)
def test_a_damaged_target_is_named(saved: Any, words: str) -> None:
    with pytest.raises(DataError, match=f"^labels.json, y, is damaged: {words}"):
        target_from(saved, "labels.json, y,")


@pytest.mark.parametrize("saved", [(math.nan, 1.0), (math.inf, 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, math.nan)])
def test_a_mean_or_a_spread_that_nothing_has_is_damaged(saved: tuple[float, float]) -> None:
    with pytest.raises(DataError, match=r"^here is damaged: "):
        target_from({"mean": saved[0], "deviation": saved[1]}, "here")
