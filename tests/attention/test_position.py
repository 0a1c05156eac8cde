"""Positions: where things are."""

import math

import pytest
import reference
import torch
from laws import moving_everything_changes_no_rotary_weight, the_encoder_equals_the_reference
from sharp import BATCH, HEAD_WIDTH, HEADS, KEYS, LONGEST, WIDTH, assert_close, draw, numpy, weights_of

from regard.attention import POSITIONS
from regard.attention.position import NOWHERE, sinusoids
from regard.errors import ShapeError

PLACES = (0, 1, 2, 5, 11, 17, 30)


def made(name: str, width: int = WIDTH):
    torch.manual_seed(0)
    return POSITIONS[name](width, LONGEST)


def test_every_position_stands_in_the_reference():
    assert set(POSITIONS) == set(reference.POSITIONS)


@pytest.mark.parametrize("name", POSITIONS)
def test_what_is_embedded_equals_the_reference(name):
    x = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
    position = made(name).double()
    wanted = reference.POSITIONS[name].embed(numpy(x), PLACES, weights_of(position))
    assert_close(position.at(0).embed(x, torch.tensor([PLACES])), wanted, 1e-6)


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("width", [1, 2, HEAD_WIDTH, 16])
def test_how_heads_are_turned_equals_the_reference(name, width):
    heads = draw(BATCH, HEADS, KEYS, width, dtype=torch.float64)
    wanted = reference.POSITIONS[name].rotate(numpy(heads), PLACES)
    assert_close(made(name).rotate(heads, torch.tensor([PLACES])), wanted, 1e-12)


@pytest.mark.parametrize("name", POSITIONS)
def test_the_encoder_equals_the_reference(name):
    the_encoder_equals_the_reference(name)


@pytest.mark.parametrize("name", POSITIONS)
def test_rows_of_a_batch_may_stand_at_different_places(name):
    position, starts = made(name), (0, 3, 11)
    x, heads = draw(BATCH, KEYS, WIDTH), draw(BATCH, HEADS, KEYS, HEAD_WIDTH)
    places = torch.tensor(starts)[:, None] + torch.arange(KEYS)
    embedded, turned = position.embed(x, places), position.rotate(heads, places)
    for item, start in enumerate(starts):
        mine = torch.arange(start, start + KEYS)[None]
        assert_close(embedded[item : item + 1], position.embed(x[item : item + 1], mine), 1e-6)
        assert_close(turned[item : item + 1], position.rotate(heads[item : item + 1], mine), 1e-6)


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_positions_are_added_to_the_first_blocks_input_only(name):
    position = made(name)
    assert position.at(0) is position
    assert position.at(1) is NOWHERE and position.at(5) is NOWHERE


@pytest.mark.parametrize("width", [1, 2, 7, 13, 64])
def test_sinusoids_of_any_width_equal_the_papers_formula(width):
    places = [0, 1, 2, 3, 5, 97, 1009, 100_003]
    assert_close(sinusoids(torch.tensor(places), width), reference.sinusoidal(places, width), 1e-6)


def test_an_odd_width_has_one_sine_more_than_cosines():
    """A table of width 7 has four sines and three cosines (B11)."""
    first = sinusoids(torch.tensor(0), 7)
    assert first.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert math.isclose(sinusoids(torch.tensor(1), 7)[6], math.sin(10000 ** (-6 / 7)), rel_tol=1e-6)


@pytest.mark.parametrize("name", ["sinusoidal", "rotary", "none"])
def test_there_is_no_longest_input_but_for_learned_positions(name):
    position, far = made(name), torch.tensor([[1_000_003]])
    assert position.embed(draw(1, 1, WIDTH), far).isfinite().all()
    assert position.rotate(draw(1, HEADS, 1, HEAD_WIDTH), far).isfinite().all()


def test_learned_positions_refuse_a_longer_input_in_words():
    position = made("learned")
    position.embed(draw(1, LONGEST, WIDTH), torch.arange(LONGEST)[None])
    with pytest.raises(
        ShapeError, match=r"an input of 32 elements is longer than the 31 learned positions; cut it, or"
    ):
        position.embed(draw(1, LONGEST + 1, WIDTH), torch.arange(LONGEST + 1)[None])


def test_learned_positions_take_an_empty_input():
    assert made("learned").embed(draw(2, 0, WIDTH), torch.arange(0)[None]).shape == (2, 0, WIDTH)


def test_moving_everything_changes_no_rotary_weight():
    moving_everything_changes_no_rotary_weight()


def test_rotary_keeps_lengths():
    heads = draw(BATCH, HEADS, KEYS, HEAD_WIDTH)
    turned = made("rotary").rotate(heads, torch.tensor([PLACES]))
    assert_close(turned.norm(dim=-1), heads.norm(dim=-1), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", POSITIONS)
def test_positions_keep_the_precision_of_what_they_get(name, dtype):
    position = made(name).to(dtype)
    assert position.embed(draw(1, KEYS, WIDTH, dtype=dtype), torch.tensor([PLACES])).dtype == dtype
    assert position.rotate(draw(1, HEADS, KEYS, HEAD_WIDTH, dtype=dtype), torch.tensor([PLACES])).dtype == dtype
