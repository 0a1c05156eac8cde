"""What the end hears of the start: against differences of the answer, and where nothing can be heard."""

import pytest
import torch

from regard.build import build, learn
from regard.comparison.distance import items
from regard.comparison.flow import heard, seconds
from regard.comparison.long_range import ENCODERS, Far, recipe_of
from regard.corpus import given_corpus
from regard.data.batching import collate

DISTANCE = 37


def made(encoder, distance=DISTANCE):
    recipe = recipe_of(Far(encoder, distance, 1))
    corpus = given_corpus(recipe, {"train": items(distance, 16, 1)}, lambda sentence: None)
    return build(recipe, *learn(recipe, corpus.train, corpus.columns)), corpus.train


def by_differences(predictor, example):
    """The same norm, each number of the first vector moved a little to both sides."""
    model = predictor.model.double().eval()
    inputs = collate([predictor.item(example)], [0]).inputs
    with torch.no_grad():
        x = model.input(inputs)
        columns = []
        for number in range(x.shape[-1]):
            moved = torch.zeros_like(x)
            moved[:, 0, number] = 1e-5
            ends = [model.encoder(x + sign * moved, model.input.mask(inputs))[0, -1] for sign in (1, -1)]
            columns.append((ends[0] - ends[1]) / 2e-5)
    return float(torch.stack(columns).square().sum() ** 0.5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_what_is_heard_is_how_much_the_end_moves_with_the_start(encoder):
    predictor, examples = made(encoder, 11)
    assert heard(predictor, examples[:1]) == pytest.approx(by_differences(predictor, examples[0]), rel=1e-5, abs=1e-12)


def test_nothing_is_heard_from_beyond_the_reach():
    found = {encoder: heard(*made(encoder)) for encoder in ENCODERS}
    assert {encoder for encoder, norm in found.items() if norm == 0} == {"truncated", "convolution", "pointwise"}


def test_a_simple_recurrence_hears_ever_less_and_attention_no_less_than_its_share():
    found = {encoder: [heard(*made(encoder, distance)) for distance in (7, 67)] for encoder in ("rnn", "attention")}
    near, far = found["rnn"]
    assert far < 1e-9 * near
    near, far = found["attention"]
    assert far > near * 7 / 67 / 3


def test_what_is_too_small_to_be_squared_is_heard_too():
    """Its square is below what double precision can write; it falls as it fell before."""
    norms = [heard(*made("rnn", distance)) for distance in (61, 122, 488)]
    assert 0 < norms[2] < 1e-90 and norms[1] < 1e-9 * norms[0]


def test_a_longer_sequence_takes_longer():
    predictor, _ = made("rnn")
    assert 0 < seconds(predictor, 32, 7) < seconds(predictor, 32, 1409)
