"""Positions in rows and columns."""

import json

import pytest
import torch

from regard.attention import POSITIONS, Sizes
from regard.attention.position import GridLearned, grid_positions
from regard.attention.position.grid import ROW, parted
from regard.errors import ShapeError
from regard.recipe.faults import GRID_POSITIONS

HEADS, HEAD_WIDTH, ROWS, COLUMNS = 3, 8, 5, 7
SIZES = Sizes(width=HEADS * HEAD_WIDTH, heads=HEADS, head_width=HEAD_WIDTH, grid=(ROWS, COLUMNS))
PLACES = [(row, column) for row in range(ROWS) for column in range(COLUMNS)]
RELATIVE = ("rotary", "t5", "quadratic")


def positions(places):
    rows, columns = torch.tensor(places).unbind(-1)
    return grid_positions(rows, columns)[None]


def scores(name, places):
    """How well each place fits each other, by where they stand alone: (heads, places, places)."""
    torch.manual_seed(5)
    position = POSITIONS[name].sized(SIZES).at(0)
    for parameter in position.parameters():
        parameter.data.normal_()
    one, other = (torch.randn(1, HEADS, 1, HEAD_WIDTH).expand(1, HEADS, len(places), HEAD_WIDTH) for _ in range(2))
    where = positions(places)
    found = position.rotate(one, where) @ position.rotate(other, where).mT
    bias = position.bias(one, where, where)
    return (found if bias is None else found + bias)[0]


@pytest.mark.parametrize("name", RELATIVE)
def test_what_counts_is_how_far_apart_two_places_are_in_both_ways(name):
    found = scores(name, PLACES)
    moved = scores(name, [(row + 3, column + 4) for row, column in PLACES])
    assert torch.allclose(found, moved, atol=1e-4)
    by_distance = {}
    for one, (row, column) in enumerate(PLACES):
        for other, (down, right) in enumerate(PLACES):
            by_distance.setdefault((down - row, right - column), []).append(found[:, one, other])
    for same in by_distance.values():
        assert torch.stack(same).std(0, correction=0).max() < 1e-4


@pytest.mark.parametrize("name", RELATIVE)
def test_rows_and_columns_are_told_apart(name):
    found = scores(name, [(0, 0), (0, 1), (1, 0), (0, COLUMNS), (1, 1)])
    assert (found[:, 0, 1] - found[:, 0, 2]).abs().max() > 1e-3  # right and down
    assert (found[:, 0, 3] - found[:, 0, 2]).abs().max() > 1e-3  # far to the right is not the next row


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_each_place_is_told_from_all_others(name):
    position = POSITIONS[name].sized(SIZES).at(0)
    told = position.embed(torch.zeros(1, len(PLACES), SIZES.width), positions(PLACES))[0]
    apart = torch.cdist(told, told) + torch.eye(len(PLACES)) * 9
    assert apart.min() > 1e-2


def test_a_place_is_its_row_and_its_column():
    rows, columns = parted(positions(PLACES))
    assert list(zip(rows[0].tolist(), columns[0].tolist(), strict=True)) == PLACES
    with pytest.raises(ShapeError, match=f"a picture has at most {ROW} columns, not {ROW + 1}"):
        positions([(0, ROW)])


def test_a_picture_larger_than_the_learned_places_is_refused():
    position = GridLearned(4, 2, 3)
    with pytest.raises(ShapeError, match="3 × 3 patches is larger than the 2 × 3 learned places"):
        position.embed(torch.zeros(1, 1, 4), positions([(2, 2)]))


def test_the_table_says_which_kinds_know_rows_and_columns():
    for name, kind in POSITIONS.items():
        if name in GRID_POSITIONS:
            assert kind.sized(SIZES) is not None
        else:
            with pytest.raises(ShapeError, match=f"the position {name} knows elements along a line, and no rows and"):
                kind.sized(SIZES)


def grid_of(values, rows, columns):
    position = GridLearned(1, rows, columns)
    position.table.data.copy_(torch.tensor(values, dtype=torch.float32).view(rows, columns, 1))
    return position


def test_stretched_places_keep_their_axes():
    old = grid_of([0, 1, 2, 10, 11, 12], 2, 3)
    assert torch.equal(old.stretched(2, 3).table, old.table)
    turned = old.stretched(3, 2).table[..., 0]
    assert torch.allclose(turned, torch.tensor([[0.0, 2.0], [5.0, 7.0], [10.0, 12.0]]))
    assert not torch.equal(turned, torch.tensor([[0.0, 1.0], [2.0, 10.0], [11.0, 12.0]]))


def test_a_known_grid_is_stretched_along_its_axes(cases):
    case = json.loads((cases / "b62_posembed.json").read_text())
    old = grid_of(case["old_values_row_major"], *case["old_grid"])
    assert torch.equal(old.stretched(*case["new_grid"]).table, old.table)
    swapped = old.stretched(*case["swap_grid"]).table[..., 0]
    assert torch.allclose(swapped[-1] - swapped[0], torch.tensor(10.0))
    assert torch.allclose(swapped[:, -1] - swapped[:, 0], torch.tensor(2.0))
