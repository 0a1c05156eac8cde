"""A look as a file: the whole page, or one picture as a drawing (SVG), as points (PNG), or as numbers (CSV)."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import RegardError, nearest
from regard.look.draw import visible
from regard.look.png import png_of
from regard.page import shown as rounded

if TYPE_CHECKING:
    from regard.look.look import Look

Weights = Sequence[Sequence[float]]

# One hue, from paper to deep blue.
RAMP = np.array([[255, 255, 255], [104, 160, 219], [8, 44, 97]], dtype=float)
CELL, LETTER = 24, 8


def save(look: Look, path: Path, layer: int | None, head: int | None, part: str | None) -> None:
    """Write what the file's ending says."""
    if path.suffix == ".html":
        _write(path, look.page())
        return
    if path.suffix not in PICTURES:
        known = [".html", *PICTURES]
        raise RegardError(f"{path} ends in none of {', '.join(known)}{nearest(path.suffix, known)}")
    _, where = look.chosen(layer, head, part)
    cells, rows, columns = look.shown(where, head)
    _write(path, PICTURES[path.suffix](cells.tolist(), rows, columns))


def _write(path: Path, content: str | bytes) -> None:
    from regard.errors import FolderError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise FolderError(f"cannot write {path}: {error.strerror or error}") from None


def tinted(weights: Weights) -> np.ndarray:
    """(rows, columns, 3): each weight's colour, relative to the largest of all."""
    shares = np.asarray(weights, dtype=float).reshape(len(weights), -1)
    shares = np.clip(shares / (shares.max(initial=0.0) or 1.0), 0, 1) * 2
    low = np.minimum(shares.astype(int), 1)
    return np.round(RAMP[low] + (shares - low)[..., None] * (RAMP[low + 1] - RAMP[low])).astype(np.uint8)


def svg(weights: Weights, rows: Sequence[str], columns: Sequence[str]) -> str:
    """A drawing with names; each cell says its number when it is pointed at."""
    names, heads = [visible(name) for name in rows], [visible(name) for name in columns]
    left, top = _room(names), _room(heads)
    width, height = left + CELL * len(columns) + _room(heads) // 2, top + CELL * len(rows) + 8
    colours = tinted(weights)
    drawn = []
    for row, name in enumerate(names):
        y = top + CELL * row
        drawn.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{_text(name)}</text>')
        for column, other in enumerate(heads):
            colour = "#" + bytes(colours[row, column]).hex()
            said = _text(f"{name} → {other}: {rounded(weights[row][column])}")
            drawn.append(
                f'<rect x="{left + CELL * column}" y="{y}" width="{CELL}" height="{CELL}" fill="{colour}">'
                f"<title>{said}</title></rect>"
            )
    for column, name in enumerate(heads):
        x = left + CELL * column + CELL // 2 + 4
        drawn.append(f'<text x="{x}" y="{top - 7}" transform="rotate(-55 {x} {top - 7})">{_text(name)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, Noto Sans, sans-serif" font-size="13" fill="#1a2230" role="img">'
        f'<title>each row looks at the columns</title><rect width="{width}" height="{height}" fill="#fff"/>'
        f"{''.join(drawn)}</svg>\n"
    )


def _room(names: Sequence[str]) -> int:
    return 16 + LETTER * max((len(name) for name in names), default=1)


def _text(text: str) -> str:
    return html.escape(text)


def png(weights: Weights, rows: Sequence[str], columns: Sequence[str]) -> bytes:
    """Points of colour without names, since no font that is always there has all scripts; SVG and page have them."""
    points = tinted(weights)
    zoom = max(1, 960 // max(points.shape[:2]))
    return png_of(points.repeat(zoom, 0).repeat(zoom, 1))


def comma_separated(weights: Weights, rows: Sequence[str], columns: Sequence[str]) -> str:
    """The numbers, with the names of rows and columns as they are written."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["", *columns])
    writer.writerows([name, *(f"{weight:.8g}" for weight in row)] for name, row in zip(rows, weights, strict=True))
    return file.getvalue()


PICTURES: dict[str, Callable[[Weights, Sequence[str], Sequence[str]], str | bytes]] = {
    ".svg": svg,
    ".png": png,
    ".csv": comma_separated,
}
