"""What training hears of, as curves in TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.machine import megabytes
from regard.training.progress import Stand, Talk


class Board(Talk):
    """Writes a point of each curve after each update and each evaluation; `tensorboard --logdir RUN` shows them."""

    def __init__(self, folder: Path) -> None:
        if find_spec("tensorboard") is None:
            raise RegardError("train.tensorboard needs the package tensorboard; pip install regard[tensorboard]")
        self.folder = folder
        self.first = 0

    @cached_property
    def writer(self) -> Any:
        """Opened at the first point, so that a training that is only rehearsed writes nothing. What an earlier start
        wrote after the state that was saved is taken back."""
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(str(self.folder), purge_step=self.first)

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        self.first = self.first or at.update
        points = {"loss": loss, "gradient": norm, "lr": at.lr, "tokens per second": rate, "megabytes": megabytes()}
        for name, value in points.items():
            self.writer.add_scalar(f"train/{name}", value, at.update)

    def evaluated(
        self, at: Stand, scores: Mapping[str, float], better: bool, sample: Sequence[tuple[str, str]]
    ) -> None:
        for name, value in scores.items():
            self.writer.add_scalar(f"dev/{name}", value, at.update)

    def close(self) -> None:
        if "writer" in self.__dict__:
            self.writer.close()
