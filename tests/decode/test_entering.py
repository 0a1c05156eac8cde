"""Items that wait take the places of those that are done; the best sums are found without all of them."""

import pytest
import torch
from tables import ALL, END, START, Table, found

from regard.decode import search as searching
from regard.decode.filter import min_length, no_repeat
from regard.decode.search import Ranking, best_sums, search


class Entering(Table):
    """Items that are there one after the other, in the places that the search says."""

    def __init__(self, items, beam):
        super().__init__([])
        self.waiting, self.beam, self.most = list(items), beam, 0

    def enter(self, places):
        for place in places.tolist():
            item = self.waiting.pop(0)
            if place == len(self.items):
                self.items.append(item)
                self.written += [()] * self.beam
            else:
                self.items[place] = item
                self.written[place * self.beam : (place + 1) * self.beam] = [None] * self.beam
        self.most = max(self.most, len(self.items))

    def __call__(self, tokens, rows, items):
        first = not self.calls
        if items is not None:
            self.items = [self.items[place] for place in items.tolist()]
        if not first:
            if rows is not None:
                self.written = [self.written[row] for row in rows.tolist()]
            pairs = zip(self.written, tokens.tolist(), strict=True)
            self.written = [() if before is None else (*before, token) for before, token in pairs]
            assert all(
                (token == START) == (text == ()) for text, token in zip(self.written, tokens.tolist(), strict=True)
            )
        self.calls.append(len(tokens))
        of_rows = enumerate(self.written)
        return torch.stack([self.scores(self.items[row // self.beam], written) for row, written in of_rows])


LIMITS = [2, 7, 3, 11, 5, 1, 7, 2, 13, 3, 4]
ASKED = [
    {},
    {"beam": 3, "count": 2},
    {"beam": 5, "ranking": Ranking(3.0, "gnmt")},
    {"beam": 2, "filters": [min_length(2, END), no_repeat(2)]},
    {"beam": 3, "enough": 3},
]


@pytest.mark.parametrize("at_once", [1, 2, 5, 23])
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: ",".join(asked))
def test_an_item_finds_the_same_in_the_place_of_another(asked, at_once):
    items = range(len(LIMITS))
    table = Entering(items, asked.get("beam", 1))
    told = []
    together = search(
        table, LIMITS, start=START, end=END, enter=table.enter, at_once=at_once, told=told.append, **asked
    )
    assert sum(told) == len(LIMITS) and table.most == min(at_once, len(LIMITS)) and not table.waiting
    for item, limit in zip(items, LIMITS, strict=True):
        assert together[item] == found([item], [limit], **asked)[0]


def test_an_item_whose_length_counts_on_from_the_one_before_would_be_found(monkeypatch):
    """A planted fault."""
    refilled = searching._Search._refilled

    def counting_on(run, left):
        lengths = run.lengths.clone()
        left = refilled(run, left)
        run.lengths = lengths
        return left

    monkeypatch.setattr(searching._Search, "_refilled", counting_on)
    with pytest.raises(AssertionError):
        test_an_item_finds_the_same_in_the_place_of_another(ASKED[1], 2)


def test_with_patience_the_search_ends_once_so_many_texts_have_ended():
    exact, early = Table(range(29)), Table(range(29))
    best = found(range(29), [13] * 29, table=exact, beam=3)
    first = found(range(29), [13] * 29, table=early, beam=3, enough=3)
    assert sum(early.calls) < sum(exact.calls)
    scores = [(one.score, other.score) for (one,), (other,) in zip(best, first, strict=True)]
    assert all(one >= other - 1e-6 for one, other in scores) and any(one > other for one, other in scores)
    assert found(range(29), [13] * 29, beam=3, enough=ALL) == best


@pytest.mark.parametrize("symbols", [3, 511, 512, 641, 1031])
@pytest.mark.parametrize("beam", [1, 3])
def test_the_best_sums_are_those_of_all_sums_sorted(symbols, beam):
    draw = torch.Generator().manual_seed(symbols)
    scores = torch.randn(5, beam, symbols, generator=draw)
    scores[:, :, 1::3] = -torch.inf
    totals = 2 * torch.randn(5, beam, generator=draw)
    totals[:, 1:2] = -torch.inf  # a beam that is not used
    sums = (totals[:, :, None] + scores).flatten(1)
    values, places = best_sums(totals, scores, 7)
    wanted = sums.sort(1, descending=True).values[:, :7]
    assert torch.equal(values, wanted) and torch.equal(sums.gather(1, places), wanted)
    assert all(len(set(row.tolist())) == len(row) for row in places)
