"""The training loop.

Everything an update does depends on the recipe, the data and the update's number alone: the order of batches is a
function of (seed, epoch, place), and each batch draws its random numbers from (seed, update, place in the update). So a
run that is killed and started again goes on bit for bit, there is no random state to be saved, and it does not matter
how many processes share an update's batches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batching import Batch, Items, Plan, plan
from regard.errors import RegardError
from regard.recipe.settings import TrainSettings
from regard.training.averaging import Average
from regard.training.distributed import World
from regard.training.interrupt import interruptible
from regard.training.metric import METRICS
from regard.training.objective import known_labels
from regard.training.parts import freeze, optimizer_of
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
    lr: the last update's learning rate
    processes: how many processes share the batches of an update
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
    lr: float = 0.0
    processes: int = 1

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
    world:    the processes that train together; each calls `run`, and the first alone evaluates, keeps and saves
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
    world: World = field(default_factory=World)

    def __post_init__(self) -> None:
        freeze(self.model, self.settings.freeze)
        self.optimizer = optimizer_of(self.model, self.settings)
        self.average = Average(self.settings.average)
        self.device = next(self.model.parameters()).device
        self._started = time.monotonic() - self.progress.seconds
        self._saved = self._measure_from = self._last = time.monotonic()
        self._at_once = self.settings.accumulate * self.world.size
        self._epoch_updates = math.ceil(self._check_enough(len(self.plan_of(0))) / self._at_once)
        self.progress.processes = self.world.size
        if self.settings.epochs is not None and self.progress.total is None:
            self.progress.total = max(1, round(self.settings.epochs * self._epoch_updates))

    def run(self) -> None:
        """Train until the end, or until the user interrupts."""
        self._saved = self._last = time.monotonic()
        self._started = self._last - self.progress.seconds
        self.model.train()
        with interruptible(twice=self.world.size == 1) as interrupted:
            for batches in self._updates():
                loss, norm = self._update(batches)
                (elements,) = self.world.sums(self.device, _elements(batches))
                self.talk.stepped(self.progress, loss, norm, self._rate(elements), self._left())
                if self.progress.update == MEASURED_UPDATES and self.progress.total is None:
                    self._measured()
                elif self._evaluation_due:
                    self._evaluate()
                if self._finished:
                    break
                (stop,) = self.world.sums(self.device, interrupted())
                if stop or time.monotonic() - self._saved > SAVE_SECONDS:
                    self._save()
                if stop:
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
        self.progress.total = self.world.from_first(MEASURED_UPDATES + max(1, int(more)))
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
                numbers = order[self.progress.batch : self.progress.batch + self._at_once]
                own = numbers[self.world.rank :: self.world.size]
                batches = [self.items.batch(items, self.progress.epoch) for items in own]
                self.progress.batch += len(numbers)
                yield batches
            self.progress.epoch += 1
            self.progress.batch = 0

    def _update(self, batches: Sequence[Batch]) -> tuple[float, float]:
        """One step of the optimiser: (mean loss of a label, length of the gradient)."""
        progress, settings = self.progress, self.settings
        progress.update += 1
        if progress.update == MEASURED_UPDATES // 3 + 1:
            self._measure_from = time.monotonic()
        (weight,) = self.world.sums(self.device, self.weight(batches))
        if weight == 0:  # nothing to learn from: even the optimiser's momentum must not move the weights
            return 0.0, 0.0
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for number, batch in enumerate(batches):
            torch.manual_seed(_mixed(settings.seed, progress.update, number * self.world.size + self.world.rank))
            loss = self.loss(batch.to(self.device)) / weight
            loss.backward()
            total += loss.item()
        total = self._checked(total, batches)
        self.world.sum_gradients(self.model)
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        norm = nn.utils.clip_grad_norm_(parameters, settings.clip)
        progress.lr = settings.lr * factor(settings.schedule, progress.update, settings.warmup_steps, progress.total)
        for group in self.optimizer.param_groups:
            group["lr"] = progress.lr * group["share"]
        self.optimizer.step()
        return total, norm.item()

    def resume(self, progress: Progress) -> None:
        """Go on from where a run stood.

        With more processes than then an update has more batches, and what was left to do takes fewer updates.
        """
        then, self.progress = progress.processes, progress
        if then == self.world.size:
            return
        if progress.total is not None and not progress.finished:
            progress.total = progress.update + math.ceil((progress.total - progress.update) * then / self.world.size)
        progress.processes = self.world.size
        left = "" if progress.total is None else f"; {progress.total - progress.update} updates are left"
        self.talk.say(f"begun with {then} processes and going on with {self.world.size}{left}")

    def _check_enough(self, batches: int) -> int:
        """How many batches an epoch has: at least one for each process."""
        if batches < self.world.size > 1:
            raise RegardError(
                f"{self.world.size} processes cannot share {batches} batches, all that an epoch has; start fewer, or "
                "make train.batch_tokens smaller"
            )
        return batches

    def rehearse(self, numbers: Sequence[int]) -> None:
        """One update from some items, as any other; for a trainer that is thrown away."""
        self._update([self.items.batch(numbers, 0)] * self.settings.accumulate)

    def _checked(self, own: float, batches: Sequence[Batch]) -> float:
        """The update's loss, this process's own and the others'; one that is no number is refused."""
        (loss,) = self.world.sums(self.device, own)
        if math.isfinite(loss):
            return loss
        blamed = [] if math.isfinite(own) else [self.place(item) for batch in batches for item in batch.items]
        places = [place for of_one in self.world.gathered(blamed) for place in of_one]
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        raise self.world.fault(
            f"the loss became {loss} at update {self.progress.update}, on {', '.join(places[:_NAMED])}{more}; what was "
            "saved before is untouched. A smaller train.lr or train.clip may help"
        )

    def _rate(self, elements: float) -> float:
        """Elements per second since the last call."""
        before, self._last = self._last, time.monotonic()
        return elements / max(self._last - before, 1e-9)

    # Evaluating and saving

    def _evaluate(self) -> None:
        """The first process evaluates, and the others learn from it how it stands."""
        if self.world.first:
            self._evaluated()
        self.progress = self.world.from_first(self.progress)

    def _evaluated(self) -> None:
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
        if self.world.first:
            self.save(self)
        self._saved = time.monotonic()


def _elements(batches: Sequence[Batch]) -> int:
    return sum(int(batch.inputs["lengths"].sum()) for batch in batches)


def _mixed(seed: int, update: int, place: int) -> int:
    """One number from three: different for all that occur."""
    return (seed * 1_000_003 + update + place * 1_000_003**2) % 2**63
