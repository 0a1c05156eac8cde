"""How much memory a piece of work needs at most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import torch

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Peak:
    """megabytes: the most that was in use; None where the system does not tell"""

    megabytes: float | None = None


@contextmanager
def watched() -> Iterator[Peak]:
    """Watches the accelerator's memory where there is one, else that of the whole process (which Linux tells)."""
    peak = Peak()
    on_accelerator = torch.cuda.is_available()
    if on_accelerator:
        torch.cuda.reset_peak_memory_stats()
    else:
        _forget()
    try:
        yield peak
    finally:
        peak.megabytes = torch.cuda.max_memory_allocated() / 2**20 if on_accelerator else _highest()


def _forget() -> None:
    """Let the most that was in use be what is in use now (Linux: proc(5), /proc/pid/clear_refs, 5)."""
    with suppress(OSError):  # another system, or it is not allowed: then the most is that since the process began
        _RESET.write_text("5")


def _highest() -> float | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(found[0]) / 2**10 if found else None
