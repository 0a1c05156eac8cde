"""Masks: some pieces of a text are hidden, and asked for.

Source: Devlin et al. 2019, arXiv:1810.04805, section 3.1, task 1. We differ in one thing: a hidden piece is shown as
the unknown one, which is also what word dropout shows, so that a vector learnt here means the same in later tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from regard.data.tokenizer import EncodedText, Tokenizer, WordTokenizer
from regard.data.vocabulary import SPECIAL

# What a person writes in the place of what is asked for.
MASK = "[MASK]"

# Of what is asked for, these shares are hidden, and shown as something else; the rest is shown as it is.
HIDDEN, REPLACED = 0.8, 0.1

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Masked:
    """A text of which some pieces are asked for.

    shown:  what the network reads
    places: which of its pieces are asked for
    pieces: what stands there in truth; nothing where nobody knows
    """

    shown: EncodedText
    places: tuple[int, ...]
    pieces: tuple[int, ...] = ()


@dataclass(frozen=True)
class Masking:
    """How a text is masked.

    share:       of its pieces so many are asked for, one at least
    whole_words: whether all pieces of a word are asked for together
    """

    tokenizer: Tokenizer
    share: float
    whole_words: bool = False

    def masked(self, words: Sequence[str], random: np.random.Generator) -> Masked:
        """Places are drawn; a piece that is itself unknown is never asked for."""
        encoded = self.tokenizer.encode(words)
        numbers = np.array(encoded.pieces or encoded.words, dtype=np.int64)
        places = self._places(numbers, random)
        dice = random.random(len(places))
        others = self._ordinary[random.integers(0, len(self._ordinary), size=len(places))]
        hidden = {place for place, die in zip(places, dice, strict=True) if die < HIDDEN}
        replaced = {
            place: int(other)
            for place, die, other in zip(places, dice, others, strict=True)
            if HIDDEN <= die < HIDDEN + REPLACED
        }
        shown = self._shown(encoded, hidden, replaced)
        return Masked(shown, tuple(places), tuple(numbers[places].tolist()))

    def given(self, words: Sequence[str]) -> Masked:
        """The places that a person has masked: words that are MASK."""
        encoded = self.tokenizer.encode(words)
        of_word = encoded.word_of_piece or range(len(words))
        masks = {number for number, word in enumerate(words) if word == MASK}
        kept = [place for place, word in enumerate(of_word) if word not in masks or word not in of_word[:place]]
        if encoded.pieces:  # a mask is one piece, whatever its letters are
            encoded = EncodedText(
                pieces=tuple(encoded.pieces[place] for place in kept),
                word_of_piece=tuple(encoded.word_of_piece[place] for place in kept),
                segments=tuple(encoded.segments[place] for place in kept) if encoded.segments else (),
            )
        places = [place for place, word in enumerate(encoded.word_of_piece or of_word) if word in masks]
        return Masked(self._shown(encoded, set(places), {}), tuple(places))

    def _places(self, numbers: np.ndarray, random: np.random.Generator) -> list[int]:
        """What is asked for, in order: words (or pieces) in a drawn order, until there is enough."""
        known = np.flatnonzero(~np.isin(numbers, self.tokenizer.special))
        if not len(known):
            return []
        words = self._words(numbers) if self.whole_words else np.arange(len(numbers))
        wanted = max(1, round(self.share * len(known)))
        rank = random.permutation(int(words[-1]) + 1)[words[known]]
        order = np.argsort(rank, kind="stable")
        # The word with which there is enough is asked for whole.
        last = rank[order[wanted - 1]]
        return sorted(known[rank <= last].tolist())

    def _words(self, numbers: np.ndarray) -> np.ndarray:
        """(pieces,): which word, between spaces, each piece belongs to."""
        begins, ends = self._spaces
        new = begins[numbers]
        new[1:] |= ends[numbers[:-1]]
        new[0] = False
        return np.cumsum(new)

    @cached_property
    def _spaces(self) -> tuple[np.ndarray, np.ndarray]:
        """(vocabulary,) twice: whether each piece begins, or ends, with a space."""
        texts = [""] * len(SPECIAL) + [
            self.tokenizer.written([number])[0] for number in range(len(SPECIAL), self._count)
        ]
        begins = np.array([text[:1].isspace() for text in texts])
        return begins, np.array([text[-1:].isspace() for text in texts])

    @cached_property
    def _ordinary(self) -> np.ndarray:
        """The numbers of all pieces that stand for some text; where there are none, the one after the special ones."""
        found = np.setdiff1d(np.arange(self._count), self.tokenizer.special)
        return found if len(found) else np.array([len(SPECIAL)])

    @property
    def _count(self) -> int:
        """How many pieces there are, the special ones among them."""
        return next(iter(self.tokenizer.sizes().values()))

    def _shown(self, encoded: EncodedText, hidden: set[int], replaced: dict[int, int]) -> EncodedText:
        changed = {**dict.fromkeys(hidden, self.tokenizer.hidden), **replaced}
        if encoded.pieces:
            return replace(encoded, pieces=_with(encoded.pieces, changed))
        shown = replace(encoded, words=_with(encoded.words, changed))
        if not encoded.letters:
            return shown
        assert isinstance(self.tokenizer, WordTokenizer)
        symbols = self.tokenizer.words.symbols
        spelled = {place: self.tokenizer.encode([symbols[number]]) for place, number in replaced.items()}
        nothing = dict.fromkeys(hidden, ())
        return replace(
            shown,
            letters=_with(encoded.letters, {**nothing, **{place: one.letters[0] for place, one in spelled.items()}}),
            affixes=_with(
                encoded.affixes,
                {**dict.fromkeys(hidden, (0, 0, 0)), **{place: one.affixes[0] for place, one in spelled.items()}},
            ),
        )


def of_the_item(words: Sequence[str]) -> np.random.Generator:
    """Chance that depends on nothing but the item, so that each evaluation asks the same."""
    known = hashlib.blake2b("\0".join(words).encode(errors="replace"), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(known, "little"))


def anew(seed: int, epoch: int, number: int) -> np.random.Generator:
    """Chance that is another in each epoch, and the same after a stop and a resume."""
    return np.random.default_rng((seed, epoch, number))


def at_masks(text: str, *, spaced: bool) -> list[str]:
    """A text parted at its masks, which stand between: "a [MASK]." -> ["a", "[MASK]", "."].

    spaced: whether pieces have their spaces before them: then the space before a mask is the mask's own
    """
    *before, last = text.split(MASK)
    found = [part for one in before for part in (one.removesuffix(" ") if spaced else one, MASK)]
    return [part for part in (*found, last) if part]


def _with(values: tuple[Kind, ...], changed: dict[int, Kind]) -> tuple[Kind, ...]:
    return tuple(changed.get(place, value) for place, value in enumerate(values))
