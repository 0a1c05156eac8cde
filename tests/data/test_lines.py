"""Lines of text, whatever the file."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from regard.data.lines import blocks, check_file, digest, read_lines
from regard.errors import DataError


def file(folder: Path, content: bytes, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refused(path: Path, encoding_errors: str = "strict") -> str:
    with pytest.raises(DataError) as raised:
        list(read_lines(path, encoding_errors))
    return str(raised.value)


@pytest.mark.parametrize(
    "content",
    [b"a\n\nb\n", b"a\n\nb", b"a\r\n\r\nb\r\n", b"a\r\rb\r", b"a\r\rb", b"\xef\xbb\xbfa\n\nb\n", b"a\r\n\nb\r"],
)
def test_all_line_ends_and_a_byte_order_mark_are_the_same(content: bytes, tmp_path: Path) -> None:
    assert list(read_lines(file(tmp_path, content))) == [(1, "a"), (2, ""), (3, "b")]


def test_only_line_ends_end_a_line(tmp_path: Path) -> None:
    line = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\u00a0"
    assert list(read_lines(file(tmp_path, f"{line}\nh".encode()))) == [(1, line), (2, "h")]


def test_a_byte_order_mark_is_dropped_only_at_the_beginning(tmp_path: Path) -> None:
    assert list(read_lines(file(tmp_path, "\ufeffa\n\ufeffb\n".encode()))) == [(1, "a"), (2, "\ufeffb")]


def test_a_packed_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    assert list(read_lines(file(tmp_path, gzip.compress("é\nb".encode())))) == [(1, "é"), (2, "b")]


def test_a_file_named_as_packed_may_be_unpacked(tmp_path: Path) -> None:
    assert list(read_lines(file(tmp_path, b"a\n", "a.gz"))) == [(1, "a")]


PACKED = gzip.compress("".join(f"w{7919 * i % 1009}\tO\n" for i in range(499)).encode())
DAMAGED = {
    "cut short": PACKED[: len(PACKED) // 2],
    "cut in the head": PACKED[:5],
    "wrong check sum": PACKED[:-8] + bytes(8),
    "followed by something else": PACKED + b"junk",
    "no such block": PACKED[:10] + b"\xff" * 29,
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_packed_file_is_named(content: bytes, tmp_path: Path) -> None:
    path = file(tmp_path, content, "a.gz")
    assert refused(path).startswith(f"{path} is packed, and damaged: ")


def test_bytes_that_are_not_utf_8_are_named_with_file_and_line(tmp_path: Path) -> None:
    path = file(tmp_path, b"a\n" * 4099 + b"caf\xe9\n")
    assert refused(path) == (
        f'{path}, line 4100: bytes that are not UTF-8; save the file as UTF-8, or set data.encoding_errors = "replace"'
    )


def test_what_was_read_before_bad_bytes_is_given(tmp_path: Path) -> None:
    lines = read_lines(file(tmp_path, b"a\nb\n\xff\n"))
    assert [next(lines), next(lines)] == [(1, "a"), (2, "b")]


def test_bytes_that_are_not_utf_8_may_be_replaced(tmp_path: Path) -> None:
    path = file(tmp_path, b"caf\xe9\n\xff\xfex\n")
    assert list(read_lines(path, "replace")) == [(1, "caf\ufffd"), (2, "\ufffd\ufffdx")]


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    for name in "bca":
        file(tmp_path, b"x", f"{name}.conllu")
    path = tmp_path / "d.conllu"
    assert refused(path) == f"there is no file {path} (beside it there are a.conllu, b.conllu, c.conllu)"


def test_a_missing_file_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "a"
    assert refused(path) == f"there is no file {path}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path} is a folder where a file was expected"


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    path = file(tmp_path, b"")
    assert refused(path) == f"{path} is empty"


def test_a_dash_is_the_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file(tmp_path, "\ufeffé\r\nb".encode()).open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        check_file("-")
        assert list(read_lines("-")) == [(1, "é"), (2, "b")]


def test_a_digest_changes_with_the_content_and_not_with_the_name(tmp_path: Path) -> None:
    one, same, other = file(tmp_path, b"x", "1"), file(tmp_path, b"x", "2"), file(tmp_path, b"y", "3")
    assert digest(one) == digest(same) != digest(other)


def test_blocks_lie_between_blank_lines_however_many() -> None:
    lines = ["", "a", "b", "", "  ", "\t", "c", "", ""]
    assert list(blocks(iter(enumerate(lines, 1)))) == [[(2, "a"), (3, "b")], [(7, "c")]]
    assert list(blocks(iter([]))) == list(blocks(iter([(1, "")]))) == []
