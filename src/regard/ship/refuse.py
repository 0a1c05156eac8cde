"""What a graph of open lengths cannot express, each refused by name with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from regard.errors import RegardError
from regard.recipe.settings import Recipe


def refuse(recipe: Recipe, to: str) -> None:
    """Refuse an export that could not give what the model gives."""
    reasons = list(_reasons(recipe, to))
    if reasons:
        raise RegardError(f"this model cannot be exported to {to}: {'; '.join(reasons)}")


def _reasons(recipe: Recipe, to: str) -> Iterator[str]:
    task, model = recipe.task.kind, recipe.model
    if task not in ("label", "classify", "regress", "seq2seq"):
        yield f"task.kind = {task}: label, classify, regress and seq2seq are exported"
    if task == "seq2seq" and model.decoder != "attention":
        yield f"model.decoder = {model.decoder}: what it remembers has another form than a graph's step takes"
    if task == "seq2seq" and recipe.decode.unknown == "copy":
        yield "decode.unknown = copy: a graph does not tell where the model looks"
    if task == "seq2seq" and recipe.decode.coverage_penalty:
        yield "decode.coverage_penalty: a graph does not tell where the model looks"
    if recipe.input.kind != "text":
        yield f"input.kind = {recipe.input.kind}: only what reads text is exported"
    if recipe.output.crf:
        yield "output.crf = true: labels are chosen together, step by step, and a graph knows no number of steps"
    if model.encoder == "recurrent":
        yield (
            "model.encoder = recurrent: PyTorch writes the steps of a recurrence out one by one, so that the graph "
            "would hold one length"
        )
    if model.encoder == "attention" and model.position == "floater":
        yield "model.position = floater: the graph would hold each step of its flow"
    if to == "onnx" and model.encoder == "attention" and model.normalizer in ("sparsemax", "entmax15"):
        yield f"model.normalizer = {model.normalizer}: ONNX has no such operation"


def notes(recipe: Recipe) -> Iterator[str]:
    """What is other about the graph, though it gives the same."""
    if recipe.model.encoder == "attention" and recipe.model.window:
        yield (
            "the graph computes all pairs of elements and hides those outside of model.window: its time and memory "
            "grow with the square of the length"
        )
