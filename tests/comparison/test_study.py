"""A grid of trainings that goes on where it was left."""

import json

import numpy as np
import pytest
import small
from test_cli import regard

import regard as package
from regard.comparison.alike import MATCHED
from regard.comparison.paired import paired
from regard.comparison.study import study, together
from regard.errors import RegardError
from regard.matching import TOLERANCE

WORDS = (
    "study",
    "small.toml",
    "train.epochs=0.1",
    "--encoder",
    "attention,pointwise",
    "--sizes",
    "11,all",
    "--seeds",
    "2",
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    small.write(folder, train=67, dev=13, test=17)
    return folder, regard(*WORDS, "--out", "pages/study.html", folder=folder)


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("studies/*/*/best/model.safetensors")}


def test_every_cell_is_a_run_s_folder_of_its_own(done):
    folder, found = done
    assert found.status == 0, found.err
    runs = folder / "studies" / "small"
    assert len(list(runs.iterdir())) == 8
    run = package.load(runs / "pointwise-11-seed-2")
    assert (run.recipe.model.encoder, run.recipe.train.seed) == ("pointwise", 2)
    assert "pointwise does without model.heads" in found.err


def test_a_row_for_each_encoder_and_size_and_a_sentence(done):
    folder, found = done
    lines = found.out.splitlines()
    assert lines[0] == "accuracy on dev"
    rows = [line.split("\t") for line in lines[2:6]]
    assert [row[:3] for row in rows] == [
        [encoder, size, "2"] for size in ("11", "67") for encoder in ("attention", "pointwise")
    ]
    for row in rows:
        scores = [
            package.load(folder / "studies" / "small" / f"{row[0]}-{row[1]}-seed-{seed}")
            .evaluate(folder / "dev.conllu")
            .values["accuracy"]
            for seed in (1, 2)
        ]
        assert row[3:6] == [f"{value:.2%}" for value in (np.mean(scores), min(scores), max(scores))]
    assert lines[7].startswith("With 67 examples and 2 seeds, ") and "95 %" in lines[7]
    page = (folder / "pages" / "study.html").read_text()
    assert lines[7] in page and page.count("<polygon") == 2


def test_what_is_trained_is_not_trained_again(done):
    folder, found = done
    before = stamps(folder)
    again = regard(*WORDS, folder=folder)
    assert again.out == found.out and len(before) == 8 and stamps(folder) == before


def test_what_there_is_no_time_for_is_left_out_and_said(done):
    folder, found = done
    more = [*WORDS[:-1], "3", "--minutes", "1e-9"]
    bounded = regard(*more, folder=folder)
    assert bounded.status == 0, bounded.err
    assert bounded.out.startswith(found.out.strip())  # what is there is told
    left = ", ".join(f"{encoder}-{size}-seed-3" for size in (11, 67) for encoder in ("attention", "pointwise"))
    assert f"left out, since the minutes were used up: {left}; the same command goes on there" in bounded.out
    assert json.loads(regard(*more, "--json", folder=folder).out)["left"] == left.split(", ")


def test_training_that_ran_out_of_time_goes_on(done, monkeypatch, tmp_path):
    """The clock passes the end in the middle of the first cell, after it was saved."""
    folder, _ = done
    recipe, calls = folder / "small.toml", []
    from regard.comparison import cells as module

    class Late(module.Until):
        def stepped(self, at, loss, norm, rate, left):
            calls.append(at.update)
            if at.update == 7:
                raise module.NoTime

    changes = {"train.epochs": 5.0, "train.evaluate_every": 5}
    with monkeypatch.context() as patched:
        patched.setattr(module, "Until", Late)
        cut = study(recipe, ["attention"], ["all"], 1, overrides=changes, folder=tmp_path, minutes=7)
    assert [cell.name for cell in cut.left] == ["attention-67-seed-1"] and not cut.trained and calls[-1] == 7
    said = []
    talk = module.Talk()
    talk.say = said.append
    whole = study(recipe, ["attention"], ["all"], 1, overrides=changes, folder=tmp_path, talk=talk)
    assert not whole.left and any("after update 5" in sentence for sentence in said)
    assert not whole.verdicts


def test_another_recipe_in_the_same_folder_is_refused(done):
    folder, _ = done
    found = regard(*WORDS, "model.depth=2", folder=folder)
    assert found.status == 2 and "model.depth was 1 and is now 2" in found.err and "with --folder" in found.err


def test_encoders_are_as_large_as_the_recipe_s_own_and_stay_so(done, tmp_path):
    folder, _ = done
    asked = (*WORDS[:7], "--seeds", "1", "--folder", str(tmp_path))  # both encoders, and 11 of the examples
    asked = tuple("11" if word == "11,all" else word for word in asked)
    found = regard(*asked, "--match", "parameters", folder=folder)
    assert found.status == 0, found.err
    attention, pointwise = (int(line.split("\t")[6]) for line in found.out.splitlines()[2:4])
    assert abs(pointwise - attention) <= TOLERANCE * attention + 100  # the vocabulary of 11 sentences is smaller
    assert "pointwise is " in found.err and " wide, " in found.err
    kept = (tmp_path / MATCHED).read_text()
    assert regard(*asked, "--match", "parameters", folder=folder).out == found.out
    assert (tmp_path / MATCHED).read_text() == kept
    other = regard(*asked, "--match", "time", folder=folder)
    assert other.status == 2 and f"{tmp_path} was begun with --match parameters; name another folder" in other.err
    none = regard(*asked[:-1], str(tmp_path / "other"), "--match", "width", folder=folder)
    assert none.status == 2 and "unknown --match width; known: parameters, time" in none.err
    ablated = regard("study", "small.toml", "--without", "norm", "--match", "time", folder=folder)
    assert ablated.status == 2 and "--match cannot be used with a study with --without" in ablated.err


def test_no_seed_is_refused(done):
    folder, _ = done
    with pytest.raises(RegardError, match="seeds is 0 and minutes is None; a study needs a seed and some time"):
        study(folder / "small.toml", ["attention"], ["all"], 0)


def mean_of(values):
    return lambda weights: np.array([weights @ values / max(1, weights.sum())])


def test_seeds_of_one_item_are_drawn_together():
    """Answers of five seeds that agree tell no more than those of one; as items of their own they would."""
    worth = np.random.default_rng(3).normal(size=62)
    copies = mean_of(np.concatenate([np.tile(worth[:31], 5), np.tile(worth[31:], 5)]))
    (one,) = paired(mean_of(worth), 31, trials=211).differences
    (five,) = paired(together(copies, 31, 5), 31, trials=211).differences
    (apart,) = paired(copies, 155, trials=211).differences
    assert (five.low, five.high, five.p) == pytest.approx((one.low, one.high, one.p))
    assert apart.high - apart.low < 0.6 * (five.high - five.low)
