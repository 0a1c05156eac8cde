"""The page holds what was recorded, needs nothing else, and lets nothing in a token become more than text."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from sharp import draw

from regard.look.axis import Columns, Grid, Sound, Tokens
from regard.look.pool import Extent, Pool
from regard.look.view import Part, View, page, quantised

DOT = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABc3UBGAAAAABJRU5ErkJggg==")


def maps(layers, heads, queries, keys, *, own=True, sharp=3.0):
    found = []
    for layer in range(layers):
        weights = (sharp * draw(1, heads, queries, keys, seed=layer)).softmax(-1)
        pool = Pool(f"encoder.blocks.{layer}.attention", Extent.of(queries), Extent.of(keys), own=own)
        pool.take(weights, slice(0, queries))
        found.append(pool.map)
    return found


def a_page(names=("a", "b", "c"), layers=2, heads=3, title="a b c"):
    side = Tokens(tuple(names))
    return page(
        [
            View(
                title,
                [(name, "X", 0.5) for name in names],
                [Part("encoder", side, side, maps(layers, heads, len(names), len(names)))],
            )
        ]
    )


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def unpacked(text, kind):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)


def test_a_weight_is_within_a_255th_of_its_row_s_largest_and_zero_exactly_zero():
    cells = (4 * draw(3, 17, 19)).softmax(-1)
    cells[:, 2] = 0
    cells[0, 3, 4:] = 0
    cells[1, 5, 1] = 1e-30
    levels, largest = quantised(cells)
    back = torch.from_numpy(np.maximum(levels.astype(float) - 1, 0) / 254 * largest[..., None])
    assert ((back - cells).abs() <= torch.from_numpy(largest)[..., None] / 255 + 1e-9).all()
    assert ((torch.from_numpy(levels) == 0) == (cells == 0)).all()


def test_what_the_page_holds_are_the_weights():
    layers, heads, count = 2, 3, 5
    side = Tokens(tuple("abcde"))
    found = maps(layers, heads, count, count)
    (part,) = data_of(page([View("x", [], [Part("encoder", side, side, found)])]))["inputs"][0]["parts"]
    cells = unpacked(part["cells"], np.uint8).reshape(layers, heads, count, count)
    largest = unpacked(part["largest"], "<f4").reshape(layers, heads, count, 1)
    wanted = np.stack([layer.cells.numpy() for layer in found])
    assert np.abs(np.maximum(cells.astype(float) - 1, 0) / 254 * largest - wanted).max() <= 1 / 255
    assert part["size"] == [count, count] and part["pool"] == [1, 1]


def test_of_a_pooled_map_the_page_knows_which_element_is_meant():
    count = 431
    side = Tokens(tuple(f"t{number}" for number in range(count)))
    (layer,) = maps(1, 2, count, count)
    (part,) = data_of(page([View("x", [], [Part("encoder", side, side, [layer])])]))["inputs"][0]["parts"]
    inside = unpacked(part["where"], {1: "u1", 2: "<u2"}[part["whereBytes"]]).reshape(layer.cells.shape)
    places = np.arange(layer.cells.shape[1])
    row = places[:, None] * part["pool"][0] + inside // part["pool"][1]
    column = places[None] * part["pool"][1] + inside % part["pool"][1]
    assert (row * count + column == layer.where.numpy()).all()


def test_twelve_layers_of_twelve_heads_of_a_hundred_tokens_are_under_two_megabytes():
    assert len(a_page([f"token{n}" for n in range(100)], 12, 12).encode()) < 2_000_000


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.addresses = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action")]


EVIL = [
    "</script><script>alert(1)</script>",
    "<!--",
    "<img src=x onerror=alert(1)>",
    "\ud800",
    "{script}",
    "&amp;",
    "\"'",
]


def test_markup_and_scripts_in_tokens_stay_text():
    plain, evil = Tags(), Tags()
    plain.feed(a_page(["a"] * len(EVIL)))
    text = a_page(EVIL, title="".join(EVIL[:3]))
    evil.feed(text)
    assert evil.tags == plain.tags
    names = data_of(text)["inputs"][0]["parts"][0]["rows"]["names"]
    assert names[:3] == EVIL[:3] and names[3] == "\ufffd" and names[4] == "{script}"


def test_the_page_needs_no_network_and_runs_no_other_script():
    text = a_page()
    tags = Tags()
    tags.feed(text)
    assert set(tags.addresses) == {"data:,"}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    for kind, part in (
        ("script", re.findall(r"<script>(.*?)</script>", text, re.DOTALL)),
        ("style", re.findall(r"<style>(.*?)</style>", text, re.DOTALL)),
    ):
        (inside,) = part
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert " style=" not in text and "onclick=" not in text


def test_tokens_are_named_as_written_and_pieces_know_their_words():
    side = Tokens(("un", "believ", "able", " ", "é"), (0, 0, 0, 1, 2)).as_data()
    assert side["words"] == (0, 0, 0, 1, 2) and side["names"] == ["un", "believ", "able", "␣", "é"]
    assert "words" not in Tokens(("a", "b"), (0, 1)).as_data()


@pytest.mark.parametrize(
    ("axis", "count"),
    [
        (Grid(3, 5, DOT, extra=("all",)), 16),
        (Sound((0.0, 0.1, 0.2, 0.35), np.arange(12.0).reshape(4, 3), b"RIFF"), 3),
        (Columns(("width", "height"), (1.5, 2.0)), 2),
    ],
)
def test_other_kinds_of_sides_fit_the_same_page(axis, count):
    assert len(axis.names) == count
    part = Part("encoder", axis, axis, maps(1, 2, count, count))
    (found,) = data_of(page([View("x", [], [part])]))["inputs"][0]["parts"]
    assert found["columns"]["kind"] in ("grid", "sound", "columns") and len(found["columns"]["names"]) == count
    json.dumps(axis.as_data(), allow_nan=False)
