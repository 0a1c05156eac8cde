"""One page for everything that was recorded: an HTML file that needs nothing but itself.

What a page shows is a `View`: an input's title and answers, and for each part of the model its two sides (`axis`), its
layers' pictures (`pool.Map`) and what each is worth. Other kinds of input need other sides, and nothing else.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.example import Example
from regard.look.axis import Axis, Grid, joined
from regard.look.effect import Importance, OfHead
from regard.look.look import MOST_MEASURED, Look
from regard.look.measure import ALL_MEASURES, chip, shifts
from regard.look.pool import Extent, Map
from regard.page import curve

SCRIPTS = ("unpack.js", "state.js", "figure.js", "panels.js", "export.js", "start.js")

# One byte for a weight: 0 is exactly zero, 1 more than zero and less than half a step, and from there in as many steps
# to the row's largest.
STEPS = 254

# A title has at most so many letters; the picture has all of them.
LONGEST_TITLE = 200


@dataclass(frozen=True)
class Part:
    """One part of a model: encoder, decoder, or cross.

    rows, columns: what looks, and at what
    layers: their pictures, from first to last
    worth:  for each layer what each head's picture is worth; empty where it was not measured
    """

    name: str
    rows: Axis
    columns: Axis
    layers: Sequence[Map]
    worth: Sequence[Sequence[OfHead]] = ()


@dataclass(frozen=True)
class View:
    """One input, as a page shows it.

    answers: (name of the element or nothing, the answer, how probable it is or None)
    steps:   where a text is written, for each step the most probable pieces
    unmeasured: why there are no sentences about what a map is worth
    """

    title: str
    answers: Sequence[tuple[str, str, float | None]]
    parts: Sequence[Part]
    steps: Sequence[Sequence[tuple[str, float]]] = ()
    unmeasured: str = ""
    importance: Importance | None = None


def view(look: Look, title: str = "") -> View:
    """A look as a page shows it."""
    measured = look.measured
    parts = []
    for name in look.parts:
        layers = look.layers(name)
        worth = [look.effects[path] for path in layers] if measured else []
        parts.append(Part(name, *look.axes(name), list(layers.values()), worth))
    return View(
        title=title or _title(look.answer.example),
        answers=_answers(look),
        parts=parts,
        steps=look.steps,
        unmeasured=f"What this map is worth is measured for inputs of at most {MOST_MEASURED} elements.",
        importance=look.importance if measured else None,
    )


def _title(example: Example) -> str:
    """A text is its own title, as far as it fits; of a signal it is where it stands."""
    if example.signal is not None:
        name = Path(example.place.file).name
        return name if example.place.line <= 1 else f"{name}, line {example.place.line}"
    text = " ".join(example.words)
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…"


def _answers(look: Look) -> list[tuple[str, str, float | None]]:
    found: list[tuple[str, str, float | None]] = []
    for column, answers in look.answer.columns.items():
        shares = look.answer.probabilities.get(column, ())
        names = (column,) if look.answer.example.whole else look.answer.words
        for number, (name, answer) in enumerate(zip(names, answers, strict=True)):
            share = shares[number] if number < len(shares) else None
            found.append((name, answer, float(share) if isinstance(share, float) else None))
    return found


def page(views: Sequence[View]) -> str:
    """The whole HTML file, for one input or several side by side."""
    assert views and all(view.parts for view in views), "a page shows at least one input with one part"
    title = " · ".join(view.title for view in views)
    data = {"measures": ALL_MEASURES, "inputs": [_input(view) for view in views]}
    # "<" cannot end the script that holds the data, nor begin a comment in it.
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    packed = re.sub("[\ud800-\udfff]", "\ufffd", packed)
    style, script = _file("page.css"), f'"use strict";\n(() => {{\n{chr(10).join(map(_file, SCRIPTS))}\n}})();\n'
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data: blob:; "
        "media-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(title),
        "style": style,
        "data": packed,
        "script": script,
        "curve": "".join(_curve(view, len(views) > 1) for view in views if view.importance is not None),
    }
    return re.sub(r"\{(policy|title|style|data|script|curve)\}", lambda found: parts[found[1]], _file("page.html"))


def _file(name: str) -> str:
    return files("regard.look").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _input(view: View) -> dict[str, Any]:
    names = [name for name, _, _ in view.answers] if not view.steps else list(view.parts[0].rows.names)
    return {
        "title": view.title,
        "answers": [{"name": name, "answer": answer, "share": share} for name, answer, share in view.answers],
        "steps": view.steps,
        "unmeasured": view.unmeasured,
        "parts": [_part(part, names) for part in view.parts],
    }


def _part(part: Part, names: Sequence[str]) -> dict[str, Any]:
    """names: what the answer's elements are called"""
    first = part.layers[0]
    cells, largest = zip(*(quantised(layer.cells) for layer in part.layers), strict=True)
    data: dict[str, Any] = {
        "part": part.name,
        "rows": _side(part.rows, first.rows),
        "columns": _side(part.columns, first.columns),
        "size": [first.rows.places, first.columns.places],
        "full": [len(part.rows.names), len(part.columns.names)],
        "pool": [first.rows.size, first.columns.size],
        "start": [first.rows.start, first.columns.start],
        "heads": [len(layer.cells) for layer in part.layers],
        "cells": _packed(np.concatenate([each.reshape(-1) for each in cells])),
        "largest": _packed(np.concatenate([each.reshape(-1) for each in largest]).astype("<f4")),
        "told": [
            _told(_with_shifts(part, layer), part.worth[number] if part.worth else (), names)
            for number, layer in enumerate(part.layers)
        ],
    }
    places = [layer.where for layer in part.layers if layer.where is not None]
    if places:
        data["where"], data["whereBytes"] = _places(part, places)
        data["allRows"], data["allColumns"] = part.rows.names, part.columns.names
    return data


def _places(part: Part, where: Sequence[Tensor]) -> tuple[str, int]:
    """Where in each place its largest weight stands (row × columns of the place + column), and in how many bytes."""
    rows, columns = part.layers[0].rows, part.layers[0].columns
    found = np.stack([each.numpy() for layer in where for each in layer])
    row, column = np.divmod(found, len(part.columns.names))
    inside = (row - rows.start) % rows.size * columns.size + (column - columns.start) % columns.size
    size = next(size for size in (1, 2, 4) if rows.size * columns.size <= 256**size)
    return _packed(inside.astype(f"<u{size}")), size


def _side(axis: Axis, extent: Extent) -> dict[str, Any]:
    """A side as the page gets it; of a part of it, or where several elements share a place, only names are left."""
    data = axis.as_data()
    names = data["names"]
    if extent.size == 1 and extent.places == len(names):
        return data
    starts = range(extent.start, extent.stop, extent.size)
    pooled = [joined(names, start, min(start + extent.size, extent.stop)) for start in starts]
    if data["kind"] == "sound":
        return {**data, "names": pooled}
    return {"kind": "tokens", "names": pooled}


def _with_shifts(part: Part, layer: Map) -> Map:
    """Of a picture that looks at itself each head's measures also say which shift it is nearest to."""
    grid = part.rows
    if not isinstance(grid, Grid) or part.columns != grid or layer.where is not None:
        return layer
    if layer.cells.shape[1:] != (len(grid.names), len(grid.names)):  # a part of it is shown
        return layer
    first = len(grid.extra)
    found = shifts(layer.cells[:, first:, first:], grid.rows, grid.columns)
    named = [
        {**measures, f"shift {down:+d} {right:+d}": share}
        for measures, (down, right, share) in zip(layer.measures, found, strict=True)
    ]
    return replace(layer, measures=named)


def _told(layer: Map, worth: Sequence[OfHead], names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "chip": chip(measures),
            "measures": {name: round(value, 4) for name, value in measures.items()},
            "sentences": worth[head].sentences(names) if worth else (),
            "matters": worth[head].cut.most if worth else None,
        }
        for head, measures in enumerate(layer.measures)
    ]


def quantised(cells: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Each weight as one byte relative to its row's largest, and these: within 1/255 of it, and 0 only where it is 0.

    cells: (heads, rows, columns)
    """
    cells = cells.float()
    largest = cells.amax(-1) if cells.shape[-1] else cells.new_zeros(cells.shape[:2])
    shares = cells / torch.where(largest > 0, largest, 1.0)[..., None]
    levels = torch.where(cells > 0, 1 + (shares * STEPS).round().clamp(0, STEPS), 0.0)
    return levels.to(torch.uint8).numpy(), largest.numpy()


def _packed(numbers: np.ndarray) -> str:
    return b64encode(zlib.compress(numbers.tobytes(), 6)).decode()


def _curve(view: View, several: bool) -> str:
    """How many heads can be spared, as a section of the page."""
    found = view.importance
    assert found is not None
    points = {
        "mean probability of the answer": list(enumerate(found.mean)),
        "answers that stay": list(enumerate(found.kept)),
    }
    drawn = curve(points, title="Heads switched off, the least important first", x_label="heads off", y_label="share")
    of = f" · {html.escape(view.title)}" if several else ""
    names = [f"{path.removesuffix('attention').rstrip('.')} {head + 1}" for path, head in found.order]
    last = html.escape(", ".join(reversed(names[-3:])))
    return (
        f'<section class="curve-section"><h2>How many heads can be spared{of}</h2>{drawn}'
        f'<p class="note">Switched off last, so most important alone: {last}.</p></section>'
    )
