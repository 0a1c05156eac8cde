"""Trainings one after the other, each in a folder of its own: what is finished is not done again, and time ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from regard.errors import FolderError, RegardError
from regard.training.progress import Stand, Talk


class Named(Protocol):
    """What is trained; its name is its folder's."""

    @property
    def name(self) -> str: ...


Which = TypeVar("Which", bound=Named)
Found = TypeVar("Found")


class NoTime(Exception):
    """The minutes are used up."""


class Until(Talk):
    """Says what another says, and ends training at a moment: what was saved by then is gone on with another time."""

    def __init__(self, talk: Talk, ends: float | None) -> None:
        self.talk, self.ends = talk, ends
        self.say, self.evaluated, self.close = talk.say, talk.evaluated, talk.close  # type: ignore[method-assign]

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        self.talk.stepped(at, loss, norm, rate, left)
        if self.ends is not None and time.monotonic() > self.ends:
            raise NoTime


def check_bounds(seeds: int, minutes: float | None) -> None:
    """Refuse what leaves nothing to do."""
    if seeds < 1 or (minutes is not None and minutes <= 0):
        raise RegardError(f"seeds is {seeds} and minutes is {minutes}; a study needs a seed and some time")


def in_turn(
    grid: Sequence[Which],
    work: Callable[[Which, Path, Talk], Found],
    folder: Path,
    minutes: float | None,
    talk: Talk,
) -> tuple[list[Found], list[Which]]:
    """What came of each cell, and the cells for which there was no time.

    work: trains a cell in a folder
    """
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    found: list[Found] = []
    left: list[Which] = []
    for number, cell in enumerate(grid):
        if ends is not None and time.monotonic() > ends and not finished(folder / cell.name):
            left.append(cell)
            continue
        talk.say(f"{cell.name} ({number + 1} of {len(grid)})")
        try:
            found.append(work(cell, folder / cell.name, Until(talk, ends)))
        except NoTime:
            left.append(cell)
        except FolderError as error:
            raise FolderError(str(error).replace("--run", "--folder")) from None
    return found, left


def finished(folder: Path) -> bool:
    """Whether a run was trained to its end."""
    path = folder / "last" / "state" / "progress.json"
    return path.is_file() and bool(json.loads(path.read_text(encoding="utf-8"))["finished"])


def left_out(left: Sequence[Named]) -> str:
    """What there was no time for; nothing where all was trained."""
    if not left:
        return ""
    names = ", ".join(cell.name for cell in left)
    return f"left out, since the minutes were used up: {names}; the same command goes on there"
