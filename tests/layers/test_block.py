"""Blocks: attention, feed-forward, and what is around each."""

import numpy as np
import pytest
import reference
import torch
from sharp import (
    BATCH,
    KEYS,
    MEMORY_WIDTH,
    WIDTH,
    assert_close,
    assert_moved,
    attention_encoder,
    decoder,
    draw,
    masks,
    numpy,
    stir,
    weights_of,
)

from regard.attention import Mask
from regard.layers import ACTIVATIONS, NORMS, AddNorm

X = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
MEMORY = draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=torch.float64)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
def test_what_is_around_a_part_equals_the_reference(norm, place, residual):
    around = stir(AddNorm(WIDTH, norm=norm, place=place, residual=residual)).double().eval()
    shape = reference.Shape(heads=1, norm=norm, norm_place=place, residual=residual)
    wanted = reference.around(numpy(X), lambda x: 3 * np.sin(x), weights_of(around), shape)
    assert_close(around.changed(X, lambda seen: seen.sin() * 3), wanted, 1e-10)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm_place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("residual", [True, False])
def test_an_encoder_block_equals_the_reference(norm, norm_place, activation, residual):
    settings = {"norm": norm, "norm_place": norm_place, "activation": activation, "residual": residual}
    block = stir(attention_encoder(depth=1, **settings).blocks[0]).double()
    shape = reference.Shape(heads=2, **settings)
    for name in ("none", "causal & lengths", "table with a row that may see nothing"):
        mask, said = masks(KEYS, KEYS)[name]
        allowed = reference.may_look(range(KEYS), range(KEYS), batch=BATCH, **said)
        assert_close(
            block(X, mask), reference.encoder_block(numpy(X), weights_of(block), shape, allowed=allowed), 1e-8, name
        )


@pytest.mark.parametrize("norm_place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
def test_a_decoder_block_equals_the_reference(norm, norm_place):
    block = stir(decoder(norm=norm, norm_place=norm_place, depth=1).blocks[0]).double()
    shape = reference.Shape(heads=2, norm=norm, norm_place=norm_place)
    lengths, memory_lengths = (KEYS, 3, 5), (5, 0, 2)
    wanted = reference.decoder_block(
        numpy(X),
        numpy(MEMORY),
        weights_of(block),
        shape,
        allowed=reference.may_look(range(KEYS), range(KEYS), batch=BATCH, lengths=lengths),
        memory_allowed=reference.may_look(range(KEYS), range(5), batch=BATCH, lengths=memory_lengths),
    )
    found = block(
        X,
        MEMORY,
        mask=Mask.causal() & Mask.lengths(torch.tensor(lengths)),
        memory_mask=Mask.lengths(torch.tensor(memory_lengths)),
    )
    assert_close(found, wanted, 1e-8)


def test_without_residual_the_change_takes_the_place_of_what_was_there():
    around = AddNorm(WIDTH, norm="none", residual=False)
    assert torch.equal(around.changed(X, lambda seen: 2 * X), 2 * X)
    assert torch.equal(AddNorm(WIDTH, norm="none").changed(X, lambda seen: 2 * X), 3 * X)


def test_dropout_in_a_block_is_for_training_only():
    block = attention_encoder(depth=1, dropout=0.5).blocks[0].double()
    assert torch.equal(block(X), block(X))
    torch.manual_seed(0)
    block.train()
    assert_moved(block(X), block(X))


def test_a_misspelt_place_is_not_silently_no_norm():
    with pytest.raises(Exception, match="befor"):
        AddNorm(WIDTH, place="befor")
