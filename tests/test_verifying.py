"""A proof, on the user's own recipe, that stopping and going on changes nothing."""

import numpy as np
import small
from test_cli import regard

from regard import plain_text
from regard.training import trainer
from regard.verifying import STOP, UPDATES

LINES = [" ".join(words) for words, _ in small.sentences(61, 5)]


def test_stopping_and_going_on_is_shown_to_change_nothing(tmp_path):
    recipe = small.write(tmp_path, train=61, dev=11, test=7)
    found = regard("train", recipe.name, "--verify-resume", "train.average=2", folder=tmp_path)
    assert found.status == 0, found.err
    assert found.out.startswith(f"resuming is exact: {UPDATES} updates at once, and {STOP}, a stop")
    assert f"stopped after update {STOP}" in found.err
    assert not (tmp_path / "runs").exists()


def test_a_running_state_would_be_found(tmp_path, monkeypatch):
    """If chance were not that of the update's number alone."""
    monkeypatch.setattr(trainer.torch, "manual_seed", lambda seed: None)
    recipe = small.write(tmp_path, train=61, dev=11, test=7)
    found = regard("train", recipe.name, "--verify-resume", folder=tmp_path)
    assert found.status == 2 and "resuming is not exact: " in found.err


def test_masks_from_a_running_state_would_be_found(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    made = regard("init", "mlm", "--data", "text.txt", "--tokens", "words", "--out", "m.toml", folder=tmp_path)
    assert made.status == 0, made.err
    quick = ["model.width=16", "model.depth=1", "train.batch_tokens=64", "--verify-resume"]
    found = regard("train", "m.toml", *quick, folder=tmp_path)
    assert found.status == 0 and "resuming is exact" in found.out, found.err
    running = np.random.default_rng(1)
    monkeypatch.setattr(plain_text, "anew", lambda seed, epoch, number: running)
    found = regard("train", "m.toml", *quick, folder=tmp_path)
    assert found.status == 2 and "resuming is not exact: " in found.err
