"""What stands beside a graph, so that it can be used without regard: model.json, whose form docs/export.md tells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from regard.data.labels import Labels
from regard.data.padding import PADDING
from regard.data.target import Classes, Numbers, Target
from regard.machine import environment
from regard.recipe.settings import Recipe
from regard.ship.formats import output_name
from regard.ship.graph import READ

FORMAT = 1


def described(
    recipe: Recipe, to: str, inputs: Iterable[str], targets: dict[str, Target], *, longest: int | None, weights: str
) -> dict[str, Any]:
    """All that must be known to ask the graph.

    inputs:  the names of what it is given
    longest: how long an item may be; None: any length
    weights: the SHA-256 of the model's weights
    """
    return {
        "format": FORMAT,
        "to": to,
        "task": recipe.task.kind,
        "inputs": [_input(name) for name in inputs],
        "outputs": [_output(recipe, column, target) for column, target in targets.items()],
        "split": recipe.input.split,
        "longest": longest,
        "weights": weights,
        "versions": environment(),
    }


def _input(name: str) -> dict[str, Any]:
    axes = [int(axis) if axis.isdigit() else axis for axis in READ[name].axes]
    padding = PADDING.get(name)
    return {"name": name, "type": "int64", "axes": axes, "padding": padding, "says": READ[name].says}


def _output(recipe: Recipe, column: str, target: Target) -> dict[str, Any]:
    found: dict[str, Any] = {"name": output_name(column), "column": column, "type": "float32"}
    found["axes"] = ["batch", "time" if recipe.task.kind == "label" else 1, _scores(target)]
    if isinstance(target, Labels):
        return {**found, "labels": list(target.names), "answer": "the label with the largest score"}
    if isinstance(target, Classes):
        # sigmoid(score) > threshold
        least = math.log(target.threshold / (1 - target.threshold))
        return {**found, "classes": list(target.names), "least": least, "answer": "each class whose score is larger"}
    assert isinstance(target, Numbers)
    answer = "score * deviation + mean"
    return {**found, "mean": target.mean, "deviation": target.deviation, "answer": answer}


def _scores(target: Target) -> int:
    if isinstance(target, Classes | Labels):
        return len(target.names)
    return 1
