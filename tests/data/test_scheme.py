"""Spans written in one scheme are written in another: held against an independent, slow definition."""

import itertools
from collections.abc import Iterator, Sequence

import pytest

from regard.data.labels import FILE_SCHEMES, PREFIXES, SCHEMES, spans
from regard.data.scheme import converted, first_unreadable
from regard.errors import DataError

Spans = tuple[tuple[int, int, str], ...]

KINDS = ("A", "B-C")
LONGEST = 5
FILES = [scheme for scheme in FILE_SCHEMES if scheme != "none"]
OUTPUTS = [scheme for scheme in SCHEMES if scheme != "none"]


def all_spans(length: int, start: int = 0) -> Iterator[Spans]:
    """Every set of spans, none over another, in the words from start on."""
    yield ()
    for begin in range(start, length):
        for end in range(begin + 1, length + 1):
            for kind in KINDS:
                for rest in all_spans(length, end):
                    yield ((begin, end, kind), *rest)


def written(found: Spans, length: int, scheme: str) -> tuple[str, ...]:
    """The labels of spans by the definition of each scheme, a span at a time."""
    labels = ["O"] * length
    for begin, end, kind in found:
        inner = end - begin - 2
        touches = any(other[1] == begin and other[2] == kind for other in found)
        prefixes = {
            "IOB1": ("B" if touches else "I") + "I" * (end - begin - 1),
            "IOB2": "B" + "I" * (end - begin - 1),
            "IOBES": "S" if inner < 0 else "B" + "I" * inner + "E",
            "BMES": "S" if inner < 0 else "B" + "M" * inner + "E",
            "BILOU": "U" if inner < 0 else "B" + "I" * inner + "L",
        }[scheme]
        labels[begin:end] = [f"{prefix}-{kind}" for prefix in prefixes]
    return tuple(labels)


def valid(scheme: str, length: int) -> dict[tuple[str, ...], Spans]:
    """All valid labels of so many words, with the spans that they mean."""
    return {written(found, length, scheme): found for found in all_spans(length)}


def test_the_definition_is_one_to_one() -> None:
    for length in range(LONGEST + 1):
        assert len({len(valid(scheme, length)) for scheme in FILES}) == 1
        assert len(valid("IOB2", length)) == len(set(all_spans(length)))


@pytest.mark.parametrize("scheme", FILES)
def test_a_scheme_accepts_the_labels_of_spans_and_no_others(scheme: str) -> None:
    prefixes = [prefix for prefix in PREFIXES["IOB2" if scheme == "IOB1" else scheme] if prefix]
    names = ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in KINDS)]
    for length in range(LONGEST if len(names) < 7 else LONGEST - 1):
        right = valid(scheme, length)
        for labels in itertools.product(names, repeat=length):
            assert (first_unreadable(labels, scheme) is None) == (labels in right), labels


@pytest.mark.parametrize(("given", "wanted"), list(itertools.product(FILES, OUTPUTS)))
def test_the_same_spans_are_written_in_the_other_scheme(given: str, wanted: str) -> None:
    for length in range(LONGEST + 1):
        for labels, found in valid(given, length).items():
            answer = converted(labels, given, wanted, "a:1")
            assert answer == written(found, length, wanted)
            assert spans(answer, wanted) == set(found)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(OUTPUTS, repeat=2)))
def test_there_and_back_is_where_one_was(one: str, other: str) -> None:
    for labels in valid(one, LONGEST):
        assert converted(converted(labels, one, other, "a:1"), other, one, "a:1") == labels


def test_words_are_parted_by_labels_without_kinds() -> None:
    assert converted(("B", "M", "E", "S"), "BMES", "IOB2", "a:1") == ("B", "I", "I", "B")
    assert converted(("B", "I", "I", "B"), "IOB2", "BMES", "a:1") == ("B", "M", "E", "S")


def test_labels_that_are_no_spans_stay() -> None:
    assert converted(("NOUN", "O", "I-A", "x-y"), "IOB1", "IOB2", "a:1") == ("NOUN", "O", "B-A", "x-y")


# The labels of unknown words, and what hangs on them.
UNKNOWN: list[tuple[str, str, Sequence[str | None], Sequence[str | None]]] = [
    ("IOB2", "IOBES", ("B-A", None, "O"), (None, None, "O")),
    ("IOB2", "IOBES", (None, "I-A", "I-A"), (None, "I-A", "E-A")),
    ("IOB2", "IOBES", (None, "B-A", "I-A"), (None, "B-A", "E-A")),
    ("IOB1", "IOB2", (None, "I-A", "I-A"), (None, None, "I-A")),
    ("IOB1", "IOB2", ("I-A", None, "B-A"), ("B-A", None, "B-A")),
    ("IOBES", "IOB2", ("B-A", None, "E-A"), ("B-A", None, "I-A")),
]


@pytest.mark.parametrize(("given", "wanted", "labels", "answer"), UNKNOWN)
def test_what_hangs_on_an_unknown_label_is_unknown(
    given: str, wanted: str, labels: Sequence[str | None], answer: Sequence[str | None]
) -> None:
    assert converted(labels, given, wanted, "a:1") == answer


@pytest.mark.parametrize("scheme", FILES)
def test_whatever_the_unknown_label_is_what_is_known_beside_it_is_right(scheme: str) -> None:
    for labels in valid(scheme, 4):
        for wanted in OUTPUTS:
            whole = converted(labels, scheme, wanted, "a:1")
            for place in range(4):
                holed = converted((*labels[:place], None, *labels[place + 1 :]), scheme, wanted, "a:1")
                assert all(one in (None, other) for one, other in zip(holed, whole, strict=True)), labels
                assert holed[place] is None
                assert all(one is not None for at, one in enumerate(holed) if abs(at - place) > 1)


BROKEN = [
    ("IOB1", ("O", "B-A"), "word 2: B-A after O"),
    ("IOB1", ("B-A",), "word 1: B-A at the beginning"),
    ("IOB2", ("O", "I-A"), "word 2: I-A after O"),
    ("IOB2", ("O", "S-A", "I-A"), "word 2: S-A after O"),
    ("IOBES", ("B-A", "L-A"), "word 2: L-A after B-A"),
    ("BMES", ("S", "B"), "word 2: the end after B"),
    ("BILOU", ("B-A", "E-A"), "word 2: E-A after B-A"),
]


@pytest.mark.parametrize(("scheme", "labels", "words"), BROKEN)
def test_labels_that_break_the_files_scheme_are_named_with_their_place(
    scheme: str, labels: tuple[str, ...], words: str
) -> None:
    with pytest.raises(DataError) as raised:
        converted(labels, scheme, "IOB2", "a.conll:7")
    assert str(raised.value) == (
        f"a.conll:7, {words} does not follow data.scheme = {scheme}; mend the labels, or name the files' own scheme"
    )


def test_the_law_finds_spans_that_never_begin_or_never_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in OUTPUTS:
        monkeypatch.setattr("regard.data.scheme._is_none_of", lambda some, label: False)
        with pytest.raises(AssertionError):
            test_the_same_spans_are_written_in_the_other_scheme("IOB1", wanted)
        monkeypatch.undo()
        test_the_same_spans_are_written_in_the_other_scheme("IOB1", wanted)
