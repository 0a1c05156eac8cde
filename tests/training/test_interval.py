"""Scores say what they would be with each item counted so often, and so how far they would move."""

import random
import time
from collections.abc import Callable

import numpy as np
import pytest

from regard.training.interval import intervals
from regard.training.label_metric import LABEL_METRICS
from regard.training.language_metric import LanguageScores, Told
from regard.training.metric import METRICS, Scores, TextScores, collect_numbers, count_classes, count_labels
from regard.training.scores import Metric

draw = random.Random(3)


def words() -> list:
    """Labels of two columns, some of them unknown, some items without any."""
    found = []
    for size in (draw.randrange(7) for _ in range(53)):
        true = {"a": tuple(draw.choices(["B-P", "I-P", "O", None], k=size)), "b": tuple(draw.choices("XYZ", k=size))}
        answered = {
            column: tuple(label if label and draw.random() < 0.7 else draw.choice(["B-P", "I-P", "X"]) for label in of)
            for column, of in true.items()
        }
        found.append((answered, true))
    return found


def wholes() -> list:
    return [({"a": (draw.choice("ABC"),)}, {"a": (draw.choice("AABBDE"),)}) for _ in range(53)]


def cells() -> list:
    """Cells of several classes, some of them empty or unknown."""
    found = ["", "A", "A|B", "B|C", None]
    return [({"a": (draw.choice(["", "A", "A|D", "C"]),)}, {"a": (draw.choice(found),)}) for _ in range(53)]


def numbers() -> list:
    """Two columns, with equal numbers among them and some unknown."""
    return [
        ({"a": (str(draw.randrange(9)),), "b": (str(draw.gauss(0, 1)),)}, {"a": (str(draw.randrange(9)),), "b": (b,)})
        for b in (draw.choice(["0.5", "2", "-7", None]) for _ in range(53))
    ]


def texts() -> list:
    """Texts beside one or two right ones, each with how probable it is; some are empty."""

    def text() -> str:
        return " ".join(draw.choices(["the", "cat", "sat", "on", "mats"], k=draw.randrange(7)))

    def one() -> tuple:
        right = tuple(text() for _ in range(draw.randrange(1, 3)))
        return right[0] if draw.random() < 0.4 else text(), right, (-draw.random(), draw.randrange(1, 7))

    return [one() for _ in range(53)]


def languages() -> list[Told]:
    """Texts of 1 to 6 pieces with as many letters and more, of which some are right."""
    draw = random.Random(5)
    sizes = [draw.randrange(1, 7) for _ in range(53)]
    return [(-size * draw.random(), size, draw.randrange(size + 1), size + draw.randrange(9)) for size in sizes]


def text_scores(pairs: list) -> TextScores:
    answered, right, given = ([pair[place] for pair in pairs] for place in range(3))
    return TextScores(answered, right, given)


KINDS: dict[str, tuple[list, Callable[[list], Scores]]] = {
    "labels": (words(), count_labels),
    "spans": (words(), lambda pairs: count_labels(pairs, scheme="IOB2")),
    "wholes": (wholes(), lambda pairs: count_labels(pairs, whole=True)),
    "several": (cells(), lambda pairs: count_classes(pairs, "|")),
    "numbers": (numbers(), collect_numbers),
    "texts": (texts(), text_scores),
    "plain text": (languages(), lambda told: LanguageScores.of(told, masked=False)),
    "masks": (languages(), lambda told: LanguageScores.of(told, masked=True)),
}


def test_all_metrics_are_swept() -> None:
    told = {name for pairs, make in KINDS.values() for name in make(pairs).values()}
    assert {name for name in told if " " not in name} == set(METRICS)


def disagreements(pairs: list, make: Callable[[list], Scores]) -> list[str]:
    """Names of scores that are another with weights than with the items there so often."""
    scores, random = make(pairs), np.random.default_rng(5)
    found = []
    for weights in (np.ones(53, dtype=int), random.integers(3, size=53), 7 * (np.arange(53) == 11)):
        repeated = [pair for pair, often in zip(pairs, weights, strict=True) for _ in range(often)]
        wanted, values = make(repeated).values(), scores.values(weights)
        found += [name for name in wanted if values[name] != pytest.approx(wanted[name], abs=1e-12)]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_that_counts_n_times_is_as_n_items(kind: str) -> None:
    assert disagreements(*KINDS[kind]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_without_weights_each_item_counts_once(kind: str) -> None:
    pairs, make = KINDS[kind]
    scores = make(pairs)
    assert scores.values() == scores.values(np.ones(len(pairs), dtype=int))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_pick_whose_answers_count(kind: str) -> None:
    """Two runs one after the other: with weights of 0 and 1 each has the scores that it has alone."""
    pairs, make = KINDS[kind]
    both = make(pairs)
    for first, alone in ((True, pairs[:29]), (False, pairs[29:])):
        found, wanted = both.values(((np.arange(53) < 29) == first).astype(int)), make(alone).values()
        assert found == pytest.approx(wanted)


def test_a_metric_that_forgets_the_weights_would_be_seen(monkeypatch) -> None:
    right = METRICS["accuracy"]
    planted = Metric(lambda scores, weights: right.of(scores, np.ones_like(weights)))
    monkeypatch.setitem(LABEL_METRICS, "accuracy", planted)
    assert "accuracy" in disagreements(*KINDS["wholes"])


def test_the_interval_of_a_share_is_that_of_its_spread() -> None:
    """71 of 97 items are right: the spread of a share is the root of p (1 - p) / n, and 95 % lie within 1.96 of it."""
    pairs = [({"a": ("A" if item < 71 else "B",)}, {"a": ("A",)}) for item in range(97)]
    low, high = intervals(count_labels(pairs, whole=True), resamples=4001)["accuracy"]
    share = 71 / 97
    spread = (share * (1 - share) / 97) ** 0.5
    assert (low, high) == pytest.approx((share - 1.96 * spread, share + 1.96 * spread), abs=0.25 * spread)


def test_items_are_drawn_and_not_words() -> None:
    """Two long items, one all right and one all wrong: a resample has one of them, the other, or both."""
    pairs = [({"a": ("A",) * 101}, {"a": ("A",) * 101}), ({"a": ("A",) * 101}, {"a": ("B",) * 101})]
    assert intervals(count_labels(pairs))["accuracy"] == (0.0, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wider_level_holds_the_narrower_and_a_seed_gives_the_same(kind: str) -> None:
    pairs, make = KINDS[kind]
    scores = make(pairs)
    narrow, wide = intervals(scores, resamples=211, level=0.5), intervals(scores, resamples=211, level=0.99)
    assert intervals(scores, resamples=211, level=0.5) == narrow
    for name, (low, high) in narrow.items():
        assert wide[name][0] <= low <= high <= wide[name][1]
        assert low < high


def test_where_there_is_nothing_the_interval_is_nothing() -> None:
    for scores in (count_labels([]), count_labels([], whole=True), collect_numbers([])):
        assert set(intervals(scores).values()) == {(0.0, 0.0)}


def test_where_all_is_right_no_resample_is_wrong() -> None:
    pairs = [({"a": (label,)}, {"a": (label,)}) for label in "ABCAB"]
    assert set(intervals(count_labels(pairs, whole=True), resamples=31).values()) == {(1.0, 1.0)}


def test_a_thousand_resamples_of_a_treebank_s_test_take_less_than_two_seconds() -> None:
    pairs = [({"a": tuple("ABCDEFGHIJKLM"[: 12 + item % 2])},) * 2 for item in range(2077)]
    scores = count_labels(pairs)
    before = time.process_time()
    intervals(scores)
    assert time.process_time() - before < 2
