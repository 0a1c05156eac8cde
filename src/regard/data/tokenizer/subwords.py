"""Sub-words: pieces of bytes that stand together often."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from regard.data.tokenizer.kind import EncodedText, Tokenizer, TokenizerSettings, joined_pieces
from regard.data.vocabulary import UNKNOWN


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
        return joined_pieces([[number + _SPECIAL for number in word.ids] or [1] for word in found])

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
