"""Pieces as a tokenizer of the library tokenizers parts them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.tokenizer.kind import EncodedText, Tokenizer, TokenizerSettings
from regard.data.vocabulary import SEPARATOR, UNKNOWN


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
