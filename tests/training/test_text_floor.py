"""Floors of texts: what is reached by copying, by hand."""

import math
import random
from collections import Counter

from regard.data.example import Example
from regard.training.linear import Bags, grams_of
from regard.training.text_floor import TEXT_FLOORS, of_the_most_similar, text_floors, the_source

draw = random.Random(5)


def example(source: str, target: str | None = None) -> Example:
    return Example(tuple(source.split()), {"target": (target,)}, whole=True)


def texts(count: int) -> list[str]:
    return [" ".join(draw.choices("abcdefgh", k=draw.randrange(2, 8))) for _ in range(count)]


def bag(bags: Bags, one: Example) -> Counter:
    """What stands in an example, as the bags count it."""
    return Counter(bags.bag(one.words))


def cosine(one: Counter, other: Counter) -> float:
    lengths = math.hypot(*one.values()) * math.hypot(*other.values())
    return sum(one[key] * other[key] for key in one) / lengths if lengths else 0.0


def test_the_source_is_copied_as_it_was_read():
    assert the_source([], [example("a b c"), example("")]) == ["a b c", ""]


def test_the_most_similar_is_found_by_comparing_with_each():
    train = [example(source, f"target {number}") for number, source in enumerate(texts(61))]
    test = [example(source) for source in texts(151)]
    bags = Bags(train, grams_of(train, longest=2))
    known = [bag(bags, one) for one in train]
    for asked, found in zip(test, of_the_most_similar(train, test), strict=True):
        likeness = [cosine(bag(bags, asked), other) for other in known]
        assert math.isclose(likeness[int(found.split()[1])], max(likeness), abs_tol=1e-5)


def test_a_source_that_was_seen_gets_its_own_target():
    train = [example(source, source[::-1]) for source in sorted(set(texts(41)))]
    found = of_the_most_similar(train, train)
    assert sum(one == other.labels["target"][0] for one, other in zip(found, train, strict=True)) > 0.9 * len(train)


def test_what_has_no_known_target_is_not_copied_from():
    assert of_the_most_similar([example("a b"), example("c d", "known")], [example("a b")]) == ["known"]


def test_what_shares_nothing_with_train_gets_a_text_all_the_same():
    assert of_the_most_similar([example("a b", "one")], [example("x y"), example("")]) == ["one", "one"]


def test_every_floor_writes_a_text_for_each_item():
    train = [example(source, "t") for source in texts(7)]
    found = text_floors(train, train[:3])
    assert set(found) == set(TEXT_FLOORS) and all(len(texts) == 3 for texts in found.values())
