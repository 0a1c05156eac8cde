"""Signals through the whole road: what holds for text holds for them."""

import numpy as np
import pytest
from sharp import sharpen

from regard.build import build, learn
from regard.certificate import certify
from regard.data.example import Example, Place
from regard.models.signal_inputs import VectorInput
from regard.recipe import recipe_from


def series(count=23, seed=3, columns=3):
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
        "model": {"width": 16, "heads": 2, "depth": 1, "inner": 24},
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
    given = examples(task)
    predictor = build(settings, *learn(settings, given, ("label",)))
    for part in (*predictor.model.output.heads, predictor.model.input):
        for parameter in part.parameters():
            parameter.data.mul_(2)
    sharpen(predictor.model)
    return predictor.quick(given), given


CASES = {
    "class": ("classify", {}),
    "number": ("regress", {}),
    "label per step": ("label", {}),
    "three steps a vector": ("classify", {"input": {"patch": 3, "kernel": 5}}),
    "patch beyond kernel": ("classify", {"input": {"patch": 7, "kernel": 3}}),
}


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_running_gives_the_same_answers(case):
    task, changes = CASES[case]
    predictor, given = sharp_predictor(task, **changes)
    certificate = certify(predictor, given)
    assert not certificate.failed, certificate.sentence


def test_the_law_finds_steps_of_neighbours_padding(monkeypatch):
    predictor, given = sharp_predictor()
    read = VectorInput.forward
    monkeypatch.setattr(
        VectorInput,
        "forward",
        lambda self, inputs: read(self, {**inputs, "vectors": inputs["vectors"].nan_to_num(1.0)}),
    )
    assert certify(predictor, given).failed
