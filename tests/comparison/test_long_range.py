"""Encoders at ever larger distances: what is trained, resumed, refused and told."""

import json

import pytest
from test_cli import regard

from regard.comparison import long_range as module
from regard.comparison.distance import CHANCE
from regard.comparison.long_range import ENCODERS, Far, LongRange, Reached, cells, long_range, recipe_of
from regard.comparison.long_range_told import as_data, growth, html, sentence, told
from regard.errors import RegardError
from regard.recipe import NAMES

SMALL = {"lengths": (7, 29), "sizes": {"train": 16, "dev": 8, "test": 12}, "overrides": {"train.epochs": 0.5}}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("far")
    return folder, long_range(list(ENCODERS), [5, 3], 1, folder=folder, **SMALL)


def test_every_kind_of_encoder_and_cell_is_there():
    models = [recipe_of(Far(encoder, 3, 1)).model for encoder in ENCODERS]
    assert {model.encoder for model in models} == set(NAMES["model.encoder"])
    assert {model.cell for model in models if model.encoder == "recurrent"} == set(NAMES["model.cell"])
    assert {bool(model.window) for model in models} == {True, False}


def test_the_nearest_and_the_first_seed_come_first():
    grid = cells(["a", "b"], [3, 5], [1, 2])
    assert [cell.name for cell in grid[:3]] == ["a-3-seed-1", "b-3-seed-1", "a-5-seed-1"]
    assert len({cell.name for cell in grid}) == 8 and [cell.seed for cell in grid] == [1] * 4 + [2] * 4


def test_each_encoder_is_trained_at_each_distance_and_timed_at_each_length(found):
    folder, study = found
    assert [(of.cell.encoder, of.cell.distance) for of in study.reached] == [(e, d) for d in (3, 5) for e in ENCODERS]
    assert not study.left and len(list(folder.glob("*/best"))) == 2 * len(ENCODERS)
    assert {name: list(of) for name, of in study.seconds.items()} == {name: [7, 29] for name in ENCODERS}
    for of in study.reached:
        assert 0 <= of.accuracy <= 1 and (of.heard > 0) == (of.cell.encoder != "pointwise")


def test_what_was_done_is_not_done_again(found, monkeypatch):
    folder, study = found
    monkeypatch.setattr(module, "_measured", None)
    monkeypatch.setattr(module, "seconds", None)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/best/model.safetensors")}
    assert long_range(list(ENCODERS), [3, 5], 1, folder=folder, **SMALL) == study
    assert before == {path: path.stat().st_mtime_ns for path in folder.glob("*/best/model.safetensors")}


def test_what_there_is_no_time_for_is_left_out_and_said(found):
    folder, _ = found
    study = long_range(["rnn", "gru"], [5, 7], 1, folder=folder, minutes=1e-9, **SMALL)
    assert [cell.name for cell in study.left] == ["rnn-7-seed-1", "gru-7-seed-1"] and len(study.reached) == 2
    words = "left out, since the minutes were used up: rnn-7-seed-1, gru-7-seed-1; the same command goes on there"
    assert words in told(study) and words in html(study)
    assert as_data(study)["left"] == ["rnn-7-seed-1", "gru-7-seed-1"]


def test_a_study_without_any_time_says_that_nothing_was_trained(tmp_path):
    found = regard("study", "--long-range", "--minutes", "1e-9", "--out", "far.html", folder=tmp_path)
    assert found.status == 0, found.err
    assert "Nothing was trained." in found.out and "pointwise-1024-seed-1; the same command goes on there" in found.out
    assert "Nothing was trained." in (tmp_path / "far.html").read_text()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((["attenton"], [3], 1), "unknown encoder of a long-range study attenton; known: .*; did you mean attention"),
        ((["rnn"], [3, 0], 1), r"distances are numbers of steps back from 1, as in 16,64; found \[3, 0\]"),
        ((["rnn"], [3], 0), "seeds is 0 and minutes is None; a study needs a seed and some time"),
    ],
)
def test_what_cannot_be_is_refused(asked, words, tmp_path):
    with pytest.raises(RegardError, match=words):
        long_range(*asked, folder=tmp_path)


def reached(encoder, distance, accuracy):
    return Reached(Far(encoder, distance, 1), accuracy, 0.5, 0.25, 0.1)


def test_the_sentence_tells_how_far_each_finds_it_and_from_where_on_it_guesses():
    cases = [("rnn", 3, 1.0), ("rnn", 5, 0.25), ("rnn", 7, 0.34), ("gru", 3, 0.99), ("gru", 5, 0.3), ("gru", 7, 0.6)]
    study = LongRange("far", [reached(*case) for case in cases], {}, [])
    assert sentence(study) == (
        "rnn finds the item 3 steps back and guesses from 5 on; gru finds the item 3 steps back. "
        f"Chance is {CHANCE:.0%}."
    )


def test_growth_is_the_power_of_the_length():
    assert growth({length: 3e-9 * length**1.7 for length in (32, 64, 128, 256)}) == pytest.approx(1.7)
    assert growth({32: 0.1}) is None


def test_the_page_has_a_curve_of_each_kind_and_the_data_all_numbers(found):
    _, study = found
    page, data = html(study), as_data(study)
    assert page.count("<svg") == 4 and sentence(study) in page
    assert len(data["cells"]) == len(study.reached) and data["cells"][0]["encoder"] == "attention"
    assert json.loads(json.dumps(data))["seconds"]["rnn"] == {
        "7": study.seconds["rnn"][7],
        "29": study.seconds["rnn"][29],
    }


OPTIONS = {
    "a recipe": (["small.toml", "--long-range"], "a recipe cannot be used with --long-range, which makes its own task"),
    "sizes": (
        ["--long-range", "--sizes", "7", "--depths", "2"],
        "--sizes and --depths cannot be used with --long-range",
    ),
    "parts": (["--long-range", "--without", "norm"], "--without cannot be used with --long-range, which makes its own"),
    "no recipe": ([], "a study needs a recipe, as in regard study recipe.toml; only --long-range needs none"),
    "distances": (
        ["small.toml", "--distances", "3"],
        "--distances cannot be used with a study of encoders; take it out",
    ),
    "depths": (["small.toml", "--depths", "3"], "--depths cannot be used with a study of encoders; take it out"),
    "encoders": (["small.toml", "--without", "norm", "--encoder", "rnn"], "--encoder cannot be used with a study with"),
    "a word": (
        ["--long-range", "--distances", "3,far"],
        "--distances takes whole numbers parted by commas, as in 1,2,4",
    ),
    "below zero": (
        ["small.toml", "--without", "norm", "--depths", "-1"],
        "--depths takes whole numbers parted by commas",
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_a_study_would_not_use_is_refused(name, tmp_path):
    words, sentence = OPTIONS[name]
    found = regard("study", *words, folder=tmp_path)
    assert found.status == 2 and sentence in found.err and found.out == ""


def test_the_command_writes_a_page_and_data(found, monkeypatch, tmp_path):
    _, study = found
    asked = []

    def given(*words, **named):
        asked.append((words, named["folder"]))
        return study

    monkeypatch.setattr("regard.comparison.asked.long_range", given)
    told = regard("study", "--long-range", "--out", "pages/far.html", "--json", folder=tmp_path)
    assert told.status == 0, told.err
    assert json.loads(told.out) == json.loads(json.dumps(as_data(study)))
    assert (tmp_path / "pages" / "far.html").read_text() == html(study)
    assert asked[0][0] == (list(ENCODERS), module.DISTANCES, 1) and str(asked[0][1]) == "studies/long-range"
