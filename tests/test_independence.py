"""The answer for one item depends on nothing but the item."""

import json
import os
import random
import subprocess
import sys

import pytest
import small
from mixes import MIXED
from sharp import sharpen

import regard
from regard.attention.position import sinusoids
from regard.build import build, learn_targets
from regard.data.example import Example
from regard.inputs import learn_tokenizer
from regard.layers import Encoder
from regard.layers.multihead import MultiHeadAttention
from regard.look.record import record
from regard.models.inputs import InputPart
from regard.recipe import recipe_from

EXAMPLES = small.examples(37)

INPUTS = {
    "words": {"tokens": "words"},
    "words+characters": {"tokens": "words+characters", "filters": 7},
    "characters": {"tokens": "characters"},
    "subwords": {"tokens": "subwords", "size": 300},
}

CASES = [
    *((input, {"position": position}, {}) for input in INPUTS for position in ("rotary", "sinusoidal")),
    ("words", {"position": "learned", "norm": "rms", "norm_place": "after", "activation": "swiglu"}, {}),
    ("words", {"position": "none", "norm": "batch", "key_heads": 1}, {}),
    ("words+characters", {"norm": "none", "score": "dot", "head_width": 5}, {}),
    ("words", {"residual": False, "depth": 1}, {}),
    ("words", {"position": "shaw", "normalizer": "entmax15", "window": 3}, {}),
    ("words", {"position": "floater", "score": "cosine", "normalizer": "sigmoid"}, {}),
    ("subwords", {"position": "t5", "score": "bilinear", "normalizer": "relu", "window": [5, 0]}, {}),
    ("words", {"position": "quadratic", "score": "additive", "normalizer": "sparsemax"}, {}),
    ("words", {"position": "alibi", "projections": False}, {}),
    *(("words", {"encoder": kind, "depth": 2, **settings}, {}) for kind, settings in MIXED),
    ("words+characters", {"encoder": "recurrent", "norm": "none"}, {}),
    ("words+characters", {"encoder": "convolution", "norm": "batch"}, {}),
    ("subwords", {"encoder": "pointwise"}, {}),
    ("words", {}, {"crf": True}),
    ("subwords", {}, {"crf": True}),
]


def predictor_for(input, model=None, output=None):
    """A model with random weights that attends sharply."""
    # A seed with which no case's answers are all alike.
    make = small.recipe if (model or {}).get("encoder", "attention") == "attention" else small.without_heads
    given = make(model=model or {}, output=output or {}, train={"seed": 4})
    given["input"] = {**INPUTS[input]}
    recipe = recipe_from({**given, "data": {"train": "x"}})
    targets = learn_targets(recipe, EXAMPLES, (small.COLUMN,))
    predictor = build(recipe, learn_tokenizer(recipe, EXAMPLES), targets)
    for part in (*predictor.model.output.heads, predictor.model.input):  # so that answers are not all alike
        for parameter in part.parameters():
            parameter.data.mul_(3)
    sharpen(predictor.model)
    predictor.model.eval()
    return predictor


def answers(predictor, examples):
    return [(answer.labels, answer.probabilities[small.COLUMN]) for answer in predictor.predict(examples)]


def assert_same(found, wanted):
    """The same labels, and probabilities within 1e-4; a label may differ where two are as probable as that."""
    assert len(found) == len(wanted)
    for (labels, shares), (other_labels, other_shares) in zip(found, wanted, strict=True):
        assert len(labels) == len(other_labels)
        for label, share, other, other_share in zip(labels, shares, other_labels, other_shares, strict=True):
            assert abs(share - other_share) < 1e-4
            assert label == other or (abs(share - other_share) < 1e-4 and share < 0.5 + 1e-4)


def alone(predictor, examples=EXAMPLES):
    return [answers(predictor, [example])[0] for example in examples]


@pytest.fixture(params=CASES, ids=lambda case: " ".join([case[0], *map(str, (*case[1].values(), *case[2]))]))
def predictor(request):
    return predictor_for(*request.param)


def test_answers_are_not_all_alike(predictor):
    assert len({label for labels, _ in alone(predictor) for label in labels}) > 2


def test_the_answer_does_not_depend_on_the_batch(predictor):
    wanted = alone(predictor)
    for budget in (1, 23, 10_000):
        predictor.batch_tokens = budget
        assert_same(answers(predictor, EXAMPLES), wanted)


def test_the_answer_does_not_depend_on_order_or_neighbours(predictor):
    wanted = alone(predictor)
    order = list(range(len(EXAMPLES)))
    random.Random(1).shuffle(order)
    found = answers(predictor, [EXAMPLES[number] for number in order])
    assert_same([found[order.index(number)] for number in range(len(order))], wanted)
    long = Example(tuple(word for example in EXAMPLES[:9] for word in example.words))
    for number in (0, 11, 36):
        found = answers(predictor, [long, EXAMPLES[number], long, Example(())])
        assert_same(found[1:2], wanted[number : number + 1])
        assert found[3] == ((), ())


def test_what_has_no_words_has_as_many_probabilities_as_labels():
    [answer] = predictor_for("words").predict([Example(())])
    assert answer.columns == answer.probabilities == {small.COLUMN: ()}


def test_watching_does_not_change_the_answer(predictor):
    wanted = answers(predictor, EXAMPLES)
    with record(predictor.model) as recording:
        assert_same(answers(predictor, EXAMPLES), wanted)
    assert bool(recording.weights) == isinstance(predictor.model.encoder, Encoder)
    assert_same(answers(predictor, EXAMPLES), wanted)


def test_a_model_in_training_mode_answers_as_in_evaluation(predictor):
    wanted = answers(predictor, EXAMPLES)
    predictor.model.train()
    assert answers(predictor, EXAMPLES) == wanted
    assert predictor.model.training


FAULTS = {
    "the mask is dropped": lambda monkeypatch: monkeypatch.setattr(InputPart, "mask", lambda self, inputs: None),
    "positions count from the end of the batch": lambda monkeypatch: monkeypatch.setattr(
        "regard.attention.position.sinusoidal.sinusoids", _from_the_end
    ),
    "padding is counted": lambda monkeypatch: monkeypatch.setattr(
        MultiHeadAttention, "forward", _without_mask(MultiHeadAttention.forward)
    ),
}


def _from_the_end(positions, width):
    return sinusoids(positions.max() - positions, width)


def _without_mask(forward):
    return lambda self, x, memory=None, **given: forward(self, x, memory, **{**given, "mask": None})


@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_finds_a_planted_fault(fault, monkeypatch):
    predictor = predictor_for("words", {"position": "sinusoidal"})
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        assert_same(answers(predictor, EXAMPLES), alone(predictor))


def test_the_law_finds_words_that_count_their_padding(monkeypatch):
    """Letters of neighbours' longer words reach a word if padding is not hidden."""
    predictor = predictor_for("words+characters")
    for bias in predictor.model.input.letters.biases:  # so large that what stands outside of a word would be seen
        bias.data.add_(3.0)
    assert_same(answers(predictor, EXAMPLES), alone(predictor))
    monkeypatch.setattr("regard.models.inputs._PADDING", 99)
    with pytest.raises(AssertionError):
        assert_same(answers(predictor, EXAMPLES), alone(predictor))


def test_the_answer_does_not_depend_on_the_hash_seed(tmp_path):
    run = tmp_path / "run"
    code = """
import json, sys, small, regard
recipe = small.recipe(input={"tokens": "words+characters", "filters": 5}, train={"epochs": 1})
run = regard.train(recipe, run=sys.argv[1], data=small.parts())
print(json.dumps([[a.labels, a.probabilities["label"]] for a in run.predict([e.words for e in small.examples(20)])]))
"""
    found = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
        words = [sys.executable, "-c", code, str(run / seed)]
        found.append(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)
    assert json.loads(found[0]) == json.loads(found[1])


def test_a_loaded_run_answers_as_the_one_that_was_trained(tmp_path):
    data = small.parts()
    trained = regard.train(small.recipe(), run=tmp_path / "run", data=data)
    words = [words for words, _ in data["test"]]
    assert regard.load(tmp_path / "run").predict(words) == trained.predict(words)
    assert regard.load(tmp_path / "run" / "best").predict(words) == trained.predict(words)
    assert len(regard.load(tmp_path / "run" / "last").predict(words)) == len(words)
