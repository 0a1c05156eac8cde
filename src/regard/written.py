"""What was found, read as texts: with their scores, and which word of the source stands behind which written word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from torch import Tensor

from regard.data.alignment import Pairs, aligned
from regard.data.example import Example
from regard.data.kind import InputKind
from regard.data.target import Texts
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import SPECIAL
from regard.decode.ctc import Span
from regard.decode.search import Hypothesis


@dataclass(frozen=True)
class Written:
    """A text that was written.

    score:           what texts are compared by
    log_probability: of its pieces, and of its end where it is not cut
    pieces:          how many these are
    alignment:       (word of the source, word written), both counted from 0; None where it was not asked for
    """

    text: str
    score: float
    log_probability: float
    pieces: int
    cut: bool = False
    alignment: Pairs | None = None


# What is written of nothing.
EMPTY = Written("", 0.0, 0.0, 0, alignment=())


@dataclass(frozen=True)
class Timed:
    """A word, and the seconds at which it begins and ends."""

    word: str
    begin: float
    end: float


def timed(text: str, spans: Sequence[Span], units: Sequence[int], seconds: float) -> list[Timed]:
    """The words of a text with when each is said, by when its pieces are.

    spans: of each piece, in elements; units: which word each piece belongs to (a space belongs to none); seconds: from
    one element to the next
    """
    found = []
    for number, word in enumerate(text.split() if spans else ()):
        mine = [span for span, unit in zip(spans, units, strict=True) if unit == number]
        if mine:
            found.append(Timed(word, mine[0].begin * seconds, mine[-1].end * seconds))
    return found


def word_of_each(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[int]:
    """Which word of the text that pieces make each of them belongs to, whatever pieces they are; of a space -1."""
    found = []
    for place in range(len(tokens)):
        words = len(tokenizer.text(tokens[: place + 1]).split())
        found.append(-1 if tokenizer.text(tokens[place : place + 1]).isspace() else words - 1)
    return found


@dataclass(frozen=True)
class Source:
    """What was read, word by word where its pieces make words."""

    tokenizer: InputKind
    example: Example

    @property
    def units(self) -> tuple[int, ...]:
        """Which word each piece belongs to."""
        if not isinstance(self.tokenizer, Tokenizer):  # each vector is one of its own
            return tuple(range(self.tokenizer.of(self.example).length))
        encoded = self.tokenizer.of(self.example)
        found: list[int] = []
        pieces = zip(encoded.pieces, encoded.word_of_piece, strict=True)
        for _, of_word in groupby(pieces, key=lambda pair: pair[1]):
            before = max(found, default=-1) + 1
            found += (before + unit for unit in self.tokenizer.units([piece for piece, _ in of_word]))
        return tuple(found) if encoded.pieces else self.tokenizer.units(encoded.words)

    @property
    def texts(self) -> tuple[str, ...]:
        """Each of these words as it stands."""
        if not isinstance(self.tokenizer, Tokenizer):
            return self.tokenizer.names(self.example)
        return self.tokenizer.source_units(self.example.words)


def read(
    writes: Texts, found: Sequence[Hypothesis], looked: Sequence[Tensor] | None, source: Source, *, copying: bool
) -> tuple[Written, ...]:
    """The texts that were found; of those that are spelled alike, by other pieces, the best.

    looked:  for each (pieces, elements of the source), how much was looked at what; None where nobody asked
    copying: whether a word takes the place of each unknown one that was written
    """
    texts: dict[str, Written] = {}
    for place, one in enumerate(found):
        pairs = None
        if looked is not None:
            pairs = aligned(looked[place].numpy(), source.units, writes.tokenizer.units(one.tokens))
        text = _copied(writes, one.tokens, pairs or (), source) if copying else writes.decode(one.tokens)
        length = len(one.tokens) + (not one.cut)
        texts.setdefault(text, Written(text, one.score, one.log_probability, length, one.cut, pairs))
    return tuple(texts.values())


def _copied(writes: Texts, tokens: Sequence[int], pairs: Pairs, source: Source) -> str:
    """Words, and in the place of each unknown one that which it is aligned with.

    Source: Luong et al. 2015, arXiv:1410.8206, section 3.3; the alignment here is attention's.
    """
    behind = {word: source.texts[place] for place, word in pairs}
    words = writes.tokenizer.written(tokens)
    return " ".join(behind[n] if tokens[n] == SPECIAL[1] else word for n, word in enumerate(words))
