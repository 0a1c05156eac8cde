"""What is drawn, against the probabilities it is drawn by."""

import pytest
import torch
from tables import END, START, SYMBOLS, Table

from regard.decode.sample import Sampling
from regard.decode.search import Draw, search

PLAIN = Sampling(1.0, None, 1.0, 1)


def drawn(items, sampling=PLAIN, limit=7):
    chances = torch.stack([sampling.chances([item], limit) for item in items])
    found = search(Table(items), [limit] * len(items), start=START, end=END, draw=Draw(sampling, chances))
    return [one for (one,) in found]


def shares(sampling, scores, count=20_011):
    """How often each symbol is drawn, with chances that lie evenly."""
    chances = (torch.arange(count).double() + 0.5) / count
    symbols = sampling.draw(scores.expand(count, -1), chances)
    return torch.bincount(symbols, minlength=scores.shape[-1]) / count


SCORES = torch.tensor([[0.5, -1.0, 2.0, -torch.inf, 1.5, 0.0, 1.0]]).log_softmax(1)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_each_symbol_is_drawn_as_often_as_it_is_probable(temperature):
    wanted = (SCORES[0] / temperature).softmax(0)
    assert (shares(Sampling(temperature, None, 1.0, 1), SCORES) - wanted).abs().max() < 1e-3


@pytest.mark.parametrize("top_k", [1, 3, 50])
def test_only_the_most_probable_are_drawn(top_k):
    kept = set(SCORES[0].topk(min(top_k, 6)).indices.tolist())
    found = shares(Sampling(1.0, top_k, 1.0, 1), SCORES)
    assert {symbol for symbol in range(7) if found[symbol] > 0} == kept


@pytest.mark.parametrize("top_p", [0.01, 0.5, 0.8, 1.0])
def test_only_the_fewest_that_together_are_probable_enough_are_drawn(top_p):
    ordered = sorted(enumerate(SCORES[0].exp().tolist()), key=lambda pair: -pair[1])
    kept, total = set(), 0.0
    for symbol, share in ordered:
        if total < top_p and share > 0:
            kept.add(symbol)
        total += share
    found = shares(Sampling(1.0, None, top_p, 1), SCORES)
    assert {symbol for symbol in range(7) if found[symbol] > 0} == kept


def test_what_is_drawn_depends_on_neither_neighbours_nor_order():
    together = drawn(range(23))
    assert [drawn([item])[0] for item in range(23)] == together
    assert drawn(range(22, -1, -1)) == together[::-1]
    assert len({one.tokens for one in together}) > 9


def test_another_seed_draws_another_text_and_the_same_the_same():
    assert drawn(range(23)) == drawn(range(23))
    assert drawn(range(23)) != drawn(range(23), Sampling(1.0, None, 1.0, 2))


def test_the_probability_of_what_is_drawn_is_the_model_s_own():
    table = Table(range(23))
    for item, one in enumerate(drawn(range(23), Sampling(0.5, 3, 0.9, 1))):
        symbols = one.tokens if one.cut else (*one.tokens, END)
        total = sum(float(table.scores(item, one.tokens[:n])[symbol]) for n, symbol in enumerate(symbols))
        assert one.log_probability == pytest.approx(total, abs=1e-5)


def test_a_temperature_near_0_takes_the_best_symbol():
    cold = drawn(range(23), Sampling(1e-4, None, 1.0, 1))
    best = [one for (one,) in search(Table(range(23)), [7] * 23, start=START, end=END)]
    assert cold == best and SYMBOLS == 4


def test_a_chance_that_rounding_leaves_above_all_draws_what_has_a_share():
    for chance in (0.0, 1.0 - 2**-53):
        symbol = int(PLAIN.draw(SCORES, torch.tensor([chance], dtype=torch.float64)))
        assert SCORES[0, symbol] > -torch.inf


def test_the_law_finds_chances_that_depend_on_the_place_in_the_batch(monkeypatch):
    whole = Sampling.chances
    places = iter(range(10**6))
    monkeypatch.setattr(Sampling, "chances", lambda self, item, count, draw=0: whole(self, [next(places)], count, draw))
    with pytest.raises(AssertionError):
        test_what_is_drawn_depends_on_neither_neighbours_nor_order()
