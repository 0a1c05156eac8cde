"""Encoder and Decoder: what holds for whole stacks."""

import pytest
import reference
import torch
from laws import (
    LENGTHS,
    nobody_looks_ahead,
    padding_does_not_change_the_answer,
    seen_weights,
    the_content_of_padding_does_not_matter,
)
from sharp import (
    BATCH,
    ENCODERS_AT,
    INNER,
    KEYS,
    KINDS_AT,
    LONGEST,
    MEMORY_WIDTH,
    WIDTH,
    assert_close,
    assert_moved,
    attention_encoder,
    decoder,
    draw,
    encoder,
    masks,
    numpy,
    stir,
    weights_of,
)

from regard.attention import POSITIONS, Mask
from regard.build import ENCODERS
from regard.errors import ShapeError
from regard.layers import NORMS, Decoder, Encoder

X = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
MEMORY = draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=torch.float64)


@pytest.mark.parametrize("norm_place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("kind", "position"), ENCODERS_AT)
def test_padding_does_not_change_the_answer(kind, position, norm, norm_place):
    made = stir(encoder(kind, position=position, norm=norm, norm_place=norm_place))
    padding_does_not_change_the_answer(made.double())
    if norm != "none":  # without a norm, numbers grow until single precision is too coarse for sharp attention
        padding_does_not_change_the_answer(made.float())


@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
def test_padding_does_not_change_the_answer_for_any_score(score, normalizer, position):
    made = encoder(score=score, normalizer=normalizer, position=position, key_heads=1, head_width=5)
    padding_does_not_change_the_answer(made.double())


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm_place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
def test_the_encoder_equals_the_reference_under_every_mask(norm, norm_place, position):
    made = stir(attention_encoder(norm=norm, norm_place=norm_place, position=position)).double()
    shape = reference.Shape(heads=2, norm=norm, norm_place=norm_place, position=position)
    # The package's sinusoids are rounded to single precision, and sharp attention makes more of the difference.
    tolerance = 1e-4 if position == "sinusoidal" else 1e-8
    for name in ("none", "causal & an item that may see nothing", "window & keys & table", "all"):
        mask, said = masks(KEYS, KEYS)[name]
        allowed = reference.may_look(range(KEYS), range(KEYS), batch=BATCH, **said)
        found, wanted = made(X, mask), reference.encoder(numpy(X), weights_of(made), shape, allowed=allowed)
        # Batch norm leaves zeros in place of padding, where no answer is asked for.
        real = None if mask is None or norm != "batch" else mask.real_positions(KEYS)
        chosen = torch.ones(BATCH, KEYS, dtype=torch.bool) if real is None else real
        assert_close(found[chosen], wanted[numpy(chosen)], tolerance, name)


@pytest.mark.parametrize("settings", [{"key_heads": 1}, {"residual": False}, {"activation": "swiglu"}, {"depth": 3}])
def test_the_encoder_equals_the_reference_with_other_parts(settings):
    made = stir(attention_encoder(position="rotary", **settings)).double()
    shape = reference.Shape(heads=2, position="rotary", **{k: v for k, v in settings.items() if k != "depth"})
    assert_close(made(X), reference.encoder(numpy(X), weights_of(made), shape), 1e-6)


@pytest.mark.parametrize("position", POSITIONS)
def test_the_decoder_equals_the_reference(position):
    made = stir(decoder(position=position)).double()
    lengths, memory_lengths = (KEYS, 3, 5), (5, 0, 2)
    wanted = reference.decoder(
        numpy(X),
        numpy(MEMORY),
        weights_of(made),
        reference.Shape(heads=2, position=position),
        allowed=reference.may_look(range(KEYS), range(KEYS), batch=BATCH, lengths=lengths),
        memory_allowed=reference.may_look(range(KEYS), range(5), batch=BATCH, lengths=memory_lengths),
    )
    mask, memory_mask = Mask.lengths(torch.tensor(lengths)), Mask.lengths(torch.tensor(memory_lengths))
    assert_close(made(X, MEMORY, mask=mask, memory_mask=memory_mask), wanted, 1e-5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("position", POSITIONS)
def test_nobody_looks_ahead(position, norm):
    nobody_looks_ahead(decoder(position=position, norm=norm).double())


def test_padding_of_what_is_read_and_written_does_not_change_what_is_written():
    for position in POSITIONS:
        for norm in NORMS:
            made = decoder(position=position, norm=norm).double()
            lengths, memory_lengths = torch.tensor([KEYS, 3, 5]), torch.tensor([5, 1, 2])
            together = made(X, MEMORY, mask=Mask.lengths(lengths), memory_mask=Mask.lengths(memory_lengths))
            for item in range(BATCH):
                x, memory = X[item : item + 1, : lengths[item]], MEMORY[item : item + 1, : memory_lengths[item]]
                assert_close(
                    together[item, : lengths[item]], made(x, memory)[0], 1e-8, f"{position}, {norm}, item {item}"
                )


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_order_of_the_batch_does_not_matter(kind):
    made, order = encoder(kind).double(), torch.tensor([2, 0, 1])
    lengths = torch.tensor(LENGTHS)
    found = made(X[order], Mask.lengths(lengths[order]))
    assert_close(found, made(X, Mask.lengths(lengths))[order], 1e-9)


def test_without_positions_order_does_not_matter_and_with_them_it_does():
    order = torch.tensor([3, 6, 0, 5, 1, 4, 2])
    for position in POSITIONS:
        made = attention_encoder(position=position).double()
        found, wanted = made(X[:, order]), made(X)[:, order]
        if position == "none":
            assert_close(found, wanted, 1e-8)
        else:
            assert_moved(found, wanted)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ENCODERS)
def test_the_output_is_as_long_as_the_input_even_if_its_end_is_padding_for_all(kind, norm, training):
    """A fast path of PyTorch's gave back a shorter tensor (B07)."""
    made = encoder(kind, norm=norm).train(training)
    mask = Mask.lengths(torch.tensor([3, 2]))
    output = made(draw(2, 8, WIDTH), mask)
    assert output.shape == (2, 8, WIDTH) and output.isfinite().all()
    with torch.no_grad():
        assert made(draw(2, 8, WIDTH), mask).shape == (2, 8, WIDTH)


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("norm_place", ["before", "after"])
def test_the_content_of_padding_does_not_matter_in_training_either(kind, norm, norm_place):
    the_content_of_padding_does_not_matter(encoder(kind, norm=norm, norm_place=norm_place).double())


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("norm", NORMS)
def test_only_batch_norm_lets_neighbours_matter_in_training(kind, norm):
    made = encoder(kind, norm=norm).double().train()
    mask = Mask.lengths(torch.tensor(LENGTHS))
    other = X.clone()
    other[1:] = 5 + draw(BATCH - 1, KEYS, WIDTH, seed=2, dtype=torch.float64)
    one, two = made(X, mask)[0], made(other, mask)[0]
    if norm == "batch":
        assert_moved(one, two)
    else:
        assert_close(one, two, 1e-8)


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("norm", NORMS)
def test_items_made_of_padding_only_are_finite_forward_and_backward(kind, norm):
    made = encoder(kind, norm=norm)
    for training in (True, False):
        made.train(training).zero_grad()
        made(X.float(), Mask.lengths(torch.tensor([KEYS, 0, 3]))).square().mean().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in made.parameters())


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_empty_batch_and_an_empty_input_go_through(kind):
    made = encoder(kind)
    assert made(X[:0].float(), Mask.lengths(torch.tensor([], dtype=torch.long))).shape == (0, KEYS, WIDTH)
    assert made(X[:, :0].float()).shape == (BATCH, 0, WIDTH)


def test_a_window_keeps_far_elements_out_of_one_blocks_sight():
    made = attention_encoder(depth=1, position="rotary").double()
    (weights,) = seen_weights(made, X, Mask.window(2, 1)).values()
    for query in range(KEYS):
        for key in range(KEYS):
            assert bool((weights[:, :, query, key] > 0).all()) == (-2 <= key - query <= 1)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize(("window", "said"), [(2, (2, 2)), ([3, 0], (3, 0)), ([0, 1], (0, 1))], ids=str)
def test_truncated_attention_equals_the_reference(window, said, position):
    made = attention_encoder(position=position, window=window).double()
    shape = reference.Shape(heads=2, position=position)
    for lengths in (None, LENGTHS):
        allowed = reference.may_look(
            range(KEYS), range(KEYS), batch=BATCH, before=said[0], after=said[1], lengths=lengths
        )
        found = made(X, None if lengths is None else Mask.lengths(torch.tensor(lengths)))
        wanted = reference.encoder(numpy(X), weights_of(made), shape, allowed=allowed)
        assert_close(found, wanted, 1e-4 if position == "sinusoidal" else 1e-8)


def test_truncated_attention_sees_as_far_as_its_blocks_reach_together():
    made = attention_encoder(depth=2, window=[1, 2], position="rotary").double()
    other = X.clone()
    other[:, 0] = draw(BATCH, WIDTH, seed=5, dtype=torch.float64)
    moved = (made(other) - made(X)).abs().amax((0, 2)) > 1e-9
    assert moved.tolist() == [True, True, True, False, False, False, False], "two blocks look one step back each"


def test_padding_does_not_change_the_answer_of_truncated_attention():
    padding_does_not_change_the_answer(attention_encoder(window=[2, 1]).double())


def test_stacks_refuse_an_input_longer_than_the_learned_positions():
    long = draw(1, LONGEST + 1, WIDTH)
    with pytest.raises(ShapeError, match="32 elements is longer than the 31 learned positions"):
        attention_encoder(position="learned")(long)
    writer, memory = decoder(position="learned"), draw(1, 5, MEMORY_WIDTH)
    cache = writer.cache()
    with torch.no_grad():
        writer(long[:, :LONGEST], memory, cache=cache)
        with pytest.raises(ShapeError, match="32 elements is longer"):
            writer(long[:, LONGEST:], memory, cache=cache)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_finite_answers_under_padding(dtype):
    for norm in NORMS:
        made = attention_encoder(norm=norm, sharp=False)
        mask = Mask.causal() & Mask.lengths(torch.tensor([1, 0, 6]))
        wanted = made(X.float(), mask)
        with torch.autocast("cpu", dtype=dtype):
            found = made(X.float(), mask)
        real = mask.real_positions(KEYS)
        assert found.isfinite().all()
        assert_close(found[real].float(), wanted[real], 0.1, norm)


def test_a_stack_may_be_made_by_hand():
    made = attention_encoder(depth=1)
    by_hand = Encoder(made.blocks, position=made.position, norm=made.norm).eval()
    assert torch.equal(by_hand(X.float()), made(X.float()))
    assert isinstance(decoder(), Decoder) and by_hand.blocks[0].feed_forward.enter.out_features == INNER
