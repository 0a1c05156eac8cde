"""The demo's numbers: in words as they are said, and in parts that have none in common."""

import re
from pathlib import Path

import pytest

from regard.corpus import read_corpus
from regard.demo.numbers import END, KEPT_BACK, SMALL, drawn, in_words, write_data
from regard.recipe import read_recipe

SAID = {
    0: "zero",
    7: "seven",
    10: "ten",
    13: "thirteen",
    20: "twenty",
    47: "forty seven",
    100: "one hundred",
    101: "one hundred and one",
    999: "nine hundred and ninety nine",
    1_000: "one thousand",
    2_007: "two thousand and seven",
    2_099: "two thousand and ninety nine",
    2_100: "two thousand one hundred",
    40_006: "forty thousand and six",
    100_000: "one hundred thousand",
    310_015: "three hundred and ten thousand and fifteen",
    999_999: "nine hundred and ninety nine thousand nine hundred and ninety nine",
}

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORTH = {word: number for number, word in enumerate(ONES.split())}
WORTH |= {word: 10 * n for n, word in enumerate(TENS.split(), 2)}


def heard(words: str) -> int:
    """The number that is meant: each word adds what it is worth, hundred and thousand multiply what came before."""
    total = below = 0
    for word in words.split():
        if word == "hundred":
            below *= 100
        elif word == "thousand":
            total, below = 1_000 * below, 0
        elif word != "and":
            below += WORTH[word]
    return total + below


@pytest.mark.parametrize(("number", "words"), SAID.items())
def test_a_number_is_said_as_people_say_it(number: int, words: str) -> None:
    assert in_words(number) == words


def test_what_is_said_is_heard_as_the_same_number() -> None:
    for number in (*range(SMALL), *range(SMALL, END, 997), END - 1):
        assert heard(in_words(number)) == number


def test_and_stands_before_what_is_below_a_hundred_and_nowhere_else() -> None:
    for number in range(0, END, 101):
        words = in_words(number)
        assert not re.search(r"\band (and|thousand|hundred)\b|\band$|^and\b", words) and "  " not in words


def test_no_number_is_in_two_parts_and_none_is_kept_back() -> None:
    parts = drawn()
    sets = {part: set(numbers) for part, numbers in parts.items()}
    for one in sets:
        assert KEPT_BACK not in sets[one] and min(sets[one]) >= 0 and max(sets[one]) < END
        for other in sets:
            assert one == other or not sets[one] & sets[other]
    assert all(len(parts[part]) == len(sets[part]) for part in ("dev", "test", "small"))
    assert max(sets["small"]) < SMALL and min(sets["test"]) >= SMALL


def test_the_same_numbers_are_drawn_each_time() -> None:
    assert drawn() == drawn()


def test_the_files_are_read_by_the_recipe_beside_them(tmp_path: Path) -> None:
    parts = {part: numbers[:23] for part, numbers in drawn().items()}
    write_data(tmp_path, parts)
    corpus = read_corpus(read_recipe(tmp_path / "numbers.toml"), lambda sentence: None)
    assert corpus.columns == ("digits",) and len(corpus.train) == 23
    for example, number in zip(corpus.test, parts["test"], strict=True):
        assert " ".join(example.words) == in_words(number) and example.labels == {"digits": (str(number),)}
