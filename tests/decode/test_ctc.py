"""Texts from frames: held against the sum over every way to say them."""

import math
from itertools import product

import pytest
import torch
from sharp import draw

from regard.decode import ctc
from regard.decode.ctc import Following, PrefixSearch, align, best_path, frames_needed, log_probability, spoken

FRAMES, SYMBOLS, BLANK = 5, 4, 3


def said(way):
    """The text of a way: what is said twice in a row is said once, blanks are dropped."""
    kept = [symbol for place, symbol in enumerate(way) if place == 0 or symbol != way[place - 1]]
    return tuple(symbol for symbol in kept if symbol != BLANK)


def by_all_ways(scores):
    """For each text how probable it is."""
    found = {}
    for way in product(range(scores.shape[1]), repeat=len(scores)):
        chance = math.exp(sum(float(scores[frame, symbol]) for frame, symbol in enumerate(way)))
        found[said(way)] = found.get(said(way), 0.0) + chance
    return found


def chances(seed=0, frames=FRAMES):
    return (1.5 * draw(frames, SYMBOLS, seed=seed)).log_softmax(-1)


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_search_finds_the_most_probable_texts_with_their_probabilities(seed):
    scores = chances(seed)
    wanted = sorted(by_all_ways(scores).items(), key=lambda pair: -pair[1])
    found = spoken(scores, BLANK, beam=300, count=7)
    assert [one.tokens for one in found] == [text for text, _ in wanted[:7]]
    for one, (_, chance) in zip(found, wanted, strict=False):
        assert one.log_probability == pytest.approx(math.log(chance), abs=1e-4)


def test_the_best_text_may_be_another_than_that_of_the_best_way():
    # Two frames: the best way says nothing, .4 * .4; the text of one symbol has .6 * .6 + 2 * .4 * .6 = .84 of it all.
    scores = torch.tensor([[0.35, 0.25, 0.4]]).log().repeat(2, 1)
    assert best_path(scores, 2) == ()
    assert spoken(scores, 2, beam=9)[0].tokens == (0,)
    assert spoken(scores, 2, beam=1)[0].tokens == ()


@pytest.mark.parametrize("seed", range(3))
def test_frames_in_pieces_are_followed_like_all_at_once(seed):
    scores = chances(seed, frames=11)
    following, search = Following(BLANK), PrefixSearch(BLANK, 5)
    pieces = []
    for part in scores.split([1, 0, 4, 6]):
        pieces += following.follow(part)
        search.follow(part)
    whole = PrefixSearch(BLANK, 5)
    whole.follow(scores)
    assert tuple(pieces) == best_path(scores, BLANK)
    assert search.best(5) == whole.best(5)


def test_symbols_that_are_never_said_are_not_found():
    scores = chances().index_fill(1, torch.tensor([0]), -math.inf)
    for one in spoken(scores, BLANK, beam=50, count=50):
        assert 0 not in one.tokens and math.isfinite(one.log_probability)


@pytest.mark.parametrize("text", [(), (0,), (1, 1), (0, 1, 0), (2, 2, 1)])
def test_a_given_text_has_the_probability_of_all_its_ways(text):
    scores = chances(seed=7)
    assert log_probability(scores, [text, (0,)], BLANK)[0] == pytest.approx(
        math.log(by_all_ways(scores)[text]), abs=1e-5
    )


@pytest.mark.parametrize("text", [(), (0,), (1, 1), (0, 1, 0), (2, 2, 1), (0, 0, 0, 1)])
def test_a_long_recording_s_text_has_the_same_probability_without_the_table(text, monkeypatch):
    scores = chances(seed=7)
    wanted = log_probability(scores, [text], BLANK)
    monkeypatch.setattr(ctc, "_TABLE", -1)
    assert log_probability(scores, [text], BLANK) == pytest.approx(wanted, abs=1e-5)


def test_a_text_that_does_not_fit_is_impossible():
    assert log_probability(chances(), [(0, 0, 0, 1)], BLANK) == [-math.inf]
    assert frames_needed((0, 0, 0, 1)) == 6
    assert align(chances(), (0, 0, 0, 1), BLANK) == []


@pytest.mark.parametrize("text", [(0,), (1, 1), (0, 1, 0), (2, 2, 1), (0, 1, 2, 0)])
def test_each_symbol_is_said_where_the_most_probable_way_says_it(text):
    scores = chances(seed=3, frames=6)
    ways = [way for way in product(range(SYMBOLS), repeat=6) if said(way) == text]
    best = max(ways, key=lambda way: sum(float(scores[frame, symbol]) for frame, symbol in enumerate(way)))
    spans = align(scores, text, BLANK)
    wanted, place = [], 0
    while place < len(best):
        end = place
        while end < len(best) and best[end] == best[place]:
            end += 1
        wanted += [(place, end)] if best[place] != BLANK else []
        place = end
    assert [(span.begin, span.end) for span in spans] == wanted
