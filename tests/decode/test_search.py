"""Beam search against all texts that there are."""

import itertools
import math
from collections.abc import Iterator, Sequence

import pytest
import torch
from sharp import case
from torch import Tensor

from regard.decode.search import Hypothesis, Ranking, _Search, search

# As many symbols, the end among them; so many symbols in a text at most, its end included; a beam that holds them all.
SYMBOLS, END, LIMIT, ALL = 4, 0, 4, 67
START = SYMBOLS

PENALTIES = [0.0, 0.7, 1.0, 3.0]


class Table:
    """A model that knows by heart how probable each symbol is after each beginning; every item has a table of its own.

    reordered: whether it does what the search says about the rows (a model that does not is faulty)
    """

    def __init__(
        self, items: Sequence[int], *, reordered: bool = True, end: float = 0.0, symbols: int = SYMBOLS
    ) -> None:
        self.items = list(items)
        self.written: list[tuple[int, ...]] = [() for _ in items]
        self.reordered = reordered
        self.end = end
        self.symbols = symbols
        self.calls: list[int] = []

    def scores(self, item: int, written: tuple[int, ...]) -> Tensor:
        """(symbols,), log-probabilities; `end` is added to the end's."""
        seed = hash((item, written)) % 2**31
        drawn = 2 * torch.randn(self.symbols, generator=torch.Generator().manual_seed(seed))
        drawn[END] += self.end
        return drawn.log_softmax(0)

    def __call__(self, tokens: Tensor, rows: Tensor | None, items: Tensor | None) -> Tensor:
        if items is not None:
            self.items = [self.items[place] for place in items.tolist()]
        if not self.calls:
            self.written = [() for _ in tokens]
        else:
            if rows is not None and self.reordered:
                self.written = [self.written[row] for row in rows.tolist()]
            self.written = [(*before, token) for before, token in zip(self.written, tokens.tolist(), strict=False)]
        self.calls.append(len(tokens))
        beam = len(tokens) // len(self.items)
        return torch.stack([self.scores(self.items[row // beam], written) for row, written in enumerate(self.written)])


def texts(limit: int = LIMIT, symbols: int = SYMBOLS) -> Iterator[tuple[int, ...]]:
    """All texts of so many symbols at most, their end included."""
    for length in range(limit):
        yield from itertools.product(range(1, symbols), repeat=length)


def true_score(table: Table, item: int, tokens: tuple[int, ...], penalty: float) -> tuple[float, float]:
    """(log-probability, score) by definition."""
    total = sum(float(table.scores(item, tokens[:place])[symbol]) for place, symbol in enumerate((*tokens, END)))
    return total, total / (len(tokens) + 1) ** penalty


def enumerated(item: int, penalty: float, limit: int = LIMIT) -> list[tuple[float, tuple[int, ...]]]:
    """All texts with their scores, the best first."""
    table = Table([item])
    return sorted(((true_score(table, item, tokens, penalty)[1], tokens) for tokens in texts(limit)), reverse=True)


def found(items: Sequence[int], limits: Sequence[int] | None = None, **given) -> list[list[Hypothesis]]:
    table = given.pop("table", None) or Table(items)
    names = {name: given.pop(name) for name in ("length_penalty", "length_norm") if name in given}
    given.setdefault("ranking", Ranking(**names))
    return search(table, [LIMIT] * len(items) if limits is None else limits, start=START, end=END, **given)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_beam_as_wide_as_needed_finds_the_very_best_of_all_texts(penalty):
    items = range(23)
    for item, (best,) in zip(items, found(items, beam=ALL, length_penalty=penalty), strict=True):
        score, tokens = enumerated(item, penalty)[0]
        assert best.tokens == tokens and best.score == pytest.approx(score, abs=1e-5) and not best.cut


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_n_best_are_the_n_best_of_all_texts_sorted_and_distinct(penalty):
    for item, hypotheses in enumerate(found(range(5), beam=ALL, length_penalty=penalty, count=7)):
        wanted = enumerated(item, penalty)[:7]
        assert [hypothesis.tokens for hypothesis in hypotheses] == [tokens for _, tokens in wanted]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([s for s, _ in wanted], abs=1e-5)


@pytest.mark.parametrize("beam", [1, 2, 3, 5])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_score_is_the_log_probability_over_the_length_to_the_penalty_with_the_end_counted(beam, penalty):
    for item, hypotheses in enumerate(found(range(11), beam=beam, length_penalty=penalty, count=beam)):
        for hypothesis in hypotheses:
            if not hypothesis.cut:
                wanted = true_score(Table([item]), item, hypothesis.tokens, penalty)
                assert (hypothesis.log_probability, hypothesis.score) == pytest.approx(wanted, abs=1e-5)
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == len(hypotheses)


def test_a_beam_of_1_takes_the_best_symbol_each_time():
    limit, table = 9, Table(range(29))
    for item, (best,) in enumerate(found(range(29), [limit] * 29)):
        tokens: list[int] = []
        while len(tokens) < limit:
            tokens.append(int(table.scores(item, tuple(tokens)).argmax()))
            if tokens[-1] == END:
                break
        assert best.tokens == tuple(tokens[:-1]) and best.cut == (tokens[-1] != END)


def test_no_wider_beam_is_needed_where_the_best_symbols_make_the_best_text():
    """And a wider one never does worse than the greedy text when it holds all."""
    greedy, wide = found(range(23)), found(range(23), beam=ALL)
    assert all(one.score <= other.score + 1e-6 for (one,), (other,) in zip(greedy, wide, strict=True) if not one.cut)
    assert any(one.tokens != other.tokens for (one,), (other,) in zip(greedy, wide, strict=True))


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_an_item_finds_the_same_among_neighbours_that_end_sooner_or_later(beam):
    limits = [2, 3, 5, 7, 11] * 3
    together = found(range(15), limits, beam=beam, count=2)
    for item, limit in enumerate(limits):
        assert together[item] == found([item], [limit], beam=beam, count=2)[0]


@pytest.mark.parametrize("beam", [1, 3])
def test_items_that_are_done_are_asked_no_more(beam):
    table = Table(range(15))
    found(range(15), [2] * 7 + [11] * 8, table=table, beam=beam)
    assert table.calls[0] == 15 * beam and table.calls[2] <= 8 * beam and table.calls == sorted(table.calls)[::-1]


def test_nothing_is_found_for_no_items():
    assert found([]) == []


# Lengths


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_text_that_does_not_end_is_cut_at_its_longest_length_and_marked(beam, limit):
    """A text may have limit - 1 symbols and its end; one that is cut has limit - 1 symbols."""
    for item, (best,) in enumerate(found(range(5), [limit] * 5, table=Table(range(5), end=-math.inf), beam=beam)):
        table = Table(range(5), end=-math.inf)
        assert best.cut and len(best.tokens) == limit - 1 and END not in best.tokens
        total = sum(float(table.scores(item, best.tokens[:n])[symbol]) for n, symbol in enumerate(best.tokens))
        assert best.log_probability == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_text_of_exactly_the_longest_length_is_not_cut(beam):
    class Counts(Table):
        """1 2 1 2 1 and the end, whatever else there is."""

        def scores(self, item, written):
            sure = torch.full((SYMBOLS,), -50.0)
            sure[END if len(written) == 5 else 1 + len(written) % 2] = 0.0
            return sure.log_softmax(0)

    (best,), (short,) = found(range(2), [6, 5], table=Counts(range(2)), beam=beam)
    assert best.tokens == (1, 2, 1, 2, 1) and not best.cut
    if beam == 1:
        assert short.tokens == (1, 2, 1, 2) and short.cut


def test_what_ended_is_preferred_to_what_is_cut():
    for hypotheses in found(range(23), [3] * 23, beam=5, count=5):
        assert not any(hypothesis.cut for hypothesis in hypotheses)


def test_a_text_that_ends_at_once_is_empty():
    for beam in (1, 2, 5):
        (best,) = found([3], table=Table([3], end=50.0), beam=beam)[0]
        assert best.tokens == () and not best.cut and best.log_probability == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("beam", [2, 5])
def test_a_penalty_of_0_compares_probabilities_and_a_large_one_favours_long_texts(beam):
    lengths = {
        penalty: sum(len(best.tokens) for (best,) in found(range(31), [9] * 31, beam=beam, length_penalty=penalty))
        for penalty in (0.0, 3.0)
    }
    assert lengths[0.0] < lengths[3.0]


def test_the_penalty_counts_what_is_written_and_not_how_long_others_are():
    """Two texts that are as probable, one of them a symbol longer."""

    class Even(Table):
        def scores(self, item, written):
            half, quarter = math.log(0.5), math.log(0.25)
            rows = {(): [quarter, half, -30.0, -30.0], (1,): [half, -30.0, -30.0, -30.0]}
            return torch.tensor(rows.get(written, [0.0, -30.0, -30.0, -30.0]))

    # () has log ¼ over one symbol, (1,) has log ¼ over two.
    def best(penalty):
        (hypotheses,) = found([0], table=Even([0]), beam=3, length_penalty=penalty, count=2)
        return {hypothesis.tokens: hypothesis.score for hypothesis in hypotheses}

    assert best(1.0)[()] == pytest.approx(2 * best(1.0)[(1,)])
    assert best(0.0)[()] == pytest.approx(best(0.0)[(1,)])


# What is not allowed, and what there is too little of


def forbidding(*symbols):
    class Forbidding(Table):
        def scores(self, item, written):
            return super().scores(item, written).index_fill(0, torch.tensor(symbols), -torch.inf)

    return Forbidding


@pytest.mark.parametrize("beam", [1, 2, ALL])
def test_what_is_forbidden_is_never_written(beam):
    for hypotheses in found(range(17), [6] * 17, table=forbidding(2)(range(17)), beam=beam, count=beam):
        assert hypotheses and not any(2 in hypothesis.tokens for hypothesis in hypotheses)


def test_where_only_the_end_is_allowed_there_is_one_text():
    (hypotheses,) = found([0], table=forbidding(1, 2, 3)([0]), beam=5, count=5)
    assert [hypothesis.tokens for hypothesis in hypotheses] == [()]


@pytest.mark.parametrize("beam", [1, 3])
def test_where_nothing_is_allowed_nothing_is_found_and_the_search_ends(beam):
    assert found(range(3), table=forbidding(0, 1, 2, 3)(range(3)), beam=beam) == [[], [], []]


def test_a_beam_wider_than_the_vocabulary_gives_what_there_is():
    """Case B33: a vocabulary of 6 and a beam of 20."""
    names = case("b33_small_vocab.json")["target_vocab"]
    pad, start, end, unknown = 0, 1, 2, 3

    class Small(Table):
        def scores(self, item, written):
            drawn = super().scores(item, written).index_fill(0, torch.tensor([pad, start, unknown]), -torch.inf)
            return drawn

    (hypotheses,) = search(Small([0], symbols=len(names)), [2], start=start, end=end, beam=20, count=10)
    assert {hypothesis.tokens for hypothesis in hypotheses} == {(), (4,), (5,)}
    (hypotheses,) = search(Small([0], symbols=len(names)), [6], start=start, end=end, beam=20, count=10)
    assert len({hypothesis.tokens for hypothesis in hypotheses}) == 10
    assert {symbol for hypothesis in hypotheses for symbol in hypothesis.tokens} <= {4, 5}


# Planted faults


def _without_the_end(self, tokens, total, length, looked=None, cut=False):
    return Hypothesis(tuple(tokens), total, self.ranking.score(total, max(1, len(tokens))), cut)


def _too_soon(self, item, bound):
    return len(self.found[item]) >= self.count


def _without_moving(self, origins, tokens, totals, ended):
    kept = self.written.clone()
    found = _open_on(self, origins, tokens, totals, ended)
    self.written[:, :, :-1] = kept
    return found


_open_on = _Search._open_on

FAULTS = {
    "the end is not counted": ("_hypothesis", _without_the_end),
    "the search ends at the first text": ("_settled", _too_soon),
    "texts stay where they were when beams change places": ("_open_on", _without_moving),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_enumeration_finds_a_planted_fault(fault, monkeypatch):
    monkeypatch.setattr(_Search, *FAULTS[fault])
    with pytest.raises(AssertionError):
        test_a_beam_as_wide_as_needed_finds_the_very_best_of_all_texts(1.0)


def test_enumeration_finds_a_model_that_does_not_follow_its_rows():
    items = range(23)
    best = [one.tokens for (one,) in found(items, table=Table(items, reordered=False), beam=ALL)]
    assert best != [enumerated(item, 1.0)[0][1] for item in items]
