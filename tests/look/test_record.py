"""Watching changes nothing, and what is recorded is what was done."""

import pytest
import torch
from sharp import BATCH, KEYS, MEMORY_WIDTH, WIDTH, assert_close, attention_encoder, decoder, draw

from regard.attention import NORMALIZERS, POSITIONS, Mask, attend
from regard.errors import RegardError
from regard.layers.multihead import MultiHeadAttention
from regard.look.record import attention_layers, record, record_steps

X = draw(BATCH, KEYS, WIDTH)
LENGTHS = torch.tensor([KEYS, 2, KEYS - 1])
MASK = Mask.lengths(LENGTHS)
SETTINGS = [
    *({"position": position} for position in POSITIONS),
    *({"normalizer": name} for name in NORMALIZERS),
    {"key_heads": 1},
    {"window": (2, 1)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_watching_changes_no_answer(settings):
    model = attention_encoder(**settings)
    with torch.inference_mode():
        alone = model(X, MASK)
        with record(model, states=True):
            watched = model(X, MASK)
        assert_close(watched, alone, 1e-5)
        assert torch.equal(model(X, MASK), alone)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_recorded_weights_times_values_rebuild_the_layer_s_output(settings):
    model = attention_encoder(**settings)
    outputs = {}
    for path, layer in attention_layers(model).items():
        layer.register_forward_hook(lambda layer, given, output, path=path: outputs.__setitem__(path, output))
    with torch.inference_mode(), record(model, states=True) as recording:
        model(X, MASK)
    for path, layer in attention_layers(model).items():
        assert_close(rebuilt(layer, recording, path), outputs[path], 1e-5)


def rebuilt(layer, recording, path):
    question, weights = recording.questions[path], recording.weights[path]
    gathered = weights @ question.values
    added = question.position.values(weights, question.where_queries, question.where_keys)
    gathered = gathered if added is None else gathered + added
    return layer.output(gathered.transpose(1, 2).flatten(2))


def test_a_fault_in_the_recorded_weights_would_be_seen():
    model = attention_encoder()
    (path, layer), *_ = attention_layers(model).items()
    found = []
    layer.register_forward_hook(lambda layer, given, output: found.append(output))
    with torch.no_grad(), record(model, states=True) as recording:
        model(X, MASK)
    recording.watches[path]._tiles[0][:, 0, 0] = recording.watches[path]._tiles[0][:, 0, 1].clone()
    assert (rebuilt(layer, recording, path) - found[0]).abs().max() > 1e-3


def test_recorded_weights_are_those_that_the_fast_path_used():
    model = attention_encoder()
    with torch.inference_mode(), record(model, states=True) as recording:
        model(X)
    for path, question in recording.questions.items():
        fast = attend(question.queries, question.keys, question.values, path="fused")
        assert_close(recording.weights[path] @ question.values, fast, 1e-5)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_what_may_not_be_seen_is_exactly_zero(normalizer):
    model = attention_encoder(normalizer=normalizer, window=(3, 1))
    with torch.inference_mode(), record(model) as recording:
        model(X, MASK)
    allowed = (Mask.window(3, 1) & MASK).dense(torch.arange(KEYS)[None], torch.arange(KEYS)[None])
    for weights in recording.weights.values():
        assert (weights.masked_select(~allowed) == 0).all() and (weights.masked_select(allowed) != 0).any()


def test_weights_never_pass_through_dropout():
    """B08: asked of a model in training, rows sum to 1 and no weight is above it."""
    model = attention_encoder()
    for layer in attention_layers(model).values():
        layer.dropout = 0.5
    model.train()
    with record(model) as recording:
        model(X)
    for weights in recording.weights.values():
        assert weights.max() <= 1 + 1e-6
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), 1e-5)


def test_some_heads_and_rows_are_those_of_all():
    model = attention_encoder()
    path = list(attention_layers(model))[1]
    with torch.inference_mode():
        with record(model) as all_of_it:
            model(X)
        with record(model, layers=[path], heads=[1], rows=slice(2, 5)) as part:
            model(X)
    assert list(part.weights) == [path]
    assert_close(part.weights[path], all_of_it.weights[path][:, [1], 2:5], 1e-5)


def test_a_layer_or_head_that_is_not_there_is_named_with_those_that_are():
    model = attention_encoder()
    with pytest.raises(RegardError, match=r"no attention blocks.0.atention; there are blocks.0.attention, .*mean"):
        record(model, layers=["blocks.0.atention"]).__enter__()
    with pytest.raises(RegardError, match=r"no head 2 in blocks.0.attention; the heads are 0 to 1"):
        record(model, heads=[2]).__enter__()


def test_rows_of_a_long_input_are_recorded_in_tiles():
    """8,000 elements: of all weights (64 million) only those asked for are ever kept."""
    layer = MultiHeadAttention(2, 1).eval()
    x = draw(1, 8_009, 2)
    seen = []
    with torch.inference_mode(), record(layer, rows=slice(4_001, 4_018)) as part:
        layer.weights.register_forward_hook(lambda point, given, weights: seen.append(weights.shape[2]))
        layer(x)
    (kept,) = part.weights.values()
    assert kept.shape == (1, 1, 17, 8_009) and sum(seen) == 8_009 and max(seen) < 300
    assert_close(kept.sum(-1), torch.ones(1, 1, 17), 1e-5)


def test_writing_step_by_step_looks_as_all_at_once():
    model = decoder()
    x, memory = draw(1, KEYS, WIDTH), draw(1, 5, MEMORY_WIDTH)
    with torch.inference_mode():
        with record(model) as at_once:
            model(x, memory)
        cache = model.cache()
        with record_steps(model) as steps:
            for place in range(KEYS):
                model(x[:, place : place + 1], memory, cache=cache)
    for path, weights in at_once.weights.items():
        assert len(steps[path]) == KEYS
        for place, step in enumerate(steps[path]):
            assert_close(step[:, :, 0], weights[:, :, place, : step.shape[-1]], 1e-5)
