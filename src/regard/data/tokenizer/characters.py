"""Letters: each is a piece."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from regard.data.tokenizer.kind import EncodedText, Tokenizer, TokenizerSettings, joined_pieces
from regard.data.vocabulary import SEPARATOR, UNKNOWN, Vocabulary


class CharacterTokenizer(Tokenizer):
    """Each letter is a piece; a word's answer is drawn from all its letters."""

    kind = "characters"

    def __init__(self, characters: Vocabulary, normalize: str) -> None:
        super().__init__(normalize)
        self.characters = characters

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> CharacterTokenizer:
        spell = cls(Vocabulary(()), settings.normalize).letters
        letters = (letter for words in texts for word in words for letter in spell(word))
        return cls(Vocabulary.of(letters, size=settings.size), settings.normalize)

    def letters(self, word: str) -> Sequence[str]:
        """A word's letters; what parts texts is one sign."""
        return (SEPARATOR,) if word == SEPARATOR else self.normal(word)

    def encode(self, words: Sequence[str]) -> EncodedText:
        return joined_pieces(
            [[self.characters.number(letter) for letter in self.letters(word)] or [1] for word in words]
        )

    def pieces(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(letter for word in words for letter in self.letters(word) or (UNKNOWN,))

    def text(self, numbers: Sequence[int]) -> str:
        return "".join(self.written(numbers))

    def written(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.characters.symbols[number] for number in numbers)

    def spelling(self, text: str) -> Sequence[Hashable]:
        return tuple(self.letters(text))

    def sizes(self) -> dict[str, int]:
        return {"pieces": len(self.characters)}

    def saved(self) -> dict[str, Any]:
        return {"characters": self.characters.symbols, "normalize": self.normalize}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> CharacterTokenizer:
        return cls(Vocabulary(saved["characters"]), saved["normalize"])
