"""A vocabulary: symbols and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

PADDING, UNKNOWN = "<pad>", "<unk>"

# Between the words of several texts that are read as one.
SEPARATOR = "<sep>"

# Their numbers, in every vocabulary: symbols that stand for no text, and are never written.
SPECIAL = (0, 1)


class Vocabulary:
    """A list of symbols, each known by its number; numbers 0 and 1 are padding and the unknown."""

    def __init__(self, symbols: Sequence[str]) -> None:
        if isinstance(symbols, str) or not all(isinstance(symbol, str) for symbol in symbols):
            raise ValueError("a vocabulary is a list of texts")
        self.symbols = tuple(symbols)
        # Without padding: a word that is spelt like it is a word.
        self.numbers = {symbol: number for number, symbol in enumerate(symbols) if number}

    @classmethod
    def of(cls, symbols: Iterable[str], *, size: int | None = None, minimum_count: int = 1) -> Vocabulary:
        """The most frequent symbols; equally frequent ones in the order of the alphabet, so that order of data does not
        matter."""
        counts = Counter(symbols)
        kept = sorted((s for s, count in counts.items() if count >= minimum_count), key=lambda s: (-counts[s], s))
        return cls((PADDING, UNKNOWN, *kept[: None if size is None else max(0, size - 2)]))

    def number(self, symbol: str) -> int:
        return self.numbers.get(symbol, 1)

    def __len__(self) -> int:
        return len(self.symbols)
