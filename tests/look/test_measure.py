"""Each measure says of planted weights what was planted."""

import math

import pytest
import torch
from sharp import assert_close, draw

from regard.look.measure import ALL_MEASURES, MEASURES, Totals, chip, measured, merged, shifts

N = 7
PREVIOUS = torch.eye(N).roll(-1, 1)  # the first row looks at the last column: it has none before it
PREVIOUS[0] = 1 / N
PLANTED = {
    "same": torch.eye(N),
    "previous": PREVIOUS,
    "next": torch.cat((torch.eye(N)[1:], torch.full((1, N), 1 / N))),
    "first": torch.eye(N)[:1].expand(N, N),
    "even": torch.full((N, N), 1 / N),
    "backwards": torch.eye(N).flip(0),
}


def of(name):
    return measured(PLANTED[name][None], own=True)[0]


@pytest.mark.parametrize("name", ["same", "previous", "next", "first"])
def test_a_head_that_looks_at_one_place_has_all_its_share_there_and_says_so(name):
    found = of(name)
    assert found[name] == pytest.approx(1.0)
    assert all(found[other] < 0.4 for other in ("same", "previous", "next", "first") if other != name)
    assert chip(found) == f"{name} 1.00"


def test_entropy_is_0_bits_on_one_and_log2_n_on_all():
    assert of("same")["entropy"] == 0
    assert of("even")["entropy"] == pytest.approx(math.log2(N))
    assert chip(of("even")) == f"spread {N:.1f}"


def test_distance_is_the_mean_number_of_places():
    assert of("same")["distance"] == 0
    assert of("first")["distance"] == pytest.approx(sum(range(N)) / N)
    pairs = [abs(row - column) for row in range(N) for column in range(N)]
    assert of("even")["distance"] == pytest.approx(sum(pairs) / N**2)


def test_order_is_1_forwards_0_backwards():
    assert of("same")["ordered"] == 1 and of("first")["ordered"] == 1
    assert of("backwards")["ordered"] == 0


def test_heads_agree_wholly_with_themselves_and_not_with_those_that_look_elsewhere():
    alike = measured(torch.stack([PLANTED["same"], PLANTED["same"]]), own=True)
    apart = measured(torch.stack([PLANTED["same"], PLANTED["same"].roll(1, 0)]), own=True)
    assert [head["agreement"] for head in alike] == [1, 1]
    assert [head["agreement"] for head in apart] == [0, 0]
    half = torch.stack([PLANTED["same"], (PLANTED["same"] + PLANTED["same"].roll(1, 0)) / 2])
    assert measured(half, own=True)[0]["agreement"] == pytest.approx(0.5)
    assert "agreement" not in of("same")  # of one head there is nothing to say


def test_of_two_sequences_nothing_is_said_of_places_of_the_same():
    found = measured(PLANTED["same"][None], own=False)[0]
    assert not {"same", "previous", "next", "distance"} & set(found) and found["ordered"] == 1
    assert chip(found) == "ordered 1.00"


def test_a_row_that_sees_nothing_counts_nowhere():
    weights = torch.eye(N)[None].clone()
    weights[0, 3] = 0
    assert measured(weights, own=True)[0]["entropy"] == 0


@pytest.mark.parametrize("size", [1, 2, 5])
def test_measures_in_tiles_are_those_of_all_at_once(size):
    weights = draw(3, 11, 11).softmax(-1)
    totals = Totals(own=True)
    for start in range(0, 11, size):
        rows = torch.arange(start, min(start + size, 11))
        totals.add(weights[:, rows], rows)
    for found, wanted in zip(totals.means(), measured(weights, own=True), strict=True):
        assert found == pytest.approx(wanted, abs=1e-6)


def test_over_several_inputs_a_row_counts_as_much_whatever_its_input():
    totals = Totals(own=True)
    for count, share in ((2, 0.5), (5, 1.0)):
        weights = share * torch.eye(count)[None] + (1 - share) / count
        totals.add(weights, torch.arange(count))
    assert totals.means()[0]["same"] == pytest.approx((2 * 0.75 + 5 * 1.0) / 7)


def test_padding_is_measured_where_there_is_some():
    totals = Totals(own=True)
    totals.add_padding(torch.tensor([[0.0, 0.25]]))
    assert totals.means() == [{"padding": 0.125}]


def test_every_measure_has_its_sentence():
    found = set(measured(draw(2, 5, 5).softmax(-1), own=True)[0])
    assert found | {"padding"} == set(ALL_MEASURES) and set(MEASURES) < set(ALL_MEASURES)


def test_words_are_looked_at_as_the_sum_of_their_pieces_and_look_as_their_mean():
    weights, rows, columns = draw(2, 5, 4).softmax(-1), (0, 0, 1, 2, 2), (0, 1, 1, 2)
    found = merged(weights, rows, columns)
    assert found.shape == (2, 3, 3)
    for word in range(3):
        for other in range(3):
            pieces = [row for row in range(5) if rows[row] == word]
            wanted = sum(weights[:, row, column] for row in pieces for column in range(4) if columns[column] == other)
            assert_close(found[:, word, other], wanted / len(pieces), 1e-6)
    assert_close(found.sum(-1), torch.ones(2, 3), 1e-6)


@pytest.mark.parametrize(("down", "right"), [(0, 0), (0, 1), (-1, 0), (1, -2)])
def test_a_head_that_has_become_a_shift_of_the_picture_says_which(down, right):
    rows, columns = 5, 7
    weights = torch.full((rows * columns, rows * columns), 0.4 / (rows * columns - 1))
    for row in range(rows):
        for column in range(columns):
            if 0 <= row + down < rows and 0 <= column + right < columns:
                weights[row * columns + column, (row + down) * columns + column + right] = 0.6
    even = torch.full_like(weights, 1 / (rows * columns))
    one, none = shifts(torch.stack([weights, even]), rows, columns)
    assert one == (down, right, pytest.approx(0.6)) and none[2] == pytest.approx(1 / (rows * columns))
    name = f"shift {down:+d} {right:+d}"
    assert chip({"entropy": 1.0, "previous": 0.9, name: 0.6}) == f"{name} 0.60"
