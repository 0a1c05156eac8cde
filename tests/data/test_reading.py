"""Files of any format."""

import gzip
from pathlib import Path

import pytest

from regard.data.columns import Columns
from regard.data.conllu import Conllu
from regard.data.reading import TABLE_READERS, WORD_READERS, guess_format, read_examples, reader_for
from regard.data.text import Text
from regard.errors import DataError, RegardError

CONLLU = "".join(f"{n}\tw{n}\t_\tX\t_\t_\t_\t_\t_\t_\n" for n in (1, 2)) + "\n"


def file(folder: Path, text: str, name: str = "a") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


GUESSES = {
    "conllu": ("conllu", CONLLU),
    "conllu with comments": ("conllu", "# a\n# b = c\n" + CONLLU),
    "conllu that begins with a range": ("conllu", CONLLU.replace("1\t", "1-2\t", 1) + CONLLU),
    "tabs": ("columns", "a\tO\nb\tB\n"),
    "spaces and blank lines": ("columns", "a O\nb B\n\nc O\n"),
    "four columns": ("columns", "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n"),
    "text": ("text", "I saw a saw.\nIt was sharp.\n"),
    "text of two words a line": ("text", "hello there\nyou two\n"),
    "one word a line": ("text", "a\nb\n\nc\n"),
}


@pytest.mark.parametrize(("format", "text"), GUESSES.values(), ids=GUESSES)
def test_the_format_is_guessed_by_the_contents(format: str, text: str, tmp_path: Path) -> None:
    assert guess_format(file(tmp_path, text)) == format
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(text.encode()))
    assert guess_format(packed) == format


def test_conllu_that_begins_with_an_empty_node_is_conllu(tmp_path: Path) -> None:
    assert guess_format(file(tmp_path, CONLLU.split("\n")[0].replace("1\t", "0.1\t", 1) + "\n" + CONLLU)) == "conllu"


FAULTY = {
    "conllu": (CONLLU + "1\tx\n\n", "line 4: 2 columns"),
    "conllu of one sentence": (CONLLU.rstrip() + "\tx\n", "line 2: 11 columns"),
    "columns": ("a\tO\n\nb\tO\nc\tO\tX\n", "line 4: 3 columns"),
}


@pytest.mark.parametrize(("text", "words"), FAULTY.values(), ids=FAULTY)
def test_one_faulty_row_is_named_by_its_line_when_the_format_is_guessed(text: str, words: str, tmp_path: Path) -> None:
    path = file(tmp_path, text)
    with pytest.raises(DataError, match=words):
        read_examples([path], reader_for(path, "guess", None, ()))


def test_a_sentence_of_one_row_has_as_many_columns_as_the_others(tmp_path: Path) -> None:
    path = file(tmp_path, "a\tO\n\nb\tO\n\nc\tO\tX\n")
    with pytest.raises(DataError, match="line 5: 3 columns"):
        read_examples([path], reader_for(path, "guess", None, ()))


def test_columns_are_guessed_where_three_rows_in_five_have_the_same_number_of_them(tmp_path: Path) -> None:
    assert guess_format(file(tmp_path, "a b\n" * 3 + "a b c\n" + "a\n\n")) == "columns"
    assert guess_format(file(tmp_path, "a b\n" * 3 + "a b c\n" + "a\n" * 2 + "\n")) == "text"


def test_the_first_row_decides_for_conllu(tmp_path: Path) -> None:
    text = "".join(f"{n}\tw\n" for n in range(5))
    assert guess_format(file(tmp_path, CONLLU + text)) == "conllu"
    assert guess_format(file(tmp_path, text + CONLLU)) == "columns"


def test_plain_text_has_no_labels_to_learn_from(tmp_path: Path) -> None:
    path = file(tmp_path, "hello there you\n")
    with pytest.raises(DataError) as raised:
        reader_for(path, "guess", None, ())
    assert str(raised.value) == (
        f"{path} looks like plain text; labels are read from CoNLL-U or from columns "
        "(a word a line, its label in the last column, a blank line between sentences); say which with data.format"
    )


def test_plain_text_can_be_answered(tmp_path: Path) -> None:
    assert isinstance(reader_for(file(tmp_path, "hello you\n"), "guess", None, (), predicting=True), Text)


def test_a_format_that_is_given_is_not_guessed(tmp_path: Path) -> None:
    path = file(tmp_path, "hello there\n")
    assert isinstance(reader_for(path, "columns", None, ()), Columns)
    assert isinstance(reader_for(path, "conllu", None, ("upos",)), Conllu)


def test_an_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    known = ", ".join(WORD_READERS)
    with pytest.raises(RegardError, match=f"a label for each word conlu; known: {known}; did you mean conllu"):
        reader_for(file(tmp_path, "x"), "conlu", None, ())


@pytest.mark.parametrize("format", TABLE_READERS)
def test_a_table_has_no_label_for_each_word(format: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=f"unknown data.format of a label for each word {format}; known: "):
        reader_for(file(tmp_path, "x"), format, None, ())


def test_several_files_are_read_in_their_order(tmp_path: Path) -> None:
    paths = [file(tmp_path, f"{name}\tO\n", name) for name in "cab"]
    found = read_examples(paths, Columns(None, ()))
    assert [(example.words, Path(example.place.file).name) for example in found] == [
        (("c",), "c"),
        (("a",), "a"),
        (("b",), "b"),
    ]


def test_at_a_fault_reading_stops(tmp_path: Path) -> None:
    path = file(tmp_path, "a\tO\n\nb\tO\nc\n")
    with pytest.raises(DataError) as raised:
        read_examples([path], Columns(None, ()))
    assert str(raised.value) == (
        f'{path}, line 4: 1 columns where the file begins with 2 (data.on_error = "skip" leaves such out)'
    )


def test_a_fault_may_be_left_out_and_is_said(tmp_path: Path) -> None:
    path = file(tmp_path, "a\tO\n\nb\tO\nc\n\nd\tO\n")
    said: list[str] = []
    found = read_examples([path], Columns(None, ()), on_error="skip", say=said.append)
    assert [example.words for example in found] == [("a",), ("d",)]
    assert said == [f"left out: {path}, line 4: 1 columns where the file begins with 2"]


def test_a_file_without_examples_is_named(tmp_path: Path) -> None:
    paths = [file(tmp_path, "a\tO\n", "a"), file(tmp_path, "\n\n", "b")]
    with pytest.raises(DataError) as raised:
        read_examples(paths, Columns(None, ()))
    assert str(raised.value) == f"{paths[1]} holds no example that could be read as columns"


def test_bytes_that_are_not_utf_8_are_replaced_if_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9\tO\n")
    with pytest.raises(DataError, match="line 1: bytes that are not UTF-8"):
        read_examples([tmp_path / "a"], Columns(None, ()))
    [example] = read_examples([tmp_path / "a"], Columns(None, ()), encoding_errors="replace")
    assert example.words == ("caf\ufffd",)
