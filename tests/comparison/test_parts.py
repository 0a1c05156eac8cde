"""Data parted by length."""

import random
from itertools import pairwise

import numpy as np
import pytest

from regard.comparison.parts import stretches


@pytest.mark.parametrize(
    ("lengths", "wanted"),
    [
        ([3, 3, 3], [(3, 3)]),
        ([1, 2], [(1, 2)]),
        ([1, 1, 2, 2, 3, 3, 4, 4], [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ([1, 1, 2, 2, 3, 3, 4, 4, 99], [(1, 2), (3, 3), (4, 99)]),
        ([0, 0, 0, 0, 0, 0, 7, 8], [(0, 0), (1, 8)]),
    ],
)
def test_stretches_have_about_as_many_items(lengths, wanted):
    assert stretches(np.array(lengths)) == wanted


def test_every_item_is_in_one_stretch_and_none_alone():
    draw = random.Random(5)
    for _ in range(301):
        lengths = np.array([draw.randrange(draw.choice((2, 5, 31))) for _ in range(draw.randrange(2, 23))])
        found = stretches(lengths)
        inside = [((low <= lengths) & (lengths <= high)).sum() for low, high in found]
        assert sum(inside) == len(lengths) and min(inside) > 1
        assert all(before[1] < after[0] for before, after in pairwise(found))
