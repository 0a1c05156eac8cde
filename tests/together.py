"""What tests/training/test_distributed.py lets two processes do: trainings in turn, and what came of each."""

import json
import os
import signal
import sys
from pathlib import Path

import small
import torch

import regard
from regard.errors import RegardError
from regard.training import trainer
from regard.training.progress import Talk

PARTS = small.parts()
RANK = int(os.environ.get("RANK", 0))

RECIPES = {
    "plain": small.recipe(model={"dropout": 0.0}, input={"dropout": 0.0}),
    "with dropout": small.recipe(model={"dropout": 0.2}),
    "accumulated": small.recipe(train={"accumulate": 3}),
    "weighed labels": small.recipe(train={"class_weights": "balanced", "average": 2}),
}
REFUSED = {
    "batch norm": small.recipe(model={"norm": "batch"}),
    "too few batches": small.recipe(train={"batch_tokens": 100_000}),
    "a setting that is not there": small.recipe(model={"widht": 3}),
    "no such device": small.recipe(train={"device": "mps"}),
}


class Losses(Talk):
    """Keeps the losses; breaks off after an update, as a fault in this process would."""

    def __init__(self, stop=None):
        self.losses, self.said, self.stop = [], [], stop

    def say(self, sentence):
        self.said.append(sentence)

    def stepped(self, at, loss, norm, rate, left):
        self.losses.append(loss)
        if at.update == self.stop:
            raise ConnectionAbortedError


def train(folder, recipe, stop=None):
    heard = Losses(stop)
    regard.train(recipe, run=folder, data=PARTS, talk=heard)
    return heard


def refusal(folder, recipe):
    try:
        train(folder, recipe)
    except RegardError as error:
        return type(error).__name__, str(error)


def before_each_update(do):
    """From now on something is done before each update; gives what puts it back."""
    own = trainer.Trainer._update

    def update(self, batches):
        do(self)
        return own(self, batches)

    trainer.Trainer._update = update
    return lambda: setattr(trainer.Trainer, "_update", own)


def all_of_it(folder):
    found = {"losses": {name: train(folder / name, recipe).losses for name, recipe in RECIPES.items()}}
    found["refused"] = {name: refusal(folder / name, recipe) for name, recipe in REFUSED.items()}

    trainer.SAVE_SECONDS = 0.0
    for name in ("broken", "broken and alone"):
        try:
            train(folder / name, RECIPES["with dropout"], stop=3)
        except (ConnectionAbortedError, RuntimeError) as error:  # its own fault, or the other one's
            found[name] = type(error).__name__
    train(folder / "broken", RECIPES["with dropout"])

    def interrupt(one):
        if RANK == 1 and one.progress.update == 3:
            signal.raise_signal(signal.SIGINT)

    back = before_each_update(interrupt)
    found["interrupted"] = refusal(folder / "interrupted", RECIPES["plain"])
    back()

    def spoil(one):
        if RANK == 1 and one.progress.update == 2:
            one.loss = lambda batch: next(one.model.parameters()).sum() * torch.nan

    back = before_each_update(spoil)
    found["not a number"] = refusal(folder / "not a number", RECIPES["plain"])
    back()
    return found


def die_once(folder):
    """The second process is killed in its fifth update, unless it has been started again."""

    def die(one):
        if RANK == 1 and one.progress.update == 4 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)

    trainer.SAVE_SECONDS = 0.0
    before_each_update(die)
    train(folder / "killed", RECIPES["with dropout"])


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    if sys.argv[1] == "die":
        die_once(folder)
    else:
        (folder / f"{RANK}.json").write_text(json.dumps(all_of_it(folder)))
