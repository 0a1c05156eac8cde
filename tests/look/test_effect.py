"""What a map is worth is what happens to the answer without it."""

from dataclasses import replace

import pytest
import small
import torch
import written
from sharp import assert_close, sharpen
from test_independence import predictor_for

from regard.build import build, learn
from regard.errors import RegardError
from regard.look.attribute import gradients, leave_one_out, norms, rollout
from regard.look.effect import Asked, Effect, at_once, importance, of_heads, others, strongest
from regard.look.intervene import cutting, without_heads
from regard.look.look import look
from regard.look.record import attention_layers, record
from regard.look.view import view
from regard.recipe import recipe_from

EXAMPLE = small.examples(3)[2]
MODEL = {"depth": 2, "heads": 2}


def looked():
    predictor = predictor_for("words", MODEL)
    return predictor, look(predictor, EXAMPLE)


def test_the_effects_are_those_of_the_interventions_one_by_one():
    predictor, found = looked()
    before = found.asked.answers()[0][0]
    for path, weights in found.weights.items():
        for head, of_head in enumerate(found.effects[path]):
            with without_heads(predictor.model, {path: [head]}):
                off = found.asked.answers()[0][0]
            edges = strongest(weights[head])
            with cutting(predictor.model, path, head, edges):
                cut = found.asked.answers()[0][0]
            assert of_head.off.most == pytest.approx(float((off - before).abs().max()), abs=1e-5)
            assert of_head.cut.most == pytest.approx(float((cut - before).abs().max()), abs=1e-5)
    assert max(of_head.off.most for heads in found.effects.values() for of_head in heads) > 0.01


def test_measuring_effects_leaves_the_model_as_it_was():
    predictor, found = looked()
    before = found.asked.answers()[0]
    assert found.effects and found.importance.order
    assert torch.equal(found.asked.answers()[0], before)
    assert not any(module._forward_hooks for module in predictor.model.modules())


def test_effects_do_not_depend_on_how_many_copies_stand_side_by_side():
    _, found = looked()
    (path, *_), edits = found.weights, []
    from regard.look.effect import switch_off

    edits = [{path: switch_off(head)} for head in (0, 1, 0)]
    for one, other in zip(found.asked.effects(edits, 1), found.asked.effects(edits, 3), strict=True):
        assert one.most == pytest.approx(other.most, abs=1e-5)


def test_a_planted_head_that_decides_is_found_and_one_that_does_nothing_too():
    """The output projection of one head is set to nothing: switching it off must change nothing."""
    predictor = predictor_for("words", {"depth": 1, "heads": 2})
    (path, layer), *_ = attention_layers(predictor.model).items()
    with torch.no_grad():
        layer.output.weight[:, : layer.head_width] = 0
        layer.output.weight[:, layer.head_width :] *= 5
    nothing, decides = look(predictor, EXAMPLE).effects[path]
    assert nothing.off.most < 1e-5 and nothing.cut.most < 1e-5 and decides.off.most > 0.05
    assert nothing.sentences()[0].endswith("by up to 0.00: this map does not explain it.")
    assert nothing.sentences()[2].endswith("by up to 0.00: here it can be spared.")


def test_importance_begins_with_the_whole_and_ends_without_any_head():
    predictor, found = looked()
    whole = found.asked.answers()[0].mean()
    assert found.importance.mean[0] == pytest.approx(float(whole), abs=1e-5) and found.importance.kept[0] == 1
    with without_heads(predictor.model, {path: [0, 1] for path in found.weights}):
        rest = found.asked.answers()[0].mean()
    assert found.importance.mean[-1] == pytest.approx(float(rest), abs=1e-5)
    assert len(found.importance.mean) == len(found.importance.order) + 1 == 5
    same = importance(found.asked, found.effects, copies=2)
    assert same.mean == pytest.approx(found.importance.mean, abs=1e-5)


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (Effect(0.02, 0, 0.01, 0, 3), "changes the answer's probability by up to 0.02: this map does not explain it."),
        (Effect(0.31, 1, 0.1, 0, 3), "by up to 0.31 (at “b”), but no answer: it matters, and does not decide."),
        (Effect(0.9, 2, 0.4, 2, 3), "by up to 0.90 (at “c”) and 2 of 3 answers: the answer depends on this."),
        (Effect(0.2, 0, 0.2, 0, 1, number=True), "changes the answer by up to 0.20 of its spread: it matters."),
    ],
)
def test_the_sentence_says_plainly_what_the_effect_is(effect, words):
    assert words in effect.sentence("Cutting", ["a", "b", "c"])


KINDS = {
    "neighbouring labels together": ({}, {"output": {"crf": True}}, EXAMPLE.labels[small.COLUMN]),
    "a class": ({"task": {"kind": "classify"}}, {}, ("a",)),
    "several classes": ({"task": {"kind": "classify"}}, {"data": {"train": "x", "separator": "|"}}, ("a|b",)),
    "a number": ({"task": {"kind": "regress"}}, {}, ("3.5",)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_has_effects_and_none_where_nothing_is_taken_away(kind):
    task, more, answer = KINDS[kind]
    settings = recipe_from({**small.recipe(), "data": {"train": "x"}, **task, **more})
    whole = kind != "neighbouring labels together"
    given = [
        replace(one, labels={small.COLUMN: answer if whole else one.labels[small.COLUMN]}, whole=whole)
        for one in small.examples(11)
    ]
    given[0] = replace(given[0], labels={small.COLUMN: ("b",)}) if "class" in kind else given[0]
    predictor = build(settings, *learn(settings, given, (small.COLUMN,)))
    sharpen(predictor.model).eval()
    found = look(predictor, replace(given[1], labels={}))
    (path,) = found.weights
    (unchanged,) = found.asked.effects([{path: lambda weights, rows: weights}], 2)
    assert unchanged.most < 1e-5 and unchanged.changed == 0
    assert all(0 <= head.off.mean <= head.off.most for head in found.effects[path])
    assert found.importance.kept[0] == 1 and view(found).answers


def test_the_strongest_edges_and_as_many_others_of_the_same_rows():
    weights = torch.tensor([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0]])
    assert strongest(weights, 2) == [(1, 1), (0, 0)]
    assert {row for row, _ in others(weights, [(1, 1), (0, 0)])} == {0}  # the second row has no other edge
    assert not set(others(weights, [(0, 0)])) & {(0, 0)}
    assert strongest(torch.zeros(2, 2)) == []


def test_of_a_text_that_is_written_the_answer_is_each_of_its_pieces_and_the_end():
    predictor = written.predictor()
    (example,) = written.examples(1)
    found = look(predictor, example)
    shares, _ = found.asked.answers()
    assert shares.shape == (1, len(found.written) + 1)
    counted = shares[0, : found.answer.texts[0].pieces]  # without the end, where the text is cut
    assert float(counted.log().sum()) == pytest.approx(found.answer.texts[0].log_probability, abs=1e-3)
    assert set(found.effects) == set(found.weights)


def test_many_copies_are_as_many_as_one_tile_holds():
    assert at_once(4, 8_000, 8_000) == 1 and at_once(2, 16, 16) > 100


# Other ways to say where an answer comes from


def test_rollout_multiplies_layers_each_half_itself():
    one, other = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), torch.tensor([[[0.0, 1.0], [0.0, 1.0]]])
    first, second = (torch.eye(2) + one[0]) / 2, (torch.eye(2) + other[0]) / 2
    assert_close(rollout([one, other]), second @ first, 1e-6)
    assert_close(rollout([torch.eye(3)[None]]), torch.eye(3), 1e-6)


def test_norms_are_the_lengths_of_what_each_element_adds():
    predictor, found = looked()
    with torch.inference_mode(), record(predictor.model, states=True) as recording:
        predictor.model(found.asked.inputs)
    for path, layer in attention_layers(predictor.model).items():
        lengths = norms(layer, recording, path)
        question, weights = recording.questions[path], recording.weights[path]
        for head in range(layer.heads):
            part = slice(head * layer.head_width, (head + 1) * layer.head_width)
            for query, key in ((0, 1), (1, 0)):
                added = weights[0, head, query, key] * (
                    layer.output.weight.detach()[:, part] @ question.values[0, head, key]
                )
                assert float(lengths[0, head, query, key]) == pytest.approx(float(added.norm()), abs=1e-4)


def test_gradient_times_attention_is_what_a_small_change_does():
    predictor, found = looked()
    path = next(iter(found.weights))
    shown = gradients(found.asked)[path]
    step = 1e-2
    head, query = 0, 1
    key = int(found.weights[path][head, query].argmax())

    def logs(factor):
        def edit(weights, rows):
            changed = weights.clone()
            changed[:, head, query, key] *= factor
            return changed

        from regard.look.intervene import changing

        with changing(predictor.model, {path: edit}):
            return float(found.asked.answers()[0].double().log().sum())

    wanted = (logs(1 + step) - logs(1 - step)) / (2 * step)
    assert float(shown[head, query, key]) == pytest.approx(wanted, rel=0.05, abs=1e-3)


def test_leaving_a_word_out_is_asking_without_it():
    predictor, found = looked()
    words = EXAMPLE.words
    worth = leave_one_out(found.asked)
    assert worth.shape == (len(words), len(words)) and bool(worth.diagonal().isnan().all())
    before = found.asked.answers()[0][0]
    rest = replace(EXAMPLE, words=words[1:], labels={})
    without = Asked.of(predictor, rest)
    same = [
        place
        for place in range(1, len(words))
        if without.best["label"][0, place - 1] == found.asked.best["label"][0, place]
    ]
    assert same
    for place in same:
        wanted = before[place] - without.answers()[0][0, place - 1]
        assert float(worth[0, place]) == pytest.approx(float(wanted), abs=1e-5)


def test_effects_of_heads_are_of_each_layer_and_head():
    _, found = looked()
    again = of_heads(found.asked, dict(found.weights))
    assert [len(heads) for heads in again.values()] == [2, 2]


def test_of_plain_text_no_word_is_left_out():
    _, found = looked()
    masked = replace(found.asked, predictor=replace(found.asked.predictor, masking=object()))
    with pytest.raises(RegardError, match="reads a text as one, so no word can be left out"):
        leave_one_out(masked)
