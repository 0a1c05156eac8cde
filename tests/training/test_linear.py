"""A linear model on bags of n-grams."""

import gzip
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.corpus import read_part
from regard.data.example import Example
from regard.data.table import SEPARATOR
from regard.data.text import at_punctuation
from regard.recipe import recipe_from
from regard.training import linear
from regard.training.floor import SIMILARITY, number_floors
from regard.training.number_metric import pearson


def texts(*lines: str) -> list[Example]:
    return [Example(tuple(line.split()), whole=True) for line in lines]


def drawn(count: int, seed: int = 3) -> list[Example]:
    draw = random.Random(seed)
    return texts(*(" ".join(draw.choices(["good", "bad", "so", "very", "dull"], k=5)) for _ in range(count)))


def dense(matrix: linear.Matrix) -> np.ndarray:
    found = np.zeros(matrix.shape)
    found[matrix.rows, matrix.columns] = matrix.values
    return found


# Grams


def test_words_have_two_letters_or_digits_and_stand_alone_and_in_pairs() -> None:
    assert linear.word_grams(["I", "'m", "Not", "a", "2nd", "one", "!"], 2) == [
        "not", "2nd", "one", "not 2nd", "2nd one",
    ]  # fmt: skip


def test_signs_stand_alone_and_with_their_neighbours() -> None:
    assert linear.sign_grams(["ab", "C"], 3) == ["a", "b", "c", "ab", "bc", "abc"]


@pytest.mark.parametrize("grams", [linear.word_grams, linear.sign_grams])
def test_no_gram_reaches_from_one_text_into_another(grams) -> None:
    together = grams(["one", "two", SEPARATOR, "six", "ten"], 2)
    assert together.count(SEPARATOR) == 0 and sorted(together) == sorted(
        grams(["one", "two"], 2) + grams(["six", "ten"], 2)
    )


def test_texts_that_are_not_cut_into_words_are_cut_into_signs() -> None:
    def cut(*lines: str) -> object:
        return linear.grams_of(texts(*lines), longest=2).func  # type: ignore[attr-defined]

    assert cut("very good", "so bad", "bad") is linear.word_grams
    assert cut("很好的书", "不好", "好 书") is linear.sign_grams
    assert cut("很 好 的 书", "不 好", "好 书") is linear.sign_grams
    assert cut(f"很好的书 {SEPARATOR} 好书", f"不好 {SEPARATOR} 好") is linear.sign_grams


# Bags


def test_the_weights_of_a_bag_are_as_by_hand() -> None:
    bags = linear.Bags(texts("good good bad", "good", "dull"), lambda words: list(words))
    # log((1 + 3) / (1 + documents)) + 1, times how often it stands in the text.
    good, bad = 2 * (math.log(4 / 3) + 1), math.log(4 / 2) + 1
    length = math.hypot(good, bad)
    found = bags.bag(["bad", "good", "good", "new"])
    assert found == pytest.approx({bags.places["good"]: good / length, bags.places["bad"]: bad / length})
    assert bags.bag(["new"]) == {} == bags.bag([])


def test_what_stands_in_too_few_texts_does_not_count() -> None:
    bags = linear.Bags(texts("good good bad", "good", "dull"), lambda words: list(words), least=2)
    assert list(bags.places) == ["good"]


def test_the_sparse_products_are_those_of_the_whole_table() -> None:
    examples = drawn(13)
    matrix = linear.Bags(examples, linear.grams_of(examples, longest=2)).matrix(examples)
    table, random = dense(matrix), np.random.default_rng(1)
    for width in (1, 3):
        weights, slopes = random.random((table.shape[1], width)), random.random((table.shape[0], width))
        assert np.allclose((matrix @ torch.from_numpy(weights)).numpy(), table @ weights)
        assert np.allclose(matrix.transposed(torch.from_numpy(slopes)).numpy(), table.T @ slopes)


# Fits


def test_the_regression_is_the_ridge_s_closed_form() -> None:
    train, test = drawn(53), drawn(7, seed=5)
    values = np.random.default_rng(2).normal(3, 2, len(train))
    bags = linear.Bags(train, linear.grams_of(train, longest=2), least=2)
    table, other = dense(bags.matrix(train)), dense(bags.matrix(test))
    middle = table.mean(0)
    apart = table - middle  # the offset is not penalised, so it takes the means along
    weights = np.linalg.solve(apart.T @ apart + np.eye(table.shape[1]), apart.T @ (values - values.mean()))
    wanted = (other - middle) @ weights + values.mean()
    assert linear.regress(train, values.tolist(), test) == pytest.approx(wanted.tolist(), abs=1e-3)


def test_no_step_from_the_fit_of_classes_makes_loss_and_penalty_smaller() -> None:
    train = drawn(53)
    labels = [random.Random(place).choice("ABC") for place in range(53)]
    bags = linear.Bags(train, linear.grams_of(train, longest=2), least=2)
    table = dense(bags.matrix(train))
    there = np.array([[label == name for name in "ABC"] for label in labels])
    scores = linear._sides(linear._matrices(train, train), torch.from_numpy(there).long()).numpy()
    # What the fit says of train tells its weights, but for a part that no example sees, which is 0 in the best fit.
    padded = np.hstack([table, np.ones((53, 1))])
    solved = np.linalg.lstsq(padded, scores, rcond=None)[0]
    slopes = -2 * (2 * there - 1) * np.maximum(0, 1 - (2 * there - 1) * (padded @ solved))
    assert np.abs(slopes.sum(0)).max() < 0.01  # of the offset, which is not penalised
    # At the best weights the loss's slope is the penalty's, turned round.
    span = np.linalg.pinv(table) @ table
    assert np.abs(span @ solved[:-1] + span @ (table.T @ slopes)).max() < 0.01


def test_two_labels_are_two_sides_of_one_plane() -> None:
    train, test = texts("good very good", "good", "bad", "so bad", "bad bad") * 7, texts("very good", "so bad")
    assert linear.classify(train, ["P", "P", "N", "N", "N"] * 7, test) == ["P", "N"]
    assert linear.classify_several(train, [["P"], ["P"], ["N"], ["N"], []] * 7, test) == [["P"], ["N"]]


def test_one_label_equal_numbers_and_words_never_seen_are_no_trouble() -> None:
    train, test = texts("good", "bad", "dull"), texts("new", "")
    assert linear.classify(train, ["A"] * 3, test) == ["A", "A"]
    assert linear.classify(train, ["A", "A", "B"], test) == ["A", "A"]
    assert linear.regress(train, [7.0] * 3, test) == pytest.approx([7, 7])
    assert linear.regress(train[:1], [7.0], test) == pytest.approx([7, 7])
    assert linear.classify_several(train, [[], [], []], test) == [[], []]
    assert linear.classify_several(train, [["A"], ["A"], []], test) == [["A"], ["A"]]


# Pairs of texts


def pairs(*lines: str) -> list[Example]:
    return texts(*(line.replace("|", SEPARATOR) for line in lines))


def test_the_number_of_a_pair_lies_on_the_line_through_the_training_pairs() -> None:
    train = pairs("red car | red car", "red car | old sea", "big box | big box", "big box | old sea")
    # Texts with the same words have the cosine 1, texts without a common one 0; three of each.
    train, values = [*train, *pairs("old sea | old sea", "red car | big box")], [5, 1, 4, 2, 4.5, 1.5]
    found = linear.regress_similarity(train, values, pairs("old sea | old sea", "red sea | old car", "| red car"))
    assert found == pytest.approx([4.5, 1.5, 1.5])
    halfway = linear.regress_similarity(train, values, pairs("red car | red box"))
    assert 1.5 < halfway[0] < 4.5


def test_where_all_pairs_are_as_alike_the_mean_is_answered() -> None:
    train = pairs("red car | red car", "big box | big box")
    assert linear.regress_similarity(train, [1, 2], pairs("old sea | red sea")) == [1.5]
    assert linear.regress_similarity(train, [2, 2], pairs("red car | red sea")) == pytest.approx([2])


def test_likeness_is_a_floor_of_pairs_only() -> None:
    def floors(train: list[Example]) -> list[str]:
        known = [Example(one.words, {"y": (str(place),)}, whole=True) for place, one in enumerate(train)]
        return list(number_floors(known, known, ["y"], ()))

    assert SIMILARITY in floors(pairs("red car | old sea", "big box | big sea"))
    assert SIMILARITY not in floors(pairs("red car | old sea", "big box"))
    assert SIMILARITY not in floors(pairs("red car | old sea | sea", "big box | sea"))


# Held against the floors that scikit-learn reaches on the same data (TfidfVectorizer, LinearSVC, Ridge), recorded when
# the data were gathered.
SCIKIT_LEARN = {"SST-2": 0.811, "VADER tweets": 0.782, "STS-B": 0.658}


def test_sentences_of_films_are_judged_as_by_scikit_learn(shared_data: Path) -> None:
    def part(name: str) -> list[list[str]]:
        lines = (shared_data / "sst2" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        return [line.split("\t") for line in lines]

    train, test = part("train"), part("test")
    found = linear.classify(*_texts_and(train), _texts_and(test)[0])
    right = np.mean([answer == label for answer, (_, label) in zip(found, test, strict=True)])
    assert right == pytest.approx(SCIKIT_LEARN["SST-2"], abs=0.005)


def _texts_and(rows: list[list[str]]) -> tuple[list[Example], list[str]]:
    return [Example(at_punctuation(text), whole=True) for text, _ in rows], [label for _, label in rows]


def test_tweets_are_rated_as_by_scikit_learn(shared_data: Path) -> None:
    file = gzip.decompress((shared_data / "vader-ratings" / "tweets_GroundTruth.txt.gz").read_bytes())
    rows = [line.split("\t") for line in file.decode("utf-8", "replace").split("\n") if line]
    given = [[text, rating] for _, rating, text in rows]
    train = [row for place, row in enumerate(given) if place % 10 != 9]
    test, ratings = _texts_and(given[9::10])
    examples, known = _texts_and(train)
    found = linear.regress(examples, [float(rating) for rating in known], test)
    measured = pearson(np.array(found), np.array([float(rating) for rating in ratings]))
    assert measured == pytest.approx(SCIKIT_LEARN["VADER tweets"], abs=0.005)


def test_likeness_tells_as_much_as_by_scikit_learn(shared_data: Path) -> None:
    train, test = (shared_data / "stsb" / f"stsb-en-{part}.csv.gz" for part in ("train", "test"))
    data = {"train": str(train), "format": "csv", "source": [1, 2], "target": 3}
    recipe = recipe_from({"task": {"kind": "regress"}, "data": data})
    found = number_floors(read_part(recipe, [str(train)]), read_part(recipe, [str(test)]), ["3"], ())
    assert found[SIMILARITY].values()["pearson"] == pytest.approx(SCIKIT_LEARN["STS-B"], abs=0.002)
