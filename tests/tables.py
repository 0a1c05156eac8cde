"""A model that knows by heart how probable each symbol is after each beginning, and all texts that there are."""

import itertools
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from regard.decode.search import Hypothesis, Ranking, search

# As many symbols, the end among them; so many symbols in a text at most, its end included; a beam that holds them all.
SYMBOLS, END, LIMIT, ALL = 4, 0, 4, 67
START = SYMBOLS


class Table:
    """A model that knows by heart how probable each symbol is after each beginning; every item has a table of its own.

    reordered: whether it does what the search says about the rows (a model that does not is faulty)
    """

    def __init__(
        self, items: Sequence[int], *, reordered: bool = True, end: float = 0.0, symbols: int = SYMBOLS
    ) -> None:
        self.items = list(items)
        self.written: list[tuple[int, ...]] = [() for _ in items]
        self.reordered = reordered
        self.end = end
        self.symbols = symbols
        self.calls: list[int] = []

    def scores(self, item: int, written: tuple[int, ...]) -> Tensor:
        """(symbols,), log-probabilities; `end` is added to the end's."""
        seed = hash((item, written)) % 2**31
        drawn = 2 * torch.randn(self.symbols, generator=torch.Generator().manual_seed(seed))
        drawn[END] += self.end
        return drawn.log_softmax(0)

    def __call__(self, tokens: Tensor, rows: Tensor | None, items: Tensor | None) -> Tensor:
        if items is not None:
            self.items = [self.items[place] for place in items.tolist()]
        if not self.calls:
            self.written = [() for _ in tokens]
        else:
            if rows is not None and self.reordered:
                self.written = [self.written[row] for row in rows.tolist()]
            self.written = [(*before, token) for before, token in zip(self.written, tokens.tolist(), strict=False)]
        self.calls.append(len(tokens))
        beam = len(tokens) // len(self.items)
        return torch.stack([self.scores(self.items[row // beam], written) for row, written in enumerate(self.written)])


def texts(limit: int = LIMIT, symbols: int = SYMBOLS) -> Iterator[tuple[int, ...]]:
    """All texts of so many symbols at most, their end included."""
    for length in range(limit):
        yield from itertools.product(range(1, symbols), repeat=length)


def true_score(table: Table, item: int, tokens: tuple[int, ...], penalty: float) -> tuple[float, float]:
    """(log-probability, score) by definition."""
    total = sum(float(table.scores(item, tokens[:place])[symbol]) for place, symbol in enumerate((*tokens, END)))
    return total, total / (len(tokens) + 1) ** penalty


def enumerated(item: int, penalty: float, limit: int = LIMIT) -> list[tuple[float, tuple[int, ...]]]:
    """All texts with their scores, the best first."""
    table = Table([item])
    return sorted(((true_score(table, item, tokens, penalty)[1], tokens) for tokens in texts(limit)), reverse=True)


def found(items: Sequence[int], limits: Sequence[int] | None = None, **given) -> list[list[Hypothesis]]:
    table = given.pop("table", None) or Table(items)
    names = {name: given.pop(name) for name in ("length_penalty", "length_norm") if name in given}
    given.setdefault("ranking", Ranking(**names))
    return search(table, [LIMIT] * len(items) if limits is None else limits, start=START, end=END, **given)
