"""Items that one run answered better."""

import numpy as np

from regard.comparison.telling import cases
from regard.data.example import Example, Place
from regard.predict import Answer


def answer(number, words, right, answered, share=()):
    whole = len(right) == 1
    example = Example(tuple(words.split()), {"a": tuple(right)}, Place("test", number), whole=whole)
    return Answer(example.words, {"a": tuple(answered)}, {"a": share}, example)


def test_of_words_only_those_that_are_answered_differently_are_shown():
    one, other = answer(1, "the old man", "DAN", "DNN"), answer(1, "the old man", ("D", "A", None), "XAN")
    found = cases([one, one], [other, one], np.array([1, 1, 2, 1]))
    (case,) = found.best
    assert (case.place, case.text, case.right) == ("test:1", "the old man", "the/D old/A")
    assert (case.one, case.other) == ("the/D old/N", "the/X old/A")
    assert (found.won, found.lost, found.same, found.answered) == (1, 0, 1, 1)


def test_what_is_not_known_is_a_question():
    right = ("D", None, "N")
    found = cases([answer(1, "the old man", right, "DNN")], [answer(1, "the old man", right, "XAN")], np.array([1, 0]))
    assert found.worst[0].right == "the/D old/?"


def test_the_most_gained_come_first_and_of_equals_the_surest():
    shares = [0.5, 0.9, 0.7, 0.6, 0.8]
    one = [answer(n, "a b", "X", "X", (share,)) for n, share in enumerate(shares)]
    other = [answer(n, "a b", "X", "Y", (share,)) for n, share in enumerate(shares)]
    losses = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 0])
    found = cases(one, other, losses)
    assert [case.place for case in found.best] == ["test:3", "test:1", "test:2", "test:0"]
    assert [case.place for case in found.worst] == ["test:4"]
    assert found.best[0].right == "X" and found.best[0].other == "Y"


def test_only_a_few_are_shown_and_all_are_counted():
    one = [answer(n, "a b", "X", "X") for n in range(31)]
    other = [answer(n, "a b", "X", "Y") for n in range(31)]
    found = cases(one, other, np.repeat([0, 1], 31))
    assert found.won == 31 and len(found.best) < 10 and not found.worst
