"""`regard init`: looks at data and writes a complete, commented recipe for it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.conllu import COLUMNS
from regard.data.example import Example
from regard.data.labels import first_wrong
from regard.data.lines import read_lines
from regard.data.reading import guess_format, read_examples, reader_for
from regard.errors import RegardError
from regard.recipe.read import recipe_from
from regard.recipe.settings import Recipe
from regard.recipe.write import commented

PARTS = ("train", "dev", "test")

# So many sentences are looked at to see which columns are filled.
_LOOKED_AT = 500


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


@dataclass(frozen=True)
class Reading:
    """What was found in the data: the recipe for it, and what to tell."""

    recipe: Recipe
    text: str
    told: Sequence[str]


def read_data(
    task: str, paths: Sequence[str], out: Path, *, target: Sequence[str] = (), format: str = "guess"
) -> Reading:
    """Look at one to three files (train, dev, test) and choose settings for them."""
    if task != "label":
        raise RegardError(f"unknown task {task}; known: label")
    if not 1 <= len(paths) <= len(PARTS):
        raise RegardError(f"--data takes the files TRAIN [DEV [TEST]], one to three of them; found {len(paths)}")
    found = guess_format(paths[0]) if format == "guess" else format
    columns = tuple(_column(name) for name in target) or _targets(found, paths[0])
    examples = {}
    for part, path in zip(PARTS, paths, strict=False):
        examples[part] = read_examples([path], reader_for(path, found, None, columns))
    names = tuple(examples["train"][0].labels)
    values = _settings(examples["train"], found, columns, dict(zip(PARTS, paths, strict=False)), out)
    recipe = recipe_from(values, folder=out.parent)
    told = [f"{path}: {part}, read as {found}" for part, path in zip(PARTS, paths, strict=False)]
    told += _told(examples, names)
    return Reading(recipe, commented_relative(recipe, values, out), told)


def commented_relative(recipe: Recipe, values: dict[str, dict[str, Any]], out: Path) -> str:
    """The recipe's text, with paths as they are seen from its folder."""
    name = out.stem
    heading = f"A recipe for regard; every setting is explained.\n\nregard train {out}\nregard look runs/{name} INPUT"
    relative = recipe.data.model_copy(update={part: values["data"][part] for part in PARTS if part in values["data"]})
    return commented(recipe.model_copy(update={"data": relative}), heading)


def _column(name: str) -> str | int:
    return int(name) if name.lstrip("-").isdecimal() else name


def _targets(format: str, path: str) -> tuple[str | int, ...]:
    """What is learnt where nothing was said: UPOS, or XPOS where a treebank has no UPOS; else the last column."""
    if format != "conllu":
        return (-1,)
    reader = reader_for(path, format, None, ("upos", "xpos"))
    found = islice(reader.examples(read_lines(path), path), _LOOKED_AT)
    examples = [example for example in found if isinstance(example, Example)]
    filled = {
        column: any(label != "_" for example in examples for label in example.labels[column])
        for column in ("upos", "xpos")
    }
    return ("xpos",) if filled["xpos"] and not filled["upos"] else (COLUMNS[3],)


def _settings(
    train: Sequence[Example], format: str, columns: Sequence[str | int], paths: dict[str, str], out: Path
) -> dict[str, dict[str, Any]]:
    words = sum(len(example.words) for example in train)
    size = next(size for size in SIZES if words <= size.up_to_words)
    scheme = _scheme(train, list(train[0].labels))
    single = np.mean([len(word) == 1 for example in train for word in example.words])
    training: dict[str, Any] = {"minutes": size.minutes, "average": 5, "batch_tokens": 1200}
    if scheme == "none":
        training["label_smoothing"] = 0.05
    return {
        "task": {"kind": "label"},
        "data": {
            **{part: (os.path.relpath(path, out.parent),) for part, path in paths.items()},
            "format": format,
            "target": tuple(columns),
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


def _scheme(examples: Sequence[Example], columns: Sequence[str]) -> str:
    """The span scheme that all labels follow; none where labels are no spans."""
    labels = {label for example in examples for column in columns for label in example.labels[column] if label}
    prefixes = {label.partition("-")[0] for label in labels if "-" in label}
    if not prefixes or not prefixes <= set("BIOESM") or any("-" not in label and label != "O" for label in labels):
        return "none"
    fitting = [name for name in ("IOB2", "IOBES", "BMES") if _follow(examples, columns, name)]
    if "E" in prefixes:
        fitting = [name for name in fitting if name != "IOB2"]
    return fitting[0] if fitting else "none"


def _follow(examples: Sequence[Example], columns: Sequence[str], scheme: str) -> bool:
    return all(first_wrong(example.labels[column], scheme) is None for example in examples for column in columns)


def _told(examples: dict[str, list[Example]], columns: Sequence[str]) -> list[str]:
    told = []
    for part, of_part in examples.items():
        lengths = sorted(len(example.words) for example in of_part)
        told.append(
            f"{part:>5}  {len(of_part):,} items, {sum(lengths):,} words; lengths {lengths[0]} to {lengths[-1]}, "
            f"median {lengths[len(lengths) // 2]}"
        )
    train = examples["train"]
    for column in columns:
        counts = Counter(label for example in train for label in example.labels[column])
        most = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(6))
        told.append(f"column {column}: {len(counts)} labels, most often {most}")
    for example in train[:3]:
        pairs = zip(example.words[:12], example.labels[columns[0]], strict=False)
        told.append(
            "  " + " ".join(f"{word}/{label}" for word, label in pairs) + (" …" if len(example.words) > 12 else "")
        )
    return told + duplicates(examples)


def duplicates(examples: dict[str, list[Example]]) -> list[str]:
    """How many items of dev and test stand in train too, word for word."""
    known = {example.words for example in examples["train"]}
    told = []
    for part in PARTS[1:]:
        same = sum(example.words in known for example in examples.get(part, ()))
        if part in examples:
            told.append(f"{same:,} of {len(examples[part]):,} items of {part} stand in train too, word for word")
    return told
