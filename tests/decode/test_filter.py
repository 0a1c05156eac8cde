"""Filters against their definitions, on drawn texts."""

import itertools
import random

import pytest
import torch
from tables import ALL, END, LIMIT, START, SYMBOLS, Table, enumerated, found, texts, true_score

from regard.decode import filter as filters
from regard.decode.filter import FILTERS, Phrase, Required, forbidden, min_length, no_repeat, prefix, through
from regard.decode.search import Ranking, search
from regard.recipe.settings import DecodeSettings

# What symbols are spelled in: some are longer than a letter, and the same text can be spelled in several ways.
SPELLED = ["", "a", "b", "ab", "ba", "aab"]


def drawn(count=200, symbols=6, most=9, seed=1):
    draw = random.Random(seed)
    return [[draw.randrange(1, symbols) for _ in range(draw.randrange(most))] for _ in range(count)]


def after(filter, written, room=99, symbols=6):
    """Which symbols may follow."""
    scores = filter(torch.zeros(1, symbols), torch.tensor([written], dtype=torch.long), torch.tensor([room]))
    return {symbol for symbol in range(symbols) if scores[0, symbol] > -torch.inf}


def test_each_filter_is_asked_for_by_a_setting():
    assert set(FILTERS) <= set(DecodeSettings.model_fields)


@pytest.mark.parametrize("phrase", ["a", "ab", "aaba", "abab", "bb"])
def test_a_forbidden_phrase_is_written_by_no_spelling(phrase):
    filter = forbidden([Phrase(phrase, SPELLED)])
    for written in drawn():
        text = "".join(SPELLED[symbol] for symbol in written)
        if phrase not in text:
            allowed = {s for s, more in enumerate(SPELLED) if phrase not in text + more}
            assert after(filter, written) == allowed


@pytest.mark.parametrize("phrase", ["a", "ab", "aaba", "abab", "bb"])
def test_the_distance_of_a_phrase_is_the_fewest_symbols_that_spell_its_rest(phrase):
    followed = Phrase(phrase, SPELLED)
    for written in drawn(40, most=5):
        text = "".join(SPELLED[symbol] for symbol in written)
        state = followed.state(torch.tensor([written], dtype=torch.long))
        fewest = next(
            count
            for count in range(9)
            if any(phrase in text + "".join(more) for more in itertools.product(SPELLED, repeat=count))
        )
        assert followed.distance[state] == fewest


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_is_written_twice(size):
    for written in drawn(most=12, symbols=4):
        runs = [tuple(written[n : n + size]) for n in range(len(written) - size + 1)]
        tail = tuple(written[len(written) - size + 1 :])
        allowed = {s for s in range(4) if len(written) < size or (*tail, s) not in runs}
        assert after(no_repeat(size), written, symbols=4) == allowed


def test_the_end_is_not_possible_before_the_shortest_length():
    for written in drawn(20):
        assert (END in after(min_length(3, END), written)) == (len(written) >= 3)


def test_nothing_but_the_prefix_is_possible_until_it_is_written():
    assert after(prefix([3, 1]), []) == {3} and after(prefix([3, 1]), [3]) == {1}
    assert after(prefix([3, 1]), [3, 1]) == set(range(len(SPELLED)))


def test_filters_leave_the_scores_of_what_is_allowed_as_they_are():
    scores = torch.randn(5, len(SPELLED), generator=torch.Generator().manual_seed(1))
    phrase = Phrase("ab", SPELLED)
    made = [forbidden([Phrase("bb", SPELLED)]), no_repeat(2), min_length(4, END), Required([phrase], END)]
    written = torch.tensor([[1, 2, 1]] * 5)
    kept = through(made, scores, written, torch.full((5,), 9))
    assert ((kept == scores) | (kept == -torch.inf)).all() and (kept == -torch.inf).any()


# In the search


LETTERS = ["", "x", "y", "z"]


def holds(tokens, phrase):
    return phrase in "".join(LETTERS[symbol] for symbol in tokens)


def best_of(item, keep):
    return next(tokens for _, tokens in enumerated(item, 1.0) if keep(tokens))


CASES = {
    "forbidden": (lambda: [forbidden([Phrase("xy", LETTERS)])], lambda tokens: not holds(tokens, "xy")),
    "no_repeat": (lambda: [no_repeat(1)], lambda tokens: len(set(tokens)) == len(tokens)),
    "min_length": (lambda: [min_length(2, END)], lambda tokens: len(tokens) >= 2),
    "prefix": (lambda: [prefix([2])], lambda tokens: tokens[:1] == (2,)),
    "required": (
        lambda: [Required([Phrase("zx", LETTERS), Phrase("y", LETTERS)], END)],
        lambda tokens: holds(tokens, "zx") and holds(tokens, "y"),
    ),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_full_beam_finds_the_best_of_all_texts_that_a_filter_lets_through(name):
    make, keep = CASES[name]
    made = make()
    required = made[0] if name == "required" else None
    for item, (best,) in enumerate(found(range(13), beam=ALL, filters=made, required=required)):
        assert best.tokens == best_of(item, keep)
        assert best.score == pytest.approx(true_score(Table([item]), item, best.tokens, 1.0)[1], abs=1e-5)


@pytest.mark.parametrize("limit", [4, 7, 23])
@pytest.mark.parametrize("beam", [4, 5, 11])
def test_what_is_required_is_in_every_text_that_is_found_however_wide_the_beam(beam, limit):
    required = Required([Phrase("zx", LETTERS), Phrase("y", LETTERS)], END)
    for hypotheses in found(range(13), [limit] * 13, beam=beam, count=3, filters=[required], required=required):
        assert hypotheses
        for one in hypotheses:
            assert holds(one.tokens, "zx") and holds(one.tokens, "y")


def test_a_phrase_that_is_begun_and_broken_off_is_still_written():
    """Where there is room for what is missing, but not for beginning anew."""
    required = Required([Phrase("zzzx", LETTERS)], END)
    for seed in range(5):
        items = range(seed * 11, seed * 11 + 11)
        for (best,) in found(items, [7] * 11, beam=5, filters=[required], required=required):
            assert holds(best.tokens, "zzzx")


def test_a_text_that_never_ends_has_what_is_required_when_it_is_cut():
    required = Required([Phrase("zzz", LETTERS)], END)
    table = Table(range(5), end=-torch.inf)
    for (best,) in found(range(5), [9] * 5, table=table, beam=4, filters=[required], required=required):
        assert best.cut and holds(best.tokens, "zzz")


def test_items_are_filtered_as_if_each_were_alone():
    limits = [4, 5, 7, 11] * 3
    required = Required([Phrase("zx", LETTERS)], END)
    given = {"beam": 3, "filters": [no_repeat(3), required], "required": required, "count": 2}
    together = found(range(12), limits, **given)
    for item, limit in enumerate(limits):
        assert together[item] == found([item], [limit], **given)[0]


def test_what_nothing_can_fulfil_finds_nothing_and_ends():
    made = [forbidden([Phrase(letter, LETTERS) for letter in "xyz"]), min_length(1, END)]
    assert found(range(3), filters=made, beam=3) == [[], [], []]


# Planted faults


def test_what_is_required_is_not_put_off_until_there_is_no_more_room():
    """As it would be if beginnings with much of it and with little were not kept side by side."""

    class Reluctant(Table):
        def scores(self, item, written):
            return (super().scores(item, written) + torch.tensor([0.0, 0.0, 0.0, -9.0])).log_softmax(0)

    required = Required([Phrase("zz", LETTERS)], END)
    given = {"beam": 3, "filters": [required], "ranking": Ranking(0.0)}
    apart = found(range(23), [17] * 23, table=Reluctant(range(23)), required=required, **given)
    late = found(range(23), [17] * 23, table=Reluctant(range(23)), **given)
    assert sum(len(one.tokens) for (one,) in apart) < sum(len(one.tokens) for (one,) in late) / 2
    assert sum(one.score for (one,) in apart) > sum(one.score for (one,) in late)


def test_the_laws_find_a_phrase_that_is_followed_symbol_by_symbol_only(monkeypatch):
    """As if a phrase began anew with each symbol."""
    monkeypatch.setattr(filters, "_falls", lambda phrase: [0] * (len(phrase) + 1))
    with pytest.raises(AssertionError):
        test_a_forbidden_phrase_is_written_by_no_spelling("aaba")
        test_a_forbidden_phrase_is_written_by_no_spelling("abab")


def test_searching_needs_no_filter():
    table = Table(range(3))
    assert search(table, [LIMIT] * 3, start=START, end=END, ranking=Ranking()) == found(range(3))
    assert len(list(texts())) == 1 + 3 + 9 + 27 and len(LETTERS) == SYMBOLS
