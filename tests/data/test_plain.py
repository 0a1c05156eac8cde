"""Plain text that is read from its places."""

import gzip

import numpy as np
import pytest

from regard.data import plain
from regard.data.plain import PlainText, cut, evenly
from regard.errors import DataError


def whole(text):
    return (text,)


def texts(found):
    return ["".join(example.words) for example in found]


def written(folder, raw, name="text.txt"):
    path = folder / name
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_byte_order_marks_and_blank_lines_do_not_matter(tmp_path, end, last):
    lines = ["eins zwei", "", "drei ä€𝄞", "  ", "vier"]
    path = written(tmp_path, b"\xef\xbb\xbf" + (end.join(lines) + (end if last else "")).encode())
    found = PlainText.of([path], whole, longest=100)
    assert texts(found) == ["eins zwei", "drei ä€𝄞", "vier"]
    assert [example.place.line for example in found] == [1, 3, 5]
    assert all(example.whole for example in found)


def test_a_packed_file_reads_as_what_is_in_it(tmp_path):
    raw = b"eins\nzwei drei\n"
    found = PlainText.of([written(tmp_path, gzip.compress(raw), "text.gz")], whole, longest=100)
    assert texts(found) == raw.decode().splitlines()


def test_files_follow_one_another_and_each_line_knows_its_own(tmp_path):
    one, other = written(tmp_path, b"a\nb\n", "one"), written(tmp_path, b"\nc\n", "other")
    found = PlainText.of([one, other], whole, longest=7)
    assert [(str(example.place), *example.words) for example in found] == [
        (f"{one}:1", "a"),
        (f"{one}:2", "b"),
        (f"{other}:2", "c"),
    ]


@pytest.mark.parametrize("at_once", [7, 11, 1 << 16])
def test_nothing_of_a_long_line_is_lost_however_it_is_taken(tmp_path, monkeypatch, at_once):
    """Letters have one to four bytes, and the parts in which a line is taken end within them."""
    monkeypatch.setattr(plain, "_AT_ONCE", at_once)
    line = "".join(f"wort{number}ä€𝄞 " for number in range(97))
    found = PlainText.of([written(tmp_path, f"{line}\nkurz\n".encode())], whole, longest=23)
    # A part that is blank is left out, as a blank line is.
    assert "".join(texts(found)).replace(" ", "") == (line + "kurz").replace(" ", "")
    assert max(map(len, texts(found))) <= 23
    assert {example.place.line for example in found} == {1, 2}


def test_a_text_is_cut_after_a_space_where_there_is_one():
    assert list(cut("aa bb cc dd", 7)) == ["aa bb ", "cc dd"]
    assert list(cut("abcdefghijk", 5)) == ["abcde", "fghij", "k"]
    assert list(cut("", 5)) == [""]


def test_what_is_kept_does_not_grow_with_the_length_of_lines(tmp_path):
    short = PlainText.of([written(tmp_path, b"a\n" * 31, "short")], whole, longest=10_000)
    long = PlainText.of([written(tmp_path, (b"a" * 9973 + b"\n") * 31, "long")], whole, longest=10_000)
    assert len(short) == len(long) == 31
    assert short.stretches.nbytes == long.stretches.nbytes
    assert long.bytes == 31 * 9973


def test_bytes_that_are_no_text_are_named_or_replaced(tmp_path):
    path = written(tmp_path, b"gut\nschlecht \xff hier\n")
    with pytest.raises(DataError, match=rf"{path}, line 2: bytes that are not UTF-8"):
        PlainText.of([path], whole, longest=100)
    assert texts(PlainText.of([path], whole, longest=100, errors="replace")) == ["gut", "schlecht \ufffd hier"]


def test_a_file_without_text_is_refused_by_name(tmp_path):
    path = written(tmp_path, b" \n\n\t\n")
    with pytest.raises(DataError, match=rf"{path} holds no text: every line is blank"):
        PlainText.of([path], whole, longest=100)


def test_some_can_be_taken_and_come_from_everywhere(tmp_path):
    found = PlainText.of([written(tmp_path, "\n".join(map(str, range(101))).encode())], whole, longest=9)
    assert texts(found.take(np.arange(101) % 50 == 3)) == ["3", "53"]
    some = texts(evenly(found, 7))
    assert len(some) <= 7 and int(some[0]) < 20 and int(some[-1]) > 80
    assert texts(evenly(found, 500)) == texts(found)
