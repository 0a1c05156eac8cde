"""What is reached without a network."""

from regard.data.example import Example
from regard.training.floor import FLOORS, each_word_alone, floors, most_frequent


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
    found = floors(TRAIN, test, ["upos"], ["_"])
    assert list(found) == list(FLOORS)
    most, alone = found.values()
    assert most.values() == {"accuracy": 1 / 5, "exact": 1 / 2}
    assert alone.values() == {"accuracy": 4 / 5, "exact": 1 / 2}
