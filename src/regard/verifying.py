"""Whether a training that is stopped and goes on ends where one ends that was never stopped: on one's own recipe."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from regard.errors import RegardError
from regard.experiment import train
from regard.folder import WEIGHTS, load_tensors
from regard.recipe.read import read_recipe
from regard.recipe.settings import TEXT_TASKS
from regard.training.progress import Stand, Talk

# So many updates at once, against as many with a stop in the middle.
UPDATES, STOP = 12, 5

# What must be the same at the end: the weights, the best ones, and what the optimiser remembers.
_KEPT = (f"last/{WEIGHTS}", f"best/{WEIGHTS}", "last/state/optimizer.safetensors")


class _Stopping(Talk):
    """Interrupts as a person does, with Ctrl-C, after so many updates."""

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        if at.update == STOP:
            signal.raise_signal(signal.SIGINT)


def verify_resume(recipe: Path, overrides: Mapping[str, Any], say: Callable[[str], None]) -> str:
    """Train twice, for a few updates: at once, and stopped and continued. Gives the sentence that both end alike; where
    they do not, refuses with the first numbers that differ."""
    settings = read_recipe(recipe, overrides)
    asked = {**overrides, "train.evaluate_every": UPDATES}
    if settings.task.kind not in TEXT_TASKS:
        asked["train.certify"] = False
    with tempfile.TemporaryDirectory() as place:
        whole, stopped = Path(place) / "whole", Path(place) / "stopped"
        say(f"{UPDATES} updates at once")
        train(recipe, asked, run=whole, updates=UPDATES)
        say(f"{STOP} updates, a stop, and the other {UPDATES - STOP}")
        try:
            train(recipe, asked, run=stopped, updates=UPDATES, talk=_Stopping())
        except RegardError as error:
            say(f"  {error}")
        train(recipe, asked, run=stopped)
        count = sum(_same(whole, stopped, name) for name in _KEPT)
    return (
        f"resuming is exact: {UPDATES} updates at once, and {STOP}, a stop and {UPDATES - STOP} more, give the same "
        f"{count:,} numbers, bit for bit"
    )


def _same(whole: Path, stopped: Path, name: str) -> int:
    """How many numbers a file has that is the same in both runs."""
    one, other = load_tensors(whole / name), load_tensors(stopped / name)
    for tensor in one:
        if tensor not in other or not torch.equal(one[tensor], other[tensor]):
            raise RegardError(
                f"resuming is not exact: {tensor} in {name} is another after a stop; please report this with the recipe"
            )
    return sum(values.numel() for values in one.values())
