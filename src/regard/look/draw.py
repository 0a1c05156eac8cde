"""Draws in the terminal who looks at whom."""

import math
import unicodedata
from collections.abc import Sequence
from typing import final

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.style import Style
from rich.text import Text

SHADES = " ░▒▓█"
# Where each shade but the first begins; early, or one look spread over ten words would leave no trace.
SHADES_BEGIN = (0.05, 0.25, 0.5, 0.75)
# One hue from night to ice. Cells carry their own ground, so the picture is the same in a dark and in a light terminal.
HUE = ((0.0, (9, 16, 40)), (0.5, (24, 100, 190)), (1.0, (214, 238, 255)))
NOT_A_NUMBER = (128, 128, 128)

FEW_ROWS = 16
LABEL_WIDTH = 16
LABEL_HEIGHT = 8


def heat_map(
    weights: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    width: int | None = None,
) -> RenderableType:
    """A picture in which a cell is brighter the more its row looks at its column.

    weights: (queries, keys), each from 0 to 1
    rows:    (queries)
    columns: (keys)
    width:   cells of the terminal to use, at most; all of them unless told
    """
    assert len(weights) == len(rows), f"{len(rows)} row labels for {len(weights)} rows of weights"
    assert all(len(row) == len(columns) for row in weights), f"every row of weights needs {len(columns)} columns"
    return HeatMap(weights, [visible(row) for row in rows], [visible(column) for column in columns], title, width)


@final
class HeatMap:
    """Waits for the console before it chooses hues or shades."""

    def __init__(
        self,
        weights: Sequence[Sequence[float]],
        rows: Sequence[str],
        columns: Sequence[str],
        title: str,
        width: int | None,
    ) -> None:
        self.weights = weights
        self.rows = rows
        self.columns = columns
        self.title = title
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, min(self.width or options.max_width, options.max_width))
        if self.title:
            yield from _wrapped(Text(visible(self.title), style="bold"), console, width)
        if not self.rows or not self.columns:
            yield Text("nothing to draw", style="dim")
            return

        in_colour = _has_hues(console)
        few = len(self.rows) <= FEW_ROWS
        halves = in_colour and not few
        labels = _halved(self.rows) if halves else self.rows
        gutter = min(max(map(cell_len, labels)), LABEL_WIDTH, width // 3)
        room = max(1, width - gutter - 1)
        sizes = (3, 2) if few else (2, 1)
        cell = min(room, next((size for size in sizes if size * len(self.columns) <= room), sizes[-1]))
        pool = math.ceil(len(self.columns) / (room // cell))
        weights = [_pooled(row, pool) for row in self.weights]

        for line in _column_labels(self.columns[::pool], cell, room):
            yield _fitted(Text(" " * (gutter + 1)).append_text(line), width)
        paint = _paint_halves if halves else _paint_hues if in_colour else _paint_shades
        for label, line in zip(labels, paint(weights, cell), strict=True):
            name = _fitted(Text(label), gutter)
            name.pad_left(gutter - name.cell_len)
            yield _fitted(name.append(" ").append_text(line), width)
        yield from _wrapped(_caption(weights, in_colour, pool), console, width)


def visible(token: str) -> str:
    """A token as something one can see: controls as signs, blanks as ␣, what has no width dropped."""
    letters = [_visible_letter(letter) for letter in token]
    text = "".join(letters)
    if token and not text:
        return "\ufffd"
    if text.isspace():
        return "␣" * len(text)
    # A mark needs something to sit on.
    return f"◌{text}" if text and cell_len(text[0]) == 0 else text


def _visible_letter(letter: str) -> str:
    code, kind = ord(letter), unicodedata.category(letter)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if kind in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp"):
        return "\ufffd"
    # Joiners, directions and variation selectors: terminals disagree about what they do to the width.
    return "" if kind == "Cf" or 0xFE00 <= code <= 0xFE0F else letter


def _has_hues(console: Console) -> bool:
    """Sixteen colours are too few for a scale, so such a terminal gets shades too."""
    return console.color_system in ("256", "truecolor") and not console.no_color and not console.is_dumb_terminal


def _halved(rows: Sequence[str]) -> list[str]:
    """Two names for a line that shows two rows."""
    half = LABEL_WIDTH // 2 - 1
    pairs = [(rows[index], rows[index + 1] if index + 1 < len(rows) else "") for index in range(0, len(rows), 2)]
    return [f"{_fitted(Text(upper), half)}/{_fitted(Text(lower), half)}".removesuffix("/") for upper, lower in pairs]


def _pooled(row: Sequence[float], size: int) -> list[float]:
    """The largest of every few, clamped to what the scale can show; not a number stays so."""
    groups = [row[start : start + size] for start in range(0, len(row), size)]
    return [math.nan if any(map(math.isnan, group)) else min(1.0, max(0.0, max(group))) for group in groups]


def _column_labels(columns: Sequence[str], cell: int, room: int) -> list[Text]:
    """Names written downwards, so that each ends on its column.

    Where a column is one cell wide, every second one is named: a wide letter needs two.
    """
    every = max(1, math.ceil(2 / cell))
    slot = cell * every
    towers = [_tower(name) for name in columns[::every]]
    height = max(map(len, towers))
    lines = []
    for level in range(height):
        line = Text()
        for tower in towers:
            above = height - len(tower)
            letter = tower[level - above] if level >= above else ""
            spare = slot - cell_len(letter)
            line.append(" " * (spare // 2) + letter + " " * (spare - spare // 2))
        lines.append(_fitted(line, room, cut=""))
    return lines


def _tower(name: str) -> list[str]:
    """The letters of a name with their marks, at most as many as fit above the picture."""
    letters: list[str] = []
    for letter in name:
        if letters and cell_len(letter) == 0:
            letters[-1] += letter
        else:
            letters.append(letter)
    return letters if len(letters) <= LABEL_HEIGHT else [*letters[: LABEL_HEIGHT - 1], "…"]


def _paint_shades(weights: Sequence[Sequence[float]], cell: int) -> list[Text]:
    return [Text("".join(_shade(weight) * cell for weight in row)) for row in weights]


def _paint_hues(weights: Sequence[Sequence[float]], cell: int) -> list[Text]:
    return [Text.assemble(*((" " * cell, Style(bgcolor=_hue(weight))) for weight in row)) for row in weights]


def _paint_halves(weights: Sequence[Sequence[float]], cell: int) -> list[Text]:
    """Two rows to a line: the upper in the foreground of ▀, the lower behind it."""
    lines = []
    for index in range(0, len(weights), 2):
        upper = weights[index]
        if index + 1 == len(weights):
            lines.append(Text.assemble(*(("▀" * cell, Style(color=_hue(weight))) for weight in upper)))
            continue
        both = zip(upper, weights[index + 1], strict=True)
        lines.append(Text.assemble(*(("▀" * cell, Style(color=_hue(up), bgcolor=_hue(low))) for up, low in both)))
    return lines


def _shade(weight: float) -> str:
    return "?" if math.isnan(weight) else SHADES[sum(weight >= begin for begin in SHADES_BEGIN)]


def _hue(weight: float) -> Color:
    if math.isnan(weight):
        return Color.from_rgb(*NOT_A_NUMBER)
    (low, dark), (high, bright) = HUE[:2] if weight < HUE[1][0] else HUE[1:]
    share = (weight - low) / (high - low)
    return Color.from_rgb(*(round(start + share * (end - start)) for start, end in zip(dark, bright, strict=True)))


def _caption(weights: Sequence[Sequence[float]], in_colour: bool, pool: int) -> Text:
    caption = Text("0 ")
    for index, shade in enumerate(SHADES):
        weight = index / (len(SHADES) - 1)
        caption.append(" " * 2 if in_colour else shade, Style(bgcolor=_hue(weight)) if in_colour else None)
    caption.append(" 1, how much each row looks at each column")
    if pool > 1:
        caption.append(f"; each column shows the largest of {pool}")
    if any(math.isnan(weight) for row in weights for weight in row):
        caption.append(f"; {'grey' if in_colour else '?'} is not a number")
    return caption


def _wrapped(text: Text, console: Console, width: int) -> list[Text]:
    return list(text.wrap(console, width))


def _fitted(text: Text, width: int, cut: str = "…") -> Text:
    text.truncate(width, overflow="ellipsis" if cut else "crop")
    text.no_wrap = True
    return text
