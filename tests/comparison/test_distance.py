"""The task made for its distance: its answers are right, balanced, and told by one item alone."""

from collections import Counter

import pytest

from regard.comparison.distance import CHANCE, KEYS, VALUES, halves, items, lesson

DISTANCES = (1, 2, 7, 31, 211)


@pytest.mark.parametrize("distance", DISTANCES)
def test_only_the_item_so_many_steps_back_has_the_key_that_is_asked_for(distance):
    for words, labels in items(distance, 67, seed=3):
        asked = words[-1].removeprefix("?")
        places = [place for place, word in enumerate(words[:-1]) if word[0] == asked]
        assert places == [len(words) - 1 - distance] and len(words) == distance + 1
        assert labels == [None] * distance + [words[places[0]][1]]


@pytest.mark.parametrize("distance", DISTANCES)
def test_every_value_is_the_answer_as_often(distance):
    counts = Counter(labels[-1] for _, labels in items(distance, 4 * 53, seed=5))
    assert counts == dict.fromkeys(VALUES, 53) and 1 / len(counts) == CHANCE


def test_nothing_but_the_item_tells_the_answer():
    """Of what stands between, no word is more frequent with one answer than with another than chance allows."""
    counts = {value: Counter() for value in VALUES}
    for words, labels in items(31, 4000, seed=7):
        counts[labels[-1]].update(word for word in words[1:])
    for word in (key + value for key in KEYS for value in VALUES):
        found = [of[word] for of in counts.values()]
        expected = sum(found) / len(found)
        # Of four counts as large as this the sum of squares is chi-squared of 3; beyond 30 lies one in a million.
        assert sum((count - expected) ** 2 / expected for count in found) < 30


def test_another_seed_gives_other_items_and_the_same_seed_the_same():
    assert items(13, 11, seed=1) == items(13, 11, seed=1) != items(13, 11, seed=2)


def test_a_lesson_goes_from_the_whole_distance_to_one_step():
    assert halves(37) == [37, 18, 9, 4, 2, 1]
    lengths = Counter(len(words) - 1 for words, _ in lesson(37, 5, seed=1))
    assert lengths == dict.fromkeys(halves(37), 5)
