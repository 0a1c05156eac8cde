"""Plain text: lines in, lines out."""

import random
import unicodedata
from pathlib import Path

import pytest

from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.text import SPLITS, Text, at_punctuation, at_spaces, each_sign


def test_n_lines_in_are_n_examples_out(cases: Path) -> None:
    found = list(Text(at_spaces).examples(read_lines(cases / "b38_blank_src.txt"), "a"))
    assert len(found) == 6
    words = [example.words for example in found if isinstance(example, Example)]
    assert all(words[place] == () for place in (1, 2, 3)) and words[0] and words[5]


def test_lines_know_their_places(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n\nb", encoding="utf-8")
    found = Text().examples(read_lines(tmp_path / "a"), "a")
    assert [str(example.place) for example in found if isinstance(example, Example)] == ["a:1", "a:2", "a:3"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("I saw a saw.", "I saw a saw ."),
        ("don't well-known 3.14 ’tis it’s", "don't well-known 3.14 ’ tis it’s"),
        ("'quoted' (x--y) a_b U.S.A.", "' quoted ' ( x - - y ) a_b U.S.A ."),
        ("...", ". . ."),
        ("他说：“好”。", "他说 ： “ 好 ” 。"),
        ("", ""),
        (" \t ", ""),
    ],
)
def test_signs_are_words_and_letters_stay_together(line: str, words: str) -> None:
    assert at_punctuation(line) == tuple(words.split(" ") if words else ())


def test_at_spaces_parts_at_spaces_only() -> None:
    assert at_spaces("  don't,\tstop.  ") == ("don't,", "stop.")


def test_each_sign_is_a_word_and_spaces_are_none() -> None:
    assert each_sign("天气 a.") == ("天", "气", "a", ".")


@pytest.mark.parametrize("name", SPLITS)
def test_words_joined_are_the_line_without_its_spaces(name: str) -> None:
    signs = [*"ab1 .,-'’_", "\u0301", "\u200d", "\ufe0f", "天", "\u00a0", "😀", "ا", "\u064e", "न", "\u093f"]
    draw = random.Random(7)
    for _ in range(499):
        line = "".join(draw.choices(signs, k=draw.randrange(19)))
        assert "".join(SPLITS[name](line)) == "".join(line.split())
        assert all(SPLITS[name](line))


def marks(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "M" or sign in "\u200c\u200d"


@pytest.mark.parametrize("line", [1, 2, 3])
@pytest.mark.parametrize("split", SPLITS)
def test_marks_are_not_parted_from_their_letters(split: str, line: int, cases: Path) -> None:
    text = (cases / "b45_marks.txt").read_text(encoding="utf-8").splitlines()[line - 1]
    words = SPLITS[split](text)
    assert words and not any(marks(word[0]) for word in words), [ascii(word) for word in words]


def test_letters_with_marks_make_one_word_at_punctuation(cases: Path) -> None:
    lines = (cases / "b45_marks.txt").read_text(encoding="utf-8").splitlines()
    for line in lines[:2]:
        assert at_punctuation(line) == tuple(line.split())


def test_a_family_is_one_sign() -> None:
    assert each_sign("👨\u200d👩\u200d👧 ❤\ufe0f") == ("👨\u200d👩\u200d👧", "❤\ufe0f")


def test_both_spellings_of_a_letter_are_parted_alike(cases: Path) -> None:
    composed, decomposed = ((cases / f"b45_{form}.txt").read_text(encoding="utf-8") for form in ("nfc", "nfd"))
    normal = tuple(unicodedata.normalize("NFC", word) for word in at_punctuation(decomposed))
    assert normal == at_punctuation(composed)


def test_labels_are_written_behind_their_words() -> None:
    example = Example(("I", "saw"))
    assert Text().write(example, {"upos": ("PRON", "VERB")}) == "I/PRON saw/VERB"
    assert Text().write(example, {"upos": ("PRON", "VERB"), "xpos": ("P", "V")}) == "I/PRON/P saw/VERB/V"
    assert Text().write(Example(()), {"upos": ()}) == ""
