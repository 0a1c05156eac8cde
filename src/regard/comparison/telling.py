"""The items that one of two runs answered better than the other, the most telling first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.predict import Answer

# So many of each are shown.
_SHOWN = 7


@dataclass(frozen=True)
class Case:
    """An item that was answered differently: where it stands, its text, what is right and what each run answered; of
    labels for words, only of those that the runs answered differently."""

    place: str
    text: str
    right: str
    one: str
    other: str


@dataclass(frozen=True)
class Cases:
    """How many items the first run answered better (won), worse (lost) and as well (same), with a few of each.

    answered: how many were answered in other words or labels
    """

    won: int
    lost: int
    same: int
    answered: int
    best: Sequence[Case]
    worst: Sequence[Case]


def cases(one: Sequence[Answer], other: Sequence[Answer], losses: np.ndarray) -> Cases:
    """losses: how wrong each answer is, those of the one run before those of the other"""
    gains = losses[len(one) :] - losses[: len(one)]
    sure = np.array([_sure(a) + _sure(b) for a, b in zip(one, other, strict=True)])
    # The most gained first; of equals, those of whose answers the runs were surest.
    order = np.lexsort((np.arange(len(one)), -sure, -np.abs(gains)))
    shown = {sign: [int(item) for item in order if sign * gains[item] > 0][:_SHOWN] for sign in (1, -1)}
    best, worst = ([_case(one[item], other[item]) for item in shown[sign]] for sign in (1, -1))
    differ = sum(a.columns != b.columns for a, b in zip(one, other, strict=True))
    won, lost = int((gains > 0).sum()), int((gains < 0).sum())
    return Cases(won, lost, len(one) - won - lost, differ, best, worst)


def _sure(answer: Answer) -> float:
    """How sure a run is of its one answer; nothing is said of several."""
    shares = [of[0] for of in answer.probabilities.values() if len(of) == 1]
    return sum(share for share in shares if isinstance(share, float))


def _case(one: Answer, other: Answer) -> Case:
    told = []
    for column, answers in one.columns.items():
        beside = zip(answers, other.columns[column], one.example.labels[column], strict=True)
        for word, (answer, another, right) in enumerate(beside):
            if one.example.whole or answer != another:
                named = "" if one.example.whole else f"{one.words[word]}/"
                labels = ("?" if right is None else right, answer, another)
                told.append([f"{named}{label}" for label in labels])
    return Case(str(one.example.place), " ".join(one.words), *(" ".join(of) for of in zip(*told, strict=True)))
