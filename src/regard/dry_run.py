"""What a training will be, before it begins: how large the network is, what the first batch is, how long it takes."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.experiment import Rehearsal, rehearse
from regard.machine import megabytes, threads
from regard.training.progress import Talk

# So many of the first batch's items are shown, and so many of their words.
_SHOWN, _WORDS = 5, 20

# So many updates are timed, after one that is not.
_TIMED = 3


class _Telling(Talk):
    """Says what is said, and nothing of updates."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def say(self, sentence: str) -> None:
        self.tell(sentence)


def dry_run(recipe: Path, overrides: Mapping[str, Any], say: Callable[[str], None]) -> Iterator[str]:
    """Sentences about a training that is prepared, tried for a few updates, and thrown away."""
    rehearsal = rehearse(recipe, overrides, talk=_Telling(say))
    with threads(rehearsal.recipe.train.threads):
        yield from _parts(rehearsal)
        yield from _first_batch(rehearsal)
        yield from _tried(rehearsal)


def _parts(rehearsal: Rehearsal) -> Iterator[str]:
    """How many numbers each part of the network has; those that two parts share count in the first."""
    counts: Counter[str] = Counter()
    still: Counter[str] = Counter()
    for name, parameter in rehearsal.predictor.model.named_parameters():
        part = name.partition(".")[0]
        counts[part] += parameter.numel()
        still[part] += 0 if parameter.requires_grad else parameter.numel()
    for part, count in counts.items():
        frozen = f", of which {still[part]:,} stay as they are" if still[part] else ""
        yield f"{part:>8}  {count:,} parameters{frozen}"


def _first_batch(rehearsal: Rehearsal) -> Iterator[str]:
    numbers = rehearsal.trainer.plan_of(0)[0]
    yield f"the first batch has {len(numbers)} items, as"
    for example in map(rehearsal.example_of, numbers[:_SHOWN]):
        text = " ".join(" ".join(example.words[:_WORDS]).split())
        labels = "; ".join(f"{c}: {' '.join(map(str, of[:_WORDS]))}" for c, of in example.labels.items())
        more = " …" if len(example.words) > _WORDS else ""
        yield f"  {example.place}: {text}{more}{' → ' if labels else ''}{labels}"


def _tried(rehearsal: Rehearsal) -> Iterator[str]:
    """Some batches are learnt from, the largest among them, and dev is answered once."""
    trainer, recipe = rehearsal.trainer, rehearsal.recipe
    batches = trainer.plan_of(0)
    sizes = np.asarray(trainer.items.sizes)
    trainer.model.train()
    trainer.rehearse(max(batches, key=lambda numbers: len(numbers) * int(sizes[numbers].max())))
    places = range(0, len(batches), max(1, len(batches) // _TIMED))
    update = sum(_seconds(partial(trainer.rehearse, batches[place])) for place in places) / len(places)
    evaluation = _seconds(trainer.evaluate)
    yield f"memory  {megabytes():,.0f} MB at most, measured with the largest batch and an evaluation"
    total = trainer.progress.total
    if total is None:
        yield f"time    {recipe.train.minutes:g} minutes (train.minutes), of which an update takes {update:.2f} s"
        return
    often = math.ceil(total / trainer.every)
    minutes = (total * update + often * evaluation) / 60
    what = f"{total} updates of {update:.2f} s, {often} evaluations of {evaluation:.1f} s"
    yield f"time    about {minutes:.1f} minutes: {what}"


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
