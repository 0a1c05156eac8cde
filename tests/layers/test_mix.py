"""Convolution and recurrence in the place of attention: against the reference, and under any padding."""

import pytest
import reference
import torch
from laws import (
    padding_does_not_change_the_answer,
    texts_of_a_row_see_nothing_of_each_other,
    the_content_of_padding_does_not_matter,
    the_mixing_encoder_equals_the_reference,
)
from mixes import CONVOLUTIONS, MIXED, RECURRENCES, convolved
from sharp import (
    BATCH,
    KEYS,
    WIDTH,
    assert_close,
    assert_moved,
    draw,
    encoder,
    numpy,
    stir,
    weights_of,
)

from regard.attention import Mask
from regard.errors import RegardError, ShapeError
from regard.layers import CELLS, DILATIONS, NORMS, Convolution, Recurrence

X = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)


def test_every_cell_stands_in_the_reference():
    assert set(CELLS) == set(reference.CELLS)


@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
@pytest.mark.parametrize("norm_place", ["before", "after"])
def test_the_encoder_equals_the_reference(kind, settings, norm_place):
    the_mixing_encoder_equals_the_reference(kind, settings, norm_place=norm_place)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
def test_padding_does_not_change_the_answer(kind, settings, norm):
    made = stir(encoder(kind, norm=norm, depth=3, **settings))
    padding_does_not_change_the_answer(made)
    padding_does_not_change_the_answer(made.double())
    the_content_of_padding_does_not_matter(made)


@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
def test_padding_may_stand_before_and_between_what_is_real(kind, settings):
    made = stir(encoder(kind, **settings)).double()
    real = torch.tensor([[0, 0, 1, 1, 1, 1, 0], [1, 0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]]).bool()
    together = made(X, Mask.keys(real))
    assert together.shape == X.shape and together.isfinite().all()
    for item in (0, 1):
        assert_close(together[item, real[item]], made(X[item : item + 1, real[item]])[0], 1e-9, f"item {item}")


@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
def test_texts_that_share_a_row_see_nothing_of_each_other(kind, settings):
    texts_of_a_row_see_nothing_of_each_other(stir(encoder(kind, **settings)).double())


@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
def test_a_mask_that_says_more_than_what_is_real_is_refused(kind, settings):
    made = encoder(kind, **settings).double()
    for mask, name in ((Mask.causal(), "after"), (Mask.window(2, 1), "before, after"), (Mask.prefix(3), "first")):
        with pytest.raises(ShapeError, match=rf"the mask says who may look at whom \(its {name}\), .* use attention"):
            made(X, mask)
    with pytest.raises(ShapeError, match="knows the blocks of 5 elements, but there are 7"):
        made(X, Mask.blocks(torch.zeros(5, dtype=torch.long)))


@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
def test_what_each_element_sees_is_what_its_kind_says(kind, settings):
    """Of one block: a convolution sees its window, a recurrence all that comes before, and with two directions all."""
    made = encoder(kind, depth=1, **settings).double()
    seen = []
    for place in range(KEYS):
        other = X.clone()
        other[:, place] = draw(BATCH, WIDTH, seed=5, dtype=torch.float64)
        seen.append((made(other) - made(X)).abs().amax((0, 2)) > 1e-12)
    found = torch.stack(seen, 1)  # (who looks, at whom)
    who, whom = torch.meshgrid(torch.arange(KEYS), torch.arange(KEYS), indexing="ij")
    if kind == "convolution":
        wanted = (who - whom).abs() <= settings["kernel"] // 2
    else:
        wanted = whom <= who if settings["directions"] == "forward" else torch.ones(KEYS, KEYS, dtype=torch.bool)
    assert torch.equal(found, wanted)


def test_dilations_double_up_to_512_and_begin_again():
    assert [DILATIONS["doubling"](block) for block in range(12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1, 2]


@pytest.mark.parametrize("settings", CONVOLUTIONS, ids=str)
def test_a_convolution_of_less_than_its_window_goes_through(settings):
    made = encoder("convolution", **settings).double()
    wanted = reference.mix_encoder(numpy(X[:, :1]), weights_of(made), reference.Shape(heads=1), convolved(settings))
    assert_close(made(X[:, :1]), wanted, 1e-9)


@pytest.mark.parametrize("width", [2, 3, 7])
@pytest.mark.parametrize("settings", RECURRENCES, ids=str)
def test_two_directions_share_any_width(settings, width):
    part = Recurrence(width, **settings)
    assert part(draw(BATCH, KEYS, width)).shape == (BATCH, KEYS, width)
    assert sum(walk.hidden_size for walk in part.walks) == width


@pytest.mark.parametrize("cell", CELLS)
def test_a_row_read_from_its_end_gives_what_the_other_direction_gives(cell):
    """With the same learned numbers in both directions, turning the sequence round swaps their halves."""
    part = Recurrence(WIDTH, cell=cell).double()
    part.walks[1].load_state_dict(part.walks[0].state_dict())
    one, other = part(X), part(X.flip(1)).flip(1)
    half = WIDTH // 2
    assert_close(one[..., :half], other[..., half:], 1e-12)
    assert_close(one[..., half:], other[..., :half], 1e-12)
    assert_moved(one[..., :half], one[..., half:])


def test_sizes_and_names_that_cannot_be_are_refused():
    with pytest.raises(ShapeError, match="a window of 4 elements has no middle; use an odd kernel, as 5"):
        Convolution(WIDTH, 4)
    assert Convolution(WIDTH, 4, causal=True)(draw(BATCH, KEYS, WIDTH)).shape == (BATCH, KEYS, WIDTH)
    with pytest.raises(RegardError, match="unknown cell lstn; known: rnn, lstm, gru; did you mean lstm"):
        Recurrence(WIDTH, cell="lstn")
    with pytest.raises(RegardError, match=r"unknown directions bth; .* did you mean both"):
        Recurrence(WIDTH, directions="bth")
