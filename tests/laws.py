"""The main laws, each as a function that raises AssertionError where it is broken.

The law tests call them on the package as it is, and test_planted_faults.py on one with a fault in it, to show that they
would notice.
"""

from collections.abc import Sequence

import numpy as np
import reference
import torch
from mixes import REFERENCES
from sharp import (
    BATCH,
    HEAD_WIDTH,
    HEADS,
    KEYS,
    MEMORY_WIDTH,
    WIDTH,
    assert_close,
    assert_moved,
    attention_encoder,
    draw,
    encoder,
    numpy,
    position_of,
    stir,
    weights_of,
)
from torch import Tensor, nn

from regard.attention import NORMALIZERS, Mask, attention_weights
from regard.layers import Decoder, MultiHeadAttention

LENGTHS = (KEYS, 3, 5)


def precision(model: nn.Module) -> tuple[torch.dtype, float]:
    """The kind of number that a model computes with, and how far two ways to the same answer may lie apart.

    1e-4 in single precision, since sums are taken in another order and sharp attention makes more of the difference.
    """
    dtype = next(model.parameters()).dtype
    return dtype, 1e-9 if dtype == torch.float64 else 1e-4


def seen_weights(model: nn.Module, *inputs: object, **named: object) -> dict[str, Tensor]:
    """The attention weights of each watched point while the model runs, its tiles joined."""
    tiles: dict[str, list[Tensor]] = {}
    handles = [
        module.weights.register_forward_hook(
            lambda point, inputs, weights, name=name: tiles.setdefault(name, []).append(weights.detach().clone())
        )
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        model(*inputs, **named)
    finally:
        for handle in handles:
            handle.remove()
    return {name: torch.cat(found, 2) for name, found in tiles.items()}


def padding_does_not_change_the_answer(encoder: nn.Module) -> None:
    """Each item alone gives what it gives in a batch, whatever stands in the padding."""
    dtype, tolerance = precision(encoder)
    x = draw(BATCH, KEYS, WIDTH, dtype=dtype)
    lengths = torch.tensor(LENGTHS)
    with torch.no_grad():
        together = encoder(x, Mask.lengths(lengths))
        for item, length in enumerate(LENGTHS):
            alone = encoder(x[item : item + 1, :length], Mask.lengths(lengths[item : item + 1]))
            assert_close(together[item, :length], alone[0], tolerance, f"item {item} alone")
            assert_close(alone, encoder(x[item : item + 1, :length]), tolerance, f"item {item} without a mask")


def nobody_looks_ahead(decoder: Decoder) -> None:
    """What is written later changes nothing before it, and something after it."""
    dtype, tolerance = precision(decoder)
    x, memory = draw(BATCH, KEYS, WIDTH, dtype=dtype), draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=dtype)
    other = x.clone()
    other[:, 4:] = draw(BATCH, KEYS - 4, WIDTH, seed=2, dtype=dtype)
    with torch.no_grad():
        one, two = decoder(x, memory), decoder(other, memory)
    assert_close(one[:, :4], two[:, :4], tolerance, "before the change")
    assert_moved(one[:, 4:], two[:, 4:])


def one_step_at_a_time_equals_all_at_once(decoder: Decoder, chunks: Sequence[int]) -> None:
    """With a cache, the new elements get what they would get if all were computed again."""
    dtype, tolerance = precision(decoder)
    x, memory = draw(BATCH, sum(chunks), WIDTH, dtype=dtype), draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=dtype)
    memory_mask = Mask.lengths(torch.tensor([5, 2, 3]))
    with torch.no_grad():
        whole = decoder(x, memory, memory_mask=memory_mask)
        cache = decoder.cache()
        steps = [decoder(chunk, memory, memory_mask=memory_mask, cache=cache) for chunk in x.split(list(chunks), 1)]
    assert_close(torch.cat(steps, 1), whole, tolerance, f"in chunks of {chunks}")


def the_encoder_equals_the_reference(position: str) -> None:
    """The position kind is the paper's: the encoder gives what the reference gives."""
    encoder = stir(attention_encoder(position=position)).double()
    x = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
    with torch.no_grad():
        found = encoder(x, Mask.lengths(torch.tensor(LENGTHS)))
    places = range(KEYS)
    allowed = reference.may_look(places, places, batch=BATCH, lengths=LENGTHS)
    shape = reference.Shape(heads=2, position=position)
    # The package's sinusoids are rounded to single precision, hence 1e-5; a wrong formula is off by far more.
    assert_close(found, reference.encoder(numpy(x), weights_of(encoder), shape, allowed=allowed), 1e-5, position)


def the_mixing_encoder_equals_the_reference(kind: str, settings: dict[str, object], **others: object) -> None:
    """A convolution or a recurrence is the paper's: the encoder gives what the reference gives."""
    made = stir(encoder(kind, depth=3, **settings, **others)).double()
    x = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
    shape = reference.Shape(heads=1, **others)
    with torch.no_grad():
        found = made(x)
    assert_close(found, reference.mix_encoder(numpy(x), weights_of(made), shape, REFERENCES[kind](settings)), 1e-9)


def texts_of_a_row_see_nothing_of_each_other(encoder: nn.Module) -> None:
    """Two texts that stand in one row, with what parts them, give what each gives alone."""
    dtype, tolerance = precision(encoder)
    x = draw(BATCH, KEYS, WIDTH, dtype=dtype)
    texts = torch.tensor([[0, 0, 0, -1, 1, 1, 1], [1, 1, -1, 0, 0, 0, 0], [0, -1, 1, 1, 1, -1, -1]])
    lengths = torch.tensor([KEYS, 6, 5])
    with torch.no_grad():
        together = encoder(x, Mask.lengths(lengths) & Mask.blocks(texts))
        for item, length in enumerate(lengths):
            for text in (0, 1):
                mine = (texts[item] == text) & (torch.arange(KEYS) < length)
                alone = encoder(x[item : item + 1, mine])[0]
                assert_close(together[item, mine], alone, tolerance, f"item {item}, text {text}")


def what_is_masked_weighs_nothing(normalizer: str) -> None:
    """Weights are exactly 0 where nobody may look, the rest of the row is as if the hidden keys were not there."""
    scores = 5 * draw(2, 3, 5, 7)
    allowed = draw(2, 1, 5, 7, seed=1) < 0.3
    allowed[0, 0, 2] = False
    part = NORMALIZERS[normalizer]()
    weights = part(scores, allowed)
    hidden = ~allowed.expand_as(weights)
    assert (weights[hidden] == 0).all(), "a hidden key has a weight"
    for item, head, row in np.ndindex(2, 3, 5):
        seen = allowed[item, 0, row]
        if seen.any():
            alone = part(scores[item, head, row, seen][None, None, None])
            assert_close(weights[item, head, row, seen], alone[0, 0, 0], 1e-6, "the keys that are seen")


def watched_weights_are_shares(encoder: nn.Module) -> None:
    """In training too, those who watch see weights before dropout: within [0, 1], a row sums to 1."""
    torch.manual_seed(0)
    seen = seen_weights(encoder.train(), draw(BATCH, KEYS, WIDTH))
    assert seen, "nothing was seen"
    for name, weights in seen.items():
        assert ((weights >= 0) & (weights <= 1)).all(), f"{name}: a weight outside of [0, 1]"
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), 1e-5, f"{name}: the sum of a row")


def the_content_of_padding_does_not_matter(encoder: nn.Module) -> None:
    """In training too (without dropout), other numbers in the padding change nothing for what is real."""
    dtype, tolerance = precision(encoder)
    x, lengths = draw(BATCH, KEYS, WIDTH, dtype=dtype), torch.tensor(LENGTHS)
    real = torch.arange(KEYS) < lengths[:, None]
    other = torch.where(real[..., None], x, 3 + draw(BATCH, KEYS, WIDTH, seed=1, dtype=dtype))
    mask = Mask.lengths(lengths)
    assert_close(encoder.train()(x, mask)[real], encoder(other, mask)[real], tolerance, "what is real")


def moving_everything_changes_no_weight(kind: str) -> None:
    """Weights depend on distances: all positions moved by the same, they stay; queries alone moved, they do not."""
    queries, keys = 3 * draw(2, HEADS, 5, HEAD_WIDTH), draw(2, HEADS, 7, HEAD_WIDTH, seed=1)
    position = position_of(kind).at(1)

    def weights(moved_queries: int, moved_keys: int) -> Tensor:
        of_queries, of_keys = torch.arange(5)[None] + moved_queries, torch.arange(7)[None] + moved_keys
        return attention_weights(
            position.rotate(queries, of_queries),
            position.rotate(keys, of_keys),
            position=position,
            query_positions=of_queries,
            key_positions=of_keys,
        )

    for moved_by in (1, 13, 1009):
        assert_close(weights(moved_by, moved_by), weights(0, 0), 1e-4, f"moved by {moved_by}")
    assert_moved(weights(1, 0), weights(0, 0))
