"""Masks: which pieces are asked for, and what is shown in their place."""

from collections import Counter

import numpy as np
import pytest

from regard.data.masking import HIDDEN, MASK, REPLACED, Masking, anew, at_masks, of_the_item
from regard.data.tokenizer import TOKENIZERS, TokenizerSettings

WORDS = ["der", "Hund", "und", "die", "Katze", "sahen", "einander", "lange", "an", "."] * 3
TEXT = (" ".join(WORDS),)


def tokenizer(kind):
    words = [WORDS] if kind.startswith("words") else [TEXT]
    return TOKENIZERS[kind].learn(words, TokenizerSettings(300, 1, False, "none"))


def text_for(kind):
    return tuple(WORDS) if kind.startswith("words") else TEXT


def numbers(encoded):
    return encoded.pieces or encoded.words


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_the_share_is_asked_for_and_what_is_not_asked_for_is_shown_as_it_is(kind):
    made = tokenizer(kind)
    true = numbers(made.encode(text_for(kind)))
    for seed in range(7):
        found = Masking(made, 0.31).masked(text_for(kind), np.random.default_rng(seed))
        shown = numbers(found.shown)
        assert len(found.places) == round(0.31 * sum(piece not in made.special for piece in true))
        assert found.pieces == tuple(true[place] for place in found.places)
        asked = set(found.places)
        assert all(a == b for place, (a, b) in enumerate(zip(shown, true, strict=True)) if place not in asked)


def test_of_what_is_asked_for_eight_of_ten_are_hidden_and_one_is_another():
    made = tokenizer("words")
    counts = Counter()
    for seed in range(500):
        found = Masking(made, 0.5).masked(WORDS, np.random.default_rng(seed))
        for place, piece in zip(found.places, found.pieces, strict=True):
            counts[{1: "hidden", piece: "kept"}.get(found.shown.words[place], "another")] += 1
    total, vocabulary = counts.total(), len(made.words) - 2
    assert counts["hidden"] / total == pytest.approx(HIDDEN, abs=0.02)
    # A piece that is drawn may be the true one.
    assert counts["another"] / total == pytest.approx(REPLACED * (1 - 1 / vocabulary), abs=0.02)


def test_of_a_hidden_word_its_letters_are_hidden_too():
    """Else they would say what is asked for."""
    made = tokenizer("words+characters")
    found = Masking(made, 0.9).masked(WORDS, np.random.default_rng(3))
    hidden = [place for place, number in enumerate(found.shown.words) if number == 1]
    assert hidden and all(found.shown.letters[place] == () for place in hidden)
    assert all(found.shown.affixes[place] == (0, 0, 0) for place in hidden)
    symbols = made.words.symbols
    for place in set(found.places) - set(hidden):
        assert found.shown.letters[place] == made.encode([symbols[found.shown.words[place]]]).letters[0]


@pytest.mark.parametrize("kind", ["subwords", "characters"])
def test_whole_words_are_asked_for_whole(kind):
    made = tokenizer(kind)
    true = made.written(made.encode(TEXT).pieces)
    word, words = -1, []
    for place, piece in enumerate(true):
        new = place == 0 or piece[:1].isspace() or true[place - 1][-1:].isspace()
        words.append(word := word + new)
    partly = 0
    for seed in range(11):
        found = Masking(made, 0.3, whole_words=True).masked(TEXT, np.random.default_rng(seed))
        asked = {words[place] for place in found.places}
        assert set(found.places) == {place for place, of_word in enumerate(words) if of_word in asked}
        single = Masking(made, 0.3).masked(TEXT, np.random.default_rng(seed))
        partly += {words[place] for place in single.places} != asked
    assert kind == "subwords" or partly


def test_what_is_unknown_is_never_asked_for():
    made = tokenizer("words")
    found = Masking(made, 0.9).masked(["nie", "gesehen", "Hund"], np.random.default_rng(1))
    assert found.places == (2,)
    assert Masking(made, 0.9).masked(["nie", "gesehen"], np.random.default_rng(1)).places == ()


def test_chance_is_the_items_own_or_that_of_seed_epoch_and_number():
    made = Masking(tokenizer("words"), 0.3)
    assert made.masked(WORDS, of_the_item(WORDS)) == made.masked(WORDS, of_the_item(tuple(WORDS)))
    drawn = {(seed, epoch, item): made.masked(WORDS, anew(seed, epoch, item)).places
             for seed in (1, 2) for epoch in (0, 1) for item in (0, 1)}  # fmt: skip
    again = {key: made.masked(WORDS, anew(*key)).places for key in reversed(drawn)}
    assert drawn == again and len(set(drawn.values())) == len(drawn)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_mask_that_a_person_writes_is_one_piece_and_all_else_stays(kind):
    made = tokenizer(kind)
    words = ("der", MASK, "Hund") if kind.startswith("words") else ("der", MASK, " Hund")
    found = Masking(made, 0.15).given(words)
    signs = (made.signs.begin, made.signs.end) if kind == "library" else ()

    def without_signs(pieces):
        return [piece for piece in pieces if piece not in signs]

    before = len(without_signs(numbers(made.encode(words[:1])))) + (kind == "library")
    assert found.places == (before,) and found.pieces == ()
    shown = list(numbers(found.shown))
    assert shown.pop(before) == made.hidden
    wanted = [*numbers(made.encode(words[:1])), *numbers(made.encode(words[2:]))]
    assert without_signs(shown) == without_signs(wanted)


def test_two_masks_beside_each_other_are_two():
    found = Masking(tokenizer("subwords"), 0.15).given((MASK, MASK, " Hund"))
    assert found.places == (0, 1)


def test_a_text_is_parted_at_its_masks():
    assert at_masks("a [MASK] b", spaced=True) == ["a", MASK, " b"]
    assert at_masks("a [MASK] b", spaced=False) == ["a ", MASK, " b"]
    assert at_masks("[MASK][MASK]", spaced=True) == [MASK, MASK]
    assert at_masks("nothing", spaced=True) == ["nothing"]
