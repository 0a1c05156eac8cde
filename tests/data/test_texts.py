"""Texts that are written: what goes in as pieces comes out as it was, to the last sign."""

import json
import random
from collections.abc import Sequence

import pytest
from sharp import CASES, case

from regard.data.target import Texts, target_from, written_words
from regard.data.tokenizer import TOKENIZERS, CharacterTokenizer, SubwordTokenizer, TokenizerSettings
from regard.errors import DataError

WRITTEN = ("characters", "subwords", "words")

# Spaces of all kinds, signs of several code points, joiners of others' pieces, marks on letters, right to left.
AWKWARD = [
    "a",
    "",
    " ",
    "  two  spaces  ",
    "tab\there",
    "no-break\u00a0space",
    "zero\u200bwidth",
    "ends with@@",
    "mail me @@ home",
    "\u2581block\u2581char and space",
    "##ing </w> <unk> <pad> <s> </s>",
    "<unk>",
    "<sep>",
    "e\u0301 and \u00e9",
    "\u0e01\u0e33\u0e49",
    "👩\u200d👩\u200d👧 and 🇹🇷",
    "😀地é",
    "שלום אָ",
    "ﬁx ︰ ＡＢ ŉa",
    "don't—won’t",
    "3.14 1,000",
    "two\nlines",
]


def texts(kind: str, known: Sequence[str], **given) -> Texts:
    settings = {"size": 400, "minimum_count": 1, "lowercase": False, "normalize": "none", **given}
    return Texts(TOKENIZERS[kind].learn([written_words(kind, text) for text in known], TokenizerSettings(**settings)))


def pieces(made: Texts, text: str) -> tuple[int, ...]:
    *found, end = made.encode([text])
    assert end == made.end
    return tuple(map(int, found))


@pytest.mark.parametrize("kind", ["characters", "subwords"])
@pytest.mark.parametrize("text", AWKWARD)
def test_letters_and_subwords_give_a_text_back_as_it_was(kind, text):
    made = texts(kind, AWKWARD)
    assert made.decode(pieces(made, text)) == text


@pytest.mark.parametrize("text", AWKWARD)
def test_subwords_give_back_what_they_never_saw(text):
    made = texts("subwords", ["something else"])
    assert made.decode(pieces(made, text)) == text and 1 not in pieces(made, text)


def test_any_letters_in_any_order_come_back():
    draw = random.Random(3)
    letters = "".join(AWKWARD)
    for made in (texts("characters", [letters]), texts("subwords", ["ab"])):
        for length in (1, 2, 5, 31):
            text = "".join(draw.choices(letters, k=length))
            assert made.decode(pieces(made, text)) == text


@pytest.mark.parametrize("text", AWKWARD)
def test_words_come_back_with_one_space_between_them(text):
    made = texts("words", AWKWARD)
    assert made.decode(pieces(made, text)) == " ".join(text.split())


@pytest.mark.parametrize("kind", WRITTEN)
def test_the_end_and_the_beginning_are_numbers_after_the_vocabulary_s(kind):
    made = texts(kind, ["ab ba"])
    (size,) = made.tokenizer.sizes().values()
    assert (made.end, made.start) == (size, size + 1)
    assert max(pieces(made, "ab ba")) < size


@pytest.mark.parametrize("kind", WRITTEN)
def test_an_empty_text_is_its_end_and_an_unknown_one_is_nothing(kind):
    made = texts(kind, ["ab ba"])
    assert made.encode([""]) == (made.end,) and made.encode([None]) == ()
    assert made.decode(()) == ""


def test_what_was_never_seen_is_unknown_among_letters_and_words():
    for kind in ("characters", "words"):
        assert pieces(texts(kind, ["a b"]), "z") == (1,)
    assert pieces(texts("words", ["a a b"], minimum_count=2), "a b") == (2, 1)


def test_what_is_written_may_be_in_lower_case_and_normalised():
    made = texts("words", ["The CAT"], lowercase=True)
    assert made.decode(pieces(made, "THE cat")) == "the cat"
    for kind in ("characters", "subwords"):
        made = texts(kind, ["e\u0301"], normalize="NFC")
        assert made.decode(pieces(made, "e\u0301")) == "\u00e9"


@pytest.mark.parametrize("kind", WRITTEN)
def test_texts_are_saved_and_come_back(kind):
    made = texts(kind, AWKWARD)
    other = target_from(json.loads(json.dumps(made.saved())), "labels.json")
    assert isinstance(other, Texts) and (other.end, other.start) == (made.end, made.start)
    for text in AWKWARD:
        assert other.encode([text]) == made.encode([text])
    assert other.saved() == made.saved()


def test_damaged_texts_are_refused_by_name():
    for damaged in ({"kind": "characters"}, {"kind": "subwords", "model": {}}, {"kind": "spoken"}):
        with pytest.raises(DataError, match=r"best/labels\.json"):
            target_from(damaged, "best/labels.json")


# Piece by piece


def test_pieces_as_people_read_them_make_up_the_text():
    made = texts("characters", ["naïve 😀"])
    assert "".join(made.tokenizer.written(pieces(made, "naïve 😀"))) == "naïve 😀"
    made = texts("words", ["a cat"])
    assert made.tokenizer.written(pieces(made, "a cat")) == ("a", "cat")


def test_a_sign_that_ends_in_its_middle_is_one_replacement_sign():
    """A text that was cut: of an emoji's four bytes three are there."""
    made = texts("subwords", ["x"], size=258)
    assert len(pieces(made, "😀")) == 4
    assert made.decode(pieces(made, "ab😀")[:-1]) == "ab\ufffd"


# Inputs that broke other toolkits


def test_a_sign_that_is_split_over_pieces_comes_back_whole():
    """Case B44: pieces of single bytes."""
    text = case("b44_stream_bytes.json")["text"]
    made = texts("subwords", ["x"], size=258)
    found = pieces(made, text)
    assert len(found) == len(text.encode()) and made.decode(found) == text and "\ufffd" not in made.decode(found)


@pytest.mark.parametrize("name", ["b42_joiners.txt", "b45_marks.txt", "b45_nfc.txt", "b45_nfd.txt"])
@pytest.mark.parametrize("kind", [CharacterTokenizer.kind, SubwordTokenizer.kind])
def test_joiners_and_marks_come_back(kind, name):
    """Cases B42 and B45: each line exactly, spaces too."""
    if not (CASES / name).is_file():
        pytest.skip(f"{CASES / name} is not there")
    lines = (CASES / name).read_text(encoding="utf-8").split("\n")
    made = texts(kind, lines)
    assert [made.decode(pieces(made, line)) for line in lines] == lines


def test_nothing_is_normalised_unless_asked_for():
    text = case("b45_offsets.json")["text"]
    for kind in ("characters", "subwords"):
        made = texts(kind, [text])
        assert made.decode(pieces(made, text)) == text


def test_no_joiner_is_left_at_the_end_of_a_text():
    """Case B42: a text that stops in the middle of a word is written as far as it goes, without a sign of ours."""
    made = texts("subwords", ["Mimi aku"] * 9 + ["Mimi akupenda"] * 9)
    whole = pieces(made, "Mimi akupenda")
    for length in range(len(whole) + 1):
        assert "Mimi akupenda".startswith(made.decode(whole[:length]))
