"""Setting examples aside: which are learnt from, which are chosen by, which are reported on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from regard.data.example import Example
from regard.errors import DataError

# What shares are set aside for, in their order.
ASIDE = ("dev", "test")

# Each item's class or group, the shares, a seed -> the number of each item's share from 1, or 0 where it is learnt.
Division = Callable[[Sequence[str | None], Sequence[float], int], list[int]]


def divide(
    examples: Sequence[Example], shares: Sequence[float], *, by: str = "chance", seed: int = 0, classes: bool = False
) -> list[list[Example]]:
    """The examples to learn from and those of each share, all in their order.

    by: chance, drawn from the seed; lines, every n-th; column, all that have the same group on one side
    classes: whether chance draws from each class alone
    """
    keys = [_key(example, by, classes) for example in examples]
    if len(examples) <= len(shares):
        count = "one example" if len(examples) == 1 else f"{len(examples)} examples"
        needed = " and ".join(f"data.{part}" for part in ASIDE[: len(shares)])
        raise DataError(f"{count} cannot be split into train and {' and '.join(ASIDE[: len(shares)])}; give {needed}")
    numbers = DIVISIONS[by](keys, shares, seed)
    found: list[list[Example]] = [[] for _ in range(len(shares) + 1)]
    for example, number in zip(examples, numbers, strict=True):
        found[number].append(example)
    _check(found, shares, by, len(set(keys)))
    return found


def _key(example: Example, by: str, classes: bool) -> str | None:
    """What decides with others' alike: the class in the first column, or the group."""
    if by != "column":
        return next(iter(example.labels.values()))[0] if classes else None
    if example.group is None:
        raise DataError(f"{example.place}: data.split_by is column, but this example has no group")
    return example.group


def _check(found: Sequence[Sequence[Example]], shares: Sequence[float], by: str, keys: int) -> None:
    """Refuse a division by which a part is empty."""
    count = sum(map(len, found))
    among = f"{count} examples" + (f" of {keys} different groups" if by == "column" else "")
    for part, share, examples in zip(ASIDE, shares, found[1:], strict=False):
        if not examples:
            reason = ", since no class has enough" if by == "chance" else ""
            raise DataError(
                f"data.split sets aside {share} of {among}, which is none for {part}{reason}; give data.{part}"
            )
    if not found[0]:
        raise DataError(f"data.split sets aside all of {among}, and nothing is left to learn from; give smaller shares")


def by_chance(keys: Sequence[str | None], shares: Sequence[float], seed: int) -> list[int]:
    """Each class gives its share, to one item; one of each, at least, is learnt."""
    numbers = [0] * len(keys)
    waiting: dict[str | None, list[int]] = {}
    for item in np.random.default_rng(seed).permutation(len(keys)).tolist():
        waiting.setdefault(keys[item], []).append(item)
    sizes = {key: len(items) for key, items in waiting.items()}
    for number, share in enumerate(shares, 1):
        rooms = {key: len(items) - 1 for key, items in waiting.items()}
        for key, count in _apportioned(sizes, share, rooms).items():
            for item in waiting[key][:count]:
                numbers[item] = number
            waiting[key] = waiting[key][count:]
    return numbers


def _apportioned(
    sizes: Mapping[str | None, int], share: float, rooms: Mapping[str | None, int]
) -> dict[str | None, int]:
    """How many of each class are a share of all: the whole parts, and one more to the largest remainders."""
    wanted = max(1, round(share * sum(sizes.values())))
    counts = {key: min(math.floor(share * size), rooms[key]) for key, size in sizes.items()}
    for key in sorted(sizes, key=lambda key: math.floor(share * sizes[key]) - share * sizes[key]):
        if counts[key] < rooms[key] and sum(counts.values()) < wanted:
            counts[key] += 1
    return counts


def by_lines(keys: Sequence[str | None], shares: Sequence[float], seed: int) -> list[int]:
    """Every n-th item, n = 1 / share: first of all items for the last share, then of the rest."""
    numbers = [0] * len(keys)
    left = list(range(len(keys)))
    for number, share in reversed(list(enumerate(shares, 1))):
        every = round(1 / share)
        for item in left[every - 1 :: every]:
            numbers[item] = number
        left = [item for item in left if not numbers[item]]
    return numbers


def by_column(keys: Sequence[str | None], shares: Sequence[float], seed: int) -> list[int]:
    """A group's name alone decides where it goes: the same in every file, whatever other groups there are."""
    ends = np.cumsum(shares).tolist()
    return [next((number for number, end in enumerate(ends, 1) if _place(str(key)) < end), 0) for key in keys]


def _place(name: str) -> float:
    """A number from 0 to 1 that is the same for the same name on every machine."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]) / 2**64


DIVISIONS: dict[str, Division] = {"chance": by_chance, "lines": by_lines, "column": by_column}
