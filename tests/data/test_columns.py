"""Columns files, as CoNLL 2000 and 2003 have them."""

from pathlib import Path

import pytest

from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.errors import DataError


def read(text: str, folder: Path, reader: Columns | None = None) -> list[Example | DataError]:
    path = folder / "a.tsv"
    path.write_text(text, encoding="utf-8")
    return list((reader or Columns(None, ())).examples(read_lines(path), "a.tsv"))


def one(text: str, folder: Path, reader: Columns | None = None) -> Example:
    [example] = read(text, folder, reader)
    assert isinstance(example, Example)
    return example


def fault(text: str, folder: Path, reader: Columns | None = None) -> str:
    [found] = read(text, folder, reader)
    assert isinstance(found, DataError)
    return str(found)


def written(text: str, folder: Path, target: str | int | None, answers: tuple[str, ...]) -> str:
    reader = Columns(None, () if target is None else (target,), predicting=True)
    return reader.write(one(text, folder, reader), {str(-1 if target is None else target): answers})


@pytest.mark.parametrize("name", ["b50_lf.conll", "b50_crlf_bom_noeol.conll", "b50_old_mac.conll"])
def test_line_ends_a_byte_order_mark_and_a_missing_last_one_change_nothing(name: str, cases: Path) -> None:
    found = list(Columns(None, ()).examples(read_lines(cases / name), name))
    assert [(example.words, dict(example.labels)) for example in found if isinstance(example, Example)] == [
        (("EU", "says"), {"-1": ("B-ORG", "O")}),
        (("last", "one"), {"-1": ("O", "O")}),
    ]
    assert len(found) == 2


@pytest.mark.parametrize("name", ["b47_long.conll", "b47_chinese.conll"])
def test_a_long_sentence_is_read_whole(name: str, cases: Path) -> None:
    [example] = Columns(None, ()).examples(read_lines(cases / name), name)
    assert isinstance(example, Example)
    assert len(example.words) == len(example.labels["-1"]) == {"b47_long.conll": 603, "b47_chinese.conll": 602}[name]
    if name == "b47_long.conll":
        assert example.words[0] == "start" and (example.words[-1], example.labels["-1"][-1]) == ("end", "B-X")
        assert max(map(len, example.words)) == 320


def test_the_first_column_is_read_and_the_last_one_learnt(tmp_path: Path) -> None:
    example = one("EU NNP B-NP B-ORG\nsays VBZ B-VP O\n", tmp_path)
    assert example.words == ("EU", "says") and example.labels == {"-1": ("B-ORG", "O")}


def test_other_columns_may_be_read_and_learnt(tmp_path: Path) -> None:
    example = one("a b c d\n", tmp_path, Columns(2, (1, "4", -2)))
    assert example.words == ("b",) and example.labels == {"1": ("a",), "4": ("d",), "-2": ("c",)}


def test_minus_one_is_the_last_column_for_the_source_too(tmp_path: Path) -> None:
    assert one("a b c\n", tmp_path, Columns(-1, (1,))).words == ("c",)


def test_where_there_are_tabs_spaces_part_nothing(tmp_path: Path) -> None:
    assert one("New York\tB-LOC\nis  \tO\n", tmp_path).words == ("New York", "is  ")


def test_an_empty_cell_between_tabs_is_a_cell(tmp_path: Path) -> None:
    assert one("a\t\tX\n", tmp_path, Columns(None, (2,))).labels == {"2": ("",)}


@pytest.mark.parametrize("text", ["\u00a0\tO\nx\tB\n", "\u00a0 O\nx   B\n"])
def test_a_no_break_space_is_a_word(text: str, tmp_path: Path) -> None:
    example = one(text, tmp_path)
    assert example.words == ("\u00a0", "x") and example.labels == {"-1": ("O", "B")}


def test_a_no_break_space_is_a_word_without_labels_too(tmp_path: Path) -> None:
    assert one("a\n\u00a0\nb\n", tmp_path, Columns(None, (), predicting=True)).words == ("a", "\u00a0", "b")


def test_a_hash_is_a_word(tmp_path: Path) -> None:
    assert one("# O\n1 O\n", tmp_path).words == ("#", "1")


def test_docstart_is_no_word_and_no_sentence(tmp_path: Path) -> None:
    found = read("-DOCSTART- -X- O\n\na b O\n\n-DOCSTART- -X- O\nc d B\n", tmp_path)
    assert [example.words for example in found if isinstance(example, Example)] == [("a",), ("c",)]
    assert len(found) == 2


def test_sentences_know_their_places(tmp_path: Path) -> None:
    found = read("-DOCSTART- O\n\n\na O\n\nb O\n", tmp_path)
    assert [str(example.place) for example in found if isinstance(example, Example)] == ["a.tsv:4", "a.tsv:6"]


@pytest.mark.parametrize(
    ("text", "reader", "words"),
    [
        ("a\tO\nb\tO\tX\n", Columns(None, ()), "line 2: 3 columns where the file begins with 2"),
        ("a b\nc\n", Columns(None, ()), "line 2: 1 columns where the file begins with 2"),
        ("a b\n", Columns(3, ()), "line 1: 2 columns, but data.source is column 3"),
        ("a b\n", Columns(None, (5,)), "line 1: 2 columns, but data.target is column 5"),
        ("\na\n", Columns(None, ()), "line 2: 1 columns, but data.target is column 2"),
    ],
)
def test_a_wrong_number_of_columns_is_named_by_its_line(text: str, reader: Columns, words: str, tmp_path: Path) -> None:
    assert fault(text, tmp_path, reader) == f"a.tsv, {words}"


def test_a_column_counted_from_the_end_must_be_there_too(tmp_path: Path) -> None:
    assert fault("a b\n", tmp_path, Columns(None, (-3,))).startswith("a.tsv, line 1: 2 columns, but data.target")


@pytest.mark.parametrize("column", ["form", 0, "", "1.5"])
def test_columns_without_names_need_numbers(column: str | int) -> None:
    with pytest.raises(DataError) as raised:
        Columns(column, ())
    assert str(raised.value) == (
        f"data.source: these columns have no names; give a number from 1 (or -1, the last), not {column}"
    )


def test_answers_are_written_into_their_column(tmp_path: Path) -> None:
    assert written("a b c\nd e f\n", tmp_path, 2, ("X", "Y")) == "a\tX\tc\nd\tY\tf\n"
    assert written("a b c\n", tmp_path, None, ("X",)) == "a\tb\tX\n"


def test_answers_are_added_where_there_is_no_column_for_them(tmp_path: Path) -> None:
    assert written("a\nb\n", tmp_path, None, ("X", "Y")) == "a\tX\nb\tY\n"


def test_answers_go_into_the_column_counted_from_the_end(tmp_path: Path) -> None:
    assert written("a b c\n", tmp_path, -2, ("X",)) == "a\tX\tc\n"


def test_input_without_labels_can_be_answered_whatever_the_column_s_number(tmp_path: Path) -> None:
    assert written("a\nb\n", tmp_path, 2, ("X", "Y")) == "a\tX\nb\tY\n"


def test_writing_answers_does_not_change_the_example(tmp_path: Path) -> None:
    reader = Columns(None, (), predicting=True)
    example = one("a b\n", tmp_path, reader)
    reader.write(example, {"-1": ("X",)})
    assert reader.write(example, {}) == "a\tb\n"


def test_tabbed_columns_are_written_back_to_the_letter(tmp_path: Path) -> None:
    text = "New York\t\tB-LOC\n\u00a0\tx \tO\n"
    reader = Columns(None, (), predicting=True)
    assert reader.write(one(text, tmp_path, reader), {}) == text


def test_what_was_learnt_from_named_columns_is_added_at_the_end(tmp_path: Path) -> None:
    reader = Columns("form", ("upos", "feats"), predicting=True)
    example = one("a x\nb y\n", tmp_path, reader)
    assert example.words == ("a", "b")
    assert reader.write(example, {"upos": ("U", "V"), "feats": ("F", "G")}) == "a\tx\tU\tF\nb\ty\tV\tG\n"
