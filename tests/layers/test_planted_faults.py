"""The laws notice a fault: each is planted on purpose, and the law's check must fail."""

import importlib
from dataclasses import replace

import pytest
import torch.nn.functional as F
from laws import (
    moving_everything_changes_no_weight,
    nobody_looks_ahead,
    one_step_at_a_time_equals_all_at_once,
    padding_does_not_change_the_answer,
    texts_of_a_row_see_nothing_of_each_other,
    the_content_of_padding_does_not_matter,
    the_encoder_equals_the_reference,
    the_mixing_encoder_equals_the_reference,
    watched_weights_are_shares,
    what_is_masked_weighs_nothing,
)
from mixes import LOOK_BACKS, MIXED
from sharp import attention_encoder, decoder, encoder

from regard.attention import Mask
from regard.attention.normalizer import Softmax
from regard.attention.position import Floater, Rotary
from regard.attention.position.relative import ShawBlock
from regard.build import ENCODERS
from regard.layers import CELLS
from regard.layers.block import BatchNorm
from regard.layers.cache import AttentionCache, Cache, StateCache
from regard.layers.convolution import Convolution
from regard.layers.recurrent import Recurrence

# Of some of these modules the package has a function of the same name.
plain_module = importlib.import_module("regard.attention.plain")
position_module = importlib.import_module("regard.attention.position.sinusoidal")
relative_module = importlib.import_module("regard.attention.position.relative")
normalizer_module = importlib.import_module("regard.attention.normalizer")
convolution_module = importlib.import_module("regard.layers.convolution")
recurrent_module = importlib.import_module("regard.layers.recurrent")
multihead_module = importlib.import_module("regard.layers.multihead")


def test_padding_that_is_not_masked_is_noticed(monkeypatch):
    dense = Mask.dense
    monkeypatch.setattr(Mask, "dense", lambda mask, q, k: dense(replace(mask, key_lengths=None), q, k))
    with pytest.raises(AssertionError, match="item 1 alone"):
        padding_does_not_change_the_answer(attention_encoder())


def test_padding_masked_by_one_element_too_few_is_noticed(monkeypatch):
    lengths = Mask.lengths
    monkeypatch.setattr(Mask, "lengths", staticmethod(lambda given: lengths(given + 1)))
    with pytest.raises(AssertionError, match="item 1 alone"):
        padding_does_not_change_the_answer(attention_encoder())


def test_padding_masked_by_one_element_too_many_is_noticed(monkeypatch):
    lengths = Mask.lengths
    monkeypatch.setattr(Mask, "lengths", staticmethod(lambda given: lengths(given - 1)))
    with pytest.raises(AssertionError, match="without a mask"):
        padding_does_not_change_the_answer(attention_encoder())


@pytest.mark.parametrize("kind", ENCODERS)
def test_padding_that_batch_norm_counts_is_noticed(kind, monkeypatch):
    forward = BatchNorm.forward
    monkeypatch.setattr(BatchNorm, "forward", lambda norm, x, real=None: forward(norm, x, None))
    with pytest.raises(AssertionError, match="what is real"):
        the_content_of_padding_does_not_matter(encoder(kind, norm="batch"))


def test_a_causal_mask_off_by_one_is_noticed(monkeypatch):
    monkeypatch.setattr(Mask, "causal", staticmethod(lambda: Mask(after=1)))
    with pytest.raises(AssertionError, match="before the change"):
        nobody_looks_ahead(decoder())


def test_a_causal_mask_that_is_dropped_is_noticed(monkeypatch):
    monkeypatch.setattr(Mask, "causal", staticmethod(lambda: Mask()))
    with pytest.raises(AssertionError, match="before the change"):
        nobody_looks_ahead(decoder())


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary"])
def test_cached_positions_that_start_anew_are_noticed(position, monkeypatch):
    monkeypatch.setattr(Cache, "length", property(lambda cache: 0, lambda cache, length: None), raising=False)
    with pytest.raises(AssertionError, match="in chunks"):
        one_step_at_a_time_equals_all_at_once(decoder(position=position), (4, 2))


def test_a_cached_mask_lined_up_at_the_top_left_is_noticed(monkeypatch):
    """Queries and keys are both counted from 0, whatever was cached before (B05)."""
    extend = AttentionCache.extend

    def from_zero(cache, keys, values, positions):
        keys, values, positions = extend(cache, keys, values, positions)
        return keys, values, positions - positions[:, :1] + positions[:, -1:]

    monkeypatch.setattr(AttentionCache, "extend", from_zero)
    with pytest.raises(AssertionError, match="in chunks"):
        one_step_at_a_time_equals_all_at_once(decoder(), (4, 2))


def test_a_cache_that_forgets_its_first_key_is_noticed(monkeypatch):
    extend = AttentionCache.extend

    def forgetful(cache, keys, values, positions):
        keys, values, positions = extend(cache, keys, values, positions)
        return keys.roll(1, 2), values, positions

    monkeypatch.setattr(AttentionCache, "extend", forgetful)
    with pytest.raises(AssertionError, match="in chunks"):
        one_step_at_a_time_equals_all_at_once(decoder(), (4, 2))


def test_sinusoids_off_by_one_are_noticed(monkeypatch):
    sinusoids = position_module.sinusoids
    monkeypatch.setattr(position_module, "sinusoids", lambda positions, width: sinusoids(positions + 1, width))
    with pytest.raises(AssertionError, match="sinusoidal: differs"):
        the_encoder_equals_the_reference("sinusoidal")


def test_rotary_that_turns_the_other_way_is_noticed(monkeypatch):
    """It would give the same weights, which depend on distances alone, if queries and keys were turned alike; one that
    turns queries only does not."""
    rotate = Rotary.rotate
    turns = iter(range(1000))
    monkeypatch.setattr(
        Rotary, "rotate", lambda kind, heads, where: heads if next(turns) % 2 else rotate(kind, heads, where)
    )
    with pytest.raises(AssertionError, match="rotary: differs"):
        the_encoder_equals_the_reference("rotary")
    with pytest.raises(AssertionError, match="moved by"):
        moving_everything_changes_no_weight("rotary")


def test_softmax_that_ignores_the_mask_is_noticed(monkeypatch):
    forward = Softmax.forward
    monkeypatch.setattr(Softmax, "forward", lambda softmax, scores, allowed=None: forward(softmax, scores))
    with pytest.raises(AssertionError, match="a hidden key has a weight"):
        what_is_masked_weighs_nothing("softmax")


def test_softmax_that_masks_after_the_sum_is_noticed(monkeypatch):
    monkeypatch.setattr(
        Softmax,
        "forward",
        lambda softmax, scores, allowed=None: scores.softmax(-1) * (1 if allowed is None else allowed),
    )
    with pytest.raises(AssertionError, match="the keys that are seen"):
        what_is_masked_weighs_nothing("softmax")


def test_weights_that_are_watched_after_dropout_are_noticed(monkeypatch):
    plain = plain_module.plain

    def dropped_first(question):
        watch, dropout = question.watch, question.dropout
        return plain(replace(question, dropout=0.0, watch=lambda w, rows: watch(F.dropout(w, dropout), rows)))

    monkeypatch.setattr(plain_module, "plain", dropped_first)
    with pytest.raises(AssertionError, match=r"outside of \[0, 1\]"):
        watched_weights_are_shares(attention_encoder(attention_dropout=0.5))


@pytest.mark.parametrize("normalizer", ["relu", "sigmoid"])
def test_a_length_that_counts_padding_is_noticed(normalizer, monkeypatch):
    monkeypatch.setattr(normalizer_module, "_seen", lambda scores, allowed: scores.new_full((1,), scores.shape[-1]))
    with pytest.raises(AssertionError, match="item 1 alone"):
        padding_does_not_change_the_answer(attention_encoder(normalizer=normalizer))
    with pytest.raises(AssertionError, match="the keys that are seen"):
        what_is_masked_weighs_nothing(normalizer)


@pytest.mark.parametrize("normalizer", ["sparsemax", "entmax15"])
def test_a_threshold_that_hears_hidden_keys_is_noticed(normalizer, monkeypatch):
    lowered = normalizer_module._lowered
    monkeypatch.setattr(normalizer_module, "_lowered", lambda scores, allowed: lowered(scores, None))
    with pytest.raises(AssertionError, match="the keys that are seen"):
        what_is_masked_weighs_nothing(normalizer)


@pytest.mark.parametrize("position", ["shaw", "t5", "alibi", "quadratic"])
def test_distances_counted_the_other_way_or_from_the_start_are_noticed(position, monkeypatch):
    ahead = relative_module.ahead
    if position != "alibi":  # which is the same to both sides
        with monkeypatch.context() as patched:
            patched.setattr(relative_module, "ahead", lambda queries, keys: -ahead(queries, keys))
            with pytest.raises(AssertionError, match="differs"):
                the_encoder_equals_the_reference(position)
    monkeypatch.setattr(relative_module, "ahead", lambda queries, keys: ahead(0 * queries, keys))
    with pytest.raises(AssertionError, match=r"moved by|nothing changed"):
        moving_everything_changes_no_weight(position)


@pytest.mark.parametrize("position", ["shaw", "t5", "alibi", "quadratic", "floater"])
def test_relative_positions_that_start_anew_after_cached_keys_are_noticed(position, monkeypatch):
    monkeypatch.setattr(Cache, "length", property(lambda cache: 0, lambda cache, length: None), raising=False)
    with pytest.raises(AssertionError, match="in chunks"):
        one_step_at_a_time_equals_all_at_once(decoder(position=position), (4, 2))


def test_a_flow_that_all_blocks_start_at_one_point_is_noticed(monkeypatch):
    table = Floater.table
    monkeypatch.setattr(Floater, "table", lambda floater, block, length: table(floater, 0, length))
    with pytest.raises(AssertionError, match="floater: differs"):
        the_encoder_equals_the_reference("floater")


def test_shaws_addition_to_the_values_left_out_is_noticed(monkeypatch):
    monkeypatch.setattr(ShawBlock, "values", lambda *asked: None)
    with pytest.raises(AssertionError, match="shaw: differs"):
        the_encoder_equals_the_reference("shaw")


@pytest.mark.parametrize("settings", [{"kernel": 3}, {"kernel": 3, "dilations": "doubling"}], ids=str)
def test_padding_that_a_convolution_does_not_hold_to_be_0_is_noticed(settings, monkeypatch):
    monkeypatch.setattr(convolution_module, "_zeroed", lambda x, real: x)
    with pytest.raises(AssertionError, match="item 1 alone"):
        padding_does_not_change_the_answer(encoder("convolution", **settings))
    with pytest.raises(AssertionError, match="what is real"):
        the_content_of_padding_does_not_matter(encoder("convolution", **settings))


@pytest.mark.parametrize("cell", CELLS)
def test_a_recurrence_that_comes_from_the_end_of_the_padding_is_noticed(cell, monkeypatch):
    monkeypatch.setattr(recurrent_module, "turned_round", lambda x, real: x.flip(1))
    with pytest.raises(AssertionError, match="item 1 alone"):
        padding_does_not_change_the_answer(encoder("recurrent", cell=cell))
    with pytest.raises(AssertionError, match="what is real"):
        the_content_of_padding_does_not_matter(encoder("recurrent", cell=cell))


@pytest.mark.parametrize("cell", CELLS)
def test_directions_that_are_swapped_are_noticed(cell, monkeypatch):
    forward, turned_round = Recurrence.forward, recurrent_module.turned_round

    def from_the_end(part, x, real=None):
        return turned_round(forward(part, turned_round(x, real), real), real)

    monkeypatch.setattr(Recurrence, "forward", from_the_end)
    with pytest.raises(AssertionError, match="differs"):
        the_mixing_encoder_equals_the_reference("recurrent", {"cell": cell, "directions": "both"})
    with pytest.raises(AssertionError, match="before the change"):
        nobody_looks_ahead(decoder("recurrent", cell=cell))


def test_a_window_that_reaches_ahead_is_noticed(monkeypatch):
    slide = Convolution._slide
    monkeypatch.setattr(Convolution, "_slide", lambda part, x: slide(part, x.roll(-1, 1)))
    with pytest.raises(AssertionError, match="differs"):
        the_mixing_encoder_equals_the_reference("convolution", {"kernel": 3})
    with pytest.raises(AssertionError, match="before the change"):
        nobody_looks_ahead(decoder("convolution", kernel=3))


@pytest.mark.parametrize(("kind", "settings"), [case for case in LOOK_BACKS if case[1].get("kernel") != 1], ids=str)
def test_a_step_that_remembers_nothing_is_noticed(kind, settings, monkeypatch):
    monkeypatch.setattr(StateCache, "state", property(lambda cache: None, lambda cache, state: None), raising=False)
    with pytest.raises(AssertionError, match="in chunks"):
        one_step_at_a_time_equals_all_at_once(decoder(kind, **settings), (4, 2))


@pytest.mark.parametrize(("kind", "settings"), MIXED, ids=str)
def test_texts_of_a_row_that_are_read_as_one_are_noticed(kind, settings, monkeypatch):
    made = encoder(kind, **settings)
    texts_of_a_row_see_nothing_of_each_other(made)
    blocks = Mask.blocks
    monkeypatch.setattr(Mask, "blocks", staticmethod(lambda ids: blocks(0 * ids)))
    if settings.get("kernel") != 1:
        with pytest.raises(AssertionError, match="item 0, text"):
            texts_of_a_row_see_nothing_of_each_other(made)
