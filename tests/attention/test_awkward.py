"""The awkward kinds of position, against the interfaces: whatever comes later must fit into `Position` and `watch`."""

import os
import subprocess
import sys

import pytest
import torch
from sharp import HEADS, INNER, WIDTH, assert_close, draw, sharpen
from torch import nn

from regard.attention import Mask, Position, attend
from regard.attention.attend import PATHS
from regard.errors import ShapeError
from regard.layers import AddNorm, Encoder, EncoderBlock, FeedForward, MultiHeadAttention


class Relative(Position):
    """Keys and values have an addition that depends on how far apart query and key are, up to a limit.

    Source: Shaw, Uszkoreit & Vaswani 2018, arXiv:1803.02155, equations 3 and 4. The bias depends on the query.
    """

    adds_values = True

    def __init__(self, head_width, limit=3):
        super().__init__()
        self.limit = limit
        self.of_keys = nn.Parameter(draw(2 * limit + 1, head_width, seed=1))
        self.of_values = nn.Parameter(draw(2 * limit + 1, head_width, seed=2))

    def _apart(self, query_positions, key_positions):
        # (batch, queries, keys)
        apart = key_positions[:, None, :] - query_positions[:, :, None]
        return apart.clamp(-self.limit, self.limit) + self.limit

    def bias(self, queries, query_positions, key_positions):
        of_keys = self.of_keys[self._apart(query_positions, key_positions)]
        return (
            torch.einsum("bhqd,bqkd->bhqk", queries, of_keys.expand(len(queries), -1, -1, -1))
            * queries.shape[-1] ** -0.5
        )

    def values(self, weights, query_positions, key_positions):
        of_values = self.of_values[self._apart(query_positions, key_positions)]
        return torch.einsum("bhqk,bqkd->bhqd", weights, of_values.expand(len(weights), -1, -1, -1))


class AtEveryBlock(Position):
    """Something is added at the input of each block, and not the same, as in FLOATER.

    Source: Liu et al. 2020, arXiv:2003.09229, section 3.1.
    """

    class One(Position):
        def __init__(self, speed):
            super().__init__()
            self.speed = speed

        def embed(self, x, positions):
            return x + torch.sin(positions[..., None] * self.speed * torch.arange(1, x.shape[-1] + 1))

    def __init__(self, depth):
        super().__init__()
        self.kinds = nn.ModuleList(self.One(0.1 * (block + 1)) for block in range(depth))

    def at(self, block):
        return self.kinds[block]


def by_hand(position, queries, keys, values):
    """Equations 3 and 4, one query and key at a time."""
    output = torch.zeros_like(queries)
    width = queries.shape[-1]
    for b, h, i in torch.cartesian_prod(*(torch.arange(size) for size in queries.shape[:3])).tolist():
        apart = [max(-position.limit, min(position.limit, j - i)) + position.limit for j in range(keys.shape[2])]
        scores = torch.stack(
            [queries[b, h, i] @ (keys[b, h, j] + position.of_keys[a]) / width**0.5 for j, a in enumerate(apart)]
        )
        weights = scores.softmax(0)
        output[b, h, i] = sum(
            weight * (values[b, h, j] + position.of_values[a])
            for (j, a), weight in zip(enumerate(apart), weights, strict=True)
        )
    return output


def test_a_bias_that_depends_on_the_query_and_an_addition_to_the_values_fit(monkeypatch):
    queries, keys, values = (draw(2, 2, 7, 5, seed=seed) for seed in (3, 4, 5))
    position = Relative(5)
    wanted = by_hand(position, queries, keys, values)
    assert_close(attend(queries, keys, values, position=position), wanted, 1e-5)
    with pytest.raises(ShapeError, match="the position Relative adds to the values"):
        attend(queries, keys, values, position=position, path="fused")
    # Asked for two rows at a time.
    monkeypatch.setattr(sys.modules["regard.attention.question"], "TILE_WEIGHTS", 2 * 2 * 2 * 7)
    assert_close(attend(queries, keys, values, position=position, watch=lambda weights, rows: weights), wanted, 1e-5)


def test_rows_that_stand_at_different_places_get_their_own_bias():
    queries, keys, values = (draw(2, 2, 7, 5, seed=seed) for seed in (3, 4, 5))
    position = Relative(5)
    shifted = torch.stack((torch.arange(7), torch.arange(7) * 2))
    both = attend(queries, keys, values, position=position, query_positions=shifted, key_positions=shifted)
    for row in (0, 1):
        one = (tensor[row : row + 1] for tensor in (queries, keys, values))
        alone = attend(
            *one, position=position, query_positions=shifted[row : row + 1], key_positions=shifted[row : row + 1]
        )
        assert_close(both[row : row + 1], alone, 1e-5)


def test_every_block_may_get_a_position_of_its_own():
    depth = 3
    torch.manual_seed(0)
    blocks = [
        EncoderBlock(MultiHeadAttention(WIDTH, HEADS), FeedForward(WIDTH, INNER), AddNorm(WIDTH), AddNorm(WIDTH))
        for _ in range(depth)
    ]
    position = AtEveryBlock(depth)
    encoder = sharpen(Encoder(blocks, position=position)).eval()
    x = draw(2, 7, WIDTH)
    wanted = x
    for index, block in enumerate(blocks):
        wanted = block(position.kinds[index].embed(wanted, torch.arange(7)[None]))
    assert_close(encoder(x), wanted, 1e-6)


def test_a_window_and_a_bias_go_together_on_every_path():
    queries, keys, values = (draw(2, 2, 11, 5, seed=seed) for seed in (3, 4, 5))
    given = {"mask": Mask.window(2, 1) & Mask.lengths(torch.tensor([11, 4])), "bias": draw(1, 2, 11, 11, seed=6)}
    wanted = attend(queries, keys, values, path="plain", **given)
    for path in PATHS:
        watch = {"watch": lambda weights, rows: weights} if path == "tiled" else {}
        assert_close(attend(queries, keys, values, path=path, **given, **watch), wanted, 1e-5, path)


LONG = """
import resource
import torch
from regard.attention import attend

torch.manual_seed(1)
keys = values = torch.randn(1, 1, 100_000, 3)
queries = torch.randn(1, 1, 1000, 3)
seen = []

def watch(weights, rows):
    seen.append((rows.start, rows.stop, float((weights.sum(-1) - 1).abs().max())))
    return weights

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

attend(queries[:, :, :4], keys, values, watch=watch)
seen.clear()
before = megabytes()
output = attend(queries, keys, values, watch=watch)
more = megabytes() - before
assert [start for start, _, _ in seen] == [0, *(stop for _, stop, _ in seen[:-1])] and seen[-1][1] == 1000
assert len(seen) > 5 and all(off < 1e-4 for _, _, off in seen), seen
assert more < 300, f"{more:.0f} MB"
assert (output - attend(queries, keys, values)).abs().max() < 1e-4
"""


def test_a_long_input_is_watched_in_bounded_memory():
    """100,000 keys: all weights would take 40 GB at once. Here 1,000 queries look, whose weights alone are 400 MB.

    In a process of its own, whose memory nothing else uses.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", LONG], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
