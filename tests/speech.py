"""Small speech: tones that say letters, and networks that hear them."""

from itertools import groupby

import numpy as np
import torch
from sharp import sharpen
from sounds import RATE, noise, tone

from regard.build import build, learn
from regard.data.example import Example, Place
from regard.recipe import recipe_from

# What each letter sounds like.
LETTERS = {"a": 350, "b": 700, "c": 1250, "d": 2100}


def say(text, seconds=0.12, seed=0):
    """(samples,): a tone for each letter, with a little noise."""
    random = np.random.default_rng(seed)
    parts = [tone(LETTERS[letter] * random.uniform(0.97, 1.03), seconds * random.uniform(0.8, 1.2)) for letter in text]
    sound = np.concatenate([np.zeros(160, np.float32), *parts, np.zeros(160, np.float32)])
    return (sound + noise(len(sound) / RATE, loud=0.005, seed=seed)[: len(sound)]).astype(np.float32)


def texts(count, seed=1, longest=5):
    """Texts of which no two neighbours are the same."""
    random = np.random.default_rng(seed)
    found = ["".join(random.choice(list(LETTERS), random.integers(1, longest + 1))) for _ in range(count)]
    return ["".join(letter for letter, _ in groupby(text)) for text in found]


def pairs(count, seed=1, task="ctc"):
    """Sounds with what is said, or with the first letter as their class."""
    return [
        (say(text, seed=1000 * seed + number), text if task in ("ctc", "seq2seq") else text[0])
        for number, text in enumerate(texts(count, seed))
    ]


def recipe(task="ctc", **changes):
    values = {
        "task": {"kind": task},
        "data": {"train": "x"},
        "input": {"kind": "speech", "rate": RATE, "bands": 13, "channels": 5},
        "model": {"width": 16, "heads": 2, "depth": 2, "inner": 24, "dropout": 0.0},
        "train": {"epochs": 2, "batch_tokens": 100, "warmup_steps": 5, "certify": False},
    }
    for section, part in changes.items():
        values[section] = {**values.get(section, {}), **part}
    if values["model"].get("encoder", "attention") != "attention" and task != "seq2seq":
        del values["model"]["heads"]
    return values


def examples(count=11, task="ctc"):
    return [
        Example((str(number),), {"text": (said,)}, Place("made", number), whole=True, signal=sound)
        for number, (sound, said) in enumerate(pairs(count, task=task), 1)
    ]


def predictor(task="ctc", **changes):
    """A network with first weights that attends sharply."""
    torch.manual_seed(0)
    settings = recipe_from(recipe(task, **changes))
    made = build(settings, *learn(settings, examples(task=task), ("text",)))
    sharpen(made.model).eval()
    return made
