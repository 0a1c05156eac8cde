"""What all tokenizers have in common: a text as numbers, and what a kind must be able to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from regard.data.example import Example
from regard.data.kind import Encoded, InputKind
from regard.data.padding import PADDING, padded
from regard.data.vocabulary import SPECIAL


@dataclass(frozen=True)
class EncodedText(Encoded):
    """A text as numbers.

    words:   one number a word (empty where the kind has no word vectors)
    letters: the letters of each word, as numbers (empty where the kind does not read letters)
    affixes: how each word begins and ends, and what it looks like, as numbers (empty as letters)
    pieces:  the pieces of the whole example, and the word that each belongs to (-1: none, a sign around the text)
    segments: which of the joined texts each piece is in, where that is told
    """

    words: tuple[int, ...] = ()
    letters: tuple[tuple[int, ...], ...] = ()
    affixes: tuple[tuple[int, int, int], ...] = ()
    pieces: tuple[int, ...] = ()
    word_of_piece: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        return len(self.pieces) or len(self.words)

    @classmethod
    def side_by_side(cls, items: Sequence[EncodedText]) -> dict[str, Tensor]:
        inputs = {}
        if any(item.pieces for item in items):
            inputs["piece_numbers"] = padded([item.pieces for item in items], PADDING["piece_numbers"])
            inputs["word_of_piece"] = padded([item.word_of_piece for item in items], PADDING["word_of_piece"])
        else:
            inputs["word_numbers"] = padded([item.words for item in items], PADDING["word_numbers"])
        if any(item.segments for item in items):
            inputs["segments"] = padded([item.segments for item in items], PADDING["segments"])
        if any(item.letters for item in items):
            inputs.update(_distinct(items))
        return inputs


def _distinct(texts: Sequence[EncodedText]) -> dict[str, Tensor]:
    """The spelling of each distinct word once, since words come again and again, and which word stands where.

    letters: (distinct, longest word); affixes: (distinct, 3); spellings: (batch, longest in words), rows of the others
    """
    spelled = [list(zip(text.letters, text.affixes, strict=True)) for text in texts]
    # From short to long, so that they can be read in groups with little padding; row 0 is padding.
    words = sorted({word for text in spelled for word in text}, key=lambda word: (len(word[0]), word))
    numbers = {word: number for number, word in enumerate(words, 1)}
    return {
        "letters": padded([(), *(letters for letters, _ in words)], 0),
        "affixes": padded([(0, 0, 0), *(affixes for _, affixes in words)], 0),
        "spellings": padded([[numbers[word] for word in text] for text in spelled], 0),
    }


class Tokenizer(InputKind):
    """What all kinds have in common: a normalisation of the text, and a form in which they are saved.

    special: numbers of pieces that stand for no text, which are never asked for and never answered
    hidden:  the number that is shown in the place of what is masked
    """

    special: tuple[int, ...] = SPECIAL
    hidden: int = SPECIAL[1]

    def __init__(self, normalize: str) -> None:
        if normalize not in ("none", "NFC", "NFKC"):
            raise ValueError(f"unknown normalisation {normalize}")
        self.normalize = normalize

    def normal(self, word: str) -> str:
        return word if self.normalize == "none" else unicodedata.normalize(self.normalize, word)  # type: ignore[arg-type]

    def of(self, example: Example) -> EncodedText:
        return self.encode(example.words)

    def names(self, example: Example) -> tuple[str, ...]:
        return self.pieces(example.words)

    def encode(self, words: Sequence[str]) -> EncodedText:
        raise NotImplementedError

    def pieces(self, words: Sequence[str]) -> tuple[str, ...]:
        """What the network attends to, as people read it."""
        return tuple(words)

    def numbers(self, words: Sequence[str]) -> tuple[int, ...]:
        """What there is to write, one number after the other."""
        encoded = self.encode(words)
        return encoded.pieces or encoded.words

    def text(self, numbers: Sequence[int]) -> str:
        """The text that was written."""
        raise NotImplementedError

    def joined(self, words: Sequence[str]) -> str:
        """Words as a text; of what is read as it stands, its parts."""
        return "".join(words)

    def written(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """What was written, piece by piece, as people read it."""
        raise NotImplementedError

    def spelled(self, number: int) -> Sequence[Hashable]:
        """A piece as letters, bytes or words: so a phrase can be found whichever pieces spell it."""
        return self.written([number])

    def spelling(self, text: str) -> Sequence[Hashable]:
        """A text that might be written, spelled in the same."""
        raise NotImplementedError

    def growing(self, numbers: Iterable[int]) -> Iterator[str]:
        """The text of pieces that come one after the other, as it grows; what is only a part of a letter waits for its
        rest. Joined, it is the text of all."""
        for number in numbers:
            yield self.text([number])

    def units(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Which word each piece belongs to, counted from 0, where pieces make words; else each is one of its own."""
        return tuple(range(len(numbers)))

    def source_units(self, words: Sequence[str]) -> tuple[str, ...]:
        """What these are, as they stand in what is read."""
        return self.pieces(words)


@dataclass(frozen=True)
class TokenizerSettings:
    """What a kind needs to know to learn its vocabulary."""

    size: int
    minimum_count: int
    lowercase: bool
    normalize: str


def joined_pieces(words: Sequence[Sequence[int]]) -> EncodedText:
    """The pieces of words one after the other, and which word each is of."""
    return EncodedText(
        pieces=tuple(piece for word in words for piece in word),
        word_of_piece=tuple(index for index, word in enumerate(words) for _ in word),
    )
