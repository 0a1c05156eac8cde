"""What every kind of input has in common, be it text, vectors, images or speech: example -> what the network reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor

from regard.data.example import Example


class Encoded:
    """An example as the network reads it."""

    @property
    def length(self) -> int:
        """How many vectors the network makes of it: its share in a batch's budget."""
        raise NotImplementedError

    @classmethod
    def side_by_side(cls, items: Sequence[Self]) -> dict[str, Tensor]:
        """Some of them as the inputs of a batch, padded to the longest; what stands in the padding is in PADDING of
        data/padding.py."""
        raise NotImplementedError


class InputKind:
    """How an example becomes what the network reads: with all that was learnt of the training examples for it.

    A new kind of input is a class of these, with a line in SIGNALS (data/signal/kinds.py: its readers) and a line in
    INPUTS (build_inputs.py: what it learns, which part of the network reads it, what training draws anew).
    """

    kind = ""
    # How many rows and columns of vectors the largest training example has; None where they stand along a line.
    grid: tuple[int, int] | None = None

    def of(self, example: Example) -> Encoded:
        """The example as the network reads it."""
        raise NotImplementedError

    def names(self, example: Example) -> tuple[str, ...]:
        """What the network attends to, vector by vector, as people call it."""
        raise NotImplementedError

    def sizes(self) -> dict[str, int]:
        """How many of what there are, as it is told at the beginning of a training."""
        raise NotImplementedError

    def saved(self) -> dict[str, Any]:
        """As JSON."""
        raise NotImplementedError

    @classmethod
    def restored(cls, saved: Any) -> InputKind:
        """From what was saved."""
        raise NotImplementedError
