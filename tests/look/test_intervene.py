"""Interventions do what they say, and leave nothing behind."""

import pytest
import torch
from sharp import BATCH, KEYS, WIDTH, assert_close, assert_moved, attention_encoder, draw

from regard.attention import NORMALIZERS, Mask
from regard.errors import RegardError
from regard.look.intervene import cutting, patching, replacing, without_heads
from regard.look.record import record

X = draw(BATCH, KEYS, WIDTH)
PATH = "blocks.0.attention"


def answer(model, x=X, mask=None):
    with torch.inference_mode():
        return model(x, mask)


def every(model):
    """Each kind of intervention, opened on the first layer."""
    state = draw(BATCH, KEYS, WIDTH, seed=3)
    return {
        "heads off": without_heads(model, {PATH: [1]}),
        "head replaced": replacing(model, PATH, 0, torch.eye(KEYS)),
        "edges cut": cutting(model, PATH, 0, [(0, 1), (3, 2)]),
        "state patched": patching(model, {"blocks.0": state}, [2]),
    }


@pytest.mark.parametrize("kind", every(attention_encoder()))
def test_an_intervention_changes_the_output_and_undone_restores_it_bit_for_bit(kind):
    model = attention_encoder()
    before = answer(model)
    with every(model)[kind]:
        assert_moved(answer(model), before)
    assert torch.equal(answer(model), before)
    assert not any(module._forward_hooks for module in model.modules())


def test_without_a_head_its_part_of_the_projection_is_as_if_zero():
    model = attention_encoder()
    layer = model.blocks[0].attention
    with without_heads(model, {PATH: [1]}):
        found = answer(model)
    with torch.no_grad():
        layer.output.weight[:, layer.head_width :] = 0  # the second head's columns
    assert_close(found, answer(model), 1e-5)


@pytest.mark.parametrize("normalizer", ["softmax"])
def test_a_cut_edge_is_as_if_it_had_been_masked(normalizer):
    """Of softmax to rounding: what is left of the row shares what the edge had."""
    model = attention_encoder(depth=1, normalizer=normalizer)
    allowed = torch.ones(1, 2, KEYS, KEYS, dtype=torch.bool)
    allowed[:, 0, 3, 2] = False
    with cutting(model, PATH, 0, [(3, 2)]):
        found = answer(model)
    assert_close(found, answer(model, mask=Mask.allowed(allowed)), 1e-5)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_rows_without_a_cut_edge_stay_as_they_are(normalizer):
    model = attention_encoder(normalizer=normalizer)
    with record(model) as before:
        answer(model)
    with cutting(model, PATH, 0, [(3, 2)]), record(model) as after:
        answer(model)
    one, other = before.weights[PATH], after.weights[PATH]
    rest = [row for row in range(KEYS) if row != 3]
    assert torch.equal(one[:, 0, rest], other[:, 0, rest]) and torch.equal(one[:, 1], other[:, 1])
    assert (other[:, 0, 3, 2] == 0).all()


def test_a_replaced_head_looks_as_it_was_told():
    model = attention_encoder()
    told = torch.eye(KEYS).roll(1, 0)
    with replacing(model, PATH, 1, told), record(model) as found:
        answer(model)
    assert torch.equal(found.weights[PATH][:, 1], told.expand(BATCH, KEYS, KEYS))


def test_all_states_of_another_input_give_its_answer():
    model, other = attention_encoder(), draw(BATCH, KEYS, WIDTH, seed=5)
    with record(model, states=True) as recording:
        wanted = answer(model, other)
    with patching(model, {"blocks.0": recording.hidden["blocks.0"]}):
        assert_close(answer(model), wanted, 1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: without_heads(m, {PATH: [2]}), "no head 2 in blocks.0.attention; the heads are 0 to 1"),
        (lambda m: without_heads(m, {"block.0.attention": [0]}), "did you mean blocks.0.attention"),
        (lambda m: cutting(m, PATH, 0, [(7, 0)]), "no edge from 7 to 0 in blocks.0.attention; there are 7 queries"),
        (lambda m: replacing(m, PATH, 0, torch.eye(5)), r"from at least 7 elements at 7, but .* are \(5, 5\)"),
        (lambda m: patching(m, {"blocks.9": X}), "no part blocks.9 to patch"),
        (lambda m: patching(m, {"blocks.0": X[:, :5]}), "name the elements that both have"),
        (lambda m: patching(m, {"blocks.0": X[:, :5]}, [5]), "both inputs have only 0 to 4"),
    ],
)
def test_what_cannot_be_changed_is_refused_by_name(make, words):
    model = attention_encoder()
    with pytest.raises(RegardError, match=words), make(model):
        answer(model)
    assert not any(module._forward_hooks for module in model.modules())


def test_interventions_are_the_same_where_weights_pass_in_tiles(monkeypatch):
    model = attention_encoder()
    wanted = {}
    for kind, opened in every(model).items():
        with opened:
            wanted[kind] = answer(model)
    monkeypatch.setattr("regard.attention.question.TILE_WEIGHTS", BATCH * 2 * KEYS * 2)
    for kind, opened in every(model).items():
        with opened:
            assert_close(answer(model), wanted[kind], 1e-4)


def test_a_model_without_attention_says_so():
    with pytest.raises(RegardError, match=r"no attention blocks.0.attention; this model has none"):
        without_heads(torch.nn.Linear(2, 2), {PATH: [0]})
