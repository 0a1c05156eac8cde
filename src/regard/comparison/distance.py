"""A task made for its distance: find the item that fits the question, so many steps back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# With four keys attention learns one after the other, and is not done at 512 steps when two keys are long known.
KEYS, VALUES = "ab", "0123"

# The answer of whoever does not find the item is right this often.
CHANCE = 1 / len(VALUES)

# Words, and a label for the last of them.
Item = tuple[list[str], list[str | None]]


def items(distance: int, count: int, seed: int) -> list[Item]:
    """Sequences of distance + 1 words: the last asks for a key, the first alone has it, and its value is the answer.

    What stands between them has other keys, and values that tell nothing: whoever does not see the first word can only
    guess. Each value is the answer to as many items, give or take one.
    """
    random = np.random.default_rng((seed, distance))
    asked = random.integers(len(KEYS), size=count)
    # Some keys further on, round the circle: never the one that is asked for.
    keys = (asked[:, None] + random.integers(1, len(KEYS), size=(count, distance - 1))) % len(KEYS)
    values = random.integers(len(VALUES), size=(count, distance - 1))
    return [
        _item(int(asked[number]), number % len(VALUES), keys[number].tolist(), values[number].tolist())
        for number in range(count)
    ]


def _item(asked: int, value: int, keys: Sequence[int], values: Sequence[int]) -> Item:
    between = [KEYS[key] + VALUES[of] for key, of in zip(keys, values, strict=True)]
    words = [KEYS[asked] + VALUES[value], *between, f"?{KEYS[asked]}"]
    return words, [None] * (len(words) - 1) + [VALUES[value]]


def lesson(distance: int, count: int, seed: int) -> list[Item]:
    """What is learnt from: so many items at the distance, at half of it, a quarter … and 1, so that what is learnt
    where the item is near can be carried further."""
    return [item for near in halves(distance) for item in items(near, count, seed)]


def halves(distance: int) -> list[int]:
    """The distance, half of it, a quarter … 1."""
    return [distance >> times for times in range(distance.bit_length())]
