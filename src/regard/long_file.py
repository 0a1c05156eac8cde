"""Long files: how far one is, going on after a stop, and several processes."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch

from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.reading import Reader
from regard.data.signal.reader import SignalReader
from regard.data.text import Text
from regard.errors import DataError, RegardError
from regard.predict import Answer, Predictor
from regard.run import Run, load

# Whoever waits longer than so many seconds is told how far things are, and then as often.
_SECONDS = 2.0

# So many items go to a process at a time.
_BLOCK = 512

Found = Example | DataError


def items_of(file: str, reader: Reader | SignalReader) -> int | None:
    """How many items a file has, where that can be known before it is read."""
    if not Path(file).is_file() or not isinstance(reader, Text):  # a pipe can be read once only
        return None
    return sum(1 for _ in read_lines(file, "replace"))


class Progress:
    """Tells whoever sits before a terminal how far things are, after two seconds and then every two.

    total: how many items there are; None where nobody knows
    """

    def __init__(self, total: int | None = None) -> None:
        self.total, self.done = total, 0.0
        self.started = self.said = time.monotonic()

    def __call__(self, count: float) -> None:
        """So many more are done."""
        self.done += count
        now = time.monotonic()
        if now - self.said > _SECONDS and sys.stderr.isatty():
            self.said = now
            # \x1b[K clears what is left of a longer line.
            print(f"\r{self.sentence(now - self.started)}\x1b[K", end="", file=sys.stderr, flush=True)

    def sentence(self, seconds: float) -> str:
        """How many are done after so many seconds, how many a second, and how long the others will take."""
        rate = self.done / seconds
        if self.total is None or not rate:
            return f"{self.done:,.0f} items, {rate:,.0f} a second"
        left = max(0, round((self.total - self.done) / rate))
        return f"{self.done:,.0f} of {self.total:,} items, {rate:,.0f} a second, {left // 60}:{left % 60:02} left"

    def end(self) -> None:
        """Leave the line, where one was written."""
        if self.said != self.started:
            print(file=sys.stderr)


# Going on


def whole_lines(path: Path) -> int:
    """How many whole lines a file has; what stands behind the last of them is cut off. No file has none."""
    if not path.exists():
        return 0
    count, end = 0, 0
    with path.open("r+b") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                count, end = count + 1, end + len(line)
        stream.truncate(end)
    return count


@contextmanager
def going_on(path: Path, reader: Reader | SignalReader, whole: bool) -> Iterator[int]:
    """While this is open, what is printed is added to a file; gives how many of its items are there already."""
    if not (whole or isinstance(reader, Text)):
        raise RegardError(
            f"--resume-from counts lines, but an item that is read as {reader.name} has several; give lines of text"
        )
    if path.is_dir():
        raise DataError(f"{path} is a folder where a file of answers was expected")
    path.parent.mkdir(parents=True, exist_ok=True)
    count = whole_lines(path)
    with path.open("a", encoding="utf-8", newline="") as stream, redirect_stdout(stream):
        yield count


def without_first(items: Iterator[Found], count: int, path: Path, file: str) -> Iterator[Found]:
    """The items after the first so many."""
    passed = sum(1 for _ in islice(items, count))
    if passed < count:
        raise DataError(f"{path} has {count:,} whole lines, but {file} only {passed:,} items; is it another's output?")
    return items


# Several processes


@dataclass(frozen=True)
class Asked:
    """What each process needs to answer as this one would.

    folders, trust_code: as `regard.load` takes them
    changes:            other settings of [decode]
    texts:              (best, align, layer) as `Run.asking` takes them; None where the plain answer is wanted
    """

    folders: tuple[Path, ...]
    trust_code: bool = False
    changes: tuple[tuple[str, object], ...] = ()
    texts: tuple[int, bool, int | None] | None = None

    def of(self, run: Run) -> Run:
        """The run, loaded with its changes, asked for what is wanted."""
        if self.texts is None:
            return run
        best, align, layer = self.texts
        return run.asking(best=best, align=align, layer=layer)


_predictor: Predictor | None = None


def _begin(asked: Asked) -> None:
    """What a process does first. Whoever stops the first process stops the others through it."""
    global _predictor
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    run = load(asked.folders, trust_code=asked.trust_code).decoding(dict(asked.changes))
    _predictor = asked.of(run).predictor


def _answered(items: list[Found]) -> list[Answer]:
    assert _predictor is not None
    return list(_predictor.predict_in_place(items))


def in_processes(asked: Asked, items: Iterator[Found], count: int, told: Callable[[float], None]) -> Iterator[Answer]:
    """The answers of so many processes, in the order of the items, of which only a few blocks are read ahead."""
    blocks = iter(lambda: list(islice(items, _BLOCK)), [])
    with multiprocessing.get_context("spawn").Pool(count, _begin, (asked,)) as pool:
        waiting = deque(pool.apply_async(_answered, (block,)) for block in islice(blocks, 2 * count))
        while waiting:
            answers = waiting.popleft().get()
            told(len(answers))
            waiting.extend(pool.apply_async(_answered, (block,)) for block in islice(blocks, 1))
            yield from answers


@contextmanager
def answering(
    run: Run,
    asked: Asked,
    file: str,
    reader: Reader | SignalReader,
    *,
    on_error: str | None = None,
    processes: int = 1,
    resume_from: Path | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Iterator[Iterator[Answer]]:
    """The answers to a file, while whoever waits is told how far they are; what is printed meanwhile goes to
    `resume_from` where that is given, in which the first of them stand already."""
    run = asked.of(run)
    items = run.read(file, reader, on_error=on_error)
    total = items_of(file, reader)
    with ExitStack() as opened:
        if resume_from is not None:
            there = opened.enter_context(going_on(resume_from, reader, run.predictor.whole))
            say(f"{resume_from} has {there:,} whole lines; what follows is added to it")
            items = without_first(items, there, resume_from, file)
            total = None if total is None else total - there
        progress = Progress(total)
        opened.callback(progress.end)
        if processes > 1:
            yield in_processes(asked, items, processes, progress)
        else:
            yield replace(run.predictor, told=progress).predict_in_place(items)


def check_together(asked: Mapping[str, bool], processes: int, resume_from: Path | None) -> None:
    """What needs all items in one process, or several lines for each."""
    resumed = resume_from is not None
    for name, several in (("--stream", True), ("--score-targets", True), ("--top", True), ("--best", resumed)):
        other = "--processes" if processes > 1 else "--resume-from"
        if asked[name] and several and (processes > 1 or resumed):
            raise RegardError(f"{name} and {other} do not go together; give one of them")
