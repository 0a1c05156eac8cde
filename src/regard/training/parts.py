"""A network's parts from below to above: which of them stay as they are, and how fast each learns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from regard.recipe.settings import TrainSettings

_BLOCK = re.compile(r"^(encoder|decoder)\.blocks\.(\d+)\.")

# What comes before the first block.
_BELOW = re.compile(r"^(input|written|(encoder|decoder)\.position)\.")


def freeze(model: nn.Module, parts: Sequence[str | int]) -> None:
    """These parts do not learn. parts: input, encoder, decoder, or a number: the input and so many first blocks"""
    for name, parameter in model.named_parameters():
        if any(_belongs(name, part) for part in parts):
            parameter.requires_grad_(False)


def _belongs(name: str, part: str | int) -> bool:
    if isinstance(part, str):
        return name.startswith(f"{part}.") or (part == "input" and name.startswith("written."))
    block = _BLOCK.match(name)
    return bool(_BELOW.match(name)) or (block is not None and int(block[2]) < part)


def rate_share(name: str, model: nn.Module, decay: float) -> float:
    """Which share of the learning rate a parameter learns with: less by a factor with each block further down.

    Source: Howard & Ruder 2018, arXiv:1801.06146, section 3.2 (discriminative fine-tuning; they divide by 2.6).
    """
    block = _BLOCK.match(name)
    if block is not None:
        return decay ** (_blocks(model, block[1]) - int(block[2]))
    if _BELOW.match(name):
        part = "decoder" if name.startswith(("decoder", "written")) else "encoder"
        return decay ** (_blocks(model, part) + 1)
    return 1.0


def _blocks(model: nn.Module, part: str) -> int:
    blocks = getattr(getattr(model, part, None), "blocks", ())
    return len(blocks)


def optimizer_of(model: nn.Module, settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101) with Adam's second beta as in Vaswani et al. 2017, section
    5.3; biases, norms and other single rows of numbers are not shrunk."""
    groups: dict[tuple[float, float], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        decay = settings.weight_decay if parameter.dim() > 1 else 0.0
        share = rate_share(name, model, settings.layer_decay)
        group = groups.setdefault((-decay, -share), {"params": [], "weight_decay": decay, "share": share})
        group["params"].append(parameter)
    # Matrices first: the order of groups is the order in which numbers are updated.
    ordered = [groups[key] for key in sorted(groups)]
    return torch.optim.AdamW(ordered, lr=settings.lr, betas=(0.9, 0.98), fused=True)
