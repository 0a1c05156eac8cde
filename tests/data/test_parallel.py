"""Parallel text: line n of one file goes with line n of the other."""

import gzip
from pathlib import Path

import pytest

from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.parallel import Blank, Parallel
from regard.data.reading import PAIR_READERS, read_pairs, table_reader_for
from regard.data.text import Text, at_punctuation, at_spaces
from regard.errors import DataError


def as_it_stands(text: str) -> tuple[str, ...]:
    return (text,)


def files(folder: Path, *texts: str | bytes) -> list[Path]:
    """The texts as files a, b, c …"""
    paths = [folder / name for name, _ in zip("abcdefg", texts, strict=False)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def pairs(examples: list[Example]) -> list[tuple[str, str | None]]:
    return [("".join(example.words), example.labels["target"][0]) for example in examples]


def test_files_that_come_in_twos_have_readers_of_their_own() -> None:
    assert list(PAIR_READERS.values()) == [Parallel]


def test_line_n_goes_with_line_n(tmp_path: Path) -> None:
    paths = files(tmp_path, "".join(f"a{n}\n" for n in range(97)), "".join(f"b {n} \n" for n in range(97)))
    found = read_pairs(paths, Parallel(split=as_it_stands))
    assert pairs(found) == [(f"a{n}", f"b {n} ") for n in range(97)]
    assert [str(example.place) for example in found[:2]] == [f"{paths[0]}:1", f"{paths[0]}:2"]
    assert all(example.whole for example in found)


def test_words_are_split_and_targets_stay_text(tmp_path: Path) -> None:
    (example,) = read_pairs(files(tmp_path, "Ja, gut.\n", "Yes, good.\n"), Parallel(split=at_punctuation))
    assert example.words == ("Ja", ",", "gut", ".") and example.labels == {"target": ("Yes, good.",)}


def test_several_twos_follow_each_other(tmp_path: Path) -> None:
    paths = files(tmp_path, "1\n2\n", "x\ny\n", "3\n", "z\n")
    assert pairs(read_pairs(paths, Parallel(split=as_it_stands))) == [("1", "x"), ("2", "y"), ("3", "z")]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_an_odd_number_of_files_is_refused(count: int, tmp_path: Path) -> None:
    paths = files(tmp_path, *["1\n"] * count)
    with pytest.raises(DataError) as raised:
        read_pairs(paths, Parallel(split=as_it_stands))
    assert str(raised.value) == f"parallel files come in twos (source, target, source, target …); found {count}"


@pytest.mark.parametrize("change", ["windows", "old mac", "byte order mark", "no last line end", "packed"])
def test_line_ends_a_byte_order_mark_and_packing_change_nothing(change: str, tmp_path: Path) -> None:
    texts = [b"a 1\na 2\n", b"b 1\nb 2\n"]
    changes = {
        "windows": lambda text: text.replace(b"\n", b"\r\n"),
        "old mac": lambda text: text.replace(b"\n", b"\r"),
        "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
        "no last line end": lambda text: text.rstrip(b"\n"),
        "packed": gzip.compress,
    }
    for changed in ([changes[change](texts[0]), texts[1]], [texts[0], changes[change](texts[1])]):
        found = read_pairs(files(tmp_path, *changed), Parallel(split=as_it_stands))
        assert pairs(found) == [("a 1", "b 1"), ("a 2", "b 2")]


# Of different length


def test_files_of_different_length_are_refused_with_their_counts(cases: Path) -> None:
    source, target = cases / "b41_src.txt", cases / "b41_tgt.txt"
    for paths, counts in (([source, target], (3, 4)), ([target, source], (4, 3))):
        with pytest.raises(DataError) as raised:
            read_pairs(paths, Parallel(split=as_it_stands))
        assert str(raised.value) == (
            f"{paths[0]} has {counts[0]} lines and {paths[1]} has {counts[1]}; in parallel files each line has its "
            "counterpart on the same line"
        )


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 0), (7, 5), (5, 7), (1001, 1000)])
def test_all_lines_are_counted_before_files_are_refused(one: int, other: int, tmp_path: Path) -> None:
    reader = Parallel(split=as_it_stands)
    lines = [enumerate(["x"] * count, 1) for count in (one, other)]
    with pytest.raises(DataError, match=f"^a has {one:,} lines and b has {other:,};"):
        list(reader.pairs(iter(lines[0]), iter(lines[1]), ("a", "b")))


def test_a_line_too_many_is_refused_even_if_it_is_blank(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 2 lines and .* has 1;"):
        read_pairs(files(tmp_path, "1\n\n", "x\n"), Parallel(split=as_it_stands))


def test_the_law_finds_a_reader_that_cuts_at_the_shorter_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("regard.data.parallel.zip_longest", zip)
    with pytest.raises(pytest.fail.Exception):
        test_a_line_too_many_is_refused_even_if_it_is_blank(tmp_path)


# Blank lines

BLANK = ["", "   ", "\t", "\u00a0", "\u3000"]


@pytest.mark.parametrize("blank", BLANK)
def test_a_pair_with_a_blank_side_is_left_out_and_said_and_the_others_stay_beside_each_other(
    blank: str, tmp_path: Path
) -> None:
    paths = files(tmp_path, f"1\n{blank}\n3\n{blank}\n5\n", f"a\nb\n{blank}\n{blank}\ne\n")
    said: list[str] = []
    found = read_pairs(paths, Parallel(split=as_it_stands), say=said.append)
    assert pairs(found) == [("1", "a"), ("5", "e")]
    assert [example.place.line for example in found] == [1, 5]
    assert said == [
        f"left out: 2 of 5 pairs of {paths[0]} and {paths[1]}, which are blank on one side (lines 2, 3), "
        "and 1 that are blank on both"
    ]


def test_pairs_that_are_blank_on_both_sides_are_left_out_without_a_word(tmp_path: Path) -> None:
    said: list[str] = []
    found = read_pairs(files(tmp_path, "1\n\n3\n", "a\n \nc\n"), Parallel(split=as_it_stands), say=said.append)
    assert pairs(found) == [("1", "a"), ("3", "c")] and said == []


def test_of_many_blank_lines_the_first_five_are_named(tmp_path: Path) -> None:
    said: list[str] = []
    read_pairs(files(tmp_path, "\n" * 7 + "8\n", "x\n" * 8), Parallel(split=as_it_stands), say=said.append)
    assert "left out: 7 of 8 pairs" in said[0] and said[0].endswith("(lines 1, 2, 3, 4, 5, …)")


def test_nothing_but_blank_lines_is_refused(tmp_path: Path) -> None:
    paths = files(tmp_path, "1\n\n", "\nx\n")
    with pytest.raises(DataError) as raised:
        read_pairs(paths, Parallel(split=as_it_stands))
    assert str(raised.value) == f"{paths[0]} and {paths[1]} hold no pair of lines that are not blank"


def test_blank_lines_of_the_case_that_broke_others_shift_nothing(cases: Path) -> None:
    source = cases / "b38_blank_src.txt"
    targets = [f"target {number}" for number in range(1, 7)]
    found = list(Parallel(split=at_spaces).pairs(read_lines(source), enumerate(targets, 1), (str(source), "b")))  # type: ignore[arg-type]
    assert [isinstance(one, Blank) for one in found] == [False, True, True, True, False, False]
    assert [one.labels["target"][0] for one in found if isinstance(one, Example)] == [
        "target 1",
        "target 5",
        "target 6",
    ]


# To be answered


def test_to_be_answered_the_source_is_read_as_lines_of_text(tmp_path: Path) -> None:
    (path,) = files(tmp_path, "1\n\n3\n")
    reader = table_reader_for(path, "parallel", (), (), split=as_it_stands, predicting=True)
    assert isinstance(reader, Text) and len(list(reader.examples(read_lines(path), "a"))) == 3
