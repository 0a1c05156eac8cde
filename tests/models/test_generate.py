"""Writing: what a model says step by step is what it says all at once, whoever is written beside it."""

import random

import pytest
import torch
import written
from pairs import every_pair
from sharp import assert_close

from regard.attention import POSITIONS
from regard.data.batching import collate
from regard.data.example import Example
from regard.decode import search as searching
from regard.errors import ShapeError
from regard.layers.cache import Cache
from regard.models.generate import PIECES_FOR_EACH, PIECES_MORE, _Steps
from regard.models.inputs import InputPart

# Every kind of position with every way to share vectors would be many: each pair of choices stands in one of them.
KINDS = every_pair(
    position=POSITIONS,
    sides=written.SIDES,
    norm=["layer", "rms", "batch"],
    norm_place=["before", "after"],
    key_heads=[1, 2],
)


def made_of(kind, **changes):
    model = {name: value for name, value in kind.items() if name != "sides"}
    made = written.predictor(kind["sides"], model=model, **changes)
    made.model.double()
    return made


def batch_of(made, count=5):
    return collate([made.item(example) for example in written.given_to(made, count)], range(count))


def steps_of(made, *sources, there=None, **given):
    """The model step by step, from no search, in single precision; so many items are there at first."""
    steps = _Steps(made.model, written.COLUMN, sources, (), **given)
    steps.enter(torch.arange(len(sources[0]["lengths"]) * given.get("copies", 1) if there is None else there))
    return steps


def named(kind):
    return " ".join(map(str, kind.values()))


@pytest.mark.parametrize("kind", KINDS, ids=named)
@torch.inference_mode()
def test_one_step_at_a_time_equals_all_at_once(kind):
    made = made_of(kind)
    inputs = batch_of(made).inputs
    together = made.model(inputs)[written.COLUMN].log_softmax(-1)
    steps = steps_of(made, inputs)
    for place in range(together.shape[1]):
        found = steps(inputs["written"][:, place], None, None)
        real = place < inputs["answers"]
        assert_close(found[real], together[real, place])


@pytest.mark.parametrize("kind", KINDS, ids=named)
@torch.inference_mode()
def test_rows_that_share_a_memory_are_as_if_each_had_its_own(kind):
    """And beams that change places, and items that leave."""
    made, beam = made_of(kind), 3
    inputs = batch_of(made, 4).inputs
    shared, alone = steps_of(made, inputs, beam=beam), steps_of(made, inputs, copies=beam)
    draw, symbols, items, rows = random.Random(1), made.writes.end, None, None
    left = 4
    for place in range(5):
        tokens = torch.tensor([draw.randrange(2, symbols) for _ in range(left * beam)])
        one = shared(tokens, rows, items)
        # Each row's own memory goes with it.
        each = None if items is None else (items[:, None] * beam + torch.arange(beam)).flatten()
        assert_close(one, alone(tokens, rows, each))
        staying = [item for item in range(left) if not (place == 2 and item == 1)]
        rows = torch.tensor([item * beam + draw.randrange(beam) for item in staying for _ in range(beam)])
        items = torch.tensor(staying) if len(staying) < left else None
        left = len(staying)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("kind", KINDS, ids=named)
@torch.inference_mode()
def test_items_that_enter_later_are_as_if_they_had_been_there_alone(kind, beam):
    """In the places of others, with shorter and longer sources; and beams that change places before and after."""
    made = made_of(kind)
    inputs = [batch_of(made, count).inputs for count in (4, 3)]
    steps, order = steps_of(made, *inputs, there=3, beam=beam), [0, 1, 2]
    told = {item: [] for item in range(7)}
    draw, rows, waiting = random.Random(2), None, 3
    for step in range(9):
        tokens = [[draw.randrange(2, made.writes.end) for _ in range(beam)] for _ in order]
        for item, some in zip(order, tokens, strict=True):
            told[item].append((some, list(range(beam)) if rows is None else rows[order.index(item)]))
        flat = (
            None if rows is None else torch.tensor([place * beam + row for place, of in enumerate(rows) for row in of])
        )
        found = steps(torch.tensor(tokens).flatten(), flat, None).unflatten(0, (-1, beam))
        for item, of_item in zip(order, found, strict=True):
            assert_close(of_item, _alone(made, inputs, item, told[item], beam))
        rows = [[draw.randrange(beam) for _ in range(beam)] for _ in order]
        if step in (1, 3, 4):
            place = draw.randrange(3)
            order[place], rows[place], waiting = waiting, list(range(beam)), waiting + 1
            steps.enter(torch.tensor([place]))
    assert waiting == 6


def _alone(made, sources, item, told, beam):
    """The latest of what is told of an item, step by step, with nobody else there."""
    count = len(sources[0]["lengths"])
    source, number = (0, item) if item < count else (1, item - count)
    example = written.given_to(made, (4, 3)[source])[number]
    steps = steps_of(made, collate([made.item(example)], [0]).inputs, beam=beam)
    for place, (tokens, rows) in enumerate(told):
        found = steps(torch.tensor(tokens), None if place == 0 else torch.tensor(rows), None)
    return found


@torch.inference_mode()
def test_beams_that_change_places_take_what_they_remember_along():
    made = written.predictor()
    inputs = batch_of(made, 2).inputs
    first, second = torch.tensor([2, 3, 4, 5]), torch.tensor([5, 4, 3, 2])
    rows = torch.tensor([1, 1, 2, 2])
    steps = steps_of(made, inputs, beam=2)
    steps(first, None, None)
    moved = steps(second, rows, None)
    steps = steps_of(made, inputs, beam=2)
    steps(first[rows], None, None)
    assert_close(moved, steps(second, None, None))
    steps = steps_of(made, inputs, beam=2)
    steps(first, None, None)
    assert (moved - steps(second, None, None)).abs().max() > 1e-3


# The answer for one item

BEAMS = [{"beam": 1}, {"beam": 4}, {"beam": 2, "length_penalty": 3.0}]


# Each way to share vectors with a beam of 1 or of 4 at least, and one with them all.
ASKED = [
    (sides, beam)
    for number, sides in enumerate(written.SIDES)
    for beam in (BEAMS if number == 1 else [BEAMS[number % 2]])
]


@pytest.fixture(params=ASKED, ids=lambda asked: f"{asked[0]} {asked[1]}")
def predictor(request):
    sides, beam = request.param
    return written.predictor(sides, decode={"max_length": 11, **beam})


def answers(made, examples):
    return [(a.text, a.cut, a.probabilities[written.COLUMN][0]) for a in made.predict(examples)]


def assert_same(found, wanted):
    """The same texts, as probable; another only where two are as good as that."""
    assert len(found) == len(wanted)
    for (text, cut, share), (other_text, other_cut, other_share) in zip(found, wanted, strict=True):
        assert share == pytest.approx(other_share, abs=1e-4)
        assert (text, cut) == (other_text, other_cut)


def alone(made, examples):
    return [answers(made, [example])[0] for example in examples]


def test_texts_are_not_all_alike_and_some_are_cut(predictor):
    found = alone(predictor, written.given_to(predictor))
    assert len({text for text, _, _ in found}) > 2


def test_the_text_does_not_depend_on_the_batch_order_or_neighbours(predictor):
    examples = written.given_to(predictor)
    wanted = alone(predictor, examples)
    for budget in (1, 37, 10_000):
        predictor.batch_tokens = budget
        assert_same(answers(predictor, examples), wanted)
    order = list(range(len(examples)))
    random.Random(1).shuffle(order)
    found = answers(predictor, [examples[number] for number in order])
    assert_same([found[order.index(number)] for number in range(len(order))], wanted)
    long = Example(sum((example.words for example in examples), ()), whole=True)
    found = answers(predictor, [long, examples[3], Example((), whole=True), long])
    assert_same(found[1:2], wanted[3:4])
    assert found[2] == ("", False, 1.0)


def test_what_should_be_written_does_not_change_what_is(predictor):
    """An example's own target only decides with whom it shares a batch."""
    examples = written.given_to(predictor)
    bare = [Example(example.words, whole=True) for example in examples]
    assert_same(answers(predictor, examples), answers(predictor, bare))


def test_the_search_s_probability_is_that_of_the_text_when_it_is_given(predictor):
    examples = written.given_to(predictor)
    checked = 0
    for example, answer in zip(examples, predictor.predict(examples), strict=True):
        (best,) = searched(predictor, example)
        told = Example(example.words, {written.COLUMN: (answer.text,)}, whole=True)
        # Other pieces may spell the same text.
        if best.cut or predictor.item(told).labels[written.COLUMN] != (*best.tokens, predictor.writes.end):
            continue
        (found,) = predictor.given([told])
        assert found.log_probability == pytest.approx(best.log_probability, abs=1e-4)
        assert found.pieces == len(best.tokens) + 1
        assert best.score == pytest.approx(
            found.log_probability / found.pieces**predictor.answering.ranking.length_penalty, abs=1e-4
        )
        checked += 1
    assert checked > 3 or predictor.tokenizer.kind == "subwords"


@torch.inference_mode()
def searched(made, example, count=1):
    return made.answering.search(collate([made.item(example)], [0]).inputs, count)[0]


def test_how_probable_a_given_text_is_does_not_depend_on_neighbours(predictor):
    examples = written.given_to(predictor)
    wanted = [predictor.given([example])[0] for example in examples]
    for budget in (1, 37, 10_000):
        predictor.batch_tokens = budget
        for one, other in zip(predictor.given(examples), wanted, strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4) and one.pieces == other.pieces


def test_more_texts_can_be_asked_for_than_there_are_beams():
    made = written.predictor(decode={"max_length": 11, "beam": 1})
    written.bias_of(made)[made.writes.end] += 3.0  # so that many texts end in time
    found = searched(made, written.examples(1)[0], count=3)
    assert len({hypothesis.tokens for hypothesis in found}) == len(found) == 3
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


# How long a text may be


def never_ending(**changes):
    made = written.predictor(**changes)
    written.bias_of(made)[made.writes.end] = -1e4
    return made


@pytest.mark.parametrize("beam", [1, 4])
def test_a_text_that_does_not_end_has_max_length_pieces_and_is_marked(beam):
    made = never_ending(decode={"max_length": 7, "beam": beam})
    for answer in made.predict(written.examples(3)):
        assert len(answer.text) == 7 and answer.cut


def test_without_max_length_a_text_may_be_longer_than_the_source():
    made = never_ending()
    for answer in made.predict(written.examples(3)):
        assert len(answer.text) == PIECES_FOR_EACH * len(answer.words[0]) + PIECES_MORE and answer.cut


def test_no_text_is_longer_than_there_are_learned_positions():
    made = never_ending(model={"position": "learned", "longest": 13}, decode={"beam": 2})
    for answer in made.predict(written.examples(3)):
        assert len(answer.text) == 12 and answer.cut


@pytest.mark.parametrize("sides", written.SIDES)
def test_signs_that_stand_for_no_text_are_never_written(sides):
    made = written.predictor(sides, decode={"max_length": 7})
    written.bias_of(made)[:2] += 1e3  # padding and the unknown would be the best of all
    for example in written.given_to(made, 5):
        hypotheses = searched(made, example, count=4)
        assert hypotheses and not any({0, 1} & set(hypothesis.tokens) for hypothesis in hypotheses)


# Planted faults


_begin = Cache.begin


FAULTS = {
    "the memory's mask is dropped": (InputPart, "mask", lambda self, inputs: None),
    "positions begin anew at each step": (Cache, "begin", lambda self, x: torch.zeros_like(_begin(self, x))),
    "what is remembered stays when items leave": (Cache, "select_memory", lambda self, items: None),
    "what is remembered stays when beams change places": (
        Cache,
        "select",
        lambda self, rows: _select(
            self, rows // self.lineage.beam * self.lineage.beam + _place(rows, self.lineage.beam)
        ),
    ),
}
_select = Cache.select


def _place(rows, beam):
    return torch.arange(len(rows)) % beam


@pytest.mark.parametrize("fault", FAULTS)
def test_the_laws_find_a_planted_fault(fault, monkeypatch):
    monkeypatch.setattr(*FAULTS[fault])
    kind = {"position": "sinusoidal", "sides": "letters, a table of what is written"}
    made = written.predictor(decode={"max_length": 11, "beam": 4}, model={"position": "sinusoidal"})
    with pytest.raises((AssertionError, ShapeError)):
        test_one_step_at_a_time_equals_all_at_once(kind)
        test_the_text_does_not_depend_on_the_batch_order_or_neighbours(made)
        test_the_search_s_probability_is_that_of_the_text_when_it_is_given(made)


def test_the_laws_find_a_length_that_does_not_count_the_end(monkeypatch):
    monkeypatch.setattr(
        searching._Search,
        "_hypothesis",
        lambda self, tokens, total, length, looked=None, cut=False: searching.Hypothesis(
            tuple(tokens), total, self.ranking.score(total, max(1, len(tokens))), cut
        ),
    )
    with pytest.raises(AssertionError):
        test_the_search_s_probability_is_that_of_the_text_when_it_is_given(written.predictor(decode={"max_length": 11}))
