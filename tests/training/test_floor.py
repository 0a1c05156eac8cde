"""What is reached without a network."""

import pytest

from regard.data.example import Example
from regard.training.floor import (
    FLOORS,
    WHOLE_FLOORS,
    class_floors,
    each_word_alone,
    label_floors,
    most_frequent,
    number_floors,
)


def example(words: str, *labels: str | None) -> Example:
    return Example(tuple(words.split()), {"upos": labels})


TRAIN = [
    example("I saw a saw", "PRON", "VERB", "DET", "NOUN"),
    example("a saw a saw", "DET", "NOUN", "DET", "NOUN"),
    example("odd odder", "ADJ", "ADJ"),
    example("saw saw", None, "_"),
]


def test_the_most_frequent_label_is_answered_whatever_the_word() -> None:
    look_up = most_frequent(TRAIN, "upos", ["_"])
    # DET and NOUN stand three times each; the alphabet decides.
    assert {look_up(word) for word in ("I", "saw", "new", "")} == {"DET"}


def test_each_word_has_its_most_frequent_label() -> None:
    look_up = each_word_alone(TRAIN, "upos", ["_"])
    assert [look_up(word) for word in ("I", "saw", "a", "odd")] == ["PRON", "NOUN", "DET", "ADJ"]


def test_a_new_word_has_the_label_of_words_seen_once() -> None:
    # Seen once: I (PRON), odd and odder (ADJ).
    assert each_word_alone(TRAIN, "upos", ["_"])("new") == "ADJ"


def test_where_no_word_was_seen_once_a_new_word_has_the_most_frequent_label() -> None:
    train = [example("a a b b b", "X", "X", "Y", "Y", "Y")]
    assert each_word_alone(train, "upos", [])("new") == "Y"


def test_equally_frequent_labels_are_chosen_by_the_alphabet_and_not_by_order() -> None:
    for labels in (("B", "A"), ("A", "B")):
        train = [example("w w", *labels)]
        assert most_frequent(train, "upos", [])("w") == each_word_alone(train, "upos", [])("w") == "A"


def test_floors_are_as_by_hand() -> None:
    test = [example("I saw a new saw", "PRON", "VERB", "DET", "ADJ", "NOUN"), example("a", "_")]
    found = label_floors(TRAIN, test, ["upos"], ["_"])
    assert list(found) == list(FLOORS)
    most, alone = found.values()
    assert most.values() == {"accuracy": 1 / 5, "exact": 1 / 2}
    assert alone.values() == {"accuracy": 4 / 5, "exact": 1 / 2}


# Of the whole


def whole(text: str, **target: str | None) -> Example:
    return Example(tuple(text.split()), {column: (value,) for column, value in target.items()}, whole=True)


def test_the_whole_is_answered_with_the_most_frequent_class_and_no_word_alone() -> None:
    train = [whole("good", y="B"), whole("bad", y="A"), whole("bad", y="A"), whole("bad", y="_"), whole("bad", y="_")]
    found = label_floors(train, [whole("good", y="B"), whole("", y="A"), whole("x", y="A")], ["y"], ["_"])
    assert list(found)[: len(WHOLE_FLOORS)] == list(WHOLE_FLOORS) and "each word alone" not in " ".join(found)
    scores = found["most frequent label"]
    # A: precision 2/3, recall 1, F1 4/5; B: 0.
    assert scores.items == 3 and scores.values() == pytest.approx({"accuracy": 2 / 3, "macro_f1": 2 / 5})


def test_of_several_classes_the_most_frequent_cell_and_each_class_by_its_words() -> None:
    cells = {"red car": "colour", "red box": "colour", "big car": "size", "big red sea": "colour|size", "the sea": ""}
    train = [whole(text, y=cell) for text, cell in cells.items() for _ in range(7)]
    train += [whole("blue box", y="colour")] * 2 + [whole("red", y=None)]
    found = class_floors(train, [whole("big red box", y="colour|size"), whole("the car", y="")], ["y"], "|")
    most, linear = found.values()
    # Answered colour twice, where colour and size stand once.
    assert most.values() == pytest.approx({"micro_f1": 2 / 4, "macro_f1": (2 / 3 + 0) / 2, "exact": 0})
    assert linear.values() == {"micro_f1": 1, "macro_f1": 1, "exact": 1}


def test_the_floor_of_numbers_is_the_mean_of_train_on_each_column() -> None:
    train = [whole("a", x="1", y="-10"), whole("b", x="2", y="_"), whole("c", x="6", y="10"), whole("c", x="3", y="9")]
    test = [whole("", x="3", y="0"), whole("", x="7", y="_")]
    scores = number_floors(train, test, ["x", "y"], ["_"])["mean of train"]
    assert scores.items == 2
    x, y = scores.columns["x"], scores.columns["y"]
    assert (x.answered.tolist(), x.true.tolist()) == ([3.0, 3.0], [3.0, 7.0])
    assert (y.items.tolist(), y.answered.tolist(), y.true.tolist()) == ([0], [3.0], [0.0])
    # sqrt((0 + 16) / 2) and 3; a constant tells nothing of what is above and what below.
    assert scores.values() == pytest.approx({"pearson": 0.0, "spearman": 0.0, "rmse": (8**0.5 + 3) / 2})
