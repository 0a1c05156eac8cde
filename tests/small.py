"""A small task that is learnt in a second or two: the demo's sentences, and recipes for them."""

from pathlib import Path
from typing import Any

from regard.data.example import Example, Place
from regard.demo.grammar import sentences

COLUMN = "label"


def parts(train: int = 300, dev: int = 60, test: int = 40, seed: int = 3) -> dict[str, list[Any]]:
    """Pairs of words and tags, as `regard.train(data=…)` takes them."""
    found = sentences(train + dev + test, seed)
    return {"train": found[:train], "dev": found[train : train + dev], "test": found[train + dev :]}


def examples(count: int = 40, seed: int = 4) -> list[Example]:
    return [
        Example(sentence.words, {COLUMN: sentence.tags}, Place("small", number))
        for number, sentence in enumerate(sentences(count, seed), 1)
    ]


def recipe(**changes: Any) -> dict[str, Any]:
    """A quick recipe; changes are {section: {key: value}}."""
    values: dict[str, Any] = {
        "input": {"tokens": "words", "word_width": 16},
        "model": {"width": 16, "heads": 2, "depth": 1, "inner": 24, "dropout": 0.1},
        "train": {
            "epochs": 2,
            "batch_tokens": 256,
            "lr": 5e-3,
            "warmup_steps": 5,
            "evaluate_every": 10,
            "certify": False,  # a new process takes as long as such a training
        },
    }
    for section, part in changes.items():
        values[section] = {**values.get(section, {}), **part}
    return values


def without_heads(**changes: Any) -> dict[str, Any]:
    """The recipe for an encoder that has no attention."""
    values = recipe(**changes)
    del values["model"]["heads"]
    return values


def conllu(pairs: list[Any]) -> str:
    """The pairs as CoNLL-U, their tags as UPOS."""
    blocks = []
    for words, tags in pairs:
        rows = [f"{n}\t{w}\t_\t{t}\t_\t_\t_\t_\t_\t_" for n, (w, t) in enumerate(zip(words, tags, strict=True), 1)]
        blocks.append("\n".join(rows) + "\n\n")
    return "".join(blocks)


RECIPE = """[data]
train = "train.conllu"
dev = "dev.conllu"

[input]
tokens = "words"
word_width = 16

[model]
width = 16
heads = 2
depth = 1
inner = 24

[train]
epochs = {epochs}
batch_tokens = 256
lr = 5e-3
warmup_steps = 5
evaluate_every = 10
certify = false
"""


def write(folder: Path, epochs: float = 2, **sizes: int) -> Path:
    """The task as files with a recipe, whose path is given back."""
    for part, pairs in parts(**sizes).items():
        (folder / f"{part}.conllu").write_text(conllu(pairs), encoding="utf-8")
    (folder / "small.toml").write_text(RECIPE.format(epochs=epochs), encoding="utf-8")
    return folder / "small.toml"
