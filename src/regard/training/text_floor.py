"""Floors of texts: what is reached by copying."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from regard.data.example import Example
from regard.training.linear import Bags

# So many texts are compared with all of train at a time.
_AT_A_TIME = 128


def the_source(train: Sequence[Example], test: Sequence[Example]) -> list[str]:
    """Each text as it was read."""
    return [" ".join(example.words) for example in test]


def of_the_most_similar(train: Sequence[Example], test: Sequence[Example]) -> list[str]:
    """The target of that training text which shares most with each: the cosine of their bags of n-grams."""
    known = [example for example in train if next(iter(example.labels.values()))[0] is not None]
    bags = Bags(known)
    # (examples, grams), rows of length 1, so that products are cosines
    matrix = bags.matrix(known).coalesce()
    nearest: list[int] = []
    for start in range(0, len(test), _AT_A_TIME):
        asked = bags.matrix(test[start : start + _AT_A_TIME])
        nearest += (matrix @ asked.to_dense().T).argmax(0).tolist()
    return [str(next(iter(known[number].labels.values()))[0]) for number in nearest]


TEXT_FLOORS: dict[str, Callable[[Sequence[Example], Sequence[Example]], list[str]]] = {
    "the source, copied": the_source,
    "target of the most similar source of train": of_the_most_similar,
}


def text_floors(train: Sequence[Example], test: Sequence[Example]) -> dict[str, list[str]]:
    """What each floor writes for the same items as the model."""
    with torch.inference_mode():
        return {name: write(train, test) for name, write in TEXT_FLOORS.items()}
