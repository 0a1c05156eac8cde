"""Looking at plain text: how much there is, and settings that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.example import Example
from regard.data.plain import PlainText, evenly
from regard.init.sequences import look_at_side

# So many lines, from everywhere in the text, are looked at.
_LOOKED_AT = 5000


@dataclass(frozen=True)
class LanguageSize:
    """A network for an amount of text."""

    up_to_bytes: float
    width: int
    depth: int
    dropout: float
    minutes: float


# Guesses that were tried on a treebank's sentences (1 MB) only.
SIZES = (
    LanguageSize(2e5, width=64, depth=2, dropout=0.2, minutes=2),
    LanguageSize(2e6, width=128, depth=3, dropout=0.1, minutes=20),
    LanguageSize(5e7, width=256, depth=4, dropout=0.1, minutes=120),
    LanguageSize(float("inf"), width=384, depth=6, dropout=0.0, minutes=720),
)


def read_plain(paths: Sequence[str | Path], longest: int) -> PlainText:
    """The lines of some files, each as one text."""
    return PlainText.of(paths, lambda text: (text,), longest=longest)


def language_settings(train: PlainText, tokens: str | None) -> dict[str, dict[str, Any]]:
    """Settings for learning from plain text. tokens: as in input.tokens, chosen where not given"""
    some = list(evenly(train, _LOOKED_AT))
    unspaced = look_at_side([" ".join(example.words) for example in some]).unspaced
    tokens = tokens or ("characters" if unspaced else "subwords")
    size = next(size for size in SIZES if train.bytes <= size.up_to_bytes)
    given: dict[str, Any] = {"tokens": tokens, "dropout": 0.0}
    if tokens == "subwords":
        given["size"] = int(np.clip(train.bytes // 300, 500, 16_000))
    return {
        "input": given,
        "model": {"width": size.width, "heads": 4, "depth": size.depth, "dropout": size.dropout},
        "train": {"minutes": size.minutes, "batch_tokens": 2000, "average": 3},
    }


def told_of(part: str, text: PlainText) -> str:
    """How much there is."""
    return f"{part:>5}  {len(text):,} lines, {text.bytes / 1e6:,.1f} MB"


def shown(example: Example, most: int = 80) -> str:
    """The beginning of a line."""
    text = "".join(example.words)
    return text[:most] + (" …" if len(text) > most else "")
