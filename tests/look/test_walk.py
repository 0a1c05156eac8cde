"""The steps are those of the formula, with the model's own numbers."""

import math

import pytest
import written
from sharp import assert_close
from test_independence import predictor_for

from regard.data.example import Example
from regard.errors import RegardError
from regard.look.look import look
from regard.look.walk import walk

WORDS = ("the", "light", "can", "light", "the")


def of(model=None, row=2, layer=2, head=1):
    predictor = predictor_for("words", {"depth": 2, "heads": 2, **(model or {})})
    found = look(predictor, Example(WORDS))
    return found, walk(predictor, found, row, layer, head)


@pytest.mark.parametrize("position", ["rotary", "none", "alibi", "t5"])
def test_each_step_follows_from_the_one_before(position):
    found, steps = of({"position": position})
    assert_close(steps.keys @ steps.query, steps.products, 1e-4)
    assert steps.factor == pytest.approx(1 / math.sqrt(len(steps.query)))
    if not steps.added:
        assert_close(steps.products * steps.factor, steps.scores, 1e-4)
    assert_close(steps.scores.softmax(0), steps.weights, 1e-5)
    assert_close(steps.weights @ steps.values, steps.output, 1e-4)
    assert_close(steps.weights, list(found.weights.values())[1][0, 1], 1e-5)
    assert steps.added == (position in ("alibi", "t5"))


def test_scaling_divides_the_variance_by_the_width_and_keeps_weights_from_one():
    _, steps = of()
    before, after = steps.variances
    assert after == pytest.approx(before / len(steps.query))
    assert steps.unscaled.max() >= steps.weights.max() - 1e-6
    assert "Without scaling the largest weight here would be" in steps.text()


def test_what_may_not_be_seen_is_hidden_and_has_no_weight():
    predictor = written.predictor()
    (example,) = written.examples(1)
    found = look(predictor, example)
    steps = walk(predictor, found, 1, 1, 1, "decoder")
    assert steps.allowed.tolist() == [True] + [False] * len(found.written)
    assert steps.weights.tolist() == [1.0] + [0.0] * len(found.written)
    assert "hidden" in steps.text()


def test_another_score_is_told_without_what_it_does_not_have():
    _, steps = of({"score": "additive"})
    assert steps.products is None and "scaling" not in steps.text() and "by Additive" in steps.text()
    assert_close(steps.scores.softmax(0), steps.weights, 1e-5)


def test_the_page_holds_the_same_numbers():
    _, steps = of()
    page = steps.page()
    for row in steps.rows():
        for cell in row:
            assert str(cell) in page


def test_an_element_that_is_not_there_is_refused():
    with pytest.raises(RegardError, match=r"no element 6 that looks; there are 1 to 5 \(the to the\)"):
        of(row=6)
    with pytest.raises(RegardError, match="no head 3"):
        of(head=3)


def test_the_walk_changes_nothing():
    predictor = predictor_for("words", {"depth": 2, "heads": 2})
    before = next(predictor.predict([Example(WORDS)]))
    walk(predictor, look(predictor, Example(WORDS)), 1)
    assert next(predictor.predict([Example(WORDS)])).probabilities == before.probabilities
    assert all(layer.paths is None for layer in predictor.model.modules() if hasattr(layer, "paths"))
