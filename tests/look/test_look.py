"""A look holds all layers and heads, of short inputs and long ones, and can be saved."""

import csv
import io
import zlib

import numpy as np
import pytest
import torch
import written
from sharp import assert_close, draw
from test_independence import predictor_for
from test_signals import sharp_predictor

from regard.build import build, learn
from regard.data.example import Example
from regard.errors import RegardError
from regard.look.axis import Grid
from regard.look.look import look
from regard.look.png import png_of
from regard.look.pool import MOST, Extent, Pool
from regard.look.save import tinted
from regard.look.view import view
from regard.recipe import recipe_from

WORDS = ("the", "light", "can", "light", "the")


def looked(words=WORDS, **given):
    return look(predictor_for("words", {"depth": 2, "heads": 2}), Example(words), **given)


def test_every_layer_and_head_has_its_own_map_of_what_was_read_and_what_was_written():
    """Case B09: 2 layers × 4 heads, source 5, target 3, none averaged and none missing."""
    predictor = written.predictor(model={"depth": 2, "decoder_depth": 2, "heads": 4, "width": 24})
    found = look(predictor, Example(("abcde",), whole=True))
    read, rows = len(found.tokens), len(found.written) + 1
    assert read == 5
    for path, weights in found.weights.items():
        shape = (4, read, read) if path.startswith("encoder") else (4, rows, read if "cross" in path else rows)
        assert weights.shape == shape
        assert_close(weights.sum(-1), torch.ones(shape[:2]), 1e-5)
    assert len(found.layers("encoder")) == len(found.layers("cross")) == len(found.layers("decoder")) == 2
    cross = next(iter(found.layers("cross").values())).cells
    assert not torch.allclose(cross[0], cross[1])


def test_weights_are_arrays_too():
    found = looked()
    for path, weights in found.to_numpy().items():
        assert np.array_equal(weights, found.weights[path].numpy())


@pytest.mark.parametrize(("rows", "columns"), [(None, None), (slice(30, 470), slice(100, None)), (slice(7, 8), None)])
def test_a_pooled_picture_shows_the_largest_of_each_place_and_says_where_it_is(rows, columns):
    count, heads = 487, 2
    weights = (3 * draw(1, heads, count, count)).softmax(-1)
    extents = Extent.of(count, rows), Extent.of(count, columns)
    pool = Pool("x", *extents, own=True)
    for start in range(0, count, 37):  # as it passes in tiles
        pool.take(weights[:, :, start : start + 37], slice(start, min(start + 37, count)))
    found = pool.map
    (high, wide) = extents
    assert high.places <= MOST and wide.places <= MOST
    for head in range(heads):
        for row in range(0, high.places, 11):
            for column in range(0, wide.places, 13):
                part = weights[
                    0,
                    head,
                    high.start + row * high.size : min(high.stop, high.start + (row + 1) * high.size),
                    wide.start + column * wide.size : min(wide.stop, wide.start + (column + 1) * wide.size),
                ]
                assert found.cells[head, row, column] == part.max()
                if found.where is not None:
                    at = divmod(int(found.where[head, row, column]), count)
                    assert weights[0, head][at] == part.max()


def test_measures_are_of_all_weights_also_where_a_part_is_shown():
    whole, part = looked(), looked(rows=slice(1, 3), columns=slice(2, 4))
    for path, layer in whole.maps.items():
        assert part.maps[path].measures == layer.measures
        assert torch.equal(part.maps[path].cells, layer.cells[:, 1:3, 2:4])


def test_a_long_input_is_seen_in_tiles_and_its_weights_are_not_kept(monkeypatch):
    whole = looked(WORDS * 50)
    monkeypatch.setattr("regard.look.look.MOST_WEIGHTS", 1000)
    found = looked(WORDS * 50)
    for path, layer in whole.maps.items():
        assert_close(found.maps[path].cells, layer.cells, 1e-5)
        assert found.maps[path].cells.shape[1] == 125
    assert not found.measured
    with pytest.raises(RegardError, match=r"an input of 250 elements not all weights are kept.*record\(model"):
        _ = found.weights
    assert view(found).unmeasured.startswith("What this map is worth is measured for inputs of at most 512")


def test_what_is_not_there_is_refused_with_what_is():
    found = looked()
    with pytest.raises(RegardError, match="no layer 3; the layers are 1 to 2"):
        found.picture(3)
    with pytest.raises(RegardError, match="no head 9; the heads are 1 to 2"):
        found.picture(1, 9)
    with pytest.raises(RegardError, match="no part cross to look at; there are encoder"):
        found.picture(part="cross")
    with pytest.raises(RegardError, match="nothing to look at: the input is empty"):
        looked(())
    with pytest.raises(RegardError, match=r"nothing is left to show of .*: it has 5 rows"):
        looked(rows=slice(9, 12))
    with pytest.raises(RegardError, match=r"its encoder is not attention .*--leave-one-out"):
        look(predictor_for("words", {"encoder": "pointwise"}), Example(WORDS))


def test_one_token_alone_can_be_looked_at():
    found = looked(("light",))
    assert all((weights == 1).all() for weights in found.weights.values())
    assert "light" in found.page()


def test_a_look_is_saved_as_what_the_ending_says(tmp_path):
    found = looked()
    for ending in (".html", ".svg", ".csv"):
        found.save(tmp_path / f"look{ending}", 1, 2)
    wanted = next(iter(found.weights.values()))[1]
    rows = list(csv.reader(io.StringIO((tmp_path / "look.csv").read_text(encoding="utf-8"))))
    assert rows[0] == ["", *WORDS] and [row[0] for row in rows[1:]] == list(WORDS)
    assert_close(torch.tensor([[float(cell) for cell in row[1:]] for row in rows[1:]]), wanted, 1e-7)
    drawing = (tmp_path / "look.svg").read_text(encoding="utf-8")
    assert drawing.count("<rect") == 1 + len(WORDS) ** 2 and ">light</text>" in drawing
    with pytest.raises(RegardError, match=r"look.pdf ends in none of .html, .svg, .png, .csv"):
        found.save(tmp_path / "look.pdf")
    with pytest.raises(RegardError, match="there is no layer 7"):
        found.save(tmp_path / "x.svg", 7)


def points_of(file):
    """What a PNG without a filter holds: (height, width, 3)."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(file[at : at + 4], "big") for at in (16, 20))
    size = int.from_bytes(file[33:37], "big")
    rows = np.frombuffer(zlib.decompress(file[41 : 41 + size]), np.uint8).reshape(height, 1 + 3 * width)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:].reshape(height, width, 3)


def test_a_picture_of_points_has_the_colours_of_the_weights(tmp_path):
    found = looked()
    found.save(tmp_path / "look.png", 2, 1)
    cells = list(found.weights.values())[1][0]
    points = points_of((tmp_path / "look.png").read_bytes())
    zoom = points.shape[0] // len(WORDS)
    assert (points[zoom // 2 :: zoom, zoom // 2 :: zoom] == tinted(cells.tolist())).all()


def test_a_png_is_read_by_others_as_it_was_written():
    image = pytest.importorskip("PIL.Image", reason="needs pillow")
    pixels = np.random.default_rng(0).integers(0, 256, (7, 11, 3), np.uint8)
    assert (np.asarray(image.open(io.BytesIO(png_of(pixels)))) == pixels).all()


def test_a_picture_is_looked_at_patch_by_patch():
    """The side is the picture itself, as the network is given it; what hangs over its border is white."""
    pixels = np.random.default_rng(0).integers(0, 256, (7, 10, 1), np.uint8)
    examples = [Example(("x",), {"label": (name,)}, whole=True, signal=pixels) for name in "ab"]
    settings = recipe_from(
        {
            "task": {"kind": "classify"},
            "data": {"train": "x"},
            "input": {"kind": "image", "patch": 4},
            "model": {"width": 16, "heads": 2, "depth": 1, "inner": 24},
        }
    )
    predictor = build(settings, *learn(settings, examples, ("label",)))
    predictor.model.eval()
    found = look(predictor, examples[0])
    grid = found.read
    assert isinstance(grid, Grid) and (grid.rows, grid.columns) == (2, 3) and len(grid.names) == len(found.tokens)
    points = points_of(grid.picture)
    assert points.shape == (8, 12, 3) and (points[:7, :10] == pixels).all() and (points[7:] == 255).all()
    assert found.page() and found.effects


def test_in_a_notebook_each_look_stands_in_a_frame_of_its_own():
    shown = looked()._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts' in shown
    assert "<script" not in shown  # all of the page is inside the attribute, escaped


def test_steps_of_writing_name_what_else_could_have_stood_there():
    predictor = written.predictor()
    (example,) = written.examples(1)
    found = look(predictor, example)
    assert len(found.steps) == len(found.written) + 1
    for place, step in enumerate(found.steps):
        shares = [share for _, share in step]
        assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-6
        wanted = found.asked.answers()[0][0, place]
        written_here = (*found.written, "<end>")[place]
        assert all(share == pytest.approx(float(wanted), abs=1e-5) for name, share in step if name == written_here)


@pytest.mark.parametrize("task", ["classify", "label", "regress"])
def test_a_series_is_looked_at_as_a_text_is_with_its_course_beside_it(task):
    predictor, examples = sharp_predictor(task)
    found = look(predictor, examples[1])
    steps = len(examples[1].signal)
    assert found.read.names == found.tokens and len(found.tokens) == steps == len(found.read.values)
    for path, weights in found.weights.items():
        assert weights.shape == (2, steps, steps)
        assert all(of_head.off.most >= 0 for of_head in found.effects[path])
    assert view(found).title == "made, line 2" and found.page()
