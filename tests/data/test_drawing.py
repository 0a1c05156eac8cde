"""What training sees anew: by seed, epoch and item alone, and each change what it says it is."""

import numpy as np
import pytest

from regard.data.batching import Item
from regard.data.drawing import Draws, drawn
from regard.data.example import Example, Place
from regard.data.signal.augment import (
    between,
    cropped,
    flipped,
    jittered,
    mixed,
    mixed_pictures,
    scaled,
    shifted,
    turned,
    warped,
)
from regard.data.signal.images import ImageDraws, Images
from regard.data.signal.vectors import VectorDraws, Vectors

RANDOM = np.random.default_rng(2)
SERIES = [RANDOM.normal(size=(length, 3)) for length in (17, 11, 23, 5)]
PICTURES = [RANDOM.integers(0, 256, (height, 7, 3), dtype=np.uint8) for height in (5, 7, 9, 11)]


def items(signals, kind):
    found = [Example(("x",), {}, Place("made", n), whole=True, signal=signal) for n, signal in enumerate(signals)]
    made = kind(found)
    return [Item(made.of(one), {"label": (n,)}, 1, 1) for n, one in enumerate(found)]


OF_SERIES = items(SERIES, lambda found: Vectors.learn(found, standardize=True, patch=1))
OF_PICTURES = items(PICTURES, lambda found: Images.learn(found, patch=2, size=None))

CASES = {
    "series": (VectorDraws(0.4, jitter=0.1, scaling=0.2, warp=0.3), OF_SERIES),
    "pictures": (ImageDraws(0.4, shift=2, flip=True, crop=0.5, turn=9.0), OF_PICTURES),
}


def values(item):
    return item.encoded.values if hasattr(item.encoded, "values") else item.encoded.read()


@pytest.mark.parametrize("case", CASES)
def test_what_is_drawn_depends_on_seed_epoch_and_item_alone(case):
    draws, given = CASES[case]
    first = [drawn(draws, given, number, seed=3, epoch=1) for number in range(4)]
    again = [drawn(draws, given, number, seed=3, epoch=1) for number in reversed(range(4))][::-1]
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(values(one), values(other)) and one.labels == other.labels
    for seed, epoch in ((4, 1), (3, 2)):
        assert not np.array_equal(values(drawn(draws, given, 0, seed=seed, epoch=epoch)), values(first[0]))
    assert all(values(one).shape == values(item).shape for one, item in zip(first, given, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_drawn_where_nothing_is_asked(case):
    draws, given = CASES[case]
    assert draws.any and not type(draws)().any and not Draws().any
    plain = drawn(type(draws)(), given, 1, seed=3, epoch=1)
    assert np.allclose(values(plain), values(given[1]), atol=1e-6)


def test_a_label_is_as_often_the_other_s_as_its_share_says():
    """On average the loss is that of both labels by their shares."""
    draws = VectorDraws(1.0)
    found = [drawn(draws, OF_SERIES, 0, seed=1, epoch=epoch).labels["label"][0] for epoch in range(400)]
    # Of shares that are uniform above 1/2 the other has 1/4 on average; in a quarter of draws it is the item itself.
    assert abs(np.mean([label != 0 for label in found]) - 0.75 / 4) < 0.06


def test_mixed_numbers_lie_between():
    given = [Item(item.encoded, {"label": (float(10 * n),)}, 1, 1) for n, item in enumerate(OF_SERIES)]
    found = drawn(VectorDraws(1.0), given, 3, seed=1, epoch=0)
    assert 15 <= found.labels["label"][0] <= 30


def rng():
    return np.random.default_rng(7)


def test_noise_has_the_spread_that_is_asked():
    big = np.zeros((5000, 2), dtype=np.float32)
    assert abs(jittered(big, rng(), 0.3).std() - 0.3) < 0.01
    factors = [scaled(np.ones((2, 1)), np.random.default_rng(n), 0.2)[0, 0] for n in range(2000)]
    assert abs(np.std(factors) - 0.2) < 0.02 and abs(np.mean(factors) - 1) < 0.02


def test_warped_time_keeps_both_ends_and_every_value_in_bounds():
    line = np.arange(40.0)[:, None]
    for seed in range(20):
        found = warped(line, np.random.default_rng(seed), 0.1)[:, 0]
        assert found[0] == 0 and abs(found[-1] - 39) < 1e-9
        assert np.abs(found - line[:, 0]).max() <= 0.1 * 39 + 1e-9
    assert np.array_equal(warped(line[:2], rng(), 0.5), line[:2])


def test_a_missing_value_is_not_invented_by_mixing():
    one, other = np.array([[1.0], [np.nan], [3.0]]), np.array([[5.0], [6.0]])
    found = mixed(one, other, 0.75)
    assert found[0, 0] == 2.0 and np.isnan(found[1, 0]) and found[2, 0] == 3.0


PICTURE = RANDOM.random((9, 6, 3))


def test_a_picture_is_moved_by_whole_pixels():
    found = [shifted(PICTURE, np.random.default_rng(seed), 2) for seed in range(40)]
    exact = [np.roll(PICTURE, (down, right), (0, 1))[2:-2, 2:-2] for down in range(-2, 3) for right in range(-2, 3)]
    assert all(any(np.array_equal(one[2:-2, 2:-2], other) for other in exact) for one in found)


def test_half_of_the_pictures_are_mirrored():
    found = [flipped(PICTURE, np.random.default_rng(seed)) for seed in range(300)]
    mirrored = sum(np.array_equal(one, PICTURE[:, ::-1]) for one in found)
    assert 110 < mirrored < 190 and mirrored + sum(np.array_equal(one, PICTURE) for one in found) == 300


def test_nothing_cut_and_nothing_turned_leaves_the_picture():
    assert np.allclose(cropped(PICTURE, rng(), 1.0), PICTURE, atol=1e-6)
    assert np.allclose(turned(PICTURE, rng(), 0.0), PICTURE, atol=1e-6)
    rows, columns = np.mgrid[:9, :6]
    assert np.allclose(between(PICTURE, rows, columns), PICTURE, atol=1e-6)
    assert np.allclose(between(PICTURE, rows + 0.5, columns)[:-1], (PICTURE[:-1] + PICTURE[1:]) / 2, atol=1e-6)


def test_what_is_cut_is_a_part_of_the_picture():
    ramp = np.mgrid[:50, :50].transpose(1, 2, 0).astype(float)
    found = cropped(ramp, rng(), 0.25)
    for axis in range(2):
        side = found[..., axis].max() - found[..., axis].min()
        assert 0.5 * 48 <= side <= 49


def test_pictures_are_mixed_where_both_are():
    one, other = np.ones((4, 3, 1)), np.zeros((2, 5, 1))
    found = mixed_pictures(one, other, 0.75)
    assert (found[:2] == 0.75).all() and (found[2:] == 1).all()
