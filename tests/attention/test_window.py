"""The windowed path: what the plain one gives, whatever the blocks, in memory that does not grow with the square."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from sharp import assert_close, assert_moved, draw, position_of
from torch import Tensor

from regard.attention import PATHS, Mask, attend
from regard.attention.window import BLOCK, WORTH, Blocks, _Overlapping
from regard.errors import ShapeError

BATCH, HEADS, WIDTH, VALUE_WIDTH = 3, 2, 11, 13
WINDOWS = [(0, 0), (3, 5), (71, 2), (17, 0)]


def drawn(queries: int, keys: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    sizes = ((queries, WIDTH), (keys, WIDTH), (keys, VALUE_WIDTH))
    return [draw(BATCH, HEADS, *size, seed=seed, dtype=dtype).requires_grad_() for seed, size in enumerate(sizes)]


def windowed_equals_plain(tensors: list[Tensor], tolerance: float = 2e-6, **asked) -> None:
    pull = draw(BATCH, HEADS, tensors[0].shape[2], VALUE_WIDTH, seed=7, dtype=tensors[0].dtype)
    found, wanted = (attend(*tensors, path=path, **asked) for path in ("windowed", "plain"))
    assert_close(found, wanted, tolerance, "output")
    slopes = [torch.autograd.grad((output * pull).sum(), tensors) for output in (found, wanted)]
    for name, mine, plain in zip(("queries", "keys", "values"), *slopes, strict=True):
        assert_close(mine, plain, 10 * tolerance, f"the gradient of {name}")


@pytest.mark.parametrize("time", [1, BLOCK - 1, BLOCK, BLOCK + 3, 2 * BLOCK + 3], ids=lambda time: f"{time} elements")
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_whatever_the_blocks_the_windowed_path_equals_the_plain_one(window, time):
    """One item is whole, of one all is padding, one is cut: there are queries that may see nothing."""
    lengths = torch.tensor([time, 0, time // 3])
    windowed_equals_plain(drawn(time, time), mask=Mask.window(*window) & Mask.lengths(lengths))
    windowed_equals_plain(drawn(time, time, torch.float64), 1e-13, mask=Mask.window(*window))


@pytest.mark.parametrize("position", ["shaw", "t5", "alibi", "quadratic"])
def test_a_bias_and_what_a_position_adds_are_asked_for_block_by_block(position):
    time = 2 * BLOCK + 3
    kind = position_of(position, width=WIDTH, value_width=VALUE_WIDTH).double()
    bias = draw(HEADS, time, time, seed=3, dtype=torch.float64)
    mask = Mask.window(7, 3) & Mask.keys(draw(BATCH, time, seed=4) < 0.5)
    windowed_equals_plain(drawn(time, time, torch.float64), 1e-12, mask=mask, position=kind, bias=bias)


def test_no_position_is_asked_for_more_than_a_block_and_its_keys():
    seen = []

    class Spy(type(position_of("alibi"))):
        def bias(self, queries, query_positions, key_positions):
            seen.append((query_positions.shape[1], key_positions.shape[1]))
            return super().bias(queries, query_positions, key_positions)

    attend(*drawn(257, 257), mask=Mask.window(5, 3), position=Spy(HEADS), path="windowed")
    assert seen == BATCH * [(BLOCK, 5 + BLOCK + 3)]


@pytest.mark.parametrize("start", [-211, -13, 0, 5, 67, 97, 1009])
def test_a_later_chunk_of_queries_equals_the_plain_path_wherever_it_stands(start):
    """Also where some or all of its windows hold no key."""
    mask = Mask.window(7, 3) & Mask.lengths(torch.tensor([101, 53, 0]))
    places = {"query_positions": start + 1000 + torch.arange(67)[None], "key_positions": 1000 + torch.arange(101)[None]}
    windowed_equals_plain(drawn(67, 101), mask=mask, **places)


def test_one_step_at_a_time_equals_all_at_once():
    queries, keys, values = drawn(101, 101, torch.float64)
    mask = Mask.causal() & Mask.window(7, 0)
    whole = attend(queries, keys, values, mask=mask, path="plain")
    for place in (0, 3, 64, 100):
        seen = slice(0, place + 1)
        at = {"query_positions": torch.tensor([[place]]), "key_positions": torch.arange(place + 1)[None]}
        step = attend(queries[:, :, [place]], keys[:, :, seen], values[:, :, seen], mask=mask, path="windowed", **at)
        assert_close(step, whole[:, :, [place]], 1e-12, f"at {place}")


def test_attend_takes_it_where_it_saves_enough_and_watching_changes_nothing(monkeypatch):
    taken = []

    def spy(question):
        taken.append(question.scores_shape[3])
        return PATHS_BEFORE.take(question)

    PATHS_BEFORE = PATHS["windowed"]
    monkeypatch.setitem(PATHS, "windowed", replace(PATHS_BEFORE, take=spy))
    enough = 2 + BLOCK + 1 + WORTH
    for time in (enough - 1, enough):
        unwatched = attend(*drawn(time, time), mask=Mask.window(2, 1))
        watched = attend(*drawn(time, time), mask=Mask.window(2, 1), watch=lambda weights, rows: weights)
        assert_close(watched, unwatched, 2e-6)
    assert taken == [enough]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"mask": Mask.causal()}, "the mask has no window that ends on both sides"),
        ({"watch": lambda weights, rows: weights}, "somebody watches the weights, whole rows of them"),
        ({"query_positions": torch.tensor([[0, 2, 3, 4, 5]])}, "queries or keys do not stand one after the other"),
        ({"key_positions": torch.arange(5).flip(0)[None]}, "queries or keys do not stand one after the other"),
        ({"query_positions": torch.arange(3)[:, None] + torch.arange(5)}, "at the same places in all rows"),
    ],
)
def test_where_it_does_not_apply_it_is_refused_with_the_reason(asked, words):
    with pytest.raises(ShapeError, match=f"the windowed path cannot be taken: .*{words}"):
        attend(*drawn(5, 5), path="windowed", **{"mask": Mask.window(2, 1), **asked})


FAULTS = {
    "a window that is off by one": (
        "regard.attention.window.Blocks.window",
        lambda whole: (
            lambda blocks, device: whole(replace(blocks, before=blocks.before - 1), device)[
                :, [0, *range(blocks.reach - 1)]
            ]
        ),
    ),
    "padding that is counted": (
        "regard.attention.mask.Mask.of_blocks",
        lambda whole: lambda mask, *cut: whole(replace(mask, key_lengths=None), *cut),
    ),
    "what is beyond the ends is seen": (
        "regard.attention.window.Blocks.numbers",
        lambda whole: (
            lambda blocks, device: tuple(
                numbers.clamp(0, most - 1)
                for numbers, most in zip(whole(blocks, device), (blocks.queries, blocks.keys), strict=True)
            )
        ),
    ),
    "the edge of a block that is lost": (
        "regard.attention.window._Overlapping.backward",
        lambda whole: staticmethod(
            lambda ctx, gradient: whole(ctx, gradient * (torch.arange(gradient.shape[2]) > 0)[:, None])
        ),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_notices_a_planted_fault(fault, monkeypatch):
    time, mask = BLOCK + 3, Mask.window(3, 5) & Mask.lengths(torch.tensor([BLOCK + 3, 0, 23]))
    windowed_equals_plain(drawn(time, time), mask=mask)
    place, change = FAULTS[fault]
    holder, name = (
        {"Blocks": Blocks, "Mask": Mask, "_Overlapping": _Overlapping}[place.split(".")[-2]],
        place.split(".")[-1],
    )
    monkeypatch.setattr(holder, name, change(getattr(holder, name)))
    with pytest.raises(AssertionError, match="differs by"):
        windowed_equals_plain(drawn(time, time), mask=mask)


LONG = """
import resource
import torch
from regard.attention import Mask, attend

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def ask(time, **asked):
    tensors = [torch.randn(1, 1, time, 16, requires_grad=True) for _ in range(3)]
    attend(*tensors, **asked).sum().backward()

asked = {asked}
ask({small}, **asked)
before = megabytes()
ask({time}, **asked)
more = megabytes() - before
assert more < {most}, f"{{more:.0f}} MB"
"""


@pytest.mark.parametrize(
    ("small", "time", "most", "asked"),
    [
        (499, 16384, 100, "{'mask': Mask.window(64, 64) & Mask.lengths(torch.tensor([499]))}"),
        (2053, 6007, 300, "{'normalizer': 'relu'}"),
    ],
)
def test_a_long_input_takes_bounded_memory_forward_and_backward(small, time, most, asked):
    """All weights of 16,384 elements take 1 GB, and of 6,007 144 MB; the plain path needs each at least four times."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    code = LONG.format(small=small, time=time, most=most, asked=asked)
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_what_is_outside_of_the_window_changes_nothing_and_what_is_inside_does():
    queries, keys, values = drawn(257, 257)
    other = values.detach().clone()
    other[:, :, 100] += 9
    before, after = (attend(queries, keys, value, mask=Mask.window(5, 3), path="windowed") for value in (values, other))
    moved = (before != after).any(-1).any(0).any(0)
    assert moved.nonzero().flatten().tolist() == list(range(97, 106))
    assert_moved(before[:, :, 97:106], after[:, :, 97:106])
