"""Gathering: of the encoded vectors, one for each element that gets an answer."""

import numpy as np
import pytest
import torch
from sharp import assert_close, assert_moved, draw, numpy, stir

from regard.models.gather import POOLINGS, Compared, EachWord, Together, real

LENGTHS = (5, 1, 3)
WIDTH = 7
INPUTS = {"lengths": torch.tensor(LENGTHS)}

poolings = pytest.mark.parametrize("name", POOLINGS)


def pooling(name):
    torch.manual_seed(0)
    part = Together(POOLINGS[name](WIDTH), WIDTH).double()
    with torch.no_grad():
        for parameter in part.parameters():
            parameter.copy_(draw(*parameter.shape, seed=parameter.dim(), dtype=torch.float64))
    return part


def by_hand(name, part, rows):
    """The one vector of an item, in NumPy. rows: (elements, width)"""
    if name == "mean":
        return rows.sum(0) / len(rows)
    if name in ("first", "last"):
        return rows[0 if name == "first" else -1]
    weight, bias, question = (
        numpy(tensor) for tensor in (part.pool.project.weight, part.pool.project.bias, part.pool.question)
    )
    shares = np.exp([float(np.tanh(weight @ row + bias) @ question) for row in rows])
    return sum(share * row for share, row in zip(shares / shares.sum(), rows, strict=True))


@poolings
def test_a_pooling_equals_the_reference(name):
    part, x = pooling(name), draw(3, 5, WIDTH, dtype=torch.float64)
    found = part(x, INPUTS)
    assert found.shape == (3, 1, WIDTH)
    for item, length in enumerate(LENGTHS):
        assert_close(found[item, 0], by_hand(name, part, numpy(x)[item, :length]), 1e-7, f"item {item}")


@poolings
def test_padding_never_counts(name):
    part, x = pooling(name), draw(3, 5, WIDTH, dtype=torch.float64)
    found = part(x, INPUTS)
    other = torch.where(real(x, INPUTS)[..., None], x, torch.full_like(x, 1e6))
    assert torch.equal(part(other, INPUTS), found)
    longer = torch.nn.functional.pad(x, (0, 0, 0, 11), value=7.0)
    assert_close(part(longer, INPUTS), found, 1e-12, "more padding")
    alone = [
        part(x[item : item + 1, :length], {"lengths": torch.tensor([length])})[0] for item, length in enumerate(LENGTHS)
    ]
    assert_close(torch.stack(alone), found, 1e-12, "alone")


@poolings
def test_padding_gets_no_gradient_and_what_is_real_does(name):
    part, x = pooling(name), draw(3, 5, WIDTH, dtype=torch.float64).requires_grad_()
    part(x, INPUTS).square().sum().backward()
    assert (x.grad[~real(x, INPUTS)] == 0).all() and x.grad.isfinite().all()
    counted = [length - 1 if name == "last" else 0 for length in LENGTHS]
    assert (x.grad[torch.arange(len(LENGTHS)), counted] != 0).any(-1).all()


@poolings
def test_what_is_alone_stands_for_itself(name):
    x = draw(2, 3, WIDTH, dtype=torch.float64)
    assert_close(pooling(name)(x, {"lengths": torch.tensor([1, 1])}), x[:, :1], 1e-12)


@poolings
def test_an_item_without_elements_gives_finite_numbers(name):
    x = draw(2, 3, WIDTH, dtype=torch.float64)
    assert pooling(name)(x, {"lengths": torch.tensor([0, 3])}).isfinite().all()


def test_untrained_attention_weighs_all_alike_and_can_learn():
    x = draw(3, 5, WIDTH)
    part = POOLINGS["attention"](WIDTH)
    mine = real(x, INPUTS)
    assert_close(part(x, mine), POOLINGS["mean"](WIDTH)(x, mine), 1e-6)
    part(x, mine)[..., 0].sum().backward()
    assert_moved(part.question.grad, torch.zeros(WIDTH))


def test_however_low_all_scores_are_padding_does_not_win():
    """Of scores that are all far below 0 the padding must not win."""
    part = pooling("attention")
    with torch.no_grad():
        part.pool.question.mul_(1e4)
    x = draw(3, 5, WIDTH, dtype=torch.float64)
    other = torch.where(real(x, INPUTS)[..., None], x, torch.full_like(x, 9.0))
    assert torch.equal(part(other, INPUTS), part(x, INPUTS))


def test_only_the_first_element_answers_for_all():
    part, x = pooling("first"), draw(2, 3, WIDTH)
    other = x.clone()
    other[:, 1:] = 9.0
    inputs = {"lengths": torch.tensor([3, 2])}
    assert torch.equal(part(other, inputs), part(x, inputs))


@pytest.mark.parametrize("name", [name for name in POOLINGS if name not in ("first", "last")])
def test_every_real_element_counts(name):
    part, x = pooling(name), draw(1, 3, WIDTH, dtype=torch.float64)
    inputs = {"lengths": torch.tensor([3])}
    for place in range(3):
        other = x.clone()
        other[:, place] += 1.0
        assert_moved(part(other, inputs), part(x, inputs))


@poolings
def test_only_what_is_marked_counts(name):
    """Of two texts side by side each is pooled as if it were alone."""
    part, x = pooling(name).pool, draw(1, 7, WIDTH, dtype=torch.float64)
    mine = torch.tensor([[False, False, False, True, True, True, False]])
    alone = part(x[:, 3:6], torch.ones(1, 3, dtype=torch.bool))
    assert_close(part(x, mine), alone, 1e-12)
    assert (part(x, torch.zeros(1, 7, dtype=torch.bool)) == 0).all()


@poolings
def test_compared_texts_do_not_see_each_other(name):
    compared, x = Compared(pooling(name).pool, WIDTH), draw(1, 5, WIDTH, dtype=torch.float64)
    texts = torch.tensor([[0, 0, -1, 1, 1]])
    found = compared(x, {"texts": texts})[0, 0]
    one, other, apart, product, cosine = found.split((WIDTH, WIDTH, WIDTH, WIDTH, 1))
    assert_close(apart, (one - other).abs(), 1e-12)
    assert_close(product, one * other, 1e-12)
    assert_close(cosine, (WIDTH**0.5 * (one @ other) / (one.norm() * other.norm()))[None], 1e-12)
    changed = x.clone()
    changed[:, 2:] += 1.0
    assert torch.equal(compared(changed, {"texts": texts})[0, 0, :WIDTH], one)
    assert_moved(compared(changed, {"texts": texts})[0, 0, WIDTH : 2 * WIDTH], other)


# Each word

PIECES = {
    "word_of_piece": torch.tensor([[0, 0, 1, 2, 2], [0, 1, 0, 0, 0]]),
    "lengths": torch.tensor([5, 2]),
    "words": torch.tensor([3, 2]),
}


def test_each_element_answers_where_elements_are_words():
    x = draw(3, 5, WIDTH)
    assert EachWord(WIDTH)(x, INPUTS) is x


def test_a_words_answer_is_the_mean_of_its_pieces():
    x, part = draw(2, 5, WIDTH, dtype=torch.float64), stir(EachWord(WIDTH))
    found = part(x, PIECES)
    assert found.shape == (2, 3, WIDTH)
    wanted = [[x[0, :2].mean(0), x[0, 2], x[0, 3:].mean(0)], [x[1, 0], x[1, 1], torch.zeros(WIDTH)]]
    assert_close(found, torch.stack([torch.stack(row) for row in wanted]), 1e-12)
    other = x.clone()
    other[1, 2:] = 9.0
    assert torch.equal(part(other, PIECES), found), "padding counted"
    other[1, 1] = 9.0
    assert_moved(part(other, PIECES)[1, 1], found[1, 1])


def test_a_word_without_pieces_gives_zeros():
    inputs = {
        "word_of_piece": torch.tensor([[0, 2]]),
        "lengths": torch.tensor([2]),
        "words": torch.tensor([3]),
    }
    found = EachWord(WIDTH)(draw(1, 2, 3), inputs)
    assert (found[0, 1] == 0).all() and found.isfinite().all()
