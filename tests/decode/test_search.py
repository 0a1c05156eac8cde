"""Beam search against all texts that there are."""

import math

import pytest
import torch
from sharp import case
from tables import ALL, END, LIMIT, START, SYMBOLS, Table, enumerated, found, texts, true_score

from regard.decode.search import LENGTH_NORMS, Hypothesis, Ranking, _Search, follow, search

PENALTIES = [0.0, 0.7, 1.0, 3.0]


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


# Against enumeration and a plain beam, on many tables


def plain_beam(item, limit, beam, ranking, count=1):
    """A beam that never stops early, written as it is told: (score, tokens) of the best whole texts."""
    table, beams, whole = Table([item]), [((), 0.0)], []
    for length in range(1, limit + 1):
        every = [
            (tokens, symbol, total + float(score))
            for tokens, total in beams
            for symbol, score in enumerate(table.scores(item, tokens))
        ]
        every.sort(key=lambda one: -one[2])
        whole += [(ranking.score(total, length), tokens) for tokens, symbol, total in every[:beam] if symbol == END]
        beams = [((*tokens, symbol), total) for tokens, symbol, total in every if symbol != END][:beam]
    return sorted(whole, reverse=True)[:count]


@pytest.mark.parametrize("form", LENGTH_NORMS)
def test_a_full_beam_agrees_with_enumeration_on_200_tables(form):
    items = range(200)
    for item, (best,) in zip(items, found(items, beam=ALL, length_penalty=0.7, length_norm=form), strict=True):
        score, tokens = max(
            (LENGTH_FORMS[form](true_score(Table([item]), item, one, 0.0)[0], len(one) + 1, 0.7), one)
            for one in texts()
        )
        assert best.tokens == tokens and best.score == pytest.approx(score, abs=1e-5)


# As they are written in the papers.
LENGTH_FORMS = {
    "power": lambda total, length, alpha: total / length**alpha,
    "gnmt": lambda total, length, alpha: total / ((5 + length) ** alpha / (5 + 1) ** alpha),
}


@pytest.mark.parametrize("form", LENGTH_NORMS)
@pytest.mark.parametrize("beam", [2, 3, 4, 5])
@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
def test_the_search_equals_a_beam_that_never_stops_early(beam, penalty, form):
    ranking = Ranking(penalty, form)
    for item, hypotheses in enumerate(found(range(17), [8] * 17, beam=beam, ranking=ranking, count=2)):
        wanted = plain_beam(item, 8, beam, ranking, 2)
        assert [one.tokens for one in hypotheses if not one.cut] == [tokens for _, tokens in wanted]
        assert [one.score for one in hypotheses if not one.cut] == pytest.approx([s for s, _ in wanted], abs=1e-5)


class Looks(Table):
    """A table that also tells what was looked at: (rows, 3)."""

    def looked(self):
        beam = len(self.written) // len(self.items)
        return torch.stack([look(self.items[row // beam], written) for row, written in enumerate(self.written)])


def look(item, written):
    return torch.rand(3, generator=torch.Generator().manual_seed(hash((item, written, "look")) % 2**31))


def coverage(item, tokens, penalty):
    sums = sum(look(item, tokens[:place]) for place in range(len(tokens) + 1))
    return penalty * sum(math.log(min(float(one), 1.0)) for one in sums)


@pytest.mark.parametrize("penalty", [0.2, 3.0])
def test_with_a_coverage_penalty_a_full_beam_finds_the_best_of_all_texts(penalty):
    items, table = range(23), Looks(range(23))
    ranking = Ranking(0.6, "gnmt", penalty)
    hypotheses = search(
        table, [LIMIT] * 23, start=START, end=END, beam=ALL, ranking=ranking, looked=table.looked, count=3
    )
    plain = found(items, beam=ALL, ranking=Ranking(0.6, "gnmt"))
    assert any(best.tokens != other.tokens for (best, *_), (other,) in zip(hypotheses, plain, strict=True))
    for item, three in zip(items, hypotheses, strict=True):
        every = [
            (
                LENGTH_FORMS["gnmt"](true_score(table, item, one, 0.0)[0], len(one) + 1, 0.6)
                + coverage(item, one, penalty),
                one,
            )
            for one in texts()
        ]
        wanted = sorted(every, reverse=True)[:3]
        assert [one.tokens for one in three] == [tokens for _, tokens in wanted]
        assert [one.score for one in three] == pytest.approx([score for score, _ in wanted], abs=1e-4)


def test_symbols_can_be_followed_as_they_are_decided():
    for item in range(11):
        (best,) = found([item], [5])[0]
        assert tuple(follow(Table([item]), 5, start=START, end=END)) == best.tokens


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
