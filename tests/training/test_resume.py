"""A run that is stopped, however, and started again ends with the same weights, bit for bit."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import small
import torch

import regard
from regard.errors import FolderError, RegardError
from regard.experiment import METRICS
from regard.folder import load_tensors
from regard.training import trainer
from regard.training.progress import Talk

PARTS = small.parts()

TRAIN = """
import sys, small, regard
from regard.training import trainer
trainer.SAVE_SECONDS = 0.05
regard.train(small.recipe(train={"epochs": 12, "average": 3}), run=sys.argv[1], data=small.parts())
"""


class StopAfter(Talk):
    """Breaks off in the middle of training, as a power cut would: nothing more is saved."""

    def __init__(self, update):
        self.update = update

    def stepped(self, at, loss, norm, rate, left):
        if at.update == self.update:
            raise ConnectionAbortedError


def final(folder):
    return {part: load_tensors(folder / part / "model.safetensors") for part in ("best", "last")}


def assert_same(found, wanted):
    for part, tensors in wanted.items():
        assert tensors.keys() == found[part].keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, found[part][name]), f"{part}: {name}"


RECIPES = {
    "plain": small.recipe(train={"patience": 5}),
    "averaged and accumulated": small.recipe(train={"average": 3, "accumulate": 3, "epochs": 5}),
    "batch norm": small.recipe(model={"norm": "batch"}),
    "recurrence": small.without_heads(model={"encoder": "recurrent"}),
    "convolution": small.without_heads(model={"encoder": "convolution", "norm": "batch"}),
    "letters and a CRF": small.recipe(input={"tokens": "words+characters", "filters": 5}, output={"crf": True}),
    "pieces": {**small.recipe(), "input": {"tokens": "subwords", "size": 300}},
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_run_that_broke_off_goes_on_bit_for_bit(name, tmp_path, monkeypatch):
    recipe = RECIPES[name]
    regard.train(recipe, run=tmp_path / "whole", data=PARTS)
    # Saved after each update, so that the break comes at any place of an epoch.
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    for update in (3, 7, 11):
        with pytest.raises(ConnectionAbortedError):
            regard.train(recipe, run=tmp_path / "broken", data=PARTS, talk=StopAfter(update))
    regard.train(recipe, run=tmp_path / "broken", data=PARTS)
    assert_same(final(tmp_path / "broken"), final(tmp_path / "whole"))


def test_the_law_of_resuming_finds_a_planted_fault(tmp_path, monkeypatch):
    """If updates drew their random numbers from a running state that is not saved, this would be noticed."""
    monkeypatch.setattr(trainer.torch, "manual_seed", lambda seed: None)
    recipe = RECIPES["plain"]
    torch.random.default_generator.manual_seed(5)
    regard.train(recipe, run=tmp_path / "whole", data=PARTS)
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    torch.random.default_generator.manual_seed(5)
    with pytest.raises(ConnectionAbortedError):
        regard.train(recipe, run=tmp_path / "broken", data=PARTS, talk=StopAfter(5))
    regard.train(recipe, run=tmp_path / "broken", data=PARTS)
    with pytest.raises(AssertionError):
        assert_same(final(tmp_path / "broken"), final(tmp_path / "whole"))


def test_killed_at_random_moments_the_final_weights_are_those_of_the_unbroken_run(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def start(folder):
        return subprocess.Popen(
            [sys.executable, "-c", TRAIN, str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    whole = start(tmp_path / "whole")
    output, _ = whole.communicate()
    assert whole.returncode == 0, output.decode()
    seed = random.randrange(1000)
    print("seed of the moments:", seed)
    moments = random.Random(seed)
    for _ in range(3):
        killed = start(tmp_path / "killed")
        # From when training has begun (the folder is made just before).
        while not (tmp_path / "killed" / METRICS).exists() and killed.poll() is None:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 1.0))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        killed.stdout.close()
    last = start(tmp_path / "killed")
    output, _ = last.communicate()
    assert last.returncode == 0, output.decode()
    assert_same(final(tmp_path / "killed"), final(tmp_path / "whole"))


def test_a_finished_run_is_left_as_it_is(tmp_path):
    recipe = small.recipe()
    regard.train(recipe, run=tmp_path / "run", data=PARTS)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    regard.train(recipe, run=tmp_path / "run", data=PARTS)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_metrics_after_the_state_that_was_saved_are_taken_back(tmp_path, monkeypatch):
    recipe = small.recipe()
    run = tmp_path / "run"
    with pytest.raises(ConnectionAbortedError):
        regard.train(recipe, run=run, data=PARTS, talk=StopAfter(12))
    with (run / METRICS).open("a") as stream:
        stream.write('{"update": 11, "epoch": 0, "seconds": 1, "loss": 1.0, "scores": {}, "best": false}\n')
    regard.train(recipe, run=run, data=PARTS)
    updates = [row["update"] for row in map(__import__("json").loads, (run / METRICS).read_text().splitlines())]
    assert updates == sorted(set(updates)) and 11 not in updates


def test_another_recipe_for_the_same_run_is_refused_with_the_difference(tmp_path):
    run = tmp_path / "run"
    regard.train(small.recipe(), run=run, data=PARTS)
    with pytest.raises(FolderError, match=r"made with another recipe: model\.depth was 1 and is now 3"):
        regard.train(small.recipe(model={"depth": 3}), run=run, data=PARTS)


def test_changed_data_for_an_unfinished_run_is_refused_by_name(tmp_path):
    recipe = small.write(tmp_path)
    with pytest.raises(ConnectionAbortedError):
        regard.train(recipe, run=tmp_path / "run", talk=StopAfter(12))
    text = (tmp_path / "train.conllu").read_text()
    (tmp_path / "train.conllu").write_text(text.replace("NOUN", "VERB", 1))
    with pytest.raises(FolderError, match=r"train\.conllu has changed since"):
        regard.train(recipe, run=tmp_path / "run")
    (tmp_path / "train.conllu").write_text(text)
    regard.train(recipe, run=tmp_path / "run")


def test_a_folder_with_other_things_is_not_touched(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(FolderError, match="holds something else than a run"):
        regard.train(small.recipe(), run=tmp_path, data=PARTS)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_an_interrupted_run_is_saved_and_says_how_to_go_on(tmp_path):
    class Interrupt(Talk):
        def stepped(self, at, loss, norm, rate, left):
            if at.update == 7:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(RegardError, match="stopped after update 7; the same command goes on from there"):
        regard.train(small.recipe(), run=tmp_path / "run", data=PARTS, talk=Interrupt())
    state = tmp_path / "run" / "last" / "state" / "progress.json"
    assert '"update": 7' in state.read_text()
