"""Labels -> numbers, and which may follow which."""

import itertools

import pytest

from regard.build import learn_targets
from regard.data.batching import IGNORED
from regard.data.example import Example, Place
from regard.data.labels import SCHEMES, Labels, check_scheme, first_wrong
from regard.errors import DataError
from regard.recipe import recipe_from


def example(*labels: str | None) -> Example:
    return Example(("w",) * len(labels), {"ner": labels}, Place("a.tsv", 7))


def test_labels_are_known_in_the_order_of_the_alphabet() -> None:
    labels = Labels.of([example("O", "B-X"), example("B-A", "O", None)], "ner", ())
    assert labels.names == ("B-A", "B-X", "O") and len(labels) == 3
    assert labels.encode(["O", "B-A"]) == (2, 0)


def test_ignored_unseen_and_unknown_labels_are_not_learnt() -> None:
    labels = Labels.of([example("O", "_", "B-A")], "ner", ["_"])
    assert labels.names == ("B-A", "O")
    assert labels.encode(["_", "B-LOC", None, "O"]) == (IGNORED, IGNORED, IGNORED, 1)


def test_no_o_is_needed() -> None:
    assert Labels.of([example("B-DOC", "I-DOC")], "ner", ()).names == ("B-DOC", "I-DOC")


def test_a_column_without_labels_is_named() -> None:
    with pytest.raises(DataError) as raised:
        Labels.of([example("_", None)], "ner", ["_"])
    assert str(raised.value) == "the column ner holds no label to learn; is data.target the right column?"


# None stands for the beginning, and behind a label for the end.
FOLLOWS: dict[str, list[tuple[str | None, str | None, bool]]] = {
    "IOB2": [
        (None, "O", True),
        (None, "B-A", True),
        (None, "I-A", False),
        ("O", "I-A", False),
        ("O", "B-A", True),
        ("B-A", "I-A", True),
        ("I-A", "I-A", True),
        ("B-A", "I-B", False),
        ("I-A", "I-B", False),
        ("B-A", "B-A", True),
        ("I-A", "O", True),
        ("B-A-B", "I-A-B", True),
        ("B-A", "I-A-B", False),
        ("B-A", None, True),
        ("I-A", None, True),
        ("O", None, True),
    ],
    "IOBES": [
        (None, "O", True),
        (None, "S-A", True),
        (None, "B-A", True),
        (None, "I-A", False),
        (None, "E-A", False),
        ("B-A", "I-A", True),
        ("B-A", "E-A", True),
        ("B-A", "E-B", False),
        ("B-A", "O", False),
        ("B-A", "B-A", False),
        ("B-A", "S-A", False),
        ("I-A", "E-A", True),
        ("I-A", "I-B", False),
        ("I-A", "O", False),
        ("E-A", "O", True),
        ("E-A", "I-A", False),
        ("E-A", "B-A", True),
        ("S-A", "E-A", False),
        ("S-A", "S-A", True),
        ("O", "E-A", False),
        ("B-A", None, False),
        ("I-A", None, False),
        ("E-A", None, True),
        ("S-A", None, True),
        ("O", None, True),
    ],
}
FOLLOWS["BILOU"] = [
    (*(one and one.replace("E-", "L-").replace("S-", "U-") for one in (before, label)), may)
    for before, label, may in FOLLOWS["IOBES"]
]
FOLLOWS["BMES"] = [
    (before and before.replace("I-", "M-"), label and label.replace("I-", "M-"), may)
    for before, label, may in FOLLOWS["IOBES"]
    if "O" not in (before, label)
]


@pytest.mark.parametrize("scheme", FOLLOWS)
def test_a_scheme_says_which_label_may_follow_which(scheme: str) -> None:
    for before, label, may in FOLLOWS[scheme]:
        assert SCHEMES[scheme](before, label) is may, (before, label)


def test_bmes_without_kinds_is_for_parting_words() -> None:
    may = {before + label for before, label in itertools.product("BMES", repeat=2) if SCHEMES["BMES"](before, label)}
    assert may == {"BM", "BE", "MM", "ME", "EB", "ES", "SB", "SS"}
    assert {label for label in "BMES" if SCHEMES["BMES"](None, label)} == {"B", "S"}
    assert {label for label in "BMES" if SCHEMES["BMES"](label, None)} == {"E", "S"}


def test_no_scheme_allows_everything() -> None:
    assert all(SCHEMES["none"](before, label) for before in (None, "O", "B-B") for label in ("I-A", None))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_labels_that_follow_their_scheme_pass(scheme: str) -> None:
    right = {
        "none": [("I-A", "O", "anything")],
        "IOB2": [("B-A", "I-A", "B-A", "O", "B-B"), ()],
        "IOBES": [("B-A", "I-A", "E-A", "S-B", "O"), ()],
        "BMES": [("B", "M", "E", "S", "B", "E"), ()],
        "BILOU": [("B-A", "I-A", "L-A", "U-B", "O"), ()],
    }[scheme]
    assert all(first_wrong(labels, scheme) is None for labels in right)
    check_scheme([example(*labels) for labels in right], "ner", scheme)


@pytest.mark.parametrize(
    ("scheme", "labels", "words"),
    [
        ("IOB2", ("O", "I-A"), "word 2: I-A after O"),
        ("IOB2", ("I-A",), "word 1: I-A at the beginning"),
        ("IOBES", ("B-A", "I-A", "O"), "word 3: O after I-A"),
        ("BMES", ("B", "S"), "word 2: S after B"),
        ("IOBES", ("O", "B-A"), "word 2: the end after B-A"),
        ("BMES", ("S", "B", "M"), "word 3: the end after M"),
    ],
)
def test_labels_that_do_not_follow_their_scheme_are_named_by_place(
    scheme: str, labels: tuple[str, ...], words: str
) -> None:
    with pytest.raises(DataError) as raised:
        check_scheme([example("O", "O"), example(*labels)] if scheme != "BMES" else [example(*labels)], "ner", scheme)
    assert str(raised.value) == (
        f"a.tsv:7, {words} does not follow the scheme {scheme}; mend the labels, leave such items out with "
        'data.on_error = "skip", or set output.scheme = "none"'
    )


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ((), None),
        (("B-A", "E-A"), None),
        (("E-A", "O"), 0),
        (("O", "B-A", "O", "I-A"), 2),
        (("O", "B-A"), 2),
        (("B-A", None, "I-A", "E-A"), None),
        ((None, "E-A"), None),
        (("B-A", None), None),
        ((None,), None),
        ((None, "I-A"), 2),
    ],
)
def test_the_first_wrong_label_is_found_and_beside_an_unknown_one_anything_may_stand(
    labels: tuple[str | None, ...], place: int | None
) -> None:
    assert first_wrong(labels, "IOBES") == place


def test_after_an_unknown_label_anything_may_stand() -> None:
    assert first_wrong(("B-A", None, "I-A"), "IOB2") is None
    assert first_wrong(("B-A", "O", "I-A"), "IOB2") == 2


def test_after_an_ignored_label_anything_may_stand() -> None:
    recipe = recipe_from({"data": {"train": "a", "ignore": ["_"]}, "output": {"crf": True, "scheme": "IOB2"}})
    assert learn_targets(recipe, [example("B-A", "_", "I-A")], ["ner"])["ner"].saved() == ["B-A", "I-A"]
