"""What stands beside a graph, so that it can be used without regard: model.json, whose form docs/export.md tells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regard.data.labels import Labels
from regard.data.padding import PADDING
from regard.data.target import Classes, Numbers, Target, Texts
from regard.machine import environment
from regard.recipe.settings import Recipe
from regard.ship.graph import READ, Graph, Named

FORMAT = 1


def described(
    recipe: Recipe,
    to: str,
    graphs: Sequence[Graph],
    targets: Mapping[str, Target],
    *,
    most: Mapping[str, int],
    weights: str,
) -> dict[str, Any]:
    """All that must be known to ask the graphs.

    most:    how large an axis may be, where it may not have any size
    weights: the SHA-256 of the model's weights
    """
    return {
        "format": FORMAT,
        "to": to,
        "task": recipe.task.kind,
        "graphs": [
            {
                "name": graph.name,
                "inputs": [_described(name, named) for name, named in graph.inputs.items()],
                "outputs": [_described(name, named) for name, named in graph.outputs.items()],
            }
            for graph in graphs
        ],
        "targets": [{"column": column, **_target(target)} for column, target in targets.items()],
        "split": recipe.input.split,
        "most": dict(most),
        "weights": weights,
        "versions": environment(),
    }


def _described(name: str, named: Named) -> dict[str, Any]:
    kind = "int64" if name in READ or name == "written" else "float32"
    axes = [int(axis) if axis.isdigit() else axis for axis in named.axes]
    return {"name": name, "type": kind, "axes": axes, "padding": PADDING.get(name), "says": named.says}


def _target(target: Target) -> dict[str, Any]:
    """What the scores mean."""
    if isinstance(target, Labels):
        return {"labels": list(target.names), "answer": "the label with the largest score"}
    if isinstance(target, Classes):
        # sigmoid(score) > threshold
        least = math.log(target.threshold / (1 - target.threshold))
        return {"classes": list(target.names), "least": least, "answer": "each class whose score is larger than least"}
    if isinstance(target, Texts):
        answer = "pieces one after the other, until end; 0 and 1 are never written"
        return {"begin": target.start, "end": target.end, "tokenizer": target.saved(), "answer": answer}
    assert isinstance(target, Numbers)
    return {"mean": target.mean, "deviation": target.deviation, "answer": "score * deviation + mean"}
