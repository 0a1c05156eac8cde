"""Several processes that train one model, each on its share of every update's batches.

What starts them (torchrun) tells each by its environment which it is. An update's gradients are summed over all of
them, so that all take the same step; the first alone talks, evaluates and saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from regard.errors import RegardError, ToldError
from regard.machine import processes

# So long the others wait for the first, as while it answers dev; a process that dies is noticed at once.
_WAIT = timedelta(hours=12)

Value = TypeVar("Value")


@dataclass(frozen=True)
class World:
    """The processes that train together.

    rank: which of them this is, from 0
    size: how many there are
    seat: which of those on this machine it is, from 0
    """

    rank: int = 0
    size: int = 1
    seat: int = 0

    @property
    def first(self) -> bool:
        """Whether this is the one that talks, evaluates and saves."""
        return self.rank == 0

    def device(self, name: str) -> torch.device:
        """Which device this process takes. Several on one machine take an accelerator each, or the CPU together."""
        there = [kind for kind in ("cuda", "mps") if getattr(torch, kind).is_available()] + ["cpu"]
        if name not in ("auto", *there):
            raise RegardError(
                f"train.device is {name}, but this machine has {', '.join(there)}; auto takes the first of them"
            )
        if self.size == 1:
            return torch.device(there[0] if name == "auto" else name)
        if name == "mps":
            raise RegardError("train.device is mps, over which several processes cannot train; use train.device = cpu")
        if name == "cpu" or "cuda" not in there:
            return torch.device("cpu")
        if self.seat >= torch.cuda.device_count():
            raise RegardError(
                f"process {self.seat + 1} of this machine has no GPU of its own, as there are "
                f"{torch.cuda.device_count()}; start as many, or use train.device = cpu"
            )
        torch.cuda.set_device(self.seat)
        return torch.device("cuda", self.seat)

    def sums(self, device: torch.device, *values: float) -> list[float]:
        """Each value's sum over all processes."""
        if self.size == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(summed)
        return summed.tolist()

    def sum_gradients(self, model: nn.Module) -> None:
        """Every parameter's gradient becomes its sum over all processes; what has one in none of them keeps none."""
        if self.size == 1:
            return
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        there = torch.tensor([float(one.grad is not None) for one in parameters], device=parameters[0].device)
        parts = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
        # One message for all of them: (parameters + numbers in all parameters,)
        summed = torch.cat([there, *(part.flatten() for part in parts)])
        dist.all_reduce(summed)
        counts, *sums = summed.split([len(parameters), *(part.numel() for part in parts)])
        for parameter, count, gradient in zip(parameters, counts.tolist(), sums, strict=True):
            parameter.grad = gradient.view_as(parameter) if count else None

    def begin(self, model: nn.Module) -> None:
        """All begin with the first one's weights."""
        if self.size > 1:
            for parameter in model.parameters():
                dist.broadcast(parameter.detach(), src=0)

    def check_model(self, model: nn.Module) -> None:
        """Refuse a model that would become another one by being trained apart."""
        if self.size > 1 and any(isinstance(part, nn.BatchNorm1d) for part in model.modules()):
            raise RegardError(
                "batch norm keeps a mean of the batches it has seen, and several processes see different ones; use "
                "model.norm = layer and a stem without it, or one process with train.accumulate for the same updates"
            )

    def from_first(self, value: Value) -> Value:
        """What the first process has; the others wait for it."""
        if self.size == 1:
            return value
        sent = [value]
        dist.broadcast_object_list(sent, src=0)
        return sent[0]

    def gathered(self, value: Value) -> Sequence[Value]:
        """What each process has, by rank."""
        if self.size == 1:
            return [value]
        found: list[Value | None] = [None] * self.size
        dist.all_gather_object(found, value)
        return found  # type: ignore[return-value]

    def fault(self, sentence: str) -> RegardError:
        """An error that all processes meet: the first tells of it."""
        return RegardError(sentence) if self.first else ToldError(sentence)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What goes wrong in one process while all prepare stops all; inside of it nobody may wait for another."""
        found: RegardError | None = None
        try:
            yield
        except RegardError as error:
            found = error
        if self.size > 1:
            faults = self.gathered(None if found is None else str(found))
            rank = next((rank for rank, fault in enumerate(faults) if fault is not None), None)
            if rank is not None and (rank > 0 or not self.first):
                raise self.fault(f"process {rank}: {faults[rank]}") from None
        if found is not None:
            raise found

    def check_same(self, what: str, value: str) -> None:
        """Refuse to train on where the processes differ in something."""
        if len(set(self.gathered(value))) > 1:
            raise self.fault(f"the processes do not have the same {what}; give all of them the same files")


@contextmanager
def joined() -> Iterator[World]:
    """The world that this process was started in: alone, or with others, whom it can ask until the end."""
    rank, size, seat = processes()
    if size == 1:
        yield World()
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    store, _, _ = next(rendezvous("env://", timeout=_WAIT))
    # A second training of the same processes must not find the first one's notes; each process adds 1 in each.
    number = (store.add("joined", 1) - 1) // size
    store = PrefixStore(f"training {number}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_WAIT)
    try:
        yield World(rank, size, seat)
    finally:
        dist.destroy_process_group()
