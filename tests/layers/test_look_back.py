"""Decoders that look back by a causal convolution or a recurrence: the laws of decoders hold for them too."""

import pytest
import reference
import torch
from laws import nobody_looks_ahead, one_step_at_a_time_equals_all_at_once
from mixes import LOOK_BACKS, convolved, recurred
from sharp import (
    BATCH,
    KEYS,
    MEMORY_WIDTH,
    WIDTH,
    assert_close,
    decoder,
    draw,
    numpy,
    position_of,
    stir,
    weights_of,
)

from regard.attention import Mask
from regard.build import DECODERS
from regard.errors import ShapeError
from regard.layers import NORMS, Convolution, LookBack, Recurrence

X = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
MEMORY = draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=torch.float64)
EACH = pytest.mark.parametrize(("kind", "settings"), LOOK_BACKS, ids=str)


def made(kind, settings, **more):
    return decoder(kind, **settings, **more).double()


def test_every_decoder_is_tested():
    assert {"attention"} | {kind for kind, _ in LOOK_BACKS} == set(DECODERS)


@EACH
def test_the_decoder_equals_the_reference(kind, settings):
    writer = stir(made(kind, settings, depth=3))
    memory_lengths = (5, 0, 2)
    wanted = reference.decoder(
        numpy(X),
        numpy(MEMORY),
        weights_of(writer),
        reference.Shape(heads=2),
        memory_allowed=reference.may_look(range(KEYS), range(5), batch=BATCH, lengths=memory_lengths),
        look_back=convolved(settings, causal=True) if kind == "convolution" else recurred(settings),
    )
    assert_close(writer(X, MEMORY, memory_mask=Mask.lengths(torch.tensor(memory_lengths))), wanted, 1e-8)


@pytest.mark.parametrize("norm", NORMS)
@EACH
def test_nobody_looks_ahead(kind, settings, norm):
    if settings.get("kernel") == 1:
        pytest.skip("a window of 1 sees nothing but the element itself")
    nobody_looks_ahead(made(kind, settings, norm=norm))


@pytest.mark.parametrize("chunks", [(4, 2), (1, 1, 1, 1, 1, 1), (2, 1, 3), (6,), (1, 0, 5)], ids=str)
@EACH
def test_one_step_at_a_time_equals_all_at_once(kind, settings, chunks):
    one_step_at_a_time_equals_all_at_once(decoder(kind, **settings, depth=3), chunks)
    one_step_at_a_time_equals_all_at_once(made(kind, settings, norm="batch", norm_place="after"), chunks)


@EACH
def test_selecting_rows_goes_on_with_these_rows(kind, settings):
    writer, rows = made(kind, settings), torch.tensor([2, 0, 2, 2])
    new = draw(4, 2, WIDTH, seed=3, dtype=torch.float64)
    with torch.no_grad():
        cache = writer.cache()
        cache.select(torch.tensor([0, 1, 2]))  # before the first step there is nothing to select
        writer(X[:, :4], MEMORY, cache=cache)
        cache.select(rows)
        cache.select_memory(rows)
        found = writer(new, MEMORY[rows], cache=cache)
        wanted = writer(torch.cat((X[rows, :4], new), 1), MEMORY[rows])[:, 4:]
    assert_close(found, wanted, 1e-9)
    assert cache.length == 6


@EACH
def test_padding_of_what_is_written_does_not_change_what_is_written(kind, settings):
    writer = made(kind, settings)
    for real in (torch.arange(KEYS) < torch.tensor([[KEYS], [3], [5]]), X[..., 0] > 0):
        together = writer(X, MEMORY, mask=Mask.keys(real))
        for item in range(BATCH):
            alone = writer(X[item : item + 1, real[item]], MEMORY[item : item + 1])
            assert_close(together[item, real[item]], alone[0], 1e-9, f"item {item}")


@EACH
def test_what_cannot_be_is_refused(kind, settings):
    writer = made(kind, settings, depth=1)
    with pytest.raises(ShapeError, match="cannot go on after padding; decode rows of one length"):
        writer(X, MEMORY, mask=Mask.lengths(torch.tensor([3, 2, 1])), cache=writer.cache())
    with pytest.raises(ShapeError, match="the mask says who may look at whom"):
        writer(X, MEMORY, mask=Mask.window(2, 0))
    with pytest.raises(ShapeError, match="the mask says who may look at whom"):
        writer(X, MEMORY, mask=Mask.window(2, 0), cache=writer.cache())
    for position in ("rotary", "alibi", "shaw"):
        writer.position = position_of(position)
        with pytest.raises(ShapeError, match="tells attention where things are"):
            writer(X, MEMORY)


def test_what_sees_both_sides_cannot_look_back_only():
    for part in (Convolution(WIDTH, 3), Recurrence(WIDTH, directions="both")):
        with pytest.raises(ShapeError, match="a decoder looks back only"):
            LookBack(part)
