"""`check` names the first module, and the row, where a number stopped being finite."""

import pytest
import torch
from sharp import BATCH, KEYS, POSITIONS, WIDTH, assert_close, attention_encoder, decoder, draw
from torch import nn

from regard.attention import Mask, NotFiniteError, Score, check
from regard.errors import RegardError

X = draw(BATCH, KEYS, WIDTH)


def named(model: nn.Module, *inputs: object, **others: object) -> NotFiniteError:
    with check(model), pytest.raises(NotFiniteError) as caught:
        model(*inputs, **others)
    assert isinstance(caught.value, RegardError)
    return caught.value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_of_the_data_is_told_from_one_that_a_layer_made(value):
    x = X.clone()
    x[1, 3, 5] = value
    error = named(attention_encoder(), x)
    assert (error.module, error.row) == ("", 1)
    assert str(error) == (
        f"what goes into the model (Encoder) is not finite: {value} at [1, 3, 5], row 1 of the batch, "
        "shape (3, 7, 22); all before it was"
    )


def test_of_several_rows_the_first_is_named_and_the_others_are_counted():
    x = X.clone()
    x[1:, 3, 5] = float("nan")
    assert "row 1 of the batch, shape (3, 7, 22) (rows [1, 2] have such numbers)" in str(named(attention_encoder(), x))


@pytest.mark.parametrize("path", ["blocks.0.feed_forward.enter", "blocks.1.attention.value", "norm"])
def test_the_first_layer_whose_numbers_are_not_finite_is_named(path):
    model = attention_encoder()
    with torch.no_grad():
        next(model.get_submodule(path).parameters())[3] = float("nan")
    error = named(model, X)
    assert (error.module, error.row) == (path, 0)
    assert str(error).startswith(f"what comes out of {path} (")


def test_a_number_that_is_made_between_two_layers_is_met_as_it_goes_into_the_next():
    """Attention itself is no module: what it makes is first met by the projection that follows."""

    class Broken(Score):
        def forward(self, queries, keys, scale=None):
            scores = queries @ keys.transpose(-1, -2)
            return torch.where(torch.arange(len(scores))[:, None, None, None] == 2, float("nan"), scores)

    model = attention_encoder()
    model.blocks[1].attention.score = Broken()
    error = named(model, X)
    assert (error.module, error.row) == ("blocks.1.attention.score", 2)
    handle = model.blocks[0].attention.weights.register_forward_hook(lambda point, inputs, weights: weights / 0)
    error = named(model, X)
    handle.remove()
    assert error.module == "blocks.0.attention.weights"


def test_numbers_in_named_arguments_are_looked_at_too():
    memory = draw(BATCH, 5, 17)
    memory[2, 4, 0] = float("nan")
    assert named(decoder(), X, memory=memory).row == 2


@pytest.mark.parametrize("position", POSITIONS)
def test_where_all_is_finite_nothing_happens_and_nothing_stays(position):
    model = attention_encoder(position=position)
    mask = Mask.lengths(torch.tensor([KEYS, 0, 3])) & Mask.causal()
    alone = model(X, mask)
    with check(model):
        assert_close(model(X, mask), alone, 1e-4)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    x = X.clone()
    x[0, 0, 0] = float("nan")
    model(x)  # nobody checks any more


def test_the_hooks_are_taken_away_after_a_fault_too():
    model = attention_encoder()
    named(model, X / 0)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
