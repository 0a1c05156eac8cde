"""How the learning rate rises and falls."""

import itertools
import math

import pytest

from regard.recipe import NAMES
from regard.training.schedule import SCHEDULES, factor

WARMUP, TOTAL = 7, 97

schedules = pytest.mark.parametrize("schedule", SCHEDULES)


def rates(schedule: str, warmup: int = WARMUP, total: int | None = TOTAL) -> list[float]:
    return [factor(schedule, update, warmup, total) for update in range(1, TOTAL + 1)]


def test_every_schedule_can_be_chosen_in_a_recipe() -> None:
    assert set(NAMES["train.schedule"]) == set(SCHEDULES)


@schedules
def test_warm_up_rises_evenly_to_one(schedule: str) -> None:
    assert rates(schedule)[:WARMUP] == [update / WARMUP for update in range(1, WARMUP + 1)]
    assert rates(schedule, total=None)[:WARMUP] == rates(schedule)[:WARMUP]


@schedules
@pytest.mark.parametrize("warmup", [0, 1, WARMUP, TOTAL, 2 * TOTAL])
def test_a_rate_lies_between_zero_and_one_and_never_rises_after_warm_up(schedule: str, warmup: int) -> None:
    found = rates(schedule, warmup)
    assert all(0 <= rate <= 1 for rate in found)
    after = found[max(0, warmup - 1) :]
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(after))


@schedules
def test_without_warm_up_the_first_rates_are_high(schedule: str) -> None:
    assert rates(schedule, 0)[0] > 0.95


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_cosine_and_linear_fall_to_zero_and_stay_there(schedule: str) -> None:
    assert rates(schedule)[-1] == pytest.approx(0, abs=1e-12)
    assert factor(schedule, TOTAL + 13, WARMUP, TOTAL) == pytest.approx(0, abs=1e-12)


def test_half_way_cosine_and_linear_are_at_one_half() -> None:
    assert factor("cosine", 7 + 45, 7, 7 + 90) == pytest.approx(1 / 2)
    assert factor("linear", 7 + 45, 7, 7 + 90) == pytest.approx(1 / 2)
    assert factor("cosine", 7 + 30, 7, 7 + 90) == pytest.approx((1 + math.cos(math.pi / 3)) / 2)
    assert factor("linear", 7 + 30, 7, 7 + 90) == pytest.approx(2 / 3)


def test_the_inverse_root_goes_on_from_one_as_in_its_source() -> None:
    # Vaswani et al. 2017, equation 3: min(update^-0.5, update * warmup^-1.5), here divided by its highest value.
    highest = WARMUP**-0.5
    for update, rate in enumerate(rates("inverse_root"), 1):
        assert rate == pytest.approx(min(update**-0.5, update * WARMUP**-1.5) / highest)


def test_a_constant_rate_is_constant_after_warm_up() -> None:
    assert set(rates("constant")[WARMUP - 1 :]) == {1.0}


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_while_the_end_is_not_known_the_rate_stays_high(schedule: str) -> None:
    assert set(rates(schedule, total=None)[WARMUP:]) == {1.0}
