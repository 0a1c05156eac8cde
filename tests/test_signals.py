"""Signals through the whole road: what holds for text holds for them."""

import numpy as np
import pytest
import torch
from sharp import sharpen

import regard
from regard.attention.position import grid_positions
from regard.build import build, learn
from regard.certificate import certify
from regard.data.example import Example, Place
from regard.data.signal.images import Images, patches
from regard.errors import DataError, ShapeError
from regard.folder import load_tensors
from regard.models.signal_inputs import Convolutions, ImageInput, VectorInput
from regard.recipe import recipe_from
from regard.recipe.faults import GRID_POSITIONS
from regard.training import trainer
from regard.training.progress import Talk


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
    "a picture told by chance": (
        "seq2seq",
        {"input": {"kind": "image", "patch": 4}, "decode": {"max_length": 5, "sample": True}},
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


# From files to answers


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on series in a table, and its folder."""
    folder = tmp_path_factory.mktemp("series")
    rows = ["item,x,y,z,class"]
    for number, (values, name) in enumerate(series(31)):
        rows += [",".join((f"i{number}", *("" if v != v else f"{v:.3f}" for v in row), name)) for row in values]
    (folder / "long.csv").write_text("\n".join(rows) + "\n")
    values = recipe(
        data={"train": str(folder / "long.csv"), "item": "item", "target": "class"},
        input={"jitter": 0.1, "warp": 0.1, "mixup": 0.2},
        train={"epochs": 4, "lr": 5e-3},
    )
    return regard.train(values, run=folder / "run"), folder


def test_a_run_answers_files_arrays_and_what_was_loaded_alike(trained):
    run, folder = trained
    arrays = [values.round(3) for values, _ in series(31)]
    found = [answer.label for answer in run.predict(folder / "long.csv")]
    assert len(found) == 31 and len(set(found)) == 2
    assert [answer.label for answer in run.predict(arrays)] == found
    assert [answer.label for answer in regard.load(folder / "run").predict(arrays)] == found
    assert 0.5 < run.evaluate(folder / "long.csv").values["accuracy"] <= 1


def test_what_cannot_be_read_keeps_its_place(trained):
    run, folder = trained
    text = (folder / "long.csv").read_text().splitlines()
    broken = [text[0], "bad,x,1,2,slow", *text[1:20], "worse,1,2,inf,slow"]
    (folder / "broken.csv").write_text("\n".join(broken) + "\n")
    with pytest.raises(DataError, match=r"broken\.csv:2: 'x' is no number"):
        run.predict(folder / "broken.csv")
    found = run.predict(folder / "broken.csv", on_error="skip")
    assert [answer.error is None for answer in found] == [False, *[True] * (len(found) - 2), False]
    assert "the value of step 1 in column 3 is infinite" in str(found[-1].error)
    (folder / "narrow.csv").write_text("item,x,y,z\na,1,2,3\n")
    assert len(run.predict(folder / "narrow.csv")) == 1
    told = Told()
    given = recipe(data={"train": str(folder / "broken.csv"), "item": "item", "target": "class", "on_error": "skip"})
    given["data"]["dev"] = str(folder / "long.csv")
    with pytest.raises(DataError, match=r"broken\.csv:2: .*on_error = .skip. leaves such out"):
        regard.train({**given, "data": {**given["data"], "on_error": "stop"}}, run=folder / "stopped")
    regard.train(given, run=folder / "skipped", talk=told)
    assert sum(sentence.startswith("left out: ") for sentence in told.said) == 2


def test_what_does_not_fit_is_named(trained):
    run, _ = trained
    with pytest.raises(DataError, match=r"2 columns where 3 were learnt \(x, y, z\)"):
        run.predict([np.zeros((4, 2))])
    with pytest.raises(DataError, match="the value of step 2 in column 3 is infinite"):
        run.predict([np.array([[1, 2, 3], [1, 2, np.inf]])])
    with pytest.raises(DataError, match="is text, but this run reads vectors"):
        run.predict(["some words"])
    with pytest.raises(DataError, match="3 dimensions, but a series has"):
        run.predict([np.zeros((4, 2, 3))])


def test_a_series_of_which_nothing_is_known_has_a_finite_answer(trained):
    run, _ = trained
    (answer,) = run.predict([np.full((3, 3), np.nan)])
    assert answer.label in ("fast", "slow") and 0 < answer.probabilities["class"][0] <= 1


@pytest.mark.parametrize("kind", ["vectors", "image"])
def test_a_run_that_broke_off_goes_on_bit_for_bit_though_it_draws_anew(kind, tmp_path, monkeypatch):
    drawn = {"jitter": 0.2, "warp": 0.2, "mixup": 0.4}
    if kind == "image":
        drawn = {"kind": "image", "stem": "convolution", "patch": 2, "shift": 1, "crop": 0.5, "mixup": 0.3}
    given = recipe(input=drawn, train={"epochs": 3})
    del given["data"]
    pairs = series(17) if kind == "vectors" else pictures(17)
    data = {"train": pairs, "dev": pairs[:5]}
    regard.train(given, run=tmp_path / "whole", data=data)
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    with pytest.raises(ConnectionAbortedError):
        regard.train(given, run=tmp_path / "broken", data=data, talk=StopAfter(3))
    regard.train(given, run=tmp_path / "broken", data=data)
    whole, broken = (load_tensors(tmp_path / name / "last" / "model.safetensors") for name in ("whole", "broken"))
    assert all(torch.equal(tensor, broken[name]) for name, tensor in whole.items())


class Told(Talk):
    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


class StopAfter(Talk):
    """Breaks off in the middle of training, as a power cut would."""

    def __init__(self, update):
        self.update = update

    def stepped(self, at, loss, norm, rate, left):
        if at.update == self.update:
            raise ConnectionAbortedError


def test_a_forecast_of_a_line_goes_on_with_it(tmp_path):
    """What a linear map can tell is told at once."""
    slopes = [1.0, -2.0, 3.0, 0.5]
    lines = [np.arange(60)[:, None] * slope + 100 * slope for slope in slopes]
    given = recipe(
        "forecast",
        output={"horizon": 4},
        input={"context": 8},
        model={"pooling": "last", "dropout": 0.0},
        train={"epochs": 12, "lr": 1e-2, "batch_tokens": 400},
    )
    del given["data"]
    run = regard.train(given, run=tmp_path / "run", data={"train": lines})
    (answer,) = run.predict([lines[2][:50]])
    assert answer.words == ("+1", "+2", "+3", "+4")
    found = [float(value) for value in answer.columns["1"]]
    assert np.abs(np.array(found) - (lines[2][50:54, 0])).max() < 12  # of a spread of about 200
    assert len(run.predict([lines[1]])[0].columns["1"]) == 4


def test_a_picture_larger_than_learned_places_is_one_sentence():
    predictor, _ = sharp_predictor(input={"kind": "image", "patch": 2}, model={"position": "learned"})
    large = Example(("x",), {}, Place("large", 1), whole=True, signal=np.zeros((40, 40, 3), dtype=np.uint8))
    with pytest.raises(ShapeError, match=r"large:1: a picture of 20 × 20 patches is larger than the"):
        list(predictor.predict([large]))


def test_what_is_no_picture_is_named():
    predictor, _ = sharp_predictor(input={"kind": "image", "patch": 2})
    for signal, words in (
        (np.zeros((4, 4, 3)), "pixels of float64; a picture holds whole numbers of 8 or 16 bits"),
        (np.zeros((4, 4, 2), dtype=np.uint8), r"an array \(4, 4, 2\); a picture is"),
        (None, "a text, where pictures are read"),
    ):
        with pytest.raises(DataError, match=words):
            list(predictor.predict([Example(("x",), {}, Place("bad", 1), whole=True, signal=signal)]))


@pytest.mark.parametrize("size", [976, 1840, 1952])
def test_as_many_patches_as_fit(size):
    pixels = np.zeros((size, 16, 1), dtype=np.uint8)
    made = Images((0.5,), (0.5,), patch=16)
    assert made.of(Example(("x",), whole=True, signal=pixels)).grid == (size // 16, 1)
    assert made.of(Example(("x",), whole=True, signal=pixels[:-1])).grid == (size // 16, 1)
