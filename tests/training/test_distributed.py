"""Several processes train as one does: what they share out makes no difference."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import small
import torch
from together import PARTS, RECIPES, Losses, train

import regard
from regard.errors import FolderError, ToldError
from regard.folder import load_tensors
from regard.training.distributed import World

SCRIPT = Path(__file__).parents[1] / "together.py"

ROOT = Path(__file__).resolve().parents[2]

# A failure must not let the tests wait for ever.
SECONDS = 100


def torchrun(*arguments, processes=2, restarts=0):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [*start, f"--max-restarts={restarts}", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What two processes did: their folder, and what each tells."""
    folder = tmp_path_factory.mktemp("two")
    done = torchrun(SCRIPT, "all", folder)
    assert done.returncode == 0, done.stderr
    return folder, [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def weights(run, part="last"):
    return load_tensors(run / part / "model.safetensors")


def assert_close(found, wanted, tolerance):
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert torch.allclose(found[name], tensor, atol=tolerance, rtol=0), name


@pytest.mark.parametrize("name", RECIPES)
def test_two_processes_do_what_one_does_with_as_many_batches_an_update(name, two, tmp_path):
    """With dropout too: each batch draws its own random numbers, whoever computes it."""
    folder, told = two
    recipe = RECIPES[name]
    twice = {**recipe, "train": {**recipe["train"], "accumulate": 2 * recipe["train"].get("accumulate", 1)}}
    losses = train(tmp_path / "one", twice).losses
    assert told[0]["losses"][name] == pytest.approx(losses, abs=1e-5)
    for part in ("last", "best"):
        assert_close(weights(folder / name, part), weights(tmp_path / "one", part), 1e-4)


def test_the_law_finds_a_planted_fault(two, tmp_path):
    """One batch an update instead of two is told apart."""
    losses = train(tmp_path / "one", RECIPES["plain"]).losses
    assert two[1][0]["losses"]["plain"] != pytest.approx(losses[: len(two[1][0]["losses"]["plain"])], abs=1e-3)


def test_only_the_first_process_hears_and_writes(two):
    folder, (first, second) = two
    assert all(first["losses"].values()) and not any(second["losses"].values())
    rows = [json.loads(line) for line in (folder / "plain" / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == sorted({row["update"] for row in rows})


def test_a_training_of_two_that_broke_off_goes_on_bit_for_bit(two):
    folder, (first, second) = two
    assert first["broken"] == "ConnectionAbortedError" and second["broken"]  # the other one does not wait for ever
    for part in ("last", "best"):
        assert_close(weights(folder / "broken", part), weights(folder / "with dropout", part), 0)


def test_one_process_goes_on_with_what_two_began(two):
    """What was left to do is done, in twice as many updates."""
    folder, _ = two
    heard = train(folder / "broken and alone", RECIPES["with dropout"])
    progress = json.loads((folder / "broken and alone" / "last" / "state" / "progress.json").read_text())
    of_two = json.loads((folder / "with dropout" / "last" / "state" / "progress.json").read_text())
    left = of_two["update"] - 2  # it broke off before the third was saved
    assert f"begun with 2 processes and going on with 1; {2 * left} updates are left" in heard.said
    assert len(heard.losses) == 2 * left and progress["update"] == 2 + 2 * left
    assert progress["epoch"] == of_two["epoch"]


def test_a_process_that_is_killed_ends_the_job_and_a_new_start_goes_on(two, tmp_path):
    done = torchrun(SCRIPT, "die", tmp_path, restarts=1)
    assert done.returncode == 0 and "exitcode: -9" in done.stderr, done.stderr
    assert_close(weights(tmp_path / "killed"), weights(two[0] / "with dropout"), 0)


def test_the_command_of_the_guides_trains_with_two_processes(tmp_path):
    """As it stands there, on a recipe of the tests."""
    told = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("guide.md", "guide.zh.md")]
    (command,) = {line for text in told for line in text.splitlines() if line.startswith("torchrun ")}
    recipe = small.write(tmp_path, epochs=0.5)
    words = shlex.split(command.replace("mine.toml", str(recipe)).replace("runs/two", str(tmp_path / "run")))
    assert words[1:3] == ["--nproc-per-node", "2"]
    done = torchrun(*words[3:])
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("2 processes") == 1 and (tmp_path / "run" / "best").is_dir()


SENTENCES = {
    "batch norm": "batch norm keeps a mean of the batches it has seen, and several processes see different ones",
    "too few batches": "2 processes cannot share 1 batches, all that an epoch has; start fewer",
    "a setting that is not there": "unknown setting model.widht; did you mean width?",
    "no such device": "train.device is mps, ",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_refusal_stops_all_and_one_tells_of_it(name, two):
    (_, told), (kind, _) = (of["refused"][name] for of in two[1])
    assert SENTENCES[name] in told
    assert kind == "ToldError"


def test_a_stop_that_one_process_hears_of_stops_both_after_the_same_update(two):
    (_, told), (kind, other) = (of["interrupted"] for of in two[1])
    assert told == other == "stopped after update 4; the same command goes on from there"
    assert kind == "ToldError"


def test_a_loss_that_is_no_number_in_one_process_is_told_with_its_place(two):
    (kind, told), (other, _) = (of["not a number"] for of in two[1])
    assert "the loss became nan at update 3, on " in told and "train" in told
    assert (kind, other) == ("RegardError", "ToldError")


def test_what_goes_wrong_in_another_process_is_told_with_its_number(monkeypatch):
    monkeypatch.setattr(World, "gathered", lambda self, value: [None, "no room", value])
    for rank, kind in ((0, "RegardError"), (2, "ToldError")):
        with pytest.raises(regard.RegardError, match="process 1: no room") as told, World(rank, 3).together():
            if rank == 2:
                raise FolderError("gone")
        assert type(told.value).__name__ == kind


def test_processes_that_read_different_files_are_refused(monkeypatch):
    monkeypatch.setattr(World, "gathered", lambda self, value: [value, "another"])
    with pytest.raises(ToldError, match="do not have the same data; give all of them the same files"):
        World(1, 2).check_same("data", "this")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [(["predict", "run"], "regard predict"), (["train", "recipe.toml", "--dry-run"], "--dry-run")],
)
def test_what_one_process_does_is_refused_under_torchrun(arguments, what, monkeypatch):
    from test_cli import regard as command

    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, str(value))
    found = command(*arguments)
    assert found.status == 2
    assert f"{what} is done by one process, and torchrun started 2; start it without torchrun" in found.err


def test_a_world_of_one_asks_nobody():
    with World().together():
        assert World().sums(torch.device("cpu"), 3, 0.5) == [3, 0.5]
    assert World().from_first(PARTS) is PARTS and World().gathered(7) == [7]
    assert Losses().stop is None
