"""Choices combined so that every pair of them occurs: a fault that two choices make together is met in few cases."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

Pair = tuple[tuple[str, Any], tuple[str, Any]]


def pairs_of(case: Mapping[str, Any]) -> set[Pair]:
    return set(combinations(case.items(), 2))


def every_pair(**choices: Iterable[Any]) -> list[dict[str, Any]]:
    """Cases, each with one of every kind of choice, so that any two choices of different kinds stand in one of them.

    Greedy: each case begins with a pair that is missing and takes of every other kind what makes up most missing pairs.
    """
    options = {name: list(values) for name, values in choices.items()}
    missing: dict[Pair, None] = {
        ((one, first), (other, second)): None
        for one, other in combinations(options, 2)
        for first in options[one]
        for second in options[other]
    }

    def made_up(case: Mapping[str, Any]) -> int:
        return len(pairs_of({name: case[name] for name in options if name in case}) & missing.keys())

    cases = []
    while missing:
        case = dict(next(iter(missing)))
        for name in [name for name in options if name not in case]:
            case[name] = max(options[name], key=lambda value: made_up(case | {name: value}))
        case = {name: case[name] for name in options}
        for pair in pairs_of(case):
            missing.pop(pair, None)
        cases.append(case)
    return cases
