"""Settings that fit an amount of data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.example import Example
from regard.data.scheme import first_unreadable


@dataclass(frozen=True)
class Size:
    """A network for an amount of data."""

    up_to_words: float
    width: int
    depth: int
    heads: int
    dropout: float
    minutes: float


# From trials on treebanks of these sizes (docs/results.md): more data, a wider network and less dropout.
SIZES = (
    Size(5_000, width=64, depth=2, heads=4, dropout=0.3, minutes=1),
    Size(50_000, width=128, depth=2, heads=4, dropout=0.3, minutes=4),
    Size(500_000, width=160, depth=3, heads=4, dropout=0.25, minutes=12),
    Size(float("inf"), width=256, depth=4, heads=8, dropout=0.2, minutes=60),
)


# Real data have faults: a scheme is one if at least this share of sentences follows it.
_MOST = 0.99


def label_settings(train: Sequence[Example]) -> dict[str, dict[str, Any]]:
    """Settings for a label for each word."""
    words = sum(len(example.words) for example in train)
    size = next(size for size in SIZES if words <= size.up_to_words)
    given = _scheme(train, list(train[0].labels))
    scheme = "IOB2" if given == "IOB1" else given  # which says of each word alone where a span begins
    single = np.mean([len(word) == 1 for example in train for word in example.words])
    training: dict[str, Any] = {"minutes": size.minutes, "average": 5, "batch_tokens": 1200}
    if scheme == "none":
        training["label_smoothing"] = 0.05
    else:
        training["metric"] = "span_f1"
        training["batch_tokens"] = 2400  # a CRF walks word by word: long batches cost it no more
    return {
        # With a scheme, items that break it are left out and said, so that one of them does not stop training.
        "data": {
            **({} if scheme == "none" else {"on_error": "skip"}),
            **({} if scheme == given else {"scheme": given}),
        },
        "input": {
            "tokens": "words+characters",
            # Where nearly every word is one sign (Chinese by the character), plain text is split the same way.
            "split": "characters" if single > 0.95 else "punctuation",
        },
        "output": {} if scheme == "none" else {"scheme": scheme, "crf": True},
        "model": {"width": size.width, "depth": size.depth, "heads": size.heads, "dropout": size.dropout},
        "train": training,
    }


def whole_settings(task: str, train: Sequence[Example], *, pairs: bool = False) -> dict[str, dict[str, Any]]:
    """Settings for one class or number for the whole. pairs: whether each item is two texts"""
    words = sum(len(example.words) for example in train)
    size = next(size for size in WHOLE_SIZES if words <= size.up_to_words)
    training: dict[str, Any] = {"minutes": size.minutes, "average": 5, "batch_tokens": 1200}
    if task == "classify":
        training["label_smoothing"] = 0.1
    # Few words decide: hiding many of them in training keeps the rest from being learnt by heart.
    given: dict[str, Any] = {"tokens": "words", "word_width": size.width, "dropout": 0.25}
    model = {"width": size.width, "depth": size.depth, "heads": size.heads, "dropout": size.dropout}
    if pairs:
        # Of pairs what is the same on both sides tells most, and of words never seen how they are spelt
        # (docs/results.md, STS-B).
        given |= {"tokens": "words+characters", "shared_words": True}
        model |= {"depth": 1, "towers": True}
    return {"input": given, "model": model, "train": training}


# One value is much less to learn from than a label for each word: small networks with much dropout.
WHOLE_SIZES = (
    Size(200_000, width=64, depth=1, heads=2, dropout=0.4, minutes=1),
    Size(2_000_000, width=96, depth=2, heads=4, dropout=0.3, minutes=5),
    Size(float("inf"), width=160, depth=3, heads=4, dropout=0.2, minutes=30),
)


def _scheme(examples: Sequence[Example], columns: Sequence[str]) -> str:
    """The span scheme that all labels follow; none where labels are no spans."""
    labels = {label for example in examples for column in columns for label in example.labels[column] if label}
    prefixes = {label.partition("-")[0] for label in labels if "-" in label}
    if not prefixes or not prefixes <= set("BIOESMLU") or any("-" not in label and label != "O" for label in labels):
        return "none"
    return next((name for name in _TRIED if _follow(examples, columns, name)), "none")


def _follow(examples: Sequence[Example], columns: Sequence[str], scheme: str) -> bool:
    right = [all(first_unreadable(example.labels[c], scheme) is None for c in columns) for example in examples]
    return sum(right) >= _MOST * len(right)


# The schemes that data may have; of those that fit, the first is taken.
_TRIED = ("IOB2", "IOBES", "BMES", "BILOU", "IOB1")
