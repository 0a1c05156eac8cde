"""Signals through the whole road: what holds for text holds for them."""

import numpy as np
import pytest
import torch
from sharp import sharpen

from regard.attention.position import grid_positions
from regard.build import build, learn
from regard.certificate import certify
from regard.data.example import Example, Place
from regard.data.signal.images import patches
from regard.models.signal_inputs import Convolutions, ImageInput, VectorInput
from regard.recipe import recipe_from
from regard.recipe.faults import GRID_POSITIONS


def series(count=11, seed=3, columns=3):
    """Waves of two speeds and different lengths, some values of which are missing."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        kind, length = number % 2, int(random.integers(5, 19))
        steps = np.arange(length)[:, None] * (0.5 + kind) + random.uniform(0, 6, columns)
        values = 5 + 3 * np.sin(steps) + random.normal(0, 0.3, (length, columns))
        values[random.random(values.shape) < 0.1] = np.nan
        found.append((values, "fast" if kind else "slow"))
    return found


def recipe(task="classify", **changes):
    values = {
        "task": {"kind": task},
        "data": {"train": "x"},
        "input": {"kind": "vectors"},
        "model": {
            "width": 16,
            "depth": 1,
            "inner": 24,
            **({} if "encoder" in changes.get("model", {}) else {"heads": 2}),
        },
        "train": {"epochs": 2, "batch_tokens": 100, "warmup_steps": 5, "certify": False},
    }
    for section, part in changes.items():
        values[section] = {**values.get(section, {}), **part}
    return values


def examples(task="classify"):
    whole = task != "label"
    found = []
    for number, (values, name) in enumerate(series(), 1):
        words = ("x",) if whole else tuple(map(str, range(len(values))))
        each = tuple("ab"[step % 2] for step in range(len(values)))
        labels = {"classify": (name,), "regress": (str(len(values)),), "label": each}[task]
        found.append(Example(words, {"label": labels}, Place("made", number), whole=whole, signal=values))
    return found


def sharp_predictor(task="classify", **changes):
    settings = recipe_from(recipe(task, **changes))
    given = picture_examples(task, settings.patch) if settings.input.kind == "image" else examples(task)
    predictor = build(settings, *learn(settings, given, ("label",)))
    for part in (*predictor.model.output.heads, predictor.model.input):
        for parameter in part.parameters():
            parameter.data.mul_(2)
    sharpen(predictor.model)
    return predictor.quick(given), given


def pictures(count=9, seed=7):
    """Bright in the upper or in the lower half, of different sizes, grey and in colours."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        height, width = random.integers(3, 11, 2)
        pixels = random.integers(0, 120, (height, width, 3 if number % 3 else 1), dtype=np.uint8)
        half = slice(0, height // 2) if number % 2 else slice(height // 2, height)
        pixels[half] += 120
        found.append((pixels, "top" if number % 2 else "bottom"))
    return found


def picture_examples(task, patch):
    found = []
    for number, (pixels, name) in enumerate(pictures(), 1):
        rows, columns = (-(-size // patch) for size in pixels.shape[:2])
        words = ("x",) if task != "label" else patches(rows, columns)
        labels = {"classify": (name,), "label": tuple("ab"[n % 2] for n in range(rows * columns)), "seq2seq": (name,)}
        found.append(
            Example(words, {"label": labels[task]}, Place("made", number), whole=task != "label", signal=pixels)
        )
    return found


CASES = {
    "class": ("classify", {}),
    "number": ("regress", {}),
    "label per step": ("label", {}),
    "three steps a vector": ("classify", {"input": {"patch": 3, "kernel": 5}}),
    "patch beyond kernel": ("classify", {"input": {"patch": 7, "kernel": 3}}),
    "patches": ("classify", {"input": {"kind": "image", "patch": 3}}),
    "pixels": ("classify", {"input": {"kind": "image", "patch": 1}}),
    "a label per patch": ("label", {"input": {"kind": "image", "patch": 4, "stem": "convolution"}}),
    "a class token": ("classify", {"input": {"kind": "image", "class_token": True}, "model": {"pooling": "first"}}),
    "all of one size": ("classify", {"input": {"kind": "image", "picture_size": [6, 10], "patch": 5}}),
    "a picture told": (
        "seq2seq",
        {"input": {"kind": "image", "stem": "convolution", "patch": 4}, "decode": {"max_length": 7, "beam": 2}},
    ),
    "a picture as a line": ("classify", {"input": {"kind": "image"}, "model": {"encoder": "convolution"}}),
    **{
        f"rows and columns by {name}": (
            "classify",
            {"input": {"kind": "image", "patch": 2}, "model": {"position": name}},
        )
        for name in GRID_POSITIONS
    },
}


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_running_gives_the_same_answers(case):
    task, changes = CASES[case]
    predictor, given = sharp_predictor(task, **changes)
    certificate = certify(predictor, given)
    assert not certificate.failed, certificate.sentence


def test_the_law_finds_a_picture_s_border_that_neighbours_change(monkeypatch):
    predictor, given = sharp_predictor(input={"kind": "image", "stem": "convolution", "patch": 4})
    read = Convolutions.forward
    monkeypatch.setattr(Convolutions, "forward", lambda self, x, inside: read(self, x, torch.ones_like(inside)))
    assert certify(predictor, given).failed


def test_the_law_finds_places_counted_along_the_batch(monkeypatch):
    """As if a patch's row and column were those of the widest picture beside it."""
    predictor, given = sharp_predictor(input={"kind": "image", "patch": 2})

    def wrong(self, inputs):
        columns = int(inputs["places"][..., 1].max()) + 1
        return grid_positions(
            *torch.arange(inputs["places"].shape[1])[None].div(columns).floor().long()[None].expand(2, -1, -1)
        )

    monkeypatch.setattr(ImageInput, "positions", wrong)
    assert certify(predictor, given).failed


def test_the_law_finds_steps_of_neighbours_padding(monkeypatch):
    predictor, given = sharp_predictor()
    read = VectorInput.forward
    monkeypatch.setattr(
        VectorInput,
        "forward",
        lambda self, inputs: read(self, {**inputs, "vectors": inputs["vectors"].nan_to_num(1.0)}),
    )
    assert certify(predictor, given).failed
