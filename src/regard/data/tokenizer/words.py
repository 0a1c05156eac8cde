"""Words, and words with their letters: one number a word, its spelling beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from regard.data.tokenizer.kind import EncodedText, Tokenizer, TokenizerSettings
from regard.data.vocabulary import Vocabulary

# Around each word's letters, so that beginnings and ends can be told from middles.
WORD_START, WORD_END = "<w>", "</w>"

# So many letters at a word's beginning and end are known as a whole.
AFFIX = 3

# Of longer words (web addresses …) only the first and the last letters are read, two thirds and one third.
LONGEST_WORD = 30


class WordTokenizer(Tokenizer):
    """Each word has a vector of its own; those too rare share the unknown's."""

    kind = "words"

    def __init__(self, words: Vocabulary, lowercase: bool, normalize: str) -> None:
        super().__init__(normalize)
        self.words = words
        self.lowercase = lowercase

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> WordTokenizer:
        return cls(_word_vocabulary(texts, settings), settings.lowercase, settings.normalize)

    def look_up(self, word: str) -> str:
        """The form under which a word stands in the vocabulary."""
        word = self.normal(word)
        return word.lower() if self.lowercase else word

    def encode(self, words: Sequence[str]) -> EncodedText:
        return EncodedText(words=tuple(self.words.number(self.look_up(word)) for word in words))

    def text(self, numbers: Sequence[int]) -> str:
        return self.joined(self.written(numbers))

    def joined(self, words: Sequence[str]) -> str:
        return " ".join(words)

    def written(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.words.symbols[number] for number in numbers)

    def spelling(self, text: str) -> Sequence[Hashable]:
        return tuple(map(self.look_up, text.split()))

    def growing(self, numbers: Iterable[int]) -> Iterator[str]:
        for place, number in enumerate(numbers):
            yield (" " if place else "") + self.text([number])

    def sizes(self) -> dict[str, int]:
        return {"words": len(self.words)}

    def saved(self) -> dict[str, Any]:
        return {"words": self.words.symbols, "lowercase": self.lowercase, "normalize": self.normalize}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> WordTokenizer:
        return cls(Vocabulary(saved["words"]), saved["lowercase"], saved["normalize"])


class WordCharacterTokenizer(WordTokenizer):
    """Each word has a vector of its own, and its letters are read too, so that unknown words are not all the same: one
    by one, and as the word's beginning, its end and its shape.

    Source of beginnings, ends and shapes: Ratnaparkhi 1996, "A maximum entropy model for part-of-speech tagging",
    table 1.
    """

    kind = "words+characters"

    def __init__(
        self, words: Vocabulary, characters: Vocabulary, affixes: Vocabulary, lowercase: bool, normalize: str
    ) -> None:
        super().__init__(words, lowercase, normalize)
        self.characters = characters
        self.affixes = affixes
        self._spell = lru_cache(maxsize=100_000)(self._spelling)

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> WordCharacterTokenizer:
        texts = list(texts)
        normal = Tokenizer(settings.normalize).normal
        counts = Counter(normal(word) for words in texts for word in words)
        characters = Vocabulary.of(letter for word in counts for letter in word)
        characters = Vocabulary((*characters.symbols[:2], WORD_START, WORD_END, *characters.symbols[2:]))
        # Counted once for each distinct word: what frequent words begin with is known from their own vectors.
        affixes = Vocabulary.of(
            (affix for word in counts for affix in _affixes(word)), size=settings.size, minimum_count=2
        )
        return cls(_word_vocabulary(texts, settings), characters, affixes, settings.lowercase, settings.normalize)

    def _spelling(self, word: str) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        letters = self.normal(word)
        beginning, end = _affixes(letters)
        affixes = (self.affixes.number(beginning), self.affixes.number(end), shape(letters))
        if len(letters) > LONGEST_WORD:
            letters = letters[: LONGEST_WORD * 2 // 3] + letters[-(LONGEST_WORD // 3) :]
        number = self.characters.number
        return (number(WORD_START), *map(number, letters), number(WORD_END)), affixes

    def encode(self, words: Sequence[str]) -> EncodedText:
        spelled = [self._spell(word) for word in words]
        return EncodedText(
            words=super().encode(words).words,
            letters=tuple(letters for letters, _ in spelled),
            affixes=tuple(affixes for _, affixes in spelled),
        )

    def sizes(self) -> dict[str, int]:
        return {"words": len(self.words), "characters": len(self.characters), "affixes": len(self.affixes)}

    def saved(self) -> dict[str, Any]:
        return {**super().saved(), "characters": self.characters.symbols, "affixes": self.affixes.symbols}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> WordCharacterTokenizer:
        words, characters, affixes = (Vocabulary(saved[kind]) for kind in ("words", "characters", "affixes"))
        return cls(words, characters, affixes, saved["lowercase"], saved["normalize"])


# What a word looks like, whatever its letters: the first of these that is true.
SHAPES: dict[str, Callable[[str], bool]] = {
    "in lower case": str.islower,
    "in capitals": lambda word: word.isupper() and len(word) > 1,
    "with a capital first": lambda word: word[:1].isupper(),
    "a number": str.isnumeric,
    "with a digit": lambda word: any(sign.isdigit() for sign in word),
    "with a letter": lambda word: any(sign.isalpha() for sign in word),
    "of other signs": lambda word: True,
}


def shape(word: str) -> int:
    """The number of the word's shape, from 1 (0 is padding)."""
    return next(number for number, (_, fits) in enumerate(SHAPES.items(), 1) if fits(word))


def _affixes(word: str) -> tuple[str, str]:
    """How a word begins and ends, with a sign that parts the two kinds; case does not count."""
    word = word.lower()
    return f"{word[:AFFIX]}-", f"-{word[-AFFIX:]}"


def _word_vocabulary(texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> Vocabulary:
    form = WordTokenizer(Vocabulary(()), settings.lowercase, settings.normalize).look_up
    return Vocabulary.of(
        (form(word) for words in texts for word in words), size=settings.size, minimum_count=settings.minimum_count
    )
