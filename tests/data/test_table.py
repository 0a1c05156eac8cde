"""Tables: a line is an example with one target for the whole."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.reading import TABLE_READERS, guess_table, read_examples, table_reader_for
from regard.data.table import Csv, JsonLines, Table, Tsv
from regard.data.text import Text, at_punctuation, at_spaces
from regard.data.vocabulary import SEPARATOR
from regard.errors import DataError, RegardError

KINDS: dict[str, type[Table]] = {"tsv": Tsv, "csv": Csv, "jsonl": JsonLines}


def as_it_stands(text: str) -> tuple[str, ...]:
    return (text,)


def found(
    kind: str,
    text: str | bytes,
    folder: Path,
    source: Sequence[str | int] = (),
    target: Sequence[str | int] = (),
    split=as_it_stands,
    **given: bool | None,
) -> list[Example | DataError]:
    path = folder / f"a.{kind}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reader = KINDS[kind](source, target, split=split, **given)
    return list(reader.examples(read_lines(path), path.name))


def rows(*arguments, **given) -> list[tuple[str, ...]]:
    """Text and targets of each row."""
    examples = found(*arguments, **given)
    assert all(isinstance(example, Example) and example.whole for example in examples), examples
    return [
        (*example.words, *(value for (value,) in example.labels.values()))
        for example in examples
        if isinstance(example, Example)
    ]


def fault(*arguments, **given) -> str:
    """The one thing that is wrong."""
    [error] = [one for one in found(*arguments, **given) if isinstance(one, DataError)]
    return str(error)


def lines_of(examples: Sequence[Example | DataError]) -> list[int]:
    return [example.place.line for example in examples if isinstance(example, Example)]


# Inputs that broke other toolkits


def test_in_tsv_a_quote_is_a_sign_like_any_other(cases: Path) -> None:
    path = cases / "b52_quotes.tsv"
    examples = read_examples([path], Tsv(["text"], ["label"], split=as_it_stands))
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    assert len(examples) == 6
    assert ["\t".join((*example.words, *example.labels["label"])) for example in examples] == lines
    assert [example.words[0].count('"') for example in examples] == [1, 1, 2, 1, 2, 0]


def test_in_csv_a_cell_in_quotes_may_hold_commas_quotes_and_lines(cases: Path) -> None:
    examples = read_examples([cases / "b52_quoted.csv"], Csv(["text"], ["label"], split=as_it_stands))
    assert [(example.words[0], example.labels["label"][0], example.place.line) for example in examples] == [
        ("Hello, there", "a", 2),
        ('She said "hi"', "b", 3),
        ("two\nlines", "c", 4),
        ("plain", "a", 6),
    ]


# Columns


TEXT = {
    "tsv": "title\ttext\tclass\nA\tone two\tx\nB\tthree\ty\n",
    "csv": "title,text,class\nA,one two,x\nB,three,y\n",
    "jsonl": '{"title": "A", "text": "one two", "class": "x"}\n{"title": "B", "text": "three", "class": "y"}\n',
}

kinds = pytest.mark.parametrize("kind", KINDS)
with_columns = pytest.mark.parametrize("kind", ["tsv", "csv"])


def test_every_reader_of_tables_is_tested() -> None:
    assert TABLE_READERS == KINDS


@kinds
def test_columns_are_given_by_name(kind: str, tmp_path: Path) -> None:
    assert rows(kind, TEXT[kind], tmp_path, ["text"], ["class"]) == [("one two", "x"), ("three", "y")]
    assert rows(kind, TEXT[kind], tmp_path, ["text"], ["class", "title"]) == [
        ("one two", "x", "A"),
        ("three", "y", "B"),
    ]


@with_columns
def test_columns_are_given_by_number_and_then_all_lines_are_rows_unless_a_header_is_said(
    kind: str, tmp_path: Path
) -> None:
    assert rows(kind, TEXT[kind], tmp_path, [2], [3]) == [("text", "class"), ("one two", "x"), ("three", "y")]
    assert rows(kind, TEXT[kind], tmp_path, [2], [3], header=True) == [("one two", "x"), ("three", "y")]
    assert rows(kind, TEXT[kind], tmp_path, [2], ["class"]) == [("one two", "x"), ("three", "y")]


@with_columns
def test_the_first_column_is_read_and_the_second_learnt_where_nothing_is_said(kind: str, tmp_path: Path) -> None:
    assert rows(kind, TEXT[kind], tmp_path, header=True) == [("A", "one two"), ("B", "three")]


@with_columns
def test_where_the_second_column_is_read_the_first_is_learnt(kind: str, tmp_path: Path) -> None:
    assert rows(kind, TEXT[kind], tmp_path, [2], header=True) == [("one two", "A"), ("three", "B")]


@with_columns
def test_two_columns_of_one_name_are_refused(kind: str, tmp_path: Path) -> None:
    text = {"tsv": "a\ttext\ta\none\ttwo\tthree\n", "csv": "a,text,a\none,two,three\n"}[kind]
    with pytest.raises(DataError) as raised:
        found(kind, text, tmp_path, ["text"], ["a"])
    assert str(raised.value) == f"a.{kind}, line 1: two columns are named a"


@with_columns
def test_columns_without_a_name_may_be_several(kind: str, tmp_path: Path) -> None:
    text = {"tsv": "\t\ttext\ty\n1\t2\ta\tx\n", "csv": ",,text,y\n1,2,a,x\n"}[kind]
    assert rows(kind, text, tmp_path, ["text"], ["y"]) == [("a", "x")]


@kinds
def test_several_columns_that_are_read_are_joined_with_a_separator(kind: str, tmp_path: Path) -> None:
    examples = found(kind, TEXT[kind], tmp_path, ["text", "title"], ["class"], split=at_spaces)
    assert [example.words for example in examples if isinstance(example, Example)] == [
        ("one", "two", SEPARATOR, "A"),
        ("three", SEPARATOR, "B"),
    ]


@with_columns
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_an_unknown_column_is_a_fault_of_the_header_and_names_the_known_ones_and_the_nearest(
    kind: str, on_error: str, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text(TEXT[kind], encoding="utf-8")
    for columns, group, wrong, meant in (
        ((["text"], ["clas"]), None, "clas", "class"),
        ((["txt"], ["class"]), None, "txt", "text"),
        ((["text"], ["class"]), "titel", "titel", "title"),
    ):
        with pytest.raises(DataError) as raised:
            read_examples([path], KINDS[kind](*columns, split=at_spaces, group=group), on_error=on_error)
        assert str(raised.value) == (
            f"{path}, line 1: there is no column {wrong}; the columns are title, text, class; did you mean {meant}?"
        )


@with_columns
def test_a_name_where_there_is_no_header_is_refused(kind: str, tmp_path: Path) -> None:
    [error, *_] = found(kind, TEXT[kind], tmp_path, ["text"], [3], header=False)
    assert str(error) == (
        f"a.{kind}:1: there is no column text, since data.header = false says that columns have no names"
    )


@kinds
def test_a_column_may_say_whose_a_row_is(kind: str, tmp_path: Path) -> None:
    given = {} if kind == "jsonl" else {"header": True}
    for group in ["title"] if kind == "jsonl" else ["title", 1]:
        examples = found(kind, TEXT[kind], tmp_path, ["text"], ["class"], group=group, **given)
        assert [one.group for one in examples if isinstance(one, Example)] == ["A", "B"]


@with_columns
def test_a_column_number_that_is_not_there_names_the_setting(kind: str, tmp_path: Path) -> None:
    [error, _] = found(kind, TEXT[kind], tmp_path, [4], [1], header=True)
    assert str(error) == f"a.{kind}:2: 3 columns, but data.source is column 4"
    [error, _] = found(kind, TEXT[kind], tmp_path, [1], [0], header=True)
    assert str(error) == f"a.{kind}:2: 3 columns, but data.target is column 0"


@with_columns
def test_a_row_with_another_number_of_columns_is_named_by_its_line_and_the_others_are_read(
    kind: str, tmp_path: Path
) -> None:
    sign = {"tsv": "\t", "csv": ","}[kind]
    for row in ("a", f"a{sign}b{sign}c", f"a{sign}b{sign}"):
        text = f"a{sign}x\n{row}\nb{sign}y\n"
        assert fault(kind, text, tmp_path) == (
            f"a.{kind}, line 2: {row.count(sign) + 1} columns where the file begins with 2; is there a stray separator?"
        )
        assert lines_of(found(kind, text, tmp_path)) == [1, 3]


@kinds
def test_to_be_answered_a_table_needs_no_target(kind: str, tmp_path: Path) -> None:
    text = {"tsv": "text\tid\none\t1\n", "csv": "text,id\none,1\n", "jsonl": '{"text": "one"}\n'}[kind]
    assert rows(kind, text, tmp_path, ["text"], ["class"], predicting=True) == [("one",)]


# Cells

WORDS = ["null", "NA", "None", "nan", "NULL", "N/A", "NaN", "true", "1e5", "007", "-", "#", "\\N"]


@kinds
def test_words_that_look_like_nothing_or_like_numbers_stay_text(kind: str, tmp_path: Path) -> None:
    for word in WORDS:
        text = {"tsv": f"{word}\t{word}\n", "csv": f"{word},{word}\n"}.get(kind, json.dumps({"a": word, "b": word}))
        columns = (["a"], ["b"]) if kind == "jsonl" else ()
        assert rows(kind, text, tmp_path, *columns) == [(word, word)]


@kinds
def test_an_empty_cell_is_an_empty_text(kind: str, tmp_path: Path) -> None:
    text = {"tsv": "\tx\na\t\n\t\n", "csv": ",x\na,\n,\n"}.get(
        kind, '{"a":"","b":"x"}\n{"a":"a","b":""}\n{"a":"","b":""}'
    )
    columns = (["a"], ["b"]) if kind == "jsonl" else ()
    examples = found(kind, text, tmp_path, *columns, split=at_punctuation)
    assert [(one.words, *one.labels.values()) for one in examples if isinstance(one, Example)] == [
        ((), ("x",)),
        (("a",), ("",)),
        ((), ("",)),
    ]


def test_spaces_around_a_cell_belong_to_it(tmp_path: Path) -> None:
    assert rows("tsv", " a \t x \n", tmp_path) == [(" a ", " x ")]
    assert rows("csv", ' a , x \n" b "," y "\n', tmp_path) == [(" a ", " x "), (" b ", " y ")]


def test_in_csv_quotes_are_as_in_rfc_4180(tmp_path: Path) -> None:
    text = '"a","x"\n"a ""b"" c",""""\n"",x\n"a,b","\n"\n5" disk,it\'s\n'
    assert rows("csv", text, tmp_path) == [
        ("a", "x"),
        ('a "b" c', '"'),
        ("", "x"),
        ("a,b", "\n"),
        ('5" disk', "it's"),
    ]


def test_rows_after_a_cell_of_several_lines_know_their_lines(tmp_path: Path) -> None:
    text = 'text,y\n"one\ntwo\n\nthree",a\nb,x\n"c\nc",x\n\nd,x\ne\nf,x\n'
    examples = found("csv", text, tmp_path, ["text"], ["y"])
    assert lines_of(examples) == [2, 6, 7, 10, 12]
    assert isinstance(examples[0], Example) and examples[0].words == ("one\ntwo\n\nthree",)
    assert fault("csv", text, tmp_path, ["text"], ["y"]).startswith("a.csv, line 11: 1 columns where")


def test_a_header_may_be_in_quotes(tmp_path: Path) -> None:
    assert rows("csv", '"a text","b, c"\nx,y\n', tmp_path, ["a text"], ["b, c"]) == [("x", "y")]


@pytest.mark.parametrize("text", ['a,x\n"b"c,y\nd,z\n', 'a,x\n"b" ,y\nd,z\n'])
def test_what_is_no_csv_is_named_by_its_line_and_the_rest_is_read(text: str, tmp_path: Path) -> None:
    assert fault("csv", text, tmp_path).startswith("a.csv, line 2: this row is no CSV: ")
    assert lines_of(found("csv", text, tmp_path)) == [1, 3]


def test_a_quote_that_never_ends_is_named_by_the_line_where_it_begins(tmp_path: Path) -> None:
    assert fault("csv", 'a,x\n"b,y\nc,z\nd,z\n', tmp_path).startswith("a.csv, line 2: this row is no CSV: ")


def test_a_cell_of_csv_longer_than_its_module_reads_is_named_by_its_line(tmp_path: Path) -> None:
    text = "b,y\n" + "a" * 200_000 + ",x\nc,z\n"
    assert fault("csv", text, tmp_path).startswith("a.csv, line 2: this row is no CSV: field larger than")
    assert lines_of(found("csv", text, tmp_path)) == [1, 3]


def test_a_long_cell_of_tsv_is_read_whole(tmp_path: Path) -> None:
    assert rows("tsv", "a" * 200_000 + "\tx\n", tmp_path) == [("a" * 200_000, "x")]


# JSON lines


NUMBERS = ["3", "3.0", "-2.50", "1e5", "1E+5", "-0", "0.10", "9" * 5000, "12345678901234567890.5"]


def test_numbers_in_json_are_text_as_they_are_written(tmp_path: Path) -> None:
    text = "".join(f'{{"a": {number}, "b": {number}}}\n' for number in NUMBERS)
    assert rows("jsonl", text, tmp_path, ["a"], ["b"]) == [(number, number) for number in NUMBERS]


def test_blank_lines_between_json_objects_are_none(tmp_path: Path) -> None:
    text = '\n{"a": "x", "b": "y"}\n \t\n{"a": "z", "b": "y"}\n\n'
    assert lines_of(found("jsonl", text, tmp_path, ["a"], ["b"])) == [2, 4]


def test_escapes_in_json_are_what_they_mean(tmp_path: Path) -> None:
    text = r'{"a": "\u00e9\n\ud83d\ude00", "b": "\"", "c": [1, {"a": null}]}'
    assert rows("jsonl", text, tmp_path, ["a"], ["b"]) == [("é\n😀", '"')]


BAD_JSON = {
    "a missing key": ('{"text": "x", "class": "y"}', "a.jsonl:2: there is no a; the keys are text, class"),
    "a misspelt key": ('{"a": "x", "bb": "y"}', "a.jsonl:2: there is no b; the keys are a, bb; did you mean bb?"),
    "a list": ('["a", "b"]', "a.jsonl, line 2: no JSON object"),
    "a text": ('"a"', "a.jsonl, line 2: no JSON object"),
    "no JSON": ("{'a': 'x'}", "a.jsonl, line 2: this is no JSON: "),
    "half an object": ('{"a": "x", ', "a.jsonl, line 2: this is no JSON: "),
    "two objects": ('{"a": "x", "b": "y"} {"a": "x", "b": "y"}', "a.jsonl, line 2: this is no JSON: "),
    "nothing": ('{"a": null, "b": "y"}', "a.jsonl:2: a is null, neither text nor a number"),
    "true": ('{"a": "x", "b": true}', "a.jsonl:2: b is true, neither text nor a number"),
    "a list as text": ('{"a": ["x"], "b": "y"}', "a.jsonl:2: a is a list, neither text nor a number"),
    "an object as text": ('{"a": {"x": 1}, "b": "y"}', "a.jsonl:2: a is an object, neither text nor a number"),
    "not a number": ('{"a": "x", "b": NaN}', "a.jsonl, line 2: this is no JSON: NaN is no number of JSON's"),
}


@pytest.mark.parametrize(("line", "words"), BAD_JSON.values(), ids=BAD_JSON)
def test_a_bad_line_of_json_is_named_and_the_others_are_read(line: str, words: str, tmp_path: Path) -> None:
    good = '{"a": "x", "b": "y"}'
    text = f"{good}\n{line}\n{good}\n"
    assert fault("jsonl", text, tmp_path, ["a"], ["b"]).startswith(words)
    assert lines_of(found("jsonl", text, tmp_path, ["a"], ["b"])) == [1, 3]


def test_endless_nesting_is_named(tmp_path: Path) -> None:
    assert fault("jsonl", '{"a": ' + "[" * 100_000, tmp_path, ["a"], ["b"]).startswith(
        "a.jsonl, line 1: this is no JSON"
    )


@pytest.mark.parametrize(("source", "target"), [([], []), ([1], ["b"]), (["a"], [2])])
def test_keys_of_json_have_no_numbers(source: Sequence[str | int], target: Sequence[str | int], tmp_path: Path) -> None:
    assert fault("jsonl", '{"a": "x", "b": "y"}', tmp_path, source, target) == (
        "a.jsonl:1: columns of JSON lines have names; give them as data.source and data.target"
    )


# Files


@kinds
@pytest.mark.parametrize("change", ["windows", "old mac", "byte order mark", "no last line end", "packed"])
def test_line_ends_a_byte_order_mark_and_packing_change_nothing(kind: str, change: str, tmp_path: Path) -> None:
    data = TEXT[kind].encode()
    changed = {
        "windows": data.replace(b"\n", b"\r\n"),
        "old mac": data.replace(b"\n", b"\r"),
        "byte order mark": b"\xef\xbb\xbf" + data,
        "no last line end": data.rstrip(b"\n"),
        "packed": gzip.compress(data),
    }[change]
    examples = found(kind, changed, tmp_path, ["text"], ["class"])
    assert examples == found(kind, data, tmp_path, ["text"], ["class"]) and len(examples) == 2
    assert guess_table(tmp_path / f"a.{kind}") == kind


def test_windows_line_ends_within_a_cell_are_line_ends(tmp_path: Path) -> None:
    assert rows("csv", b'"two\r\nlines",x\r\nb,y\r\n', tmp_path) == [("two\nlines", "x"), ("b", "y")]


def test_every_line_of_tsv_is_a_row_in_its_order(tmp_path: Path) -> None:
    signs = ["a", '"', "'", '""', "", " ", "\u2028", "\x0b", "\x1c", "\x85", "\u00a0", ",", "\\", "天气", "e\u0301"]
    text = "".join(f"{sign}{number}\t{sign}\n" for number, sign in enumerate(signs * 7))
    assert rows("tsv", text, tmp_path) == [(f"{sign}{number}", sign) for number, sign in enumerate(signs * 7)]


@kinds
def test_a_file_with_no_row_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text({"tsv": "text\tclass\n", "csv": "text,class\n"}.get(kind, "\n"), encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_examples([path], KINDS[kind](["text"], ["class"], split=at_spaces))
    assert str(raised.value) == f"{path} holds no example that could be read as {kind}"


@with_columns
def test_each_of_several_files_has_its_own_header(kind: str, tmp_path: Path) -> None:
    sign = {"tsv": "\t", "csv": ","}[kind]
    (tmp_path / "a").write_text(f"text{sign}class\none{sign}x\n")
    (tmp_path / "b").write_text(f"class{sign}id{sign}text\ny{sign}7{sign}two\n")
    reader = KINDS[kind](["text"], ["class"], split=at_spaces)
    examples = read_examples([tmp_path / "a", tmp_path / "b"], reader)
    assert [(one.words, one.labels["class"]) for one in examples] == [(("one",), ("x",)), (("two",), ("y",))]


# Answers


@kinds
def test_the_answer_is_a_line_of_its_own(kind: str) -> None:
    reader = KINDS[kind](["text"], ["a", "b"], split=at_spaces, predicting=True)
    assert reader.write(Example(("x", "y"), whole=True), {"a": ("A",), "b": ("1.5",)}) == "A\t1.5"
    text = Text(at_spaces, whole=True)
    assert text.write(Example(("x", "y"), whole=True), {"a": ("A",), "b": ("1.5",)}) == "A\t1.5"


# Guessed

GUESSES = {
    "tsv": "a b\tx\nc, d\ty\n",
    "tsv with a faulty row": "a\tx\nb\ty\nc\nd\tz\n",
    "csv": 'a,x\n"b, c",y\n',
    "csv with a line within a cell": TEXT["csv"] + 'C,"two\nlines",x\n' + "D,e,f\n" * 3,
    "jsonl": TEXT["jsonl"],
    "jsonl with blank lines": "\n" + TEXT["jsonl"].replace("\n", "\n\n"),
    "text": "I saw a saw\nthe light, can light\nthey can fish\n",
    "text of blank lines": "\n\n",
}


@pytest.mark.parametrize("name", GUESSES)
def test_the_kind_of_a_table_is_guessed_by_its_contents(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(GUESSES[name], encoding="utf-8")
    assert guess_table(path) == name.split()[0]


def test_plain_text_has_no_target_to_learn_but_can_be_answered(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(GUESSES["text"], encoding="utf-8")
    with pytest.raises(DataError, match="looks like plain text; a text and its target are read from TSV, CSV or JSON"):
        table_reader_for(path, "guess", (), (), split=at_spaces)
    reader = table_reader_for(path, "guess", (), (), split=at_spaces, predicting=True)
    assert isinstance(reader, Text) and reader.whole


def test_an_unknown_kind_of_table_names_the_known_ones(tmp_path: Path) -> None:
    known = ", ".join(TABLE_READERS)
    with pytest.raises(RegardError, match=f"unknown data.format of one target for the whole conllu; known: {known}"):
        table_reader_for(tmp_path, "conllu", (), (), split=at_spaces)
