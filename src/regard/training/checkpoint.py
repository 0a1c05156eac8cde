"""The state of a training run -> tensors and plain values, and back, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from regard.errors import FolderError
from regard.training.trainer import Progress, Trainer


def state(trainer: Trainer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What is needed to go on, beside the model's weights: (tensors by name, plain values)."""
    tensors = {
        f"optimizer/{name}/{key}": value
        for name, parameter in trainer.model.named_parameters()
        for key, value in trainer.optimizer.state.get(parameter, {}).items()
    }
    for number, weights in enumerate(trainer.average.recent):
        tensors.update({f"recent/{number}/{name}": tensor for name, tensor in weights.items()})
    return tensors, trainer.progress.saved()


def restore(trainer: Trainer, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Put a trainer where the saved one stood."""
    try:
        trainer.resume(Progress(**values))
    except TypeError as error:
        raise FolderError(f"the saved state of training is not of this version: {error}") from None
    parameters = dict(trainer.model.named_parameters())
    recent: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        what, middle, *rest = name.split("/")
        if what == "optimizer":
            trainer.optimizer.state[parameters[middle]][rest[0]] = tensor
        else:
            recent.setdefault(int(middle), {})["/".join(rest)] = tensor
    trainer.average.recent = [recent[number] for number in sorted(recent)]
