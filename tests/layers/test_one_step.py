"""One step written out equals the decoder's step."""

import pytest
import torch
from pairs import every_pair
from sharp import BATCH, HEADS, MEMORY_WIDTH, WIDTH, assert_close, decoder, draw, score_of

from regard.attention import NORMALIZERS, POSITIONS, SCORES, Mask
from regard.attention.normalizer import Softmax
from regard.layers import NORMS
from regard.layers.one_step import OneStep

MEMORY = draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=torch.float64)
SOME_ARE_PADDING = Mask.lengths(torch.tensor([5, 2, 3]))

CASES = every_pair(
    position=POSITIONS,
    score=SCORES,
    norm=NORMS,
    norm_place=["before", "after"],
    key_heads=[1, HEADS],
    beam=[1, 2],
    mask=["padding", "none"],
)


def made(position="sinusoidal", score="scaled_dot", norm="layer", norm_place="before", key_heads=HEADS):
    model = decoder(position=position, norm=norm, norm_place=norm_place, key_heads=key_heads)
    for block in model.blocks:
        for attention in (block.attention, block.cross_attention):
            attention.score = score_of(score, HEADS, attention.head_width)
            attention.normalizer = Softmax(1.3)
    return model.double().eval()


def cache_of(model, beam):
    cache = model.cache(beam)
    cache.enter(torch.arange(BATCH), BATCH, model.remember(MEMORY), 5)
    return cache


def steps(model, beam, mask, written_out):
    """Four steps; before the third, beams change places and an item begins anew."""
    cache = cache_of(model, beam)
    one_step = OneStep(model, cache) if written_out else None
    assert one_step is None or one_step.may_see(mask)
    found = []
    for number in range(4):
        x = draw(BATCH * beam, 1, WIDTH, seed=number, dtype=torch.float64)
        if number == 2:
            cache.select(torch.arange(BATCH * beam).view(BATCH, beam).flip(1).flatten())
            cache.enter(
                torch.tensor([1]), BATCH, [(keys[1:2], values[1:2]) for keys, values in model.remember(MEMORY)], 5
            )
        found.append(one_step(x) if one_step else model(x, MEMORY, memory_mask=mask, cache=cache))
    return torch.cat(found, 1)


def equal(case):
    mask = SOME_ARE_PADDING if case["mask"] == "padding" else Mask()
    model = made(*(case[name] for name in ("position", "score", "norm", "norm_place", "key_heads")))
    if not OneStep.applies(model):
        return False
    with torch.inference_mode():
        wanted = steps(model, case["beam"], mask, False)
        assert_close(steps(model, case["beam"], mask, True), wanted, 1e-9, str(case))
    return True


def test_one_step_written_out_equals_the_decoder_s():
    applied = [case for case in CASES if equal(case)]
    assert {"none", "sinusoidal", "learned", "rotary"} <= {case["position"] for case in applied}
    assert {"scaled_dot", "dot", "cosine", "bilinear"} <= {case["score"] for case in applied}
    assert {case[name] for case in applied for name in ("norm", "norm_place")} == {*NORMS, "before", "after"}


@pytest.mark.parametrize("fault", ["_hidden", "softmax_factor"])
def test_the_law_finds_a_planted_fault(fault, monkeypatch):
    if fault == "_hidden":
        hidden = OneStep._hidden
        monkeypatch.setattr(OneStep, "_hidden", lambda self, seen, like: hidden(self, torch.ones_like(seen), like))
    else:
        monkeypatch.setattr(torch, "baddbmm", lambda *given, alpha: torch.ops.aten.baddbmm(*given))
    plain = {"position": "none", "score": "scaled_dot", "norm": "layer", "norm_place": "before", "key_heads": HEADS}
    with pytest.raises(AssertionError):
        equal({**plain, "beam": 2, "mask": "padding"})


@pytest.mark.parametrize("position", POSITIONS)
def test_it_does_not_apply_where_a_position_adds_to_attention(position):
    model = made(position)
    assert OneStep.applies(model) == (not any(model.position.at(index).speaks for index in range(2)))


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_it_does_not_apply_where_attention_is_no_softmax(normalizer):
    model = made()
    model.blocks[1].attention.normalizer = NORMALIZERS[normalizer]()
    assert OneStep.applies(model) == (normalizer == "softmax")


def test_it_does_not_apply_where_somebody_watches_or_trains():
    model = made()
    assert OneStep.applies(model) and not OneStep.applies(made().train())
    handle = model.blocks[1].cross_attention.weights.register_forward_hook(lambda *given: None)
    assert not OneStep.applies(model)
    handle.remove()
    assert OneStep.applies(model)


def test_what_may_see_nothing_is_left_to_the_decoder():
    model = made()
    one_step = OneStep(model, cache_of(model, 1))
    assert not one_step.may_see(Mask.lengths(torch.tensor([5, 0, 3])))
    assert not one_step.may_see(Mask.causal())
    assert one_step.may_see(SOME_ARE_PADDING)
