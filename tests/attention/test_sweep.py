"""The law of all choices together: every pair of them occurs, and whatever is chosen, attention is the reference's.

Score × normaliser × mask × position × bias × mode × precision, on every path that accepts the question, watched or not:
outputs, and in double precision gradients. Beyond the pairs some cases are drawn at random, with a seed that is
printed; REGARD_SEED repeats them.
"""

import os
import random

import numpy as np
import pytest
import reference
import torch
from pairs import every_pair, pairs_of
from sharp import (
    BATCH,
    HEAD_WIDTH,
    HEADS,
    KEYS,
    QUERIES,
    VALUE_WIDTH,
    assert_close,
    draw,
    masks,
    numpy,
    position_of,
    score_of,
    weights_of,
)
from torch import Tensor

from regard.attention import NORMALIZERS, PATHS, POSITIONS, SCORES, attend
from regard.errors import ShapeError

# The queries stand at 2 … 6 of 7 keys, as in a later chunk of decoding.
OF_QUERIES, OF_KEYS = list(range(KEYS - QUERIES, KEYS)), list(range(KEYS))
MASKS = masks(QUERIES, KEYS)
BIASES: dict[str, tuple[int, ...] | None] = {
    "no bias": None,
    "bias of keys": (KEYS,),
    "bias of heads": (HEADS, QUERIES, KEYS),
    "bias of items": (BATCH, 1, QUERIES, KEYS),
}
MODES = ("training", "evaluation", "no_grad")
# Half precision has 8 binary digits: of a score of 20 that is a tenth, and so much is a weight off.
DTYPES = {"bfloat16": (torch.bfloat16, 0.3), "float32": (torch.float32, 2e-4), "float64": (torch.float64, 1e-9)}

CHOICES = {
    "score": SCORES,
    "normalizer": NORMALIZERS,
    "mask": MASKS,
    "position": POSITIONS,
    "bias": BIASES,
    "mode": MODES,
    "dtype": DTYPES,
}
PAIRS = every_pair(**CHOICES)
SEED = int(os.environ.get("REGARD_SEED", random.SystemRandom().randrange(10**6)))


def sampled(count: int) -> list[dict[str, str]]:
    drawn = random.Random(SEED)
    return [{name: drawn.choice(list(options)) for name, options in CHOICES.items()} for _ in range(count)]


def name_of(case: dict[str, str]) -> str:
    return ", ".join(case.values())


class Asked:
    """One case: its tensors and parts, what the reference says of them, and what a path gives."""

    def __init__(self, case: dict[str, str]) -> None:
        self.case = case
        self.dtype, self.tolerance = DTYPES[case["dtype"]]
        self.part = score_of(case["score"]).to(self.dtype)
        self.normalizer = NORMALIZERS[case["normalizer"]]()
        self.kind = position_of(case["position"], width=HEAD_WIDTH, value_width=VALUE_WIDTH).to(self.dtype).at(0)
        self.mask, self.said = MASKS[case["mask"]]
        shape = BIASES[case["bias"]]
        shapes = {
            "queries": (BATCH, HEADS, QUERIES, HEAD_WIDTH),
            "keys": (BATCH, HEADS, KEYS, HEAD_WIDTH),
            "values": (BATCH, HEADS, KEYS, VALUE_WIDTH),
            **({} if shape is None else {"bias": shape}),
        }
        self.tensors = {
            name: (2 if name == "queries" else 1) * draw(*axes, seed=seed, dtype=self.dtype)
            for seed, (name, axes) in enumerate(shapes.items())
        }
        for module in (self.part, self.normalizer, self.kind):
            module.train(case["mode"] == "training")
        self.learned = {
            **{f"score {name}": p for name, p in self.part.named_parameters()},
            **{f"position {name}": p for name, p in self.kind.named_parameters()},
        }
        self.allowed = reference.may_look(OF_QUERIES, OF_KEYS, batch=BATCH, **self.said)

    def reference(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """What the papers' formulas give; inputs may be tensors and learned numbers moved a little."""
        known = reference.POSITIONS[self.case["position"]]
        own = {
            part: {name.removeprefix(f"{part} "): value for name, value in inputs.items() if name.startswith(part)}
            for part in ("score", "position")
        }
        placed = {**weights_of(self.kind), **own["position"]}
        queries, keys = known.rotate(inputs["queries"], OF_QUERIES), known.rotate(inputs["keys"], OF_KEYS)
        return reference.attention(
            queries,
            keys,
            inputs["values"],
            score=self.case["score"],
            normalizer=self.case["normalizer"],
            allowed=self.allowed,
            bias=inputs.get("bias", 0.0) + known.bias(queries, OF_QUERIES, OF_KEYS, placed),
            learned=own["score"],
            added_values=lambda weights: known.values(weights, OF_QUERIES, OF_KEYS, placed),
        )

    def numbers(self) -> dict[str, np.ndarray]:
        return {name: numpy(tensor) for name, tensor in {**self.tensors, **self.learned}.items()}

    def ask(self, tensors: dict[str, Tensor], path: str, watched: bool) -> Tensor | None:
        """What a path gives; None where it does not accept the question."""
        places = torch.tensor([OF_QUERIES]), torch.tensor([OF_KEYS])
        try:
            return attend(
                self.kind.rotate(tensors["queries"], places[0]),
                self.kind.rotate(tensors["keys"], places[1]),
                tensors["values"],
                score=self.part,
                normalizer=self.normalizer,
                mask=self.mask,
                bias=tensors.get("bias"),
                position=self.kind,
                query_positions=places[0],
                key_positions=places[1],
                watch=(lambda weights, rows: weights) if watched else None,
                path=path,
            )
        except ShapeError as error:
            assert str(error).startswith(f"the {path} path cannot be taken")
            return None


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that a few queries are several blocks and pieces."""
    monkeypatch.setattr("regard.attention.window.BLOCK", 2)
    monkeypatch.setattr("regard.attention.chunked.CHUNK", 2 * BATCH * HEADS * KEYS)


WAYS = [(path, watched) for path in PATHS for watched in (False, True)]


def attention_equals_the_reference(case: dict[str, str]) -> set[tuple[str, bool]]:
    """On every path that accepts the question; gives the ways that did."""
    asked, taken = Asked(case), set()
    wanted = asked.reference(asked.numbers())
    nothing = ~np.broadcast_to(asked.allowed, (BATCH, HEADS, QUERIES, KEYS)).any(-1)
    for path, watched in WAYS:
        gradients = case["mode"] != "no_grad"
        tensors = {name: tensor.clone().requires_grad_(gradients) for name, tensor in asked.tensors.items()}
        with torch.set_grad_enabled(gradients):
            found = asked.ask(tensors, path, watched)
        if found is None:
            continue
        taken.add((path, watched))
        what = f"{path}{' watched' if watched else ''}"
        assert found.dtype == asked.dtype
        assert_close(found, wanted, asked.tolerance * max(1.0, float(np.abs(wanted).max())), what)
        assert (numpy(found)[nothing] == 0).all(), f"{what}: a query that may see nothing got something"
        if gradients:
            the_gradients_are_the_references(asked, tensors, found, nothing, what)
    return taken


def the_gradients_are_the_references(
    asked: Asked, tensors: dict[str, Tensor], found: Tensor, nothing: np.ndarray, what: str
) -> None:
    """Finite; zero for a query that may see nothing; and in double precision the slope of the reference."""
    inputs = {**tensors, **asked.learned}
    pull = draw(*found.shape, seed=7, dtype=asked.dtype)
    slopes = torch.autograd.grad((found * pull).sum(), list(inputs.values()), allow_unused=True)
    gradients = {
        name: torch.zeros_like(tensor) if slope is None else slope
        for (name, tensor), slope in zip(inputs.items(), slopes, strict=True)
    }
    for name, gradient in gradients.items():
        assert gradient.isfinite().all(), f"{what}: the gradient of {name} is not finite"
    assert (numpy(gradients["queries"])[nothing] == 0).all(), f"{what}: a query that may see nothing has a gradient"
    if asked.dtype != torch.float64:
        return
    steps = {name: numpy(draw(*tensor.shape, seed=11, dtype=torch.float64)) for name, tensor in inputs.items()}
    ahead, back = (
        asked.reference({name: value + size * steps[name] for name, value in asked.numbers().items()})
        for size in (1e-6, -1e-6)
    )
    wanted = float(((ahead - back) * numpy(pull)).sum() / 2e-6)
    slope = sum(float((numpy(gradients[name]) * steps[name]).sum()) for name in inputs)
    assert abs(slope - wanted) <= 1e-4 * max(1.0, abs(wanted)), f"{what}: a slope of {slope}, not {wanted}"


@pytest.mark.parametrize("case", PAIRS, ids=name_of)
def test_whatever_two_choices_meet_attention_equals_the_reference(case):
    taken = attention_equals_the_reference(case)
    assert {("plain", False), ("plain", True), ("tiled", True), ("chunked", False)} <= taken
    assert (("windowed", False) in taken) == ({"before", "after"} <= MASKS[case["mask"]][1].keys())
    softmax_of_a_product = case["normalizer"] == "softmax" and case["score"] != "additive"
    assert (("fused", False) in taken) == (softmax_of_a_product and case["position"] != "shaw")


def test_choices_drawn_at_random_equal_the_reference_too():
    print(f"REGARD_SEED={SEED} repeats these cases")
    for case in sampled(60):
        print(name_of(case))
        attention_equals_the_reference(case)


def test_every_pair_of_choices_is_there():
    wanted = len({pair for case in PAIRS for pair in pairs_of(case)})
    sizes = [len(options) for options in CHOICES.values()]
    assert wanted == sum(a * b for i, a in enumerate(sizes) for b in sizes[i + 1 :])
    assert len(PAIRS) < 2 * len(MASKS) * len(POSITIONS)


FAULTS = {
    "a mask that is not told": lambda patch: patch.setattr("regard.attention.mask.Mask.dense", lambda *asked: None),
    "a scale that is left out": lambda patch: patch.setattr(
        "regard.attention.score.ScaledDot.as_dot_product", lambda score, queries, keys, scale: (queries, keys, 1.0)
    ),
    "a gradient that is cut": lambda patch: patch.setattr(
        "regard.attention.normalizer.Softmax.forward", _without_gradient
    ),
}


def _without_gradient(softmax, scores, allowed=None):
    weights = scores if allowed is None else scores.masked_fill(~allowed, -1e30)
    return weights.detach().softmax(-1) if allowed is None else weights.detach().softmax(-1).masked_fill(~allowed, 0.0)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_notices_a_planted_fault(fault, monkeypatch):
    FAULTS[fault](monkeypatch)
    case = {
        "score": "scaled_dot",
        "normalizer": "softmax",
        "mask": "lengths",
        "position": "rotary",
        "bias": "no bias",
        "mode": "training",
        "dtype": "float64",
    }
    with pytest.raises(AssertionError, match=r"differs by|a slope of"):
        attention_equals_the_reference(case)
