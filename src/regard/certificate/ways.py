"""The ways in which one model can be run, and which of them are held against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from torch import Tensor, nn

from regard.attention.attend import PATHS, Path
from regard.attention.question import Question
from regard.data.batching import Batch, Item, batches, collate, longer
from regard.layers.multihead import MultiHeadAttention
from regard.layers.watch import WatchedPoint
from regard.look.record import record
from regard.machine import threads

# So many places of padding are put behind an item that stands alone.
PADDING = 7

# Items that stand together where the batch is another one; neither divides the other.
FEW, SOME = 3, 7


@dataclass
class Note:
    """What a way found out about itself.

    against: why the model cannot be run in this way at all; None where it was
    """

    against: str | None = None


@dataclass(frozen=True)
class Way:
    """One way to run a model.

    says:      what is special about it
    around:    what is changed about the model while it runs
    cut:       how items become batches
    gradients: whether gradients could be taken
    streams:   whether speech comes bit by bit
    steps:     whether texts are written piece by piece, from what a cache remembers
    """

    says: str
    around: Callable[[nn.Module], AbstractContextManager[Note]]
    cut: Callable[[Sequence[Item], int], Iterator[Batch]] = batches
    gradients: bool = False
    steps: bool = False
    streams: bool = False


# How items become batches


def alone(items: Sequence[Item], budget: int) -> Iterator[Batch]:
    """Each item by itself: nothing is padded."""
    return (collate(items, [number]) for number in range(len(items)))


def alone_and_padded(items: Sequence[Item], budget: int) -> Iterator[Batch]:
    return (longer(batch, PADDING) for batch in alone(items, budget))


def in_groups(items: Sequence[Item], budget: int, *, size: int, backwards: bool = False) -> Iterator[Batch]:
    """So many items at a time, whatever their lengths."""
    order = range(len(items))[::-1] if backwards else range(len(items))
    return (collate(items, list(order[start : start + size])) for start in range(0, len(order), size))


# What is changed about the model


@contextmanager
def as_it_is(model: nn.Module) -> Iterator[Note]:
    yield Note()


@contextmanager
def training_without_dropout(model: nn.Module) -> Iterator[Note]:
    """In training mode, but that nothing is dropped, and that no norm is of the batch."""
    kept = [(module, name, getattr(module, name, None)) for module in model.modules() for name in ("share", "dropout")]
    shares = [(module, name, share) for module, name, share in kept if isinstance(share, float)]
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.eval()
    try:
        for module, name, _ in shares:
            setattr(module, name, 0.0)
        yield Note()
    finally:
        for module, name, share in shares:
            setattr(module, name, share)
        model.eval()


@contextmanager
def watched(model: nn.Module) -> Iterator[Note]:
    """Somebody looks at all attention weights."""
    there = any(isinstance(module, WatchedPoint) for module in model.modules())
    with record(model):
        yield Note(None if there else "there is no attention to watch")


@contextmanager
def with_threads(model: nn.Module, *, count: int) -> Iterator[Note]:
    with threads(count):
        yield Note()


@dataclass
class _Preferred(Note):
    """A path that is taken wherever it can be.

    against: its reason, as long as it was never taken
    """

    against: str | None = "there is no attention"
    taken: bool = field(default=False)

    def paths(self, name: str, change: Callable[[Question], Question]) -> Mapping[str, Path]:
        """All paths, the preferred one first."""
        path = PATHS[name]

        def take(question: Question) -> Tensor:
            self.taken, self.against = True, None
            return path.take(change(question))

        def refuse(question: Question) -> str | None:
            reason = path.refuse(question)
            self.against = reason if reason is not None and not self.taken else self.against
            return reason

        return {name: Path(take, refuse), **{other: PATHS[other] for other in PATHS if other != name}}


@contextmanager
def preferring(model: nn.Module, *, path: str) -> Iterator[Note]:
    """Every attention takes this path where it can be taken, whether it pays or not."""
    note = _Preferred()
    layers = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    for layer in layers:
        layer.paths = note.paths(path, lambda question: question)
    try:
        yield note
    finally:
        for layer in layers:
            del layer.paths


@contextmanager
def row_by_row(model: nn.Module) -> Iterator[Note]:
    """Watched, and each row of weights is a tile of its own."""
    note = _Preferred()
    layers = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    for layer in layers:
        layer.paths = note.paths("tiled", partial(replace, tile_weights=1))
    try:
        with record(model):
            yield note
    finally:
        for layer in layers:
            del layer.paths


def _path(name: str) -> Way:
    around = row_by_row if name == "tiled" else partial(preferring, path=name)
    return Way(f"the {name} path", around)


# As `predict` runs it.
USUAL = Way("as always", as_it_is)

_ALONE = Way("alone", as_it_is, alone)
_PLAIN = _path("plain")

# What is held against what; the plain path is the definition of the others.
PAIRS: dict[str, tuple[Way, Way]] = {
    "again": (USUAL, Way("asked again", as_it_is)),
    "training": (USUAL, Way("in training mode, without dropout", training_without_dropout)),
    "gradients": (USUAL, Way("with gradients", as_it_is, gradients=True)),
    "alone": (USUAL, _ALONE),
    "padding": (_ALONE, Way("alone, with padding", as_it_is, alone_and_padded)),
    "sizes": (USUAL, Way(f"{FEW} at a time", as_it_is, partial(in_groups, size=FEW))),
    "order": (USUAL, Way(f"{SOME} at a time, from the end", as_it_is, partial(in_groups, size=SOME, backwards=True))),
    "watched": (USUAL, Way("watched", watched)),
    **{name: (_PLAIN, _path(name)) for name in PATHS if name != "plain"},
    "cache": (Way("a text all at once", as_it_is), Way("step by step, with a cache", as_it_is, steps=True)),
    "stream": (USUAL, Way("bit by bit, as it is said", as_it_is, streams=True)),
    "threads": (
        Way("1 thread", partial(with_threads, count=1)),
        Way("2 threads", partial(with_threads, count=2)),
    ),
}
