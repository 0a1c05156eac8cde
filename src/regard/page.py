"""One HTML page that needs nothing but itself: words, tables and curves.

Each function escapes the text it is given; `page` and `section` put together the HTML that the others return.
"""

import base64
import hashlib
import html
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from operator import itemgetter
from typing import NamedTuple

Points = Sequence[tuple[float, float]]
# What neither XML nor UTF-8 can carry, or nobody can see.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# An absent value may stand in a column of numbers.
NUMBER = re.compile(r"[-+−~≈<>]?\s*\d[\d.,\s]*(e[-+]?\d+)?\s*(±\s*[\d.]+)?\s*(%|×|[a-z/]{1,5})?|nan|-?inf|[-–]?", re.I)

# Hues after Okabe & Ito 2008, "Color Universal Design", some darker, as lines need more contrast than areas.
HUES = ("blue", "orange", "green", "pink", "olive", "sky")
DASHES = ("none", "8 4", "2 3", "10 3 2 3", "16 5", "5 2 1 2 1 2")
# A curve is drawn in these units and scaled to the page. LETTER is as wide as a letter gets on a phone.
WIDTH, TOP, BOTTOM, LETTER = 540, 68, 318, 9.0

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--muted:#59636f;--rule:#d9dee4;--soft:#f4f6f8;--mark:#e3f0fa;
--blue:#0072b2;--orange:#d55e00;--green:#00805d;--pink:#b8528c;--olive:#8a6d00;--sky:#2a8fd0}
@media(prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e4e8ec;--muted:#a0aab4;--rule:#343c45;--soft:#1d232a;
--mark:#173449;--blue:#5ab4ea;--orange:#f08a4b;--green:#35c49a;--pink:#e296bf;--olive:#e0c04a;--sky:#9fd3f5}}
*{box-sizing:border-box} p{margin:.75rem 0;max-width:42rem} .note,th{color:var(--muted);font-size:.9375rem}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:47rem;margin:0 auto;padding:2.5rem 1.25rem 4rem} h2{font-size:1.3rem;line-height:1.3;margin:0 0 .75rem}
h1{font-size:clamp(1.6rem,5vw,2rem);line-height:1.2;margin:0} .subtitle{color:var(--muted);margin:.4rem 0 0}
section{margin-top:2.25rem;padding-top:1.5rem;border-top:1px solid var(--rule)} .scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;min-width:min(100%,24rem);font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.4rem .9rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule);max-width:24rem}
.number{text-align:right;white-space:nowrap} .best{background:var(--mark);font-weight:650}
.best>:first-child{box-shadow:inset 4px 0 var(--blue)} dt{color:var(--muted)} dd{margin:0 0 .3rem}
dl{display:grid;grid-template-columns:minmax(7rem,auto) minmax(50%,1fr);gap:0 1.5rem;margin:1rem 0}
pre{background:var(--soft);border-radius:6px;padding:.8rem 1rem;overflow-x:auto} .curve desc+text{font-weight:600}
code{font:.9375rem/1.5 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:normal}
.curve{font-size:14px;display:block;width:100%;max-width:40rem;margin:1rem 0;font-family:inherit}
@media(max-width:32rem){main{padding:1.5rem 1rem} th,td{padding:.4rem .6rem} .curve text{font-size:17px}}
"""


def page(title: str, *sections: str, subtitle: str = "", script: str = "") -> str:
    """A whole HTML document that opens without a network, now and in twenty years.

    script: runs at the end of the page; the page allows this very text, by its hash, and no other.
    """
    policy, ending = "default-src 'none'; style-src 'unsafe-inline'; img-src data:", ""
    if script:
        # A tag or comment inside a string must not end the script; browsers hash it with "\n" as the line end.
        script = re.sub(r"<(?=/script|!--)", r"<\\", re.sub("\r\n?", "\n", script), flags=re.IGNORECASE)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy, ending = f"{policy}; script-src 'sha256-{digest}'", f"<script>{script}</script>"
    below = f'<p class="subtitle">{_text(subtitle)}</p>' if subtitle else ""
    # The icon is empty because browsers ask the server for one where none is named.
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(title)}</title><link rel="icon" href="data:,">
<style>{STYLE}</style></head>
<body><main><header><h1>{_text(title)}</h1>{below}</header>
{chr(10).join(sections)}
</main>{ending}</body></html>
"""


def section(heading: str, *parts: str, note: str = "") -> str:
    """A heading, what belongs under it, and perhaps a note in smaller type."""
    after = f'<p class="note">{_text(note)}</p>\n' if note else ""
    return f"<section>\n<h2>{_text(heading)}</h2>\n" + "".join(f"{part}\n" for part in parts) + f"{after}</section>"


def paragraph(text: str) -> str:
    """Plain text as one paragraph."""
    return f"<p>{_text(text)}</p>"


def code(text: str) -> str:
    """Text in letters of equal width, with its spaces and line ends kept."""
    return f'<pre tabindex="0"><code>{_text(text)}</code></pre>'


def pairs(items: Mapping[str, object]) -> str:
    """Names and what they stand for, such as a machine and its versions."""
    inside = "".join(f"<dt>{_text(name)}</dt><dd>{_text(shown(value))}</dd>" for name, value in items.items())
    return f"<dl>{inside}</dl>"


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, highlight: int | None = None) -> str:
    """Rows under headers, numbers to the right; a wide table scrolls in its own box.

    highlight: the row, counted from 0, that the reader should find first.
    """
    cells = [[shown(value) for value in row] for row in rows]
    assert all(len(row) == len(headers) for row in cells), f"every row needs {len(headers)} cells, one for each header"
    columns = [[row[i].strip() for row in cells] for i in range(len(headers))]
    kinds = [' class="number"' if all(map(NUMBER.fullmatch, column)) else "" for column in columns]
    head = "".join(f'<th scope="col"{kind}>{_text(name)}</th>' for name, kind in zip(headers, kinds, strict=True))
    body = "" if cells else f'<tr><td colspan="{len(headers)}">nothing to show</td></tr>\n'
    for index, row in enumerate(cells):
        best = ' class="best"' if index == highlight else ""
        inner = "".join(f"<td{kind}>{_text(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        body += f"<tr{best}>{inner}</tr>\n"
    inside = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
    return f'<div class="scroll" role="region" aria-label="table" tabindex="0">{inside}</div>'


def curve(
    series: Mapping[str, Points],
    *,
    title: str,
    x_label: str,
    y_label: str,
    levels: Mapping[str, float] | None = None,
    bands: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
) -> str:
    """Lines over two axes, each with a hue and dashes of its own; values that are not finite are left out.

    levels: names and heights of dashed horizontal lines, such as the loss of guessing.
    bands:  around the line of that name, as (x, low, high).
    """
    # Not a number is below nothing; and beyond this, a difference might not be finite.
    lines = {n: [(a, b) for a, b in line if abs(a) < 1e150 and abs(b) < 1e150] for n, line in series.items()}
    floors = sorted(((y, name) for name, y in (levels or {}).items() if abs(y) < 1e150), reverse=True)
    around = {n: [edge for edge in band if max(map(abs, edge)) < 1e150] for n, band in (bands or {}).items()}
    edges = [height for band in around.values() for _, *both in band for height in both]
    y = _axis([y for line in lines.values() for _, y in line] + [height for height, _ in floors] + edges, BOTTOM, TOP)
    margin = 12 + LETTER * max([3, *(len(shown(height)) for height, _ in floors)])
    x = _axis([x for line in lines.values() for x, _ in line], 14 + LETTER * max(map(len, y.names)), WIDTH - margin)
    drawn = [_label(0, 20, _cut(title), ink="ink"), _label(0, 48, _cut(y_label)), *_frame(x, y)]
    drawn.append(_label((x.start + x.end) / 2, BOTTOM + 44, _cut(x_label), "middle"))
    keys, words, beside = [], [], -math.inf
    for index, (name, line) in enumerate(lines.items()):
        pen = _pen(HUES[index % 6], DASHES[(index + index // 6) % 6], 2.2)
        keys.append((name if line else f"{name} (no points)", pen))
        if len(band := around.get(name, [])) > 1:
            there = [(x.at(a), y.at(low)) for a, low, _ in band] + [(x.at(a), y.at(high)) for a, _, high in band[::-1]]
            points = " ".join(f"{across:.1f},{up:.1f}" for across, up in there)
            drawn.append(f'<polygon points="{points}" fill="var(--{HUES[index % 6]})" fill-opacity="0.15"/>')
        drawn += [_line([(x.at(across), y.at(up)) for across, up in _thin(line)], pen)] if line else []
        ends = [f"{shown(up)} at {shown(across)}" for across, up in line[:: max(1, len(line) - 1)]]
        words.append(f"{name}: {' to '.join(ends) or 'no points'}")
    for index, (height, name) in enumerate(floors):
        pen, word = _pen("ink", DASHES[index % 4 + 1], 1.2), shown(height)
        keys.append((f"{name}: {word}", pen))
        beside = max(y.at(height) + 5, beside + 17)  # what is written beside one line is not written on another
        drawn += [_line([(x.start, y.at(height)), (x.end, y.at(height))], pen), _label(x.end + 6, beside, word)]
        words.append(f"dashed line {name}: {word}")
    legend, bottom = _legend(keys)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" class="curve" role="img" viewBox="0 0 {WIDTH} {bottom}">
<title>{_text(title)}</title><desc>{_text(f"{y_label} over {x_label}. {'; '.join(words)}")}</desc>
{"".join(drawn + legend)}
</svg>"""


def shown(value: object) -> str:
    """A value as a reader wants it: yes or no, a number of at most four significant places, or its text."""
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if not isinstance(value, Real) or isinstance(value, Integral):
        return str(value)
    short = f"{float(value):.4g}"
    return f"{float(short):.0f}" if 1e4 <= abs(float(value)) < 1e7 else re.sub(r"e\+?(-?)0*", r"e\1", short)


def _text(value: str) -> str:
    return html.escape(UNPRINTABLE.sub("\ufffd", value))


class Axis(NamedTuple):
    """Round numbers, how to write them, and where the first and the last stand in the picture."""

    ticks: list[float]
    names: list[str]
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0]) * (self.end - self.start)


def _axis(values: Sequence[float], start: float, end: float) -> Axis:
    """Four to six round numbers that span the values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    largest = max(abs(low), abs(high))
    if high - low <= max(1e-150, 1e-9 * largest):  # all the same, as far as floats can tell
        around = largest / 10 if largest > 1e-150 else 1.0
        low, high = low - around, high + around
    power = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    # Each step is at most twice the one before, so the first to need at most six ticks needs at least four.
    for step in (factor * power for factor in (1, 2, 2.5, 5, 10, 20, 25, 50, 100)):
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first <= 5:
            break
    ticks = [index * step for index in range(first, last + 1)]
    largest = max(map(abs, ticks))
    places = 4 if step < 1e-4 else next(n for n in range(7) if abs(round(step, n) - step) < step / 100)
    digits = math.ceil(math.log10(largest / step)) + 2
    plain = step >= 1e-4 and largest < 1e6
    names = [f"{tick:.{places}f}" if plain else re.sub(r"e\+?(-?)0*", r"e\1", f"{tick:.{digits}g}") for tick in ticks]
    return Axis(ticks, names, start, end)


def _frame(x: Axis, y: Axis) -> list[str]:
    """Grid, axes and the names of the ticks; where names would touch, some are left out."""
    every = math.ceil(LETTER * (max(map(len, x.names)) + 1) / (x.at(x.ticks[1]) - x.start))
    grid = [_line([(x.at(tick), TOP), (x.at(tick), BOTTOM)], _pen("rule")) for tick in x.ticks]
    grid += [_line([(x.start, y.at(tick)), (x.end, y.at(tick))], _pen("rule")) for tick in y.ticks]
    grid.append(_line([(x.start, TOP), (x.start, BOTTOM), (x.end, BOTTOM)], _pen("muted")))
    grid += [_label(x.at(x.ticks[i]), BOTTOM + 20, x.names[i], "middle") for i in range(0, len(x.ticks), every)]
    return grid + [_label(x.start - 8, y.at(tick) + 5, y.names[i], "end") for i, tick in enumerate(y.ticks)]


def _legend(keys: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
    """What each line means, in rows under the picture, and where they end."""
    columns = 2 if all(_breadth(name) <= 24 for name, _ in keys) else 1
    drawn = []
    for index, (name, pen) in enumerate(keys):
        x, y = index % columns * WIDTH / 2, BOTTOM + 74 + index // columns * 24
        drawn += [_line([(x, y - 5), (x + 34, y - 5)], pen), _label(x + 42, y, _cut(name), ink="ink")]
    return drawn, BOTTOM + 60 + math.ceil(len(keys) / columns) * 24


def _line(points: Points, pen: str) -> str:
    if len(points) == 1:
        return f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3" {pen}/>'
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" {pen}/>'


def _pen(hue: str, dashes: str = "none", width: float = 1) -> str:
    return f'fill="none" stroke="var(--{hue})" stroke-dasharray="{dashes}" stroke-width="{width}"'


def _label(x: float, y: float, text: str, anchor: str = "start", ink: str = "muted") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="var(--{ink})">{_text(text)}</text>'


def _thin(line: Points) -> Points:
    """Of very many points, the first, lowest, highest and last of each stretch: the same line to the eye."""
    size = max(1, len(line) // 500)
    stretches = [line[start : start + size] for start in range(0, len(line), size)]
    kept = [{each[0], min(each, key=itemgetter(1)), max(each, key=itemgetter(1)), each[-1]} for each in stretches]
    return [point for some in kept for point in sorted(some)]


def _breadth(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _cut(text: str, most: int = 50) -> str:
    while _breadth(text) > most:
        text = text[:-2] + "…"
    return text
