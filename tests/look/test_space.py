"""Neighbours and analogies are found where they were planted; the plane is that of the largest differences."""

import pytest
import torch
import written
from sharp import assert_close, draw
from test_independence import predictor_for

from regard.data.example import Example
from regard.errors import RegardError
from regard.look.space import Space, picture, plane, space_page, spaces_of, words_of


def planted():
    names = ("man", "woman", "king", "queen", "stone", "moon")
    human, royal, female, other = torch.eye(4)
    vectors = [human, human + female, human + royal, human + royal + female, other, other - royal]
    return Space(names, torch.stack(vectors))


def test_a_planted_analogy_is_found():
    assert planted().analogy("man", "king", "woman")[0][0] == "queen"
    assert planted().analogy("king", "queen", "man")[0][0] == "woman"
    assert not {"man", "king", "woman"} & {name for name, _ in planted().analogy("man", "king", "woman")}


def test_neighbours_are_those_that_point_the_same_way_however_long():
    space = Space(("a", "b", "c"), torch.tensor([[1.0, 0], [90.0, 9.0], [0.5, 0.5]]))
    found = space.neighbours("a")
    assert [name for name, _ in found] == ["b", "c"]
    assert found[1][1] == pytest.approx(0.5**0.5)


def test_a_word_without_a_vector_is_refused_with_the_nearest():
    with pytest.raises(RegardError, match="'quen' has no vector of its own; 6 have; did you mean queen"):
        planted().neighbours("quen")


@pytest.mark.parametrize("input", ["words", "words+characters", "characters", "subwords"])
def test_every_kind_of_input_has_vectors_as_the_encoder_is_given_them(input):
    predictor = predictor_for(input)
    space = words_of(predictor)
    assert len(space.names) == len(set(space.names)) == len(space.vectors) > 10
    twice = spaces_of(predictor, Example((space.names[3], space.names[3])))["before the encoder"]
    pieces = len(twice.names) // 2
    assert_close(twice.vectors[:pieces].mean(0), space.vectors[3], 1e-5)


def test_the_plane_holds_most_of_the_variance_and_keeps_distances_in_it():
    flat = draw(11, 2) @ draw(2, 7, seed=2)
    places, share = plane(flat)
    assert share == pytest.approx(1.0)
    assert_close(torch.cdist(places, places).float(), torch.cdist(flat, flat), 1e-3)
    _, less = plane(draw(11, 7))
    assert 2 / 7 < less < 1


def test_what_can_be_drawn_is_drawn(tmp_path):
    predictor = predictor_for("words", {"position": "sinusoidal"})
    spaces = spaces_of(predictor, Example(("the", "light", "can", "<b>")))
    assert list(spaces) == ["before the encoder", "after it", "labels of label", "positions alone"]
    drawing = picture(spaces)
    assert drawing.count("<circle") == sum(len(space.names) for space in spaces.values())
    assert "&lt;b&gt;" in drawing and "<b>" not in drawing and "of the variance" in drawing
    assert drawing in space_page("x", spaces)
    assert "positions alone" not in spaces_of(predictor_for("words"), Example(("the", "can")))


def test_a_writer_s_input_is_drawn_too():
    predictor = written.predictor()
    (example,) = written.examples(1)
    assert list(spaces_of(predictor, example))[:2] == ["before the encoder", "after it"]


def test_one_point_and_equal_points_have_a_place():
    places, share = plane(torch.ones(3, 5))
    assert places.shape == (3, 2) and not places.isnan().any() and share == 1.0
    assert plane(draw(2, 1))[0].shape == (2, 2)
