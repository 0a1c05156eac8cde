"""What every picture of weights must keep to."""

import io
import math
from collections.abc import Sequence
from typing import Literal

import pytest
from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.segment import Segment

from regard.look.draw import heat_map, visible

TOKENS = [
    "the",
    "[red]cat[/red]",
    "猫猫",
    "🙂",
    "e\u0301te\u0301",
    "a\tb\n",
    "",
    " ",
    "\u0301",
    "\x1b[31m",
    "👩\u200d👧",
    "x" * 53,
]
SIZES = [(1, 1), (3, 5), (16, 7), (17, 5), (23, 31), (5, 211), (37, 211)]
WIDTHS = [1, 2, 3, 5, 7, 13, 41, 80, 131]


def console(*, colour: bool, width: int = 80) -> Console:
    system: Literal["truecolor"] | None = "truecolor" if colour else None
    return Console(
        file=io.StringIO(), width=width, color_system=system, force_terminal=colour, no_color=False, _environ={}
    )


def some(rows: int, columns: int) -> list[list[float]]:
    return [[(7 * i + 3 * j) % 11 / 10 for j in range(columns)] for i in range(rows)]


def names(count: int) -> list[str]:
    return [TOKENS[i % len(TOKENS)] for i in range(count)]


def lines(
    weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], *, colour: bool, width: int = 80
) -> list[list[Segment]]:
    picture = heat_map(weights, rows, columns, title="[b]who looks[/b]")
    where = console(colour=colour, width=width)
    return where.render_lines(picture, pad=False)


def text(line: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in line)


def brightness(colour: Color | None) -> float:
    assert colour is not None
    red, green, blue = colour.get_truecolor()
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def grounds(line: Sequence[Segment]) -> list[float]:
    return [brightness(s.style.bgcolor) for s in line for _ in s.text if s.style and s.style.bgcolor]


def test_a_cell_is_brighter_when_its_weight_is_larger() -> None:
    weights = [i / 20 for i in range(21)]
    row = lines([weights], ["query"], ["k"] * 21, colour=True)[-2]
    values = grounds(row)[:: len(grounds(row)) // 21]
    assert len(values) == 21 and values == sorted(set(values))


def test_a_shade_is_denser_when_its_weight_is_larger() -> None:
    row = text(lines([[0.0, 0.1, 0.3, 0.6, 1.0]], ["q"], list("abcde"), colour=False)[-2])
    assert row == "q " + "".join(shade * 3 for shade in " ░▒▓█")


def test_a_weak_look_leaves_a_trace_without_colour() -> None:
    assert "░" in text(lines([[0.07] * 13], ["q"], ["k"] * 13, colour=False)[-2])


def test_without_colour_shades_are_used() -> None:
    for rows in (5, 23):
        picture = lines(some(rows, 7), names(rows), names(7), colour=False)
        assert "█" in "".join(map(text, picture)) and "▀" not in "".join(map(text, picture))


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_that_wants_no_colour_gets_shades(environment: dict[str, str]) -> None:
    where = Console(
        file=io.StringIO(), width=80, force_terminal=True, _environ={"TERM": "xterm-256color", **environment}
    )
    where.print(heat_map(some(5, 7), names(5), names(7)))
    assert isinstance(where.file, io.StringIO)
    assert "█" in where.file.getvalue() and "48;" not in where.file.getvalue()


def test_many_rows_share_lines_and_few_do_not() -> None:
    columns = ["k"] * 3
    few, many = (lines(some(n, 3), ["q"] * n, columns, colour=True) for n in (16, 17))
    assert len(few) == 1 + 1 + 16 + 1
    assert len(many) == 1 + 1 + 9 + 1
    assert "▀" in text(many[2]) and "▀" not in text(few[2])


def test_the_upper_half_is_the_earlier_row() -> None:
    weights = [[1.0], [0.0]] * 9
    line = lines(weights, ["q"] * 18, ["k"], colour=True)[2]
    cell = next(s for s in line if "▀" in s.text)
    assert cell.style and brightness(cell.style.color) > brightness(cell.style.bgcolor)


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", SIZES)
def test_every_line_fits_the_width(size: tuple[int, int], width: int, colour: bool) -> None:
    for line in lines(some(*size), names(size[0]), names(size[1]), colour=colour, width=width):
        assert cell_len(text(line)) <= width


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_every_row_of_cells_begins_at_the_same_place(size: tuple[int, int], colour: bool) -> None:
    ones = [[1.0] * size[1]] * size[0]
    picture = [text(line) for line in lines(ones, names(size[0]), names(size[1]), colour=colour)]
    drawn = (size[0] + 1) // 2 if colour and size[0] > 16 else size[0]
    tail = next(i for i, line in enumerate(picture) if line.startswith("0 "))
    assert len({cell_len(line) for line in picture[tail - drawn : tail]}) == 1


def test_a_given_width_is_kept() -> None:
    where = console(colour=False, width=120)
    for line in where.render_lines(heat_map(some(5, 97), names(5), names(97), width=47), pad=False):
        assert cell_len(text(line)) <= 47


def test_markup_in_tokens_is_shown_as_written() -> None:
    picture = lines(some(2, 2), ["[red]cat[/]", "[/]"], ["[b]", "x"], colour=True)
    assert text(picture[0]) == "[b]who looks[/b]"
    assert any(text(line).startswith("[red]cat[/]") for line in picture)
    assert [text(line)[13] for line in picture[1:4]] == list("[b]")


def test_column_names_are_written_downwards() -> None:
    picture = [text(line) for line in lines([[1.0, 0.0]], ["q"], ["cat", "internationally"], colour=False)]
    assert "".join(line[3] for line in picture[1:9]) == "     cat"
    assert "".join(line[6] for line in picture[1:9]) == "interna…"


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("cat", "cat"),
        ("a\tb\n", "a␉b␊"),
        ("\x1b[31m", "␛[31m"),
        ("\x7f\x85", "␡\ufffd"),
        ("\ud800", "\ufffd"),
        ("  ", "␣␣"),
        (" the", " the"),
        ("\u200b", "\ufffd"),
        ("\u202eabc", "abc"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_replaced_by_a_sign(token: str, shown: str) -> None:
    assert visible(token) == shown


def test_columns_that_do_not_fit_are_pooled_by_maximum_and_the_caption_says_so() -> None:
    weights = [[0.0] * 89 for _ in range(3)]
    weights[1][41] = 1.0
    picture = [text(line) for line in lines(weights, list("abc"), ["k"] * 89, colour=False, width=80)]
    assert sum("██" in line for line in picture[:-2]) == 1
    assert "each column shows the largest of 3" in " ".join(picture)
    assert "largest" not in " ".join(text(line) for line in lines(some(3, 3), list("abc"), list("abc"), colour=False))


def test_what_is_not_a_number_is_seen() -> None:
    weights = [[math.nan, 2.0, -1.0]]
    picture = [text(line) for line in lines(weights, ["q"], list("abc"), colour=False)]
    assert picture[-2] == "q ???███   " and "not a number" in picture[-1]
    assert "grey is not a number" in text(lines(weights, ["q"], list("abc"), colour=True)[-1])


def test_nothing_is_drawn_of_nothing() -> None:
    assert text(lines([], [], [], colour=False)[-1]) == "nothing to draw"
    assert text(lines([[]], ["q"], [], colour=True)[-1]) == "nothing to draw"
