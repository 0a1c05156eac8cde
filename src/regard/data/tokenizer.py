"""Words -> numbers: which vector belongs to what."""

from __future__ import annotations

import json
import unicodedata
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from torch import Tensor

from regard.data.example import Example
from regard.data.kind import Encoded, InputKind
from regard.data.padding import PADDING, padded
from regard.data.vocabulary import SEPARATOR, SPECIAL, UNKNOWN, Vocabulary
from regard.errors import FolderError, RegardError, choose

# Around each word's letters, so that beginnings and ends can be told from middles.
WORD_START, WORD_END = "<w>", "</w>"

# So many letters at a word's beginning and end are known as a whole.
AFFIX = 3

# Of longer words (web addresses …) only the first and the last letters are read, two thirds and one third.
LONGEST_WORD = 30


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
        return _joined([[self.characters.number(letter) for letter in self.letters(word)] or [1] for word in words])

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


def _signs_of_bytes() -> dict[str, int]:
    """The sign that stands for each byte in a piece: itself where it can be seen, else one after the 256th, in order.

    Source: Radford et al. 2019, their encoder.py, which the library follows.
    """
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _signs_of_bytes()

# The library knows nothing of padding and the unknown, which it would find inside of words: its numbers begin after.
_SPECIAL = 2


class SubwordTokenizer(Tokenizer):
    """Frequent words are one piece, rare ones several: byte-pair encoding over bytes, so that nothing is unknown.

    Source: Sennrich, Haddow & Birch 2016, arXiv:1508.07909, section 3.2; over bytes: Radford et al. 2019, section 2.2.
    The work is done by the library tokenizers.
    """

    kind = "subwords"

    def __init__(self, model: Any, normalize: str) -> None:
        super().__init__(normalize)
        self.model = model

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> SubwordTokenizer:
        from tokenizers import Tokenizer as Library
        from tokenizers import decoders, models, pre_tokenizers, trainers

        model = Library(models.BPE(unk_token=None))
        # The library's rule parts a text at spaces and between letters, digits and signs, so that no piece spans words.
        model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        model.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=max(1, settings.size - _SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        normal = Tokenizer(settings.normalize).normal
        model.train_from_iterator((normal(word) for words in texts for word in words), trainer)
        return cls(model, settings.normalize)

    def encode(self, words: Sequence[str]) -> EncodedText:
        texts = [self.normal(word) for word in words]
        found = self.model.encode_batch_fast(texts, add_special_tokens=False)
        return _joined([[number + _SPECIAL for number in word.ids] or [1] for word in found])

    def pieces(self, words: Sequence[str]) -> tuple[str, ...]:
        # A piece may be some of a letter's bytes: it is shown as the letters that it touches.
        texts = [self.normal(word) for word in words]
        found = self.model.encode_batch(texts, add_special_tokens=False)
        return tuple(
            text[start:end] or UNKNOWN
            for text, pieces in zip(texts, found, strict=True)
            for start, end in (pieces.offsets or [(0, 0)])
        )

    def text(self, numbers: Sequence[int]) -> str:
        # A letter of which only some bytes were written is one U+FFFD.
        return str(self.model.decode([number - _SPECIAL for number in numbers], skip_special_tokens=False))

    def written(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.text([number]) for number in numbers)

    def spelled(self, number: int) -> bytes:
        piece = self.model.id_to_token(number - _SPECIAL) if number >= _SPECIAL else None
        return bytes(_BYTES[sign] for sign in piece or "")

    def spelling(self, text: str) -> bytes:
        return self.normal(text).encode()

    def growing(self, numbers: Iterable[int]) -> Iterator[str]:
        decoder = getincrementaldecoder("utf-8")("replace")
        for number in numbers:
            yield decoder.decode(self.spelled(number))
        yield decoder.decode(b"", final=True)

    def units(self, numbers: Sequence[int]) -> tuple[int, ...]:
        found, text = [], b""
        for number in numbers:
            text += self.spelled(number)
            found.append(max(0, len(text.split()) - 1))
        return tuple(found)

    def source_units(self, words: Sequence[str]) -> tuple[str, ...]:
        # At the same spaces as `units`, which sees bytes.
        return tuple(part.decode() for word in words for part in self.normal(word).encode().split() or [b""])

    def sizes(self) -> dict[str, int]:
        return {"pieces": self.model.get_vocab_size() + _SPECIAL}

    def saved(self) -> dict[str, Any]:
        return {"model": json.loads(self.model.to_str()), "normalize": self.normalize}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> SubwordTokenizer:
        from tokenizers import Tokenizer as Library

        return cls(Library.from_str(json.dumps(saved["model"])), saved["normalize"])


@dataclass(frozen=True)
class Signs:
    """The pieces of a library's tokenizer that stand for no text, by what they are for.

    begin, end: stand around what is read; an end also parts two texts
    unknown:    stands for what no piece spells
    mask:       stands for what is hidden
    padding:    stands behind what is shorter than its neighbours
    """

    begin: int
    end: int
    unknown: int
    mask: int
    padding: int


class LibraryTokenizer(Tokenizer):
    """Pieces as a tokenizer of the library tokenizers parts them, between a sign for the beginning and one for the end.

    Learnt, it is WordPiece as in BERT: pieces inside of words begin with ##. Source: Devlin et al. 2019,
    arXiv:1810.04805, section 3; Wu et al. 2016, arXiv:1609.08144, section 4.1.

    count: how many pieces have a vector; some may have no name
    """

    kind = "library"

    def __init__(self, model: Any, signs: Signs, count: int, normalize: str = "none") -> None:
        super().__init__(normalize)
        self.model, self.signs, self.count = model, signs, count
        self.special = tuple(sorted(set(vars(signs).values())))
        self.hidden = signs.mask

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> LibraryTokenizer:
        from tokenizers import Tokenizer as Library
        from tokenizers import decoders, models, pre_tokenizers, trainers

        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        model = Library(models.WordPiece(unk_token="[UNK]"))
        model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        model.decoder = decoders.WordPiece()
        size = max(settings.size, len(names) + 1)
        trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=names, show_progress=False)
        normal = Tokenizer(settings.normalize).normal
        model.train_from_iterator((normal(word) for words in texts for word in words), trainer)
        # The library numbers letters in an order that changes from time to time.
        pieces = [*names, *sorted(set(model.get_vocab()) - set(names))]
        numbers = {piece: number for number, piece in enumerate(pieces)}
        model.model = models.WordPiece(numbers, unk_token="[UNK]")
        padding, unknown, begin, end, mask = range(len(names))
        return cls(model, Signs(begin, end, unknown, mask, padding), model.get_vocab_size(), settings.normalize)

    def encode(self, words: Sequence[str]) -> EncodedText:
        signs = self.signs
        found = self.model.encode_batch([self.normal(word) for word in words], add_special_tokens=False)
        parts = [
            [signs.end] if word == SEPARATOR else list(pieces.ids) or [signs.unknown]
            for word, pieces in zip(words, found, strict=True)
        ]
        if not parts:
            return EncodedText()
        pieces = [signs.begin, *(piece for part in parts for piece in part), signs.end]
        of_word = [-1, *(word for word, part in enumerate(parts) for _ in part), -1]
        joins = [number for number, word in enumerate(words) if word == SEPARATOR]
        segments = [int(bool(joins) and word > joins[0]) for word in of_word[:-1]]
        return EncodedText(pieces=tuple(pieces), word_of_piece=tuple(of_word), segments=(*segments, int(bool(joins))))

    def pieces(self, words: Sequence[str]) -> tuple[str, ...]:
        return self.named(self.encode(words).pieces)

    def named(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """What pieces are called."""
        return tuple(self.model.id_to_token(number) or UNKNOWN for number in numbers)

    def text(self, numbers: Sequence[int]) -> str:
        return str(self.model.decode(list(numbers), skip_special_tokens=True))

    def written(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple((self.model.id_to_token(number) or UNKNOWN).removeprefix("##") for number in numbers)

    def sizes(self) -> dict[str, int]:
        return {"pieces": self.count}

    def saved(self) -> dict[str, Any]:
        model = json.loads(self.model.to_str())
        return {"model": model, "signs": vars(self.signs), "count": self.count, "normalize": self.normalize}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> LibraryTokenizer:
        from tokenizers import Tokenizer as Library

        model = Library.from_str(json.dumps(saved["model"]))
        return cls(model, Signs(**saved["signs"]), saved["count"], saved["normalize"])


@dataclass(frozen=True)
class TokenizerSettings:
    """What a kind needs to know to learn its vocabulary."""

    size: int
    minimum_count: int
    lowercase: bool
    normalize: str


def _word_vocabulary(texts: Iterable[Sequence[str]], settings: TokenizerSettings) -> Vocabulary:
    form = WordTokenizer(Vocabulary(()), settings.lowercase, settings.normalize).look_up
    return Vocabulary.of(
        (form(word) for words in texts for word in words), size=settings.size, minimum_count=settings.minimum_count
    )


def _joined(words: Sequence[Sequence[int]]) -> EncodedText:
    return EncodedText(
        pieces=tuple(piece for word in words for piece in word),
        word_of_piece=tuple(index for index, word in enumerate(words) for _ in word),
    )


TOKENIZERS: dict[str, Any] = {
    kind.kind: kind
    for kind in (WordTokenizer, CharacterTokenizer, SubwordTokenizer, WordCharacterTokenizer, LibraryTokenizer)
}


def tokenizer_to_json(tokenizer: Tokenizer) -> str:
    """The tokenizer as text that can be saved."""
    return json.dumps({"kind": tokenizer.kind, **tokenizer.saved()}, ensure_ascii=False)


def tokenizer_from_json(text: str, where: str) -> Tokenizer:
    """The tokenizer that was saved; `where` is for the message if it cannot be read."""
    try:
        saved = json.loads(text)
        restored: Tokenizer = choose(TOKENIZERS, saved["kind"], "tokenizer").restored(saved)
        return restored
    except RegardError as error:
        raise FolderError(f"{where}: {error}") from None
    except Exception as error:  # the library tokenizers raises bare Exceptions
        raise FolderError(f"{where} is not a tokenizer of regard's, or incomplete: {error}") from None
