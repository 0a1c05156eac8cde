"""The parts that see each element alone: feed-forward, norms, the pointwise encoder."""

import pytest
import reference
import torch
from sharp import BATCH, INNER, KEYS, WIDTH, assert_close, assert_moved, draw, encoder, numpy, stir, weights_of

from regard.attention import Mask
from regard.layers import ACTIVATIONS, NORMS, FeedForward

X = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)


def test_every_activation_and_norm_stands_in_the_reference():
    assert set(ACTIVATIONS) == set(reference.ACTIVATIONS)
    assert set(NORMS) == set(reference.NORMS)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_feed_forward_equals_the_reference(activation):
    part = stir(FeedForward(WIDTH, INNER, activation=activation)).double()
    assert_close(part(X), reference.feed_forward(numpy(X), weights_of(part), activation), 1e-10)
    assert part(X).shape == X.shape


@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_equals_the_reference(norm):
    part = stir(NORMS[norm](WIDTH)).double().eval()
    assert_close(part(X), reference.NORMS[norm](numpy(X), weights_of(part)), 1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_gives_the_same_for_what_is_real_whatever_the_padding(norm):
    part = stir(NORMS[norm](WIDTH)).double().eval()
    real = torch.arange(KEYS) < torch.tensor([KEYS, 3, 0])[:, None]
    assert_close(part(X, real)[real], part(X)[real], 1e-12)
    other = torch.where(real[..., None], X, 7.0)
    part.train()
    assert_close(part(other, real)[real], part(X, real)[real], 1e-12)


def test_batch_norm_brings_what_is_real_to_mean_0_and_variance_1():
    part = NORMS["batch"](WIDTH).double().train()
    real = torch.arange(KEYS) < torch.tensor([KEYS, 3, 5])[:, None]
    normed = part(3 + 5 * X, real)[real]
    assert_close(normed.mean(0), torch.zeros(WIDTH), 1e-6)
    assert_close(normed.var(0, unbiased=False), torch.ones(WIDTH), 1e-4)


def test_batch_norm_of_one_element_in_training_leaves_it_as_it_is():
    part = NORMS["batch"](WIDTH).double().train()
    assert torch.equal(part(X[:1, :1]), X[:1, :1])


@pytest.mark.parametrize("norm_place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("residual", [True, False])
def test_the_pointwise_encoder_equals_the_reference(norm, norm_place, residual):
    model = encoder("pointwise", norm=norm, norm_place=norm_place, residual=residual).double()
    model = stir(model)
    shape = reference.Shape(heads=1, norm=norm, norm_place=norm_place, residual=residual)
    assert_close(model(X), reference.pointwise_encoder(numpy(X), weights_of(model), shape), 1e-9)


def test_the_pointwise_encoder_sees_each_element_alone():
    model = encoder("pointwise").double()
    other = X.clone()
    other[:, 2] = 1.0
    one, two = model(X), model(other)
    rest = [place for place in range(KEYS) if place != 2]
    assert_close(one[:, rest], two[:, rest], 1e-12)
    assert_moved(one[:, 2], two[:, 2])
    order = torch.tensor([3, 6, 0, 5, 1, 4, 2])
    assert_close(model(X[:, order]), one[:, order], 1e-12, "in another order")
    assert_close(model(X, Mask.causal()), one, 1e-12, "under a mask that is no padding")
