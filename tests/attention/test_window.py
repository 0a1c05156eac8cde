"""Truncated attention: what it makes grows with the length, and not with its square."""

from dataclasses import replace

import pytest
import torch
from sharp import draw
from torch.utils._python_dispatch import TorchDispatchMode

from regard.attention import Mask, attend
from regard.attention.question import Question

HEADS, HEAD_WIDTH = 3, 5


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor had that anything gave."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        for tensor in found if isinstance(found, tuple | list) else (found,):
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return found


def largest(length, mask):
    queries, keys, values = (draw(1, HEADS, length, HEAD_WIDTH, seed=seed) for seed in (1, 2, 3))
    with Largest() as mode:
        attend(queries, keys, values, mask=mask)
    return mode.numbers


@pytest.mark.parametrize("padded", [False, True])
def test_what_a_window_makes_grows_with_the_length_and_not_with_its_square(padded):
    def mask(length):
        window = Mask.window(7, 11)
        return window & Mask.lengths(torch.tensor([length - 3])) if padded else window

    short, long = (largest(length, mask(length)) for length in (1021, 4 * 1021))
    assert long < 5 * short < 1021 * 1021


def test_a_check_that_wrote_the_window_out_would_be_noticed(monkeypatch):
    check = Question.check

    def writes_it_out(self):
        check(replace(self, query_positions=self.where_queries, key_positions=self.where_keys))

    monkeypatch.setattr(Question, "check", writes_it_out)
    assert largest(1021, Mask.window(7, 11)) >= 1021 * 1021
