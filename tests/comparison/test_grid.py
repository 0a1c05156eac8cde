"""What a study trains, and what it refuses."""

import pytest
import small

from regard.comparison.grid import Cell, cells, examples_of, recipes_of, sizes_of
from regard.corpus import Corpus
from regard.errors import RegardError
from regard.recipe import NAMES, recipe_from


def recipe(**model):
    return recipe_from({"data": {"train": "train.conllu"}, "model": model})


def test_the_first_seed_s_cells_come_first_and_names_differ():
    found = cells(["a", "b"], [3, 5], [1, 2])
    assert [cell.seed for cell in found] == [1] * 4 + [2] * 4
    assert len({cell.name for cell in found}) == 8
    assert {(cell.encoder, cell.size) for cell in found[:4]} == {("a", 3), ("a", 5), ("b", 3), ("b", 5)}


def test_sizes_are_sorted_and_each_there_once():
    assert sizes_of(["31", "all", "7", "97", "7"], 97) == [7, 31, 97]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["7", "many"], "a size is a number of examples or all, as in 100,300,all; found 'many'"),
        (["0"], "a size is a number of examples or all, as in 100,300,all; found '0'"),
        (["98"], "the size 98 is more than the 97 examples of train; the largest is all"),
        ([], "no size is given; give numbers of examples, as in 100,300,all"),
    ],
)
def test_sizes_that_cannot_be_are_refused(asked, words):
    with pytest.raises(RegardError) as raised:
        sizes_of(asked, 97)
    assert str(raised.value) == words


def test_every_encoder_has_a_recipe_that_trains_alike():
    found, said = recipes_of(recipe(width=12, heads=3, position="alibi"), NAMES["model.encoder"])
    for encoder, of in found.items():
        assert of.model.encoder == encoder and of.model.width == 12
    assert (found["attention"].model.heads, found["attention"].model.position) == (3, "alibi")
    assert "pointwise does without model.heads, model.position" in said


@pytest.mark.parametrize(
    ("encoders", "model", "words"),
    [
        (["attention", "pointwize"], {}, "unknown model.encoder pointwize; known: .*; did you mean pointwise"),
        ([], {}, "no encoder is given; known: attention, convolution, recurrent, pointwise"),
        (["attention"], {"score": "mine:Score"}, "model.score is mine:Score, but a study does not train with code of"),
        (["pointwise", "attention"], {"encoder": "pointwise", "width": 7}, "model.width is 7, which cannot be split"),
    ],
)
def test_encoders_that_cannot_be_are_refused(encoders, model, words):
    with pytest.raises(RegardError, match=words):
        recipes_of(recipe(**model), encoders)


def test_a_smaller_size_is_part_of_a_larger_one_whatever_the_encoder():
    corpus = Corpus(small.examples(31), small.examples(5, seed=7), [], ("label",), {})
    few, more = (examples_of(corpus, Cell("attention", size, 1))["train"] for size in (7, 17))
    assert len(few) == 7 and len(more) == 17 and all(any(one is other for other in more) for one in few)
    assert examples_of(corpus, Cell("pointwise", 7, 1))["train"] == few
    assert examples_of(corpus, Cell("attention", 7, 2))["train"] != few
    assert examples_of(corpus, Cell("attention", 31, 2))["train"] == corpus.train
