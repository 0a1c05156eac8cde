"""What the measurements share: ours against theirs, interleaved, in processor time; memory; what the machine can do.

Nothing is measured here: `python bench/attention.py` and the others do.
"""

import ctypes
import statistics
import sys
import time
from contextlib import suppress
from importlib import metadata

import torch

import regard
from regard.comparison.memory import watched

REPEATS = 5

# With gradients it takes so many operations for one forward: each product has two to go back.
BACKWARD = 3


def seconds(function):
    started = time.process_time()
    function()
    return time.process_time() - started


class Machine:
    """How fast it multiplies (operations in a millisecond) and moves (bytes in a millisecond), measured now."""

    def __init__(self):
        a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
        self.operations = 2 * 1024**3 / self._milliseconds(lambda: torch.mm(a, b, out=torch.empty_like(a)))
        x = torch.randn(2**23)
        self.bytes = 2 * x.numel() * 4 / self._milliseconds(lambda: x.add_(1))

    def _milliseconds(self, function):
        function()
        return 1e3 * statistics.median(seconds(function) for _ in range(9))

    def __str__(self):
        return f"{self.operations / 1e6:.0f} GF/s in products, {self.bytes / 1e6:.0f} GB/s in memory"


class Bench:
    """A table of rows: ours, theirs, theirs over ours, the target, and what the operations alone would take."""

    def __init__(self):
        self.machine = Machine()

    def head(self):
        print(
            "| what | ours, ms | theirs, ms | theirs / ours | target | products alone, ms |\n|---|---|---|---|---|---|"
        )

    def compare(self, name, ours, theirs, target, operations=None):
        """Medians of interleaved repeats."""
        ours(), theirs()
        times = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
        mine, other = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
        limit = "" if operations is None else f"{operations / self.machine.operations:.1f}"
        print(f"| {name} | {mine:.1f} | {other:.1f} | {other / mine:.2f} | {target} | {limit} |", flush=True)

    def both(self, name, ours, theirs, tensors, targets, operations=None):
        """Forward, and with backward, where there is a target."""
        back = None if operations is None else BACKWARD * operations
        if targets[0]:
            self.compare(f"{name}, forward", forward(ours), forward(theirs), targets[0], operations)
        if targets[1]:
            self.compare(f"{name}, with backward", backward(ours, tensors), backward(theirs, tensors), targets[1], back)

    def memory(self, name, ours, theirs, target):
        """The most that is held at once, in MB, beside what is held before."""
        mine, other = (held(function) for function in (ours, theirs))
        print(f"| {name} | {mine:.0f} MB | {other:.0f} MB | {other / max(mine, 1):.2f} | {target} | |", flush=True)


def held(function):
    function()
    with suppress(AttributeError):  # a C library that does not know it
        ctypes.CDLL(None).malloc_trim(0)  # what was let go and is still the process's would not be counted again
    with watched() as before:
        pass
    with watched() as peak:
        function()
    return peak.megabytes - before.megabytes


def drawn(*shape, count=3):
    return [torch.randn(*shape, requires_grad=True) for _ in range(count)]


def forward(function):
    def run():
        with torch.no_grad():
            function()

    return run


def backward(function, tensors):
    def run():
        torch.autograd.grad(function().sum(), tensors, allow_unused=True)

    return run


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def main(rows, packages):
    """Runs the rows of which a part of the name is given, or all; `--keep` keeps everybody's memory."""
    kept = "--keep" in sys.argv
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if kept and not regard.keep_memory():
        sys.exit("memory cannot be kept here")
    bench = Bench()
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", *packages))
    print(f"{versions}; one thread; {'memory kept' if kept else 'memory as it is'}; medians of {REPEATS}")
    print(f"{bench.machine}\n")
    bench.head()
    for row in rows:
        if not wanted or any(word in row.__name__ for word in wanted):
            try:
                row(bench)
            except ImportError as missing:
                print(f"| {row.__name__.replace('_', ' ')}: left out, {missing} | | | | | |")
