"""Word vectors in the text format .vec."""

import gzip
from pathlib import Path

import pytest

from regard.data.vectors import read_vectors
from regard.errors import DataError


def file(folder: Path, text: str) -> Path:
    path = folder / "a.vec"
    path.write_text(text, encoding="utf-8")
    return path


ABOUT = "a 1 -2.5\nb 3e-1 4\nc 5 6\n"


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_only_the_words_asked_for_are_read_with_or_without_a_header(header: str, tmp_path: Path) -> None:
    assert read_vectors(file(tmp_path, header + ABOUT), {"a", "b", "z"}, 2) == {"a": [1.0, -2.5], "b": [0.3, 4.0]}


def test_packed_vectors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.vec.gz"
    path.write_bytes(gzip.compress(ABOUT.encode()))
    assert read_vectors(path, {"c"}, 2) == {"c": [5.0, 6.0]}


def test_a_space_at_the_end_and_a_no_break_space_as_a_word_are_no_fault(tmp_path: Path) -> None:
    assert read_vectors(file(tmp_path, "a 1 2 \n\u00a0 3 4\n"), {"a", "\u00a0"}, 2) == {"a": [1, 2], "\u00a0": [3, 4]}


def test_of_a_word_that_comes_twice_the_first_counts(tmp_path: Path) -> None:
    assert read_vectors(file(tmp_path, "a 1 2\na 3 4\n"), {"a"}, 2) == {"a": [1.0, 2.0]}


FAULTS = {
    "a header of another width": ("2 3\na 1 2 3\n", " has vectors of 3 numbers; set input.word_width = 3"),
    "a line too short": ("a 1 2\nb 3\n", ", line 2: 1 numbers after the word where input.word_width is 2"),
    "a line too long": ("2 2\na b 1 2\n", ", line 2: 3 numbers after the word where input.word_width is 2"),
    "tabs": ("a\t1\t2\n", ", line 1: 0 numbers after the word where input.word_width is 2"),
    "not numbers": ("b 1 2\na 1 x\n", ", line 2: what follows a are not all numbers"),
    "not a number": ("a nan 1\n", ", line 1: the vector of a is not finite"),
    "infinite": ("a 1 -inf\n", ", line 1: the vector of a is not finite"),
    "too large": ("a 1 1e999\n", ", line 1: the vector of a is not finite"),
    "only a header": ("5 2\n", " holds no vectors"),
}


@pytest.mark.parametrize(("text", "words"), FAULTS.values(), ids=FAULTS)
def test_faulty_vectors_are_named_by_line(text: str, words: str, tmp_path: Path) -> None:
    path = file(tmp_path, text)
    with pytest.raises(DataError) as raised:
        read_vectors(path, {"a"}, 2)
    assert str(raised.value) == f"{path}{words}"


def test_bytes_that_are_not_utf_8_are_named_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.vec"
    path.write_bytes(b"a 1 2\ncaf\xe9 3 4\n")
    with pytest.raises(DataError, match="line 2: bytes that are not UTF-8"):
        read_vectors(path, {"a"}, 2)
    assert read_vectors(path, {"a", "caf\ufffd"}, 2, "replace") == {"a": [1, 2], "caf\ufffd": [3, 4]}
