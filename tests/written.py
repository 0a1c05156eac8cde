"""Small models that write texts, and a task that they learn in seconds: letters are written in the other order."""

import math
import random
from typing import Any

from sharp import sharpen
from torch import Tensor

from regard.build import build, learn
from regard.data.example import Example, Place
from regard.data.target import Texts
from regard.models.outputs import TiedProjection
from regard.predict import Predictor
from regard.recipe import Recipe, recipe_from

COLUMN = "target"
LETTERS = "abcdef"

# What is read and written in, and which vectors are shared: each that there is.
SIDES: dict[str, dict[str, dict[str, Any]]] = {
    "letters, one table": {
        "input": {"tokens": "characters"},
        "output": {"tokens": "characters", "share": "all"},
    },
    "letters, a table of what is written": {
        "input": {"tokens": "characters"},
        "output": {"tokens": "characters", "share": "target"},
    },
    "sub-words, nothing shared": {
        "input": {"tokens": "subwords", "size": 280},
        "output": {"tokens": "subwords", "size": 270, "share": "none"},
    },
    "sub-words, one table": {
        "input": {"tokens": "subwords", "size": 280},
        "output": {"tokens": "subwords", "share": "all"},
    },
    "words to words": {
        "input": {"tokens": "words", "word_width": 11, "minimum_count": 1, "split": "spaces"},
        "output": {"tokens": "words"},
    },
    "words and letters to letters": {
        "input": {"tokens": "words+characters", "word_width": 7, "filters": 3, "minimum_count": 1},
        "output": {"tokens": "characters", "share": "none"},
    },
}


def text(draw: random.Random, most: int = 7) -> str:
    """Some letters, with a space here and there."""
    letters = draw.choices(LETTERS, k=draw.randrange(1, most + 1))
    return "".join(letter + (" " if draw.random() < 0.2 else "") for letter in letters).strip()


def pairs(count: int, seed: int = 1, most: int = 7) -> list[tuple[str, str]]:
    """Texts, and what is to be written of them."""
    draw = random.Random(seed)
    found = [text(draw, most) for _ in range(count)]
    return [(one, one[::-1]) for one in found]


def examples(count: int = 23, seed: int = 1, words: bool = False) -> list[Example]:
    """The same as examples; a text stands as it is, or in words."""
    return [
        Example(tuple(source.split()) if words else (source,), {COLUMN: (target,)}, Place("pairs", n), whole=True)
        for n, (source, target) in enumerate(pairs(count, seed), 1)
    ]


def recipe(sides: str = "letters, a table of what is written", **changes: dict[str, Any]) -> Recipe:
    """A small recipe; changes are {section: {key: value}}."""
    values: dict[str, Any] = {
        "task": {"kind": "seq2seq"},
        "data": {"train": "pairs given", "format": "tsv"},
        "model": {"width": 22, "heads": 2, "depth": 2, "decoder_depth": 1, "inner": 29, "dropout": 0.0},
        "train": {"certify": False},  # a new process takes longer than such a training
        **SIDES[sides],
    }
    for section, part in changes.items():
        values[section] = {**values.get(section, {}), **part}
    return recipe_from(values)


def predictor(sides: str = "letters, a table of what is written", **changes: dict[str, Any]) -> Predictor:
    """A model with random weights that attends sharply, writes other texts for other sources, and ends most of them."""
    made_by = recipe(sides, **changes)
    known = examples(97, 5, words="words" in sides.split(" and ")[0].split(" to "))
    tokenizer, targets = learn(made_by, known, (COLUMN,))
    made = build(made_by, tokenizer, targets)
    texts = made.writes
    assert isinstance(texts, Texts)
    # What was read must outweigh what was written, else all texts are alike.
    for block in made.model.decoder.blocks:
        block.cross_attention.value.weight.data.mul_(10)
    (head,) = made.model.output.heads
    if not isinstance(head.project, TiedProjection):
        head.project.weight.data.mul_(3)
    bias_of(made)[texts.end] += 0.5 * math.log(texts.end)
    sharpen(made.model)
    made.model.eval()
    return made


def bias_of(made: Predictor) -> Tensor:
    """(pieces,), what is added to the scores of each piece, wherever it is written."""
    (head,) = made.model.output.heads
    return head.project.bias.data


def given_to(made: Predictor, count: int = 23, seed: int = 1) -> list[Example]:
    """Examples as this model reads them."""
    return examples(count, seed, words="words" in made.tokenizer.kind)
