"""What training makes small."""

import json
import math
from pathlib import Path

import pytest
import small
import torch
import torch.nn.functional as F
from sharp import draw
from torch import Tensor

import regard
from regard.build import build, learn_targets
from regard.data.batching import IGNORED, Batch, Item, collate
from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.labels import Labels, first_wrong
from regard.data.lines import read_lines
from regard.inputs import learn_tokenizer
from regard.models.outputs import CrfHead, Heads, SoftmaxHead
from regard.predict import Predictor
from regard.recipe import recipe_from
from regard.training.objective import (
    CLASS_WEIGHTS,
    known_labels,
    summed_loss,
    summed_weights,
    training_loss,
    weigh_labels,
)


def batch_of(*labels: list[int], column: str = "upos") -> Batch:
    lengths = torch.tensor([len(row) for row in labels])
    return Batch(
        {"lengths": lengths, "words": lengths, "answers": lengths},
        {column: torch.tensor(labels)},
        list(range(len(labels))),
    )


def scores_for(losses: list[float]) -> Tensor:
    """Scores of two labels whose cross entropy with label 0 is each of these losses: (1, losses, 2)."""
    return torch.tensor([[[0.0, math.log(math.expm1(loss))] for loss in losses]])


def test_a_whole_update_s_losses_are_summed_and_divided_once(cases: Path) -> None:
    case = json.loads((cases / "b16_accumulation.json").read_text(encoding="utf-8"))
    output = Heads(["upos"], [SoftmaxHead(3, 2)])
    batches = [batch_of([0] * len(losses)) for losses in case["token_losses"]]
    sums = [
        summed_loss(output, {"upos": scores_for(losses)}, batch, 0.0)
        for losses, batch in zip(case["token_losses"], batches, strict=True)
    ]
    assert known_labels(batches) == 10
    assert (sum(sums) / known_labels(batches)).item() == pytest.approx(case["right_loss"], abs=1e-6)


def tagger(examples: list[Example], **output: object) -> Predictor:
    recipe = recipe_from(
        {
            "data": {"train": "a"},
            "input": {"tokens": "words", "word_width": 5, "minimum_count": 1, "dropout": 0.0},
            "output": output,
            "model": {"width": 14, "heads": 7, "depth": 1, "inner": 11, "dropout": 0.0},
        }
    )
    return build(recipe, learn_tokenizer(recipe, examples), learn_targets(recipe, examples, ["-1"]))


def gradients(predictor: Predictor, items: list[Item], groups: list[list[int]], smoothing: float) -> dict[str, Tensor]:
    batches = [collate(items, group) for group in groups]
    predictor.model.zero_grad()
    for batch in batches:
        loss = summed_loss(predictor.model.output, predictor.model(batch.inputs), batch, smoothing)
        (loss / known_labels(batches)).backward()
    return {name: one.grad.clone() for name, one in predictor.model.named_parameters() if one.grad is not None}


@pytest.mark.parametrize(("crf", "smoothing"), [(False, 0.0), (False, 0.3), (True, 0.0)])
def test_the_gradient_of_two_small_batches_is_that_of_one(crf: bool, smoothing: float, cases: Path) -> None:
    name = "b16_two_lengths.conll"
    examples = [one for one in Columns(None, ()).examples(read_lines(cases / name), name) if isinstance(one, Example)]
    assert [len(example.words) for example in examples] == [1, 9]
    predictor = tagger(examples, crf=crf)
    items = [predictor.item(example) for example in examples]
    together = gradients(predictor, items, [[0, 1]], smoothing)
    apart = gradients(predictor, items, [[0], [1]], smoothing)
    assert together.keys() == apart.keys() and any(gradient.abs().max() > 1e-3 for gradient in together.values())
    for parameter, gradient in together.items():
        assert torch.allclose(apart[parameter], gradient, atol=1e-6), parameter


@pytest.mark.parametrize(("crf", "smoothing"), [(False, 0.0), (False, 0.3), (True, 0.0)])
def test_what_training_makes_small_is_the_loss_of_all_scores(crf: bool, smoothing: float, cases: Path) -> None:
    """Some of the labels are unknown, and items are of different lengths."""
    name = "b16_two_lengths.conll"
    examples = [one for one in Columns(None, ()).examples(read_lines(cases / name), name) if isinstance(one, Example)]
    predictor = tagger(examples, crf=crf)
    batch = collate([predictor.item(example) for example in examples], [0, 1])
    batch.labels["-1"][1, 2:5] = IGNORED
    model = predictor.model
    wanted = summed_loss(model.output, model(batch.inputs), batch, smoothing)
    found = training_loss(model, batch, smoothing)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-6)
    ours, theirs = (torch.autograd.grad(loss, list(model.parameters()), allow_unused=True) for loss in (found, wanted))
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, atol=1e-6)


HEADS = {"softmax": SoftmaxHead, "crf": CrfHead}


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("kind", HEADS)
def test_a_batch_without_labels_has_no_loss_and_finite_gradients(kind: str, smoothing: float, cases: Path) -> None:
    rows = json.loads((cases / "b18_all_ignored.json").read_text(encoding="utf-8"))["labels"]
    torch.manual_seed(3)
    head = HEADS[kind](5, 3)
    output = Heads(["upos"], [head])
    batch = batch_of(rows[0])
    x = torch.randn(1, 2, 5, requires_grad=True)
    loss = summed_loss(output, output(x), batch, smoothing)
    loss.backward()
    assert known_labels([batch]) == 0 and loss.item() == 0
    assert x.grad is not None and (x.grad == 0).all()
    for parameter in output.parameters():
        assert parameter.grad is None or (parameter.grad == 0).all()


@pytest.mark.parametrize("kind", HEADS)
def test_rows_without_labels_add_nothing(kind: str, cases: Path) -> None:
    rows = json.loads((cases / "b18_all_ignored.json").read_text(encoding="utf-8"))["labels"]
    torch.manual_seed(3)
    output = Heads(["upos"], [HEADS[kind](5, 3)])
    scores = output(torch.randn(2, 2, 5))
    both = summed_loss(output, scores, batch_of(*rows), 0.0)
    alone = summed_loss(output, {"upos": scores["upos"][1:]}, batch_of(rows[1]), 0.0)
    assert known_labels([batch_of(*rows)]) == 1
    assert both.item() == pytest.approx(alone.item(), abs=1e-6) and both.item() > 0
    if kind == "softmax":
        assert both.item() == pytest.approx(-scores["upos"][1, 0].log_softmax(-1)[1].item(), abs=1e-6)


def test_the_losses_of_several_columns_are_added() -> None:
    output = Heads(["a", "b"], [SoftmaxHead(5, 2), SoftmaxHead(5, 3)])
    scores = output(torch.randn(1, 2, 5))
    labels = {"a": torch.tensor([[1, 0]]), "b": torch.tensor([[IGNORED, 2]])}
    batch = Batch({"words": torch.tensor([2]), "answers": torch.tensor([2])}, labels, [0])
    parts = [
        summed_loss(Heads([column], [output.head(column)]), {column: scores[column]}, batch, 0.0)
        for column in ("a", "b")
    ]
    assert known_labels([batch]) == 3
    assert summed_loss(output, scores, batch, 0.0).item() == pytest.approx(sum(part.item() for part in parts))


def test_with_a_scheme_a_crf_s_best_labels_follow_it_to_each_item_s_end() -> None:
    names = ("B-A", "E-A", "I-A", "O", "S-A")
    head = tagger(
        [Example(("a",) * 6, {"-1": ("B-A", "I-A", "E-A", "S-A", "O", "O")})], crf=True, scheme="IOBES"
    ).model.output.head("-1")
    assert isinstance(head, CrfHead) and head.ends.tolist() == [False, True, False, True, True]
    torch.manual_seed(5)
    scores, lengths = 7 * torch.randn(97, 7, len(names)), torch.arange(97) % 7 + 1
    for best, length in zip(head.best(scores, lengths).tolist(), lengths.tolist(), strict=True):
        assert first_wrong([names[number] for number in best[:length]], "IOBES") is None


def test_a_crf_s_loss_of_each_item_is_that_of_the_item_alone() -> None:
    torch.manual_seed(7)
    head = CrfHead(5, 3)
    torch.nn.init.normal_(head.last)
    scores, lengths = torch.randn(2, 5, 3), torch.tensor([5, 2])
    labels = torch.tensor([[0, 2, IGNORED, 1, 1], [2, 0, IGNORED, IGNORED, IGNORED]])
    alone = [
        head.negative_log_likelihood(scores[one : one + 1, :length], labels[one : one + 1, :length], lengths[one, None])
        for one, length in enumerate(lengths.tolist())
    ]
    assert head.negative_log_likelihood(scores, labels, lengths).item() == pytest.approx(
        sum(one.item() for one in alone)
    )


# Labels that weigh differently


def weighed(*labels: str | None, kind: str = "balanced") -> tuple[Heads, Labels]:
    """A head whose labels weigh as these say, and what they are."""
    example = Example(tuple("w" for _ in labels), {"y": labels})
    target = Labels.of([example], "y", ())
    output = Heads(["y"], [SoftmaxHead(3, len(target))])
    weigh_labels(output, {"y": target}, [example], kind)
    return output, target


def label_weights(output: Heads) -> list[float]:
    head = output.head("y")
    assert isinstance(head, SoftmaxHead) and head.label_weights is not None
    return head.label_weights.tolist()


def test_balanced_weights_are_as_by_hand() -> None:
    # Seven known labels of three kinds: 4, 2, 1.
    output, _ = weighed(*"AAAABBC", None)
    assert label_weights(output) == pytest.approx([7 / 12, 7 / 6, 7 / 3])


def test_balanced_labels_weigh_the_same_together_and_one_each_on_average() -> None:
    counts = torch.tensor([11, 1, 5, 23])
    weights = CLASS_WEIGHTS["balanced"](counts)
    assert torch.allclose(weights * counts, (weights * counts)[0].expand(4))
    assert (weights * counts).sum().item() == pytest.approx(counts.sum().item())
    assert torch.equal(CLASS_WEIGHTS["none"](counts), torch.ones(4, dtype=counts.dtype))


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_a_weighed_update_is_the_weighed_mean_however_it_is_parted(smoothing: float) -> None:
    output, _ = weighed(*"AAAABBC")
    rows, scores = [[0, 0, 1], [2, IGNORED, IGNORED], [1, 0, IGNORED]], draw(3, 3, 3)
    wanted = F.cross_entropy(
        scores.flatten(0, 1),
        torch.tensor(rows).flatten(),
        torch.tensor(label_weights(output)),
        label_smoothing=smoothing,
    )
    for groups in ([[0, 1, 2]], [[0], [1, 2]], [[2], [0], [1]]):
        batches = [batch_of(*(rows[row] for row in group), column="y") for group in groups]
        losses = [
            summed_loss(output, {"y": scores[group]}, batch, smoothing)
            for group, batch in zip(groups, batches, strict=True)
        ]
        assert (sum(losses) / summed_weights(output, batches)).item() == pytest.approx(wanted.item(), abs=1e-6)


def test_without_weights_each_label_weighs_one() -> None:
    batches = [batch_of([0, 1, IGNORED]), batch_of([1])]
    assert summed_weights(Heads(["upos"], [SoftmaxHead(3, 2)]), batches) == known_labels(batches) == 3


def test_weights_are_not_saved_with_the_model() -> None:
    output, _ = weighed(*"AAB")
    assert output.state_dict().keys() == Heads(["y"], [SoftmaxHead(3, 2)]).state_dict().keys()


@pytest.mark.parametrize(("kind", "share"), [("none", 1 / 5), ("balanced", 1 / 2)])
def test_where_the_input_tells_nothing_balanced_labels_are_as_probable_as_each_other(kind, share, tmp_path) -> None:
    pairs = [("same words", "rare" if place % 5 == 0 else "often") for place in range(100)]
    quick = {
        "epochs": 12,
        "lr": 0.02,
        "warmup_steps": 5,
        "evaluate_every": 100,
        "batch_tokens": 40,
        "weight_decay": 0.0,
    }
    given = small.recipe(task={"kind": "classify"}, train={**quick, "class_weights": kind}, model={"dropout": 0.0})
    given["input"]["dropout"] = 0.0
    run = regard.train(given, run=tmp_path / "run", data={"train": pairs, "dev": pairs[:5]})
    answer = run.predict("same words")[0]
    rare = answer.probabilities["label"][0] if answer.label == "rare" else 1 - answer.probabilities["label"][0]
    assert rare == pytest.approx(share, abs=0.05)
