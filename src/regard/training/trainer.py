"""The training loop.

Everything an update does depends on the recipe, the data and the update's number alone: the order of batches is a
function of (seed, epoch, place), and each update draws its random numbers from (seed, update). So a run that is killed
and started again goes on bit for bit, and there is no random state to be saved.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batching import Batch, Items, Plan, plan
from regard.errors import RegardError
from regard.recipe.settings import TrainSettings
from regard.training.averaging import Average
from regard.training.metric import METRICS
from regard.training.objective import known_labels
from regard.training.parts import freeze, rate_share
from regard.training.progress import Talk
from regard.training.schedule import factor

# After so many updates `train.minutes` becomes a number of updates, by their speed so far without the first third.
MEASURED_UPDATES = 30

# The state is saved at each evaluation, and when so many seconds have passed since.
SAVE_SECONDS = 60.0

# Where nothing else is said, at least so many evaluations.
EVALUATIONS = 10

# Of a batch that breaks the loss so many places are named.
_NAMED = 3


@dataclass
class Progress:
    """Where a run stands: all that is saved beside tensors.

    epoch, batch: the next batch to be used; total: the updates in all, None while that is not known
    best: the best score so far, negative where less is better
    """

    update: int = 0
    epoch: int = 0
    batch: int = 0
    total: int | None = None
    seconds: float = 0.0
    best: float | None = None
    best_update: int = 0
    evaluations_since_best: int = 0
    finished: bool = False

    def saved(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Evaluation:
    """The scores on dev at one moment. sample: an answer to look at, as (what it is, text)."""

    scores: Mapping[str, float]
    sample: Sequence[tuple[str, str]] = ()


@dataclass
class Trainer:
    """Trains a model on items; how to evaluate and how to save it is given.

    metric:   the name of the score that the best model is chosen by
    loss:     a batch -> the summed loss of its labels
    evaluate: the model as it stands -> scores on dev
    save:     called when the state should be saved
    keep:     called when the model as it stands is the best so far
    place:    where an item comes from, for messages
    weight:   how much the labels of an update weigh, by which its losses are divided
    """

    model: nn.Module
    items: Items
    settings: TrainSettings
    metric: str
    loss: Callable[[Batch], Tensor]
    evaluate: Callable[[], Evaluation]
    save: Callable[[Trainer], None]
    keep: Callable[[Trainer], None]
    place: Callable[[int], str]
    talk: Talk
    progress: Progress = field(default_factory=Progress)
    weight: Callable[[Sequence[Batch]], float] = field(default=known_labels)

    def __post_init__(self) -> None:
        freeze(self.model, self.settings.freeze)
        self.optimizer = _optimizer(self.model, self.settings)
        self.average = Average(self.settings.average)
        self.device = next(self.model.parameters()).device
        self._started = time.monotonic() - self.progress.seconds
        self._saved = self._measure_from = self._last = time.monotonic()
        self._epoch_updates = math.ceil(len(self.plan_of(0)) / self.settings.accumulate)
        if self.settings.epochs is not None and self.progress.total is None:
            self.progress.total = max(1, round(self.settings.epochs * self._epoch_updates))

    def run(self) -> None:
        """Train until the end, or until the user interrupts."""
        self._saved = self._last = time.monotonic()
        self._started = self._last - self.progress.seconds
        self.model.train()
        with _interruptible() as interrupted:
            for batches in self._updates():
                loss, norm = self._update(batches)
                self.talk.stepped(self.progress, loss, norm, self._rate(batches), self._left())
                if self.progress.update == MEASURED_UPDATES and self.progress.total is None:
                    self._measured()
                elif self._evaluation_due:
                    self._evaluate()
                if self._finished:
                    break
                if interrupted() or time.monotonic() - self._saved > SAVE_SECONDS:
                    self._save()
                if interrupted():
                    raise KeyboardInterrupt
        self.progress.finished = True
        self._save()

    # How far there is to go

    @property
    def every(self) -> int:
        """Updates between evaluations."""
        if self.settings.evaluate_every is not None:
            return self.settings.evaluate_every
        total = self.progress.total
        return self._epoch_updates if total is None else max(1, min(self._epoch_updates, total // EVALUATIONS))

    @property
    def _evaluation_due(self) -> bool:
        update, total = self.progress.update, self.progress.total
        return total is not None and (update % self.every == 0 or update >= total)

    @property
    def _finished(self) -> bool:
        patience = self.settings.patience
        out_of_patience = patience is not None and self.progress.evaluations_since_best >= patience
        return out_of_patience or (self.progress.total is not None and self.progress.update >= self.progress.total)

    def _measured(self) -> None:
        """The minutes become a number of updates, which is saved: from here all depends on the update alone."""
        assert self.settings.minutes is not None
        per_update = (time.monotonic() - self._measure_from) / (MEASURED_UPDATES - MEASURED_UPDATES // 3)
        before = time.monotonic()
        self._evaluate()
        per_evaluation = time.monotonic() - before
        left = self.settings.minutes * 60 - self._used()
        every = self.settings.evaluate_every or self._epoch_updates
        often = left / (per_update + per_evaluation / every)
        seldom = (left - EVALUATIONS * per_evaluation) / per_update
        more = often if self.settings.evaluate_every is not None else min(often, seldom)
        self.progress.total = MEASURED_UPDATES + max(1, int(more))
        self.talk.say(
            f"{self.settings.minutes:g} minutes are {self.progress.total} updates "
            f"({self.progress.total / self._epoch_updates:.1f} epochs) at this machine's speed"
        )
        self._save()

    def _used(self) -> float:
        return time.monotonic() - self._started

    def _left(self) -> float | None:
        """Seconds that are still to go, as far as that is known."""
        if self.progress.total is None:
            return None if self.settings.minutes is None else self.settings.minutes * 60 - self._used()
        return self._used() / max(1, self.progress.update) * (self.progress.total - self.progress.update)

    # One update

    def plan_of(self, epoch: int) -> Plan:
        """Which items make up which batch of an epoch."""
        return plan(self.items.sizes, self.settings.batch_tokens, seed=self.settings.seed, epoch=epoch)

    def _updates(self) -> Iterator[list[Batch]]:
        """The batches of each update, from where the run stands."""
        while True:
            order = self.plan_of(self.progress.epoch)
            while self.progress.batch < len(order):
                numbers = order[self.progress.batch : self.progress.batch + self.settings.accumulate]
                yield [self.items.batch(items, self.progress.epoch) for items in numbers]
            self.progress.epoch += 1
            self.progress.batch = 0

    def _update(self, batches: Sequence[Batch]) -> tuple[float, float]:
        """One step of the optimiser: (mean loss of a label, length of the gradient)."""
        progress, settings = self.progress, self.settings
        progress.batch += len(batches)
        progress.update += 1
        if progress.update == MEASURED_UPDATES // 3 + 1:
            self._measure_from = time.monotonic()
        torch.manual_seed(_mixed(settings.seed, progress.update))
        weight = self.weight(batches)
        if weight == 0:  # nothing to learn from: even the optimiser's momentum must not move the weights
            return 0.0, 0.0
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for batch in batches:
            loss = self.loss(batch.to(self.device)) / weight
            loss.backward()
            total += loss.item()
        self._check(total, batches)
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        norm = nn.utils.clip_grad_norm_(parameters, settings.clip)
        rate = settings.lr * factor(settings.schedule, progress.update, settings.warmup_steps, progress.total)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
        self.optimizer.step()
        return total, norm.item()

    def rehearse(self, numbers: Sequence[int]) -> None:
        """One update from some items, as any other; for a trainer that is thrown away."""
        self._update([self.items.batch(numbers, 0)] * self.settings.accumulate)

    def _check(self, loss: float, batches: Sequence[Batch]) -> None:
        if math.isfinite(loss):
            return
        places = [self.place(item) for batch in batches for item in batch.items]
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        raise RegardError(
            f"the loss became {loss} at update {self.progress.update}, on {', '.join(places[:_NAMED])}{more}; what was "
            "saved before is untouched. A smaller train.lr or train.clip may help"
        )

    def _rate(self, batches: Sequence[Batch]) -> float:
        """Elements per second since the last call."""
        before, self._last = self._last, time.monotonic()
        now = self._last
        return sum(int(batch.inputs["lengths"].sum()) for batch in batches) / max(now - before, 1e-9)

    # Evaluating and saving

    def _evaluate(self) -> None:
        progress = self.progress
        self.average.add(self.model)
        with self.average.applied(self.model):
            found = self.evaluate()
            score = found.scores[self.metric] * METRICS[self.metric].sign
            better = progress.best is None or score > progress.best
            if better:
                progress.best, progress.best_update, progress.evaluations_since_best = score, progress.update, 0
                self.keep(self)
            else:
                progress.evaluations_since_best += 1
        progress.seconds = self._used()
        self.talk.evaluated(progress, found.scores, better, found.sample)
        self._save()

    def _save(self) -> None:
        self.progress.seconds = self._used()
        self.save(self)
        self._saved = time.monotonic()


def _optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101) with Adam's second beta as in Vaswani et al. 2017, section
    5.3; biases, norms and other single rows of numbers are not shrunk."""
    groups: dict[tuple[float, float], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        decay = settings.weight_decay if parameter.dim() > 1 else 0.0
        share = rate_share(name, model, settings.layer_decay)
        group = groups.setdefault((-decay, -share), {"params": [], "weight_decay": decay, "share": share})
        group["params"].append(parameter)
    # Matrices first: the order of groups is the order in which numbers are updated.
    ordered = [groups[key] for key in sorted(groups)]
    return torch.optim.AdamW(ordered, lr=settings.lr, betas=(0.9, 0.98), fused=True)


def _mixed(seed: int, update: int) -> int:
    """One number from two: different for every pair that occurs."""
    return (seed * 1_000_003 + update) % 2**63


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C lets the update end and the state be saved, the second one stops at once."""
    asked = False

    def ask(signum: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not in the main thread: there is nobody to interrupt
        yield lambda: False
        return
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
