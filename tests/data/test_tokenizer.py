"""Words -> numbers, of each kind."""

import json
import random
import unicodedata
from pathlib import Path

import pytest

from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.text import at_punctuation
from regard.data.tokenizer import (
    SHAPES,
    TOKENIZERS,
    EncodedText,
    Tokenizer,
    TokenizerSettings,
    WordCharacterTokenizer,
    tokenizer_from_json,
    tokenizer_to_json,
)
from regard.data.tokenizer.words import LONGEST_WORD, shape
from regard.data.vocabulary import SEPARATOR, UNKNOWN, Vocabulary
from regard.errors import FolderError, RegardError

TEXTS = [("I", "saw", "a", "saw"), ("the", "Saw", "café", "天气"), ("saw", "the", "the"), ("10 000", "naïve")]


def learnt(kind: str, texts: object = TEXTS, **settings: object) -> Tokenizer:
    given = {"size": 307, "minimum_count": 1, "lowercase": False, "normalize": "none", **settings}
    found: Tokenizer = TOKENIZERS[kind].learn(texts, TokenizerSettings(**given))
    return found


kinds = pytest.mark.parametrize("kind", TOKENIZERS)

# For every kind


@kinds
@pytest.mark.parametrize("normalize", ["none", "NFC", "NFKC"])
def test_a_tokenizer_survives_being_saved(kind: str, normalize: str) -> None:
    tokenizer = learnt(kind, normalize=normalize, lowercase=True)
    back = tokenizer_from_json(tokenizer_to_json(tokenizer), "here")
    assert type(back) is type(tokenizer) and back.sizes() == tokenizer.sizes()
    assert tokenizer_to_json(back) == tokenizer_to_json(tokenizer)
    for words in [*TEXTS, ("unheard-of", "", "cafe\u0301", "\ufb01x", "😀", "\u00a0")]:
        assert back.encode(words) == tokenizer.encode(words) and back.pieces(words) == tokenizer.pieces(words)


@kinds
def test_the_order_of_the_data_does_not_matter(kind: str) -> None:
    assert tokenizer_to_json(learnt(kind, TEXTS[::-1])) == tokenizer_to_json(learnt(kind))


@kinds
def test_every_word_has_its_numbers_within_the_vocabulary(kind: str) -> None:
    tokenizer = learnt(kind)
    sizes = tokenizer.sizes()
    draw = random.Random(3)
    signs = [*"abIsw é天", "\u0301", "😀", "\u200d", "ﬁ", "\ufffd", "\x00"]
    for _ in range(211):
        words = ["".join(draw.choices(signs, k=draw.randrange(7))) for _ in range(draw.randrange(1, 7))]
        found = tokenizer.encode(words)
        if "words" in sizes:
            assert len(found.words) == len(words) and all(1 <= number < sizes["words"] for number in found.words)
        if "characters" in sizes:
            assert len(found.letters) == len(words) and all(found.letters)
            assert all(1 <= number < sizes["characters"] for word in found.letters for number in word)
            assert all(1 <= number < sizes["affixes"] for *ends, _ in found.affixes for number in ends)
            assert len(found.affixes) == len(words) and all(1 <= kind <= len(SHAPES) for *_, kind in found.affixes)
        if "pieces" in sizes:
            of_words = [word for word in found.word_of_piece if word >= 0]  # others are signs around the text
            assert sorted(set(of_words)) == list(range(len(words)))
            assert of_words == sorted(of_words)
            assert len(found.pieces) == len(found.word_of_piece)
            assert all(1 <= number < sizes["pieces"] for number in found.pieces)


@pytest.mark.parametrize("kind", ["characters", "subwords"])
def test_as_many_pieces_are_shown_as_there_are(kind: str) -> None:
    tokenizer = learnt(kind)
    words = ["saw", "", "天气", ""]
    assert len(tokenizer.encode(words).pieces) == len(tokenizer.pieces(words))
    assert UNKNOWN in tokenizer.pieces(words)


@kinds
def test_the_numbers_of_a_word_do_not_depend_on_its_neighbours(kind: str) -> None:
    tokenizer = learnt(kind)
    together = tokenizer.encode(["saw", "unheard-of", "café"])
    alone = [tokenizer.encode([word]) for word in ("saw", "unheard-of", "café")]
    assert together.words == tuple(number for one in alone for number in one.words)
    assert together.letters == tuple(word for one in alone for word in one.letters)
    assert together.affixes == tuple(word for one in alone for word in one.affixes)
    assert of_words(together) == tuple(piece for one in alone for piece in of_words(one))


def of_words(encoded: EncodedText) -> tuple[int, ...]:
    """The pieces without the signs around the text."""
    return tuple(piece for piece, word in zip(encoded.pieces, encoded.word_of_piece, strict=True) if word >= 0)


def test_pieces_of_the_library_stand_between_signs_and_two_texts_are_told_apart() -> None:
    tokenizer = learnt("library")
    found = tokenizer.encode(["saw", SEPARATOR, "saw"])
    signs, (once,) = tokenizer.signs, tokenizer.encode(["saw"]).pieces[1:-1]
    assert found.pieces == (signs.begin, once, signs.end, once, signs.end)
    assert found.segments == (0, 0, 0, 1, 1) and found.word_of_piece == (-1, 0, 1, 2, -1)


@kinds
def test_nothing_is_no_numbers(kind: str) -> None:
    found = learnt(kind).encode(())
    assert (found.words, found.letters, found.affixes, found.pieces, found.word_of_piece) == ((), (), (), (), ())


@kinds
def test_a_long_sentence_is_encoded_whole(kind: str, cases: Path) -> None:
    for name, count in [("b47_long.conll", 603), ("b47_chinese.conll", 602)]:
        [example] = Columns(None, ()).examples(read_lines(cases / name), name)
        assert isinstance(example, Example)
        found = learnt(kind, [example.words]).encode(example.words)
        # -1: the signs around a text
        assert count in (len(found.words), len(set(found.word_of_piece) - {-1}))


@kinds
def test_normalised_both_spellings_of_a_letter_have_the_same_numbers(kind: str, cases: Path) -> None:
    composed, decomposed = (
        at_punctuation((cases / f"b45_{form}.txt").read_text(encoding="utf-8")) for form in ("nfc", "nfd")
    )
    assert composed != decomposed
    tokenizer = learnt(kind, [composed], normalize="NFC")
    assert tokenizer.encode(composed) == tokenizer.encode(decomposed)
    raw = learnt(kind, [composed, decomposed])
    assert raw.encode(composed) != raw.encode(decomposed)


@kinds
def test_pieces_are_the_text_as_written_where_no_normalisation_is_asked_for(kind: str, cases: Path) -> None:
    text = json.loads((cases / "b45_offsets.json").read_text(encoding="utf-8"))["text"]
    marks = (cases / "b45_marks.txt").read_text(encoding="utf-8").splitlines()
    for words in [text.split(), *(line.split() for line in marks)]:
        pieces = learnt(kind, [words]).pieces(words)
        if kind == "subwords":  # a letter whose bytes are parted is shown by each of its pieces
            assert all(piece and any(piece in word for word in words) for piece in pieces)
        else:
            told = pieces[1:-1] if kind == "library" else pieces  # without the signs around the text
            assert "".join(piece.removeprefix("##") for piece in told) == "".join(words)


@kinds
@pytest.mark.parametrize("word", ["<pad>", "<unk>"])
def test_a_word_spelt_like_padding_is_not_padding(kind: str, word: str) -> None:
    found = learnt(kind).encode([word])
    assert 0 not in (*found.words, *found.pieces)


def test_a_word_in_the_data_spelt_like_padding_is_a_word() -> None:
    tokenizer = learnt("words", [("<pad>", "a")])
    assert tokenizer.encode(["<pad>", "a"]).words == (2, 3)


# The kinds


def test_unknown_words_share_one_number() -> None:
    for kind in ("words", "words+characters"):
        tokenizer = learnt(kind, minimum_count=2)
        assert tokenizer.encode(["saw", "the", "naïve", "unheard-of", ""]).words == (2, 3, 1, 1, 1)


def test_unknown_words_differ_by_their_letters() -> None:
    letters = learnt("words+characters").encode(["was", "wash"]).letters
    assert letters[0] != letters[1] and letters[0][0] == letters[1][0] and letters[0][-1] == letters[1][-1]


def test_lower_case_is_for_words_and_letters_keep_their_case() -> None:
    found = learnt("words+characters", lowercase=True).encode(["saw", "Saw"])
    assert found.words[0] == found.words[1] and found.letters[0] != found.letters[1]


def test_the_vocabulary_holds_the_most_frequent_within_its_size() -> None:
    assert Vocabulary.of("aabbbcd", size=4).symbols == ("<pad>", "<unk>", "b", "a")
    assert Vocabulary.of("aabbbcd", minimum_count=2).symbols == ("<pad>", "<unk>", "b", "a")
    assert Vocabulary.of("dcba").symbols == ("<pad>", "<unk>", "a", "b", "c", "d")
    assert Vocabulary.of("abc", size=1).symbols == ("<pad>", "<unk>")
    for kind in ("words", "words+characters", "characters"):
        sizes = learnt(kind, size=5).sizes()
        assert sizes.get("words", sizes.get("pieces")) == 5


def test_words_that_begin_or_end_alike_share_those_numbers() -> None:
    tokenizer = learnt("words+characters", [("sing", "singing", "Single", "ringing", "x")])
    sing, singing, single, ringing, new = tokenizer.encode(["sing", "singing", "Single", "ringing", "xyz"]).affixes
    assert sing[0] == singing[0] == single[0] > 1, "all begin with sin, whatever their case"
    assert sing[1] == singing[1] == ringing[1] > 1, "all end in ing"
    assert len({sing[0], sing[1]}) == 2, "a beginning is another thing than an end"
    assert single[1] == ringing[0] == new[0] == new[1] == 1, "what stands in one word only is unknown"


def test_a_word_shorter_than_three_letters_begins_and_ends_with_itself() -> None:
    tokenizer = learnt("words+characters", [("ab", "AB")])
    assert tokenizer.sizes()["affixes"] == 2 + 2
    one, other = tokenizer.encode(["ab", "AB"]).affixes
    assert one[:2] == other[:2] and one[2] != other[2]


def test_affixes_come_once_for_each_distinct_word() -> None:
    tokenizer = learnt("words+characters", [("saw",) * 7])
    assert tokenizer.encode(["saw"]).affixes[0][:2] == (1, 1)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["saw", "don't", "naïve", "é"], "in lower case"),
        (["USA", "U.S.A", "ÉÉ"], "in capitals"),
        (["Saw", "I", "McDonald"], "with a capital first"),
        (["7", "2026", "²"], "a number"),
        (["3.14", "10-000", "7天"], "with a digit"),
        (["天气", "ﷲ"], "with a letter"),
        (["...", "", "😀", "\u0301"], "of other signs"),
    ],
)
def test_a_word_has_the_first_shape_that_fits(words: list[str], wanted: str) -> None:
    assert [list(SHAPES)[shape(word) - 1] for word in words] == [wanted] * len(words)


def test_of_a_word_too_long_the_first_and_the_last_letters_are_read() -> None:
    tokenizer = learnt("words+characters", [("abcdefghijklmnopqrstuvwxyz0123456789",)])
    assert isinstance(tokenizer, WordCharacterTokenizer)
    word = "abcdefghijklmnopqrstuvwxyz0123456789"

    def read(word: str) -> str:
        [letters] = tokenizer.encode([word]).letters
        return "".join(tokenizer.characters.symbols[number] for number in letters[1:-1])

    assert LONGEST_WORD == 30
    assert read(word[:30]) == word[:30]
    assert read(word[:31]) == word[:20] + word[21:31]
    assert read(word) == word[:20] + word[-10:]
    assert read("a" * 320 + "z") == "a" * 29 + "z"


def test_an_empty_word_is_unknown_and_has_no_letters() -> None:
    assert learnt("words+characters").encode([""]).letters == ((2, 3),)
    for kind in ("characters", "subwords"):
        tokenizer = learnt(kind)
        found = tokenizer.encode(["a", "", "a"])
        assert found.word_of_piece == (0, 1, 2) and found.pieces[1] == 1


def test_letters_joined_are_the_normal_text() -> None:
    words = ["cafe\u0301", "ﬁx", "天气", "👨\u200d👩"]
    for normalize in ("none", "NFC", "NFKC"):
        pieces = learnt("characters", normalize=normalize).pieces(words)
        text = "".join(words)
        assert "".join(pieces) == (text if normalize == "none" else unicodedata.normalize(normalize, text))  # type: ignore[arg-type]


def test_no_sub_word_is_unknown() -> None:
    tokenizer = learnt("subwords")
    for word in ["never", "ζῷον", "\x00\x7f", "👨\u200d👩\u200d👧", "\ufeff", "\u0301", " ", "\n"]:
        assert not {0, 1} & set(tokenizer.encode([word]).pieces)


def test_sub_words_are_numbered_after_padding_and_the_unknown() -> None:
    tokenizer = learnt("subwords", [("saw", "the")] * 7)
    numbers = {number for word in map(chr, range(0x2000)) for number in tokenizer.encode([word]).pieces}
    assert min(numbers) == 2 and max(tokenizer.encode(["saw", "the"]).pieces) == tokenizer.sizes()["pieces"] - 1
    assert learnt("subwords", size=260).sizes() == {"pieces": 260}


@pytest.mark.parametrize("word", ["<pad>", "<unk>", "a<pad>b", "<unk><unk>"])
def test_no_sub_word_is_special(word: str) -> None:
    tokenizer = learnt("subwords", [("saw",)])
    assert tokenizer.pieces([word]) == tuple(word) and min(tokenizer.encode([word]).pieces) >= 2


def test_frequent_words_become_one_piece_and_rare_ones_several() -> None:
    tokenizer = learnt("subwords", [("saw", "the")] * 7)
    found = tokenizer.encode(["saw", "xyz"]).word_of_piece
    assert found.count(0) == 1 and found.count(1) == 3
    assert tokenizer.pieces(["saw", "xyz"]) == ("saw", "x", "y", "z")


def test_sub_words_are_letters_of_the_text_in_order() -> None:
    tokenizer = learnt("subwords")
    for word in ["caféine", "天气好", "naïveté", "10 000"]:
        pieces = tokenizer.pieces([word])
        end = 0
        for piece in pieces:
            place = word.index(piece, max(0, end - 1))
            assert place <= end
            end = place + len(piece)
        assert end == len(word)


# Saved and damaged


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "3",
        "{}",
        '{"kind": "words"}',
        '{"kind": "words", "words": 3, "lowercase": true, "normalize": "none"}',
        '{"kind": "words+characters", "words": ["a"], "characters": ["a"], "lowercase": true, "normalize": "none"}',
        '{"kind": ["words"]}',
        '{"kind": "subwords", "model": {}, "normalize": "none"}',
    ],
)
def test_a_damaged_tokenizer_is_named(text: str) -> None:
    with pytest.raises(FolderError, match=r"^run/tokenizer.json is not a tokenizer of regard's, or incomplete: "):
        tokenizer_from_json(text, "run/tokenizer.json")


def test_a_tokenizer_of_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(RegardError) as raised:
        tokenizer_from_json('{"kind": "word"}', "here")
    assert f"unknown tokenizer word; known: {', '.join(TOKENIZERS)}; did you mean words?" in str(raised.value)
