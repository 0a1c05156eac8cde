"""Both paired tests: held against all swaps and all resamples of few items, and against sacrebleu's own."""

from itertools import product

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest
from training.test_interval import KINDS

from regard.comparison import paired as module
from regard.comparison.both import every_score
from regard.comparison.paired import by_resamples, by_swaps, chance, paired
from regard.training.metric import TextScores

ITEMS = 7


def beside(kind):
    """Two runs' answers (the tests ask nothing of what is right, so that each has its own), and how they are scored."""
    pairs, make = KINDS[kind]
    return pairs[:ITEMS], pairs[ITEMS : 2 * ITEMS], make


def told_by_both(kind):
    """The names of the scores that two runs' answers have together."""
    one, other, make = beside(kind)
    return list(make([*one, *other]).values())


def alone(kind, of_one, of_other):
    """The differences of scores that are counted anew from two lists of answers, without a weight."""
    make, names = KINDS[kind][1], told_by_both(kind)
    values = []
    for answers in (of_one, of_other):
        scores = make(answers)
        # Whether texts have words enough for BLEU is asked of all of them.
        scores.__dict__.update({"_of_words": "bleu" in names} if kind == "texts" else {})
        values.append(scores.values())
    return [values[0][name] - values[1][name] for name in names]


def swapped(kind, swaps):
    one, other, _ = beside(kind)
    for swap in swaps:
        kept = zip(one, other, swap, strict=True)
        yield alone(kind, *zip(*((b, a) if turned else (a, b) for a, b, turned in kept), strict=True))


def measure(kind):
    one, other, make = beside(kind)
    return every_score(make([*one, *other]))


SWAPS = [np.array(swap) for swap in product((0, 1), repeat=ITEMS)]


def disagreements(kind):
    """How far the differences of all swaps are from those that are counted anew."""
    found = module.by_swaps(measure(kind), SWAPS, np.ones(ITEMS, dtype=int))
    return np.abs(found - np.array(list(swapped(kind, SWAPS)))).max()


@pytest.mark.parametrize("kind", KINDS)
def test_every_swap_is_as_if_the_answers_had_been_the_other_run_s(kind):
    assert disagreements(kind) < 1e-9


def test_answers_that_are_given_to_both_runs_would_be_seen(monkeypatch):
    def planted(measure, swaps, each):
        return by_swaps(lambda weights: measure(np.concatenate([each, weights[ITEMS:]])), swaps, each)

    monkeypatch.setattr(module, "by_swaps", planted)
    assert disagreements("wholes") > 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_p_is_the_share_of_all_swaps_that_are_as_far_apart(kind):
    """Within four times what chance moves a share of so many trials by."""
    every = np.array(list(swapped(kind, SWAPS)))
    exact = (np.abs(every) >= np.abs(every[0]) - 1e-9).mean(0)
    trials = 997
    found = paired(measure(kind), ITEMS, trials=trials).differences
    for share, of in zip(exact, found, strict=True):
        assert abs(of.p - share) <= 4 * np.sqrt(share * (1 - share) / trials) + 2 / trials


@pytest.mark.parametrize("kind", KINDS)
def test_a_resample_is_as_if_items_were_there_so_often(kind):
    one, other, _ = beside(kind)
    draws = np.random.default_rng(3).integers(ITEMS, size=(11, ITEMS))
    counts = [np.bincount(draw, minlength=ITEMS) for draw in draws]
    wanted = [alone(kind, [one[item] for item in draw], [other[item] for item in draw]) for draw in draws]
    np.testing.assert_allclose(by_resamples(measure(kind), counts), wanted, atol=1e-9)


def mean_of(values):
    """A measure: the mean of what each answer is worth."""
    return lambda weights: np.array([weights @ values / max(1, weights.sum())])


def every_resample(measure, items):
    draws = product(range(items), repeat=items)
    return by_resamples(measure, (np.bincount(draw, minlength=items) for draw in draws))


def test_resamples_lie_where_all_resamples_do():
    """Of five items there are 3,125: their mean is what was found, and drawn ones have the same mean and spread."""
    values, trials = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3.5]), 2003
    every = every_resample(mean_of(values), 5)
    found = paired(mean_of(values), 5, trials=trials)
    (of,) = found.differences
    assert every.mean() == pytest.approx(of.difference) == pytest.approx((values[:5] - values[5:]).mean())
    assert abs(found.resampled.mean() - every.mean()) < 4 * every.std() / np.sqrt(trials)
    assert found.resampled.std() == pytest.approx(every.std(), rel=0.1)
    low, high = np.quantile(every, (0.025, 0.975))
    assert of.low == pytest.approx(low, abs=0.2 * every.std()) and of.high == pytest.approx(high, abs=0.2 * every.std())
    share = (np.abs(every - of.difference) >= abs(of.difference) - 1e-9).mean()
    assert abs(of.p_resampled - share) < 4 * np.sqrt(share * (1 - share) / trials) + 2 / trials


def test_items_are_drawn_in_pairs():
    """One run is better by the same at each item: however much items differ, the difference is sure."""
    worth = np.random.default_rng(1).normal(size=31)
    (of,) = paired(mean_of(np.concatenate([worth + 0.01, worth])), 31, trials=211).differences
    assert (of.low, of.high) == pytest.approx((0.01, 0.01)) and of.p == 1 / 212


def test_the_same_answers_are_never_told_apart():
    worth = np.random.default_rng(1).normal(size=31)
    (of,) = paired(mean_of(np.concatenate([worth, worth])), 31, trials=211).differences
    assert (of.difference, of.low, of.high, of.p, of.p_resampled) == (0, 0, 0, 1, 1)


def test_runs_that_change_places_have_the_difference_the_other_way():
    worth = np.random.default_rng(1).normal(size=62)
    (one,) = paired(mean_of(worth), 31, trials=211).differences
    (other,) = paired(mean_of(np.roll(worth, 31)), 31, trials=211).differences
    assert (other.difference, other.low, other.high) == pytest.approx((-one.difference, -one.high, -one.low))
    assert (other.p, other.p_resampled) == (one.p, one.p_resampled)


def test_only_the_items_that_are_asked_for_count():
    worth, among = np.random.default_rng(1).normal(size=62), np.array([2, 3, 5, 7, 11, 13])
    (some,) = paired(mean_of(worth), 31, among=among, trials=997).differences
    (cut,) = paired(mean_of(worth[np.concatenate([among, among + 31])]), 6, trials=997).differences
    assert (some.one, some.other, some.low, some.high) == pytest.approx((cut.one, cut.other, cut.low, cut.high))
    assert some.p == pytest.approx(cut.p, abs=0.06)


def test_what_is_as_large_but_for_rounding_is_as_large():
    found = np.array([0.3])
    assert chance(np.array([[0.1 + 0.2], [-0.3], [0.1 * 3 - 1e-15], [0.29]]), found, 1e-9 * found) == pytest.approx(
        4 / 5
    )


def share_of_alarms(p, count=401, items=31, trials=99):
    """Of runs that do not differ, the share that is told to: p is at most 0.05."""
    random = np.random.default_rng(7)
    found = [paired(mean_of(random.normal(size=2 * items)), items, trials=trials, seed=n) for n in range(count)]
    return np.mean([p(of) <= 0.05 for of in found])


def p_of_one_side(found):
    """A planted fault: only differences in the direction that was found are as large."""
    (of,) = found.differences
    drawn = found.swapped[:, 0] * np.sign(of.difference)
    return (1 + (drawn >= abs(of.difference)).sum()) / (1 + len(drawn))


def test_of_runs_that_do_not_differ_one_in_twenty_is_told_to():
    """Within three times what chance moves the share by; bench/alarms.py does it to 1.5 of 100."""
    apart = 3 * (0.05 * 0.95 / 401) ** 0.5
    assert abs(share_of_alarms(lambda found: found.differences[0].p) - 0.05) < apart
    assert abs(share_of_alarms(p_of_one_side) - 0.05) > apart


def translations():
    """Two systems' texts and the right ones: the second loses some more words."""
    random = np.random.default_rng(11)
    right = [
        " ".join(random.choice(["the", "cat", "sat", "on", "a", "mat", "and", "slept"], size=9)) for _ in range(61)
    ]

    def worse(share):
        return [" ".join(word if random.random() > share else "dog" for word in text.split()) for text in right]

    return worse(0.17), worse(0.22), right


def test_differences_and_p_are_sacrebleu_s():
    """Its p of resamples is of one side: differences that are larger than their mean by what was found."""
    one, other, right = translations()
    scores = TextScores([*one, *other], [(text,) for text in right * 2])
    names, trials = list(scores.values()), 1009
    found = paired(every_score(scores), 61, trials=trials)
    metrics = {"bleu": BLEU(), "chrf": CHRF()}
    by_sacrebleu = {
        kind: PairedTest([("one", one), ("other", other)], metrics, [right], test_type=kind, n_samples=trials)()[1]
        for kind in ("ar", "bs")
    }
    for name, of in zip(names, found.differences, strict=True):
        if name not in metrics:
            continue
        (swaps, resamples) = (dict(by_sacrebleu[kind]) for kind in ("ar", "bs"))
        key = next(key for key in swaps if key.lower().startswith(name[:4]))
        first, second = swaps[key]
        assert (of.one, of.other) == pytest.approx((first.score / 100, second.score / 100))
        apart = 4 * np.sqrt(2 * 0.25 / trials)
        assert abs(of.p - second.p_value) < apart
        sizes = np.abs(found.resampled[:, names.index(name)])
        one_sided = (1 + (sizes - sizes.mean() > abs(of.difference)).sum()) / (1 + trials)
        assert abs(one_sided - resamples[key][1].p_value) < apart
        assert 0.001 < second.p_value < 0.9
