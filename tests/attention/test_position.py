"""Positions: where things are."""

import math

import pytest
import reference
import torch
from laws import moving_everything_changes_no_weight, the_encoder_equals_the_reference
from sharp import (
    BATCH,
    HEAD_WIDTH,
    HEADS,
    KEYS,
    LONGEST,
    QUERIES,
    WIDTH,
    assert_close,
    assert_moved,
    draw,
    numpy,
    position_of,
    weights_of,
)

from regard.attention import POSITIONS, Sizes, attend, attention_weights
from regard.attention.position import NOWHERE, T5, Alibi, Learned, Quadratic, Rotary, Shaw, Sinusoidal, sinusoids
from regard.attention.position.floater import Flow, integrate
from regard.errors import ShapeError

PLACES = (0, 1, 2, 5, 11, 17, 30)
RELATIVE = ["shaw", "t5", "alibi", "rotary", "quadratic"]


def test_every_position_stands_in_the_reference():
    assert set(POSITIONS) == set(reference.POSITIONS)


# --- Each kind against the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("name", POSITIONS)
def test_what_is_embedded_equals_the_reference(name, block):
    x = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
    position = position_of(name).double()
    wanted = reference.POSITIONS[name].embed(numpy(x), PLACES, weights_of(position), block)
    assert_close(position.at(block).embed(x, torch.tensor([PLACES])), wanted, 1e-6 if name == "sinusoidal" else 1e-12)


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("width", [1, 2, HEAD_WIDTH, 16])
def test_how_heads_are_turned_equals_the_reference(name, width):
    heads = draw(BATCH, HEADS, KEYS, width, dtype=torch.float64)
    wanted = reference.POSITIONS[name].rotate(numpy(heads), PLACES)
    assert_close(position_of(name).at(1).rotate(heads, torch.tensor([PLACES])), wanted, 1e-12)


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("name", POSITIONS)
def test_what_is_added_to_scores_and_values_equals_the_reference(name, block):
    position, known = position_of(name).double(), reference.POSITIONS[name]
    queries = draw(BATCH, HEADS, QUERIES, HEAD_WIDTH, dtype=torch.float64)
    weights = draw(BATCH, HEADS, QUERIES, KEYS, seed=1, dtype=torch.float64)
    of_queries, of_keys = (30, 0, 5, 6, 11), PLACES
    learned = known.of_block(weights_of(position), block)
    kind, places = position.at(block), (torch.tensor([of_queries]), torch.tensor([of_keys]))
    for found, wanted in (
        (kind.bias(queries, *places), known.bias(numpy(queries), of_queries, of_keys, learned)),
        (kind.values(weights, *places), known.values(numpy(weights), of_queries, of_keys, learned)),
    ):
        if found is None:
            assert not wanted.any()
        else:
            assert_close(found, wanted, 1e-12, name)


@pytest.mark.parametrize("name", POSITIONS)
def test_the_encoder_equals_the_reference(name):
    the_encoder_equals_the_reference(name)


# --- What holds for all ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POSITIONS)
def test_rows_of_a_batch_may_stand_at_different_places(name):
    position, starts = position_of(name).at(0), (0, 3, 11)
    x, heads = draw(BATCH, KEYS, WIDTH), draw(BATCH, HEADS, KEYS, HEAD_WIDTH)
    places = torch.tensor(starts)[:, None] + torch.arange(KEYS)
    embedded, turned = position.embed(x, places), position.rotate(heads, places)
    attended = attend(heads, heads, heads, position=position, query_positions=places, key_positions=places)
    for item, start in enumerate(starts):
        mine = torch.arange(start, start + KEYS)[None]
        one = heads[item : item + 1]
        assert_close(embedded[item : item + 1], position.embed(x[item : item + 1], mine), 1e-6)
        assert_close(turned[item : item + 1], position.rotate(one, mine), 1e-6)
        alone = attend(one, one, one, position=position, query_positions=mine, key_positions=mine)
        assert_close(attended[item : item + 1], alone, 1e-5)


@pytest.mark.parametrize("name", RELATIVE)
def test_moving_everything_changes_no_weight(name):
    moving_everything_changes_no_weight(name)


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_positions_are_added_to_the_first_blocks_input_only(name):
    position = position_of(name)
    assert position.at(0) is position
    assert position.at(1) is NOWHERE and position.at(5) is NOWHERE


@pytest.mark.parametrize("name", [name for name in POSITIONS if name != "learned"])
def test_there_is_no_longest_input_but_for_learned_positions(name):
    position = position_of(name).at(0)
    far = torch.tensor([[1009 if name == "floater" else 1_000_003]])
    assert position.embed(draw(1, 1, WIDTH), far).isfinite().all()
    heads = position.rotate(draw(1, HEADS, 1, HEAD_WIDTH), far)
    asked = {"position": position, "query_positions": far, "key_positions": torch.tensor([[0]])}
    assert attend(heads, heads, heads, **asked).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", POSITIONS)
def test_positions_keep_the_precision_of_what_they_get(name, dtype):
    position = position_of(name).to(dtype).at(1 if name in ("shaw", "quadratic") else 0)
    places, heads = torch.tensor([PLACES]), draw(1, HEADS, KEYS, HEAD_WIDTH, dtype=dtype)
    assert position.embed(draw(1, KEYS, WIDTH, dtype=dtype), places).dtype == dtype
    assert position.rotate(heads, places).dtype == dtype
    for watch in (None, lambda weights, rows: weights):
        assert attend(heads, heads, heads, position=position, watch=watch).dtype == dtype


@pytest.mark.parametrize("name", POSITIONS)
def test_what_is_learned_does_not_grow_with_the_input_but_for_learned_positions(name):
    sizes = {"width": WIDTH, "heads": HEADS, "head_width": HEAD_WIDTH, "depth": 3}
    short, long = (
        sum(p.numel() for p in POSITIONS[name].sized(Sizes(**sizes, longest=longest)).parameters())
        for longest in (7, 1009)
    )
    assert (long > short) == (name == "learned")


@pytest.mark.parametrize(("name", "shared"), [("floater", 2 * WIDTH * WIDTH + 3 * WIDTH), ("t5", None), ("alibi", 0)])
def test_some_kinds_are_shared_by_all_blocks_and_others_are_not(name, shared):
    """FLOATER shares its flow, T5 all; ALiBi learns nothing."""
    counts = [sum(p.numel() for p in position_of(name, depth=depth).parameters()) for depth in (1, 2, 5)]
    by_block = WIDTH if name == "floater" else 0
    assert counts[1] - counts[0] == by_block and counts[2] - counts[0] == 4 * by_block
    assert shared is None or counts[0] == shared + by_block


@pytest.mark.parametrize("name", ["shaw", "quadratic"])
def test_other_kinds_have_learned_numbers_of_each_block(name):
    counts = [sum(p.numel() for p in position_of(name, depth=depth).parameters()) for depth in (1, 2, 5)]
    assert counts[1] == 2 * counts[0] and counts[2] == 5 * counts[0]


@pytest.mark.parametrize("name", ["floater", "shaw", "quadratic"])
def test_a_stack_of_more_blocks_than_a_position_was_made_for_is_refused(name):
    with pytest.raises(ShapeError, match="the position was made for 2 blocks, but the stack has more; make it with"):
        position_of(name, depth=2).at(2)


# --- Sinusoids ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 7, 13, 64])
def test_sinusoids_of_any_width_equal_the_papers_formula(width):
    places = [0, 1, 2, 3, 5, 97, 1009, 100_003]
    assert_close(sinusoids(torch.tensor(places), width), reference.sinusoidal(places, width), 1e-6)


def test_an_odd_width_has_one_sine_more_than_cosines():
    """A table of width 7 has four sines and three cosines (B11)."""
    first = sinusoids(torch.tensor(0), 7)
    assert first.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert math.isclose(sinusoids(torch.tensor(1), 7)[6], math.sin(10000 ** (-6 / 7)), rel_tol=1e-6)


@pytest.mark.parametrize("width", [2, 22, 64])
@pytest.mark.parametrize("steps", [-3, 0, 1, 97])
def test_one_matrix_moves_every_position_by_the_same_number_of_steps(width, steps):
    places = [0, 1, 5, 11, 1009]
    moved = Sinusoidal(width).shift(steps) @ torch.from_numpy(reference.sinusoidal(places, width)).T
    assert_close(moved.T, reference.sinusoidal([place + steps for place in places], width), 1e-9)


def test_how_well_two_sinusoids_fit_depends_on_their_distance_alone():
    table = sinusoids(torch.arange(1009), 22).double()
    fits = table @ table.T
    for distance in (0, 1, 13, 97):
        of_distance = fits.diagonal(distance)
        assert_close(of_distance, of_distance[:1].expand_as(of_distance), 1e-5)
    assert_moved(fits[0, 0], fits[0, 13])


def test_no_matrix_moves_sinusoids_of_an_odd_width():
    with pytest.raises(ShapeError, match=r"sinusoids of the odd width 7 have a sine without a cosine.* even width"):
        Sinusoidal(7).shift(1)


# --- Learned --------------------------------------------------------------------------------------------------------


def test_learned_positions_refuse_a_longer_input_in_words():
    position = position_of("learned")
    position.embed(draw(1, LONGEST, WIDTH), torch.arange(LONGEST)[None])
    with pytest.raises(
        ShapeError,
        match=r"an input of 32 elements is longer than the 31 learned positions; cut it, or .*stretched\(32\)",
    ):
        position.embed(draw(1, LONGEST + 1, WIDTH), torch.arange(LONGEST + 1)[None])


def test_learned_positions_take_an_empty_input():
    assert position_of("learned").embed(draw(2, 0, WIDTH), torch.arange(0)[None]).shape == (2, 0, WIDTH)


def test_learned_positions_can_be_stretched_to_a_longer_input():
    """The ends stay, what lies half-way is the mean of its neighbours; the same length leaves all as it is (B62)."""
    position = Learned(3, 4)
    longer = position.stretched(7)
    table = position.table.weight
    assert_close(longer.table.weight[::2], table, 1e-6)
    assert_close(longer.table.weight[1::2], (table[1:] + table[:-1]) / 2, 1e-6)
    assert torch.equal(position.stretched(4).table.weight, table)
    assert longer.embed(draw(1, 7, 3), torch.arange(7)[None]).shape == (1, 7, 3) and longer.table.weight.requires_grad


# --- FLOATER --------------------------------------------------------------------------------------------------------


def flow(width: int = 5) -> Flow:
    torch.manual_seed(0)
    return Flow(width).double()


def test_the_flow_is_followed_as_an_adaptive_solver_follows_it():
    solver = pytest.importorskip("torchdiffeq")
    moves, start = flow().requires_grad_(False), draw(5, dtype=torch.float64)
    times = 0.1 * torch.arange(97, dtype=torch.float64)
    wanted = solver.odeint(
        lambda time, point: moves(float(time), point), start, times, method="dopri5", rtol=1e-11, atol=1e-12
    )
    assert_close(torch.stack(integrate(moves, start, 0.1, 97)), wanted, 1e-6)


def test_the_method_is_of_order_four():
    """Half the step, a sixteenth of the error."""

    def error(step: float) -> float:
        found = integrate(lambda time, point: point * math.cos(time), torch.ones(1, dtype=torch.float64), step, 1000)
        return abs(float(found[round(3 / step)]) - math.exp(math.sin(3)))

    assert 14 < error(0.1) / error(0.05) < 18


def test_a_flow_goes_on_for_any_length_and_its_beginning_stays():
    position = position_of("floater")
    assert_close(position.table(1, 97)[:13], position.table(1, 13), 1e-6)
    assert_moved(position.table(0, 13), position.table(1, 13))


def test_there_is_no_flow_before_position_zero():
    with pytest.raises(ShapeError, match="the flow begins at position 0; there is none at -1"):
        position_of("floater").at(0).embed(draw(1, 1, WIDTH), torch.tensor([[-1]]))


# --- Relative kinds -------------------------------------------------------------------------------------------------


def test_shaws_distances_beyond_the_largest_are_all_the_same():
    position = position_of("shaw", distance=3).at(0)
    queries = draw(1, HEADS, 1, HEAD_WIDTH)
    bias = position.bias(queries, torch.tensor([[20]]), torch.arange(41)[None])[0, 0, 0]
    assert (bias[:18] == bias[0]).all() and (bias[23:] == bias[-1]).all()
    assert len(set(bias.tolist())) == 7


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("distance", [17, 64, 128, 1009])
def test_t5_buckets_are_those_of_whole_numbers(causal, distance):
    """A bucket that begins at a power must not depend on how its logarithm is rounded."""
    ahead = torch.arange(-1100, 1101)
    found = T5(1, distance=distance, causal=causal).buckets(ahead)
    assert found.tolist() == [reference.t5_bucket(a, causal=causal, distance=distance) for a in ahead.tolist()]
    assert int(found.max()) == 31 and int(found.min()) == 0


def test_t5_refuses_a_distance_that_its_narrow_buckets_reach_already():
    with pytest.raises(ShapeError, match="the last bucket of T5 begins beyond 8, not at 8"):
        T5(2, distance=8)


def test_alibis_slopes_are_the_papers():
    """Eight heads: 1/2, 1/4 … 1/256 (section 3); others fill up from twice as many."""
    assert Alibi(8).slopes == [2.0**-n for n in range(1, 9)]
    for heads in range(1, 20):
        assert Alibi(heads).slopes == pytest.approx(reference.alibi_slopes(heads), rel=1e-12)
        assert len(set(Alibi(heads).slopes)) == heads


def test_alibi_is_the_same_to_both_sides():
    bias = Alibi(3).bias(draw(1, 3, KEYS, 1), torch.arange(KEYS)[None], torch.arange(KEYS)[None])
    assert torch.equal(bias, bias.transpose(-1, -2)) and (bias.diagonal(0, 2, 3) == 0).all()


def test_a_sharp_quadratic_head_sees_one_place_only():
    position = Quadratic(2)
    with torch.no_grad():
        position.blocks[0].centre.copy_(torch.tensor([[-2.0], [1.0]]))
        position.blocks[0].sharpness.fill_(50.0)
    heads = draw(1, 2, KEYS, HEAD_WIDTH)
    weights = attention_weights(heads, heads, scale=0.0, position=position)
    assert_close(weights[0, 0, 2:, :-2], torch.eye(KEYS - 2), 1e-6)
    assert_close(weights[0, 1, :-1, 1:], torch.eye(KEYS - 1), 1e-6)


# --- Rotary and grids -----------------------------------------------------------------------------------------------


def test_rotary_keeps_lengths():
    heads = draw(BATCH, HEADS, KEYS, HEAD_WIDTH)
    turned = position_of("rotary").rotate(heads, torch.tensor([PLACES]))
    assert_close(turned.norm(dim=-1), heads.norm(dim=-1), 1e-5)


def test_of_a_part_that_is_turned_the_rest_stays():
    heads, places = draw(BATCH, HEADS, KEYS, 12, dtype=torch.float64), torch.tensor([PLACES])
    turned = Rotary(turned=0.34).rotate(heads, places)
    assert torch.equal(turned[..., 4:], heads[..., 4:])
    assert_close(turned[..., :4], reference.rotary(numpy(heads[..., :4]), PLACES), 1e-12)
    assert Rotary.sized(Sizes(width=12, heads=1, head_width=12, turned=0.34)).turned == 0.34


def test_on_a_grid_one_half_follows_the_row_and_the_other_the_column():
    heads, columns = draw(1, 1, 15, 12, dtype=torch.float64), 5
    turned = Rotary(columns=columns).rotate(heads, torch.arange(15)[None])
    rows, cols = [p // columns for p in range(15)], [p % columns for p in range(15)]
    assert_close(turned[..., :6], reference.rotary(numpy(heads[..., :6]), rows), 1e-12)
    assert_close(turned[..., 6:], reference.rotary(numpy(heads[..., 6:]), cols), 1e-12)


@pytest.mark.parametrize("made", [lambda: Rotary(columns=5), lambda: Quadratic(HEADS, columns=5)])
def test_moving_everything_on_a_grid_by_whole_rows_changes_no_weight(made):
    torch.manual_seed(0)
    position, heads = made(), draw(1, HEADS, 15, 12)

    def weights(rows: int):
        places = torch.arange(15)[None] + 5 * rows
        turned = position.rotate(heads, places)
        asked = {"position": position, "query_positions": places, "key_positions": places}
        return attention_weights(turned, turned, **asked)

    for rows in (1, 7, 101):
        assert_close(weights(rows), weights(0), 1e-4)


def test_a_sharp_quadratic_head_on_a_grid_sees_one_neighbour():
    """One row up, one column to the right: of the 3 x 5 grid's element 6 = (1, 1) that is 2 = (0, 2)."""
    position = Quadratic(1, columns=5)
    with torch.no_grad():
        position.blocks[0].centre.copy_(torch.tensor([[-1.0, 1.0]]))
        position.blocks[0].sharpness.fill_(50.0)
    heads = draw(1, 1, 15, 7)
    assert attention_weights(heads, heads, scale=0.0, position=position)[0, 0, 6].argmax() == 2


def test_shares_and_grids_that_cannot_be_are_refused():
    for share in (0.0, 1.5):
        with pytest.raises(ShapeError, match="the share of numbers that is turned is above 0 and at most 1"):
            Rotary(turned=share)
    for kind in (lambda: Rotary(columns=0), lambda: Quadratic(2, columns=0)):
        with pytest.raises(ShapeError, match="a grid has at least 1 column, not 0"):
            kind()


def test_shaw_is_made_for_the_width_of_values():
    position = Shaw.sized(Sizes(width=WIDTH, heads=HEADS, head_width=HEAD_WIDTH, value_width=5, distance=2))
    assert position.blocks[0].of_values.shape == (5, 5) and position.blocks[0].of_keys.shape == (5, HEAD_WIDTH)
