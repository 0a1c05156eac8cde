"""What a person sees while training goes on: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from regard.machine import megabytes
from regard.training.metric import shown

# Plain lines between evaluations come at most this often.
_PLAIN_SECONDS = 10.0


class Stand(Protocol):
    """Where a run stands."""

    @property
    def update(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def total(self) -> int | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def lr(self) -> float: ...


class Talk:
    """Hears of everything and says nothing; the others say it to people."""

    def say(self, sentence: str) -> None:
        """One sentence that matters."""

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        """After each update.

        loss: the mean of a label; norm: the gradient's length before it is clipped; rate: elements per second; left:
        seconds to go
        """

    def evaluated(
        self, at: Stand, scores: Mapping[str, float], better: bool, sample: Sequence[tuple[str, str]]
    ) -> None:
        """After each evaluation."""

    def close(self) -> None:
        """Training has ended, or broken off."""


class Several(Talk):
    """Tells several listeners."""

    def __init__(self, *listeners: Talk) -> None:
        self.listeners = listeners

    def say(self, sentence: str) -> None:
        for listener in self.listeners:
            listener.say(sentence)

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        for listener in self.listeners:
            listener.stepped(at, loss, norm, rate, left)

    def evaluated(
        self, at: Stand, scores: Mapping[str, float], better: bool, sample: Sequence[tuple[str, str]]
    ) -> None:
        for listener in self.listeners:
            listener.evaluated(at, scores, better, sample)

    def close(self) -> None:
        for listener in self.listeners:
            listener.close()


class _Smooth:
    """A mean in which what is long past counts little."""

    def __init__(self) -> None:
        self.value: float | None = None

    def add(self, value: float) -> float:
        self.value = value if self.value is None else 0.95 * self.value + 0.05 * value
        return self.value


class Plain(Talk):
    """A line now and then, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.loss, self.norm, self.rate = _Smooth(), _Smooth(), _Smooth()
        self._said = time.monotonic()

    def say(self, sentence: str) -> None:
        self.console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        loss, rate = self.loss.add(loss), self.rate.add(rate)
        norm = self.norm.add(norm)
        if time.monotonic() - self._said > _PLAIN_SECONDS:
            self._said = time.monotonic()
            self.say("  ".join(("", *_now(at, loss, norm, rate, left))))

    def evaluated(
        self, at: Stand, scores: Mapping[str, float], better: bool, sample: Sequence[tuple[str, str]]
    ) -> None:
        self._said = time.monotonic()
        said = "  ".join(f"{name} {shown(name, value)}" for name, value in scores.items())
        loss = f"  loss {self.loss.value:.4f}" if self.loss.value is not None else ""
        self.say(f"  update {_of(at)}  {_clock(at.seconds)}{loss}  dev {said}{'  * best' if better else ''}")


class Picture(Talk):
    """A table that grows with each evaluation, and below it where training stands now."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.loss, self.norm, self.rate = _Smooth(), _Smooth(), _Smooth()
        self.rows: list[tuple[str, ...]] = []
        self.names: tuple[str, ...] = ()
        self.sample: Sequence[tuple[str, str]] = ()
        self.live: Live | None = None

    def say(self, sentence: str) -> None:
        self.console.print(sentence, markup=False, highlight=False)

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        loss, rate = self.loss.add(loss), self.rate.add(rate)
        now = Text("   ".join(_now(at, loss, self.norm.add(norm), rate, left)))
        self._show(now, ProgressBar(total=at.total or 1, completed=at.update if at.total else 0, width=40))

    def evaluated(
        self, at: Stand, scores: Mapping[str, float], better: bool, sample: Sequence[tuple[str, str]]
    ) -> None:
        self.names, self.sample = tuple(scores), sample
        loss = "" if self.loss.value is None else f"{self.loss.value:.4f}"
        values = [shown(name, value) for name, value in scores.items()]
        self.rows.append((str(at.update), f"{at.epoch}", _clock(at.seconds), loss, *values, "* best" if better else ""))

    def close(self) -> None:
        if self.live is not None:
            self.live.update(self._table())
            self.live.stop()
            self.live = None

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("update", "epoch", "time", "loss", *(f"dev {name}" for name in self.names)):
            table.add_column(name, justify="right")
        table.add_column("")
        for row in self.rows:
            table.add_row(*row)
        return table

    def _show(self, *below: Text | ProgressBar) -> None:
        if self.live is None:
            self.live = Live(console=self.console, refresh_per_second=4, transient=False)
            self.live.start()
        samples = [Text.assemble((f"{name:>8}  ", "dim"), text, overflow="ellipsis") for name, text in self.sample]
        for text in samples:
            text.no_wrap = True
        self.live.update(Group(self._table(), *samples, *below))


def talk_to(console: Console) -> Talk:
    """A picture for a terminal, plain lines for anything else."""
    return Picture(console) if console.is_terminal and not console.is_dumb_terminal else Plain(console)


def _now(at: Stand, loss: float, norm: float, rate: float, left: float | None) -> tuple[str, ...]:
    """Where training stands, part by part."""
    return (
        f"update {_of(at)}",
        f"loss {loss:.4f}",
        f"gradient {norm:.3g}",
        f"lr {at.lr:.2e}",
        f"{rate:,.0f} tokens/s",
        f"{megabytes():,.0f} MB",
        f"{_clock(left)} left",
    )


def _of(at: Stand) -> str:
    return f"{at.update}/{at.total}" if at.total else f"{at.update}"


def _clock(seconds: float | None) -> str:
    """1:02:03, 2:03, or 0:03; ? where nobody knows."""
    if seconds is None:
        return "?"
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
