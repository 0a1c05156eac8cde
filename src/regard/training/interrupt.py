"""Ctrl-C, as something that can be asked."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruptible(*, twice: bool) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C lets the update end and the state be saved, the second one stops at once.

    twice: whether a second one counts; torchrun hands a person's Ctrl-C on to processes that have had it already, so
           there it does not
    """
    asked = False

    def ask(signum: int, frame: object) -> None:
        nonlocal asked
        if asked and twice:
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
