"""Texts that elements spell between them (CTC), through the whole road: files, training, answers, scores."""

import random
from itertools import pairwise

import pytest
import torch
from sharp import sharpen

import regard as package
from regard.build import build, learn
from regard.certificate import certify
from regard.data.example import Example
from regard.decode.ctc import frames_needed
from regard.errors import RegardError
from regard.printing import scores_as_json
from regard.recipe import recipe_from
from regard.training.progress import Talk

RECIPE = {
    "task": {"kind": "ctc"},
    "input": {"tokens": "characters", "dropout": 0.0},
    "model": {"width": 32, "heads": 2, "depth": 1, "dropout": 0.0},
    "train": {"epochs": 8, "batch_tokens": 400, "lr": 1e-2, "warmup_steps": 10, "evaluate_every": 60, "certify": False},
    "decode": {"beam": 3},
}


def pairs(count, seed):
    """Letters, and those of them that are no vowels in upper case, of which no two neighbours are the same."""
    draw, found = random.Random(seed), []
    while len(found) < count:
        word = "".join(draw.choice("abcdei") for _ in range(draw.randint(3, 11)))
        text = "".join(letter.upper() for letter in word if letter not in "aei")
        if all(one != other for one, other in pairwise(text)):
            found.append((word, text))
    return found


class Told(Talk):
    def __init__(self):
        self.sentences = []

    def say(self, sentence):
        self.sentences.append(sentence)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    told = Told()
    data = {"train": [*pairs(400, 1), ("bc", "BBBC")], "dev": pairs(40, 2)}
    run = package.train(RECIPE, data=data, run=tmp_path_factory.mktemp("spelling") / "run", talk=told)
    return run, told.sentences


def test_a_text_in_the_order_of_what_is_read_is_learnt(trained):
    run, _ = trained
    scored = run.evaluate(pairs(50, 3))
    assert scored.values["exact"] > 0.9
    assert set(scored.values) == {"exact", "word_errors", "character_errors"}


def test_a_text_that_needs_more_elements_than_there_are_is_named_and_left_out(trained):
    _, told = trained
    (sentence,) = [sentence for sentence in told if sentence.startswith("left out")]
    assert sentence == (
        "left out: 1 of 401 items of train, whose text needs more elements than are read, as that at train:401, which "
        "needs 6 and has 2"
    )


def test_where_no_text_fits_nothing_is_trained(tmp_path):
    with pytest.raises(RegardError, match="none of 3 texts can be learnt: each needs more elements than are read"):
        package.train(RECIPE, data={"train": [("b", "BBB")] * 3, "dev": [("b", "B")]}, run=tmp_path / "run")


def test_several_texts_come_with_their_own_probabilities(trained):
    run, _ = trained
    (answer,) = run.predict(["abcab"], best=5)
    assert [one.score for one in answer.texts] == sorted((one.score for one in answer.texts), reverse=True)
    assert len({one.text for one in answer.texts}) == 5
    given = run.given([answer.example] * 5, [one.text for one in answer.texts])
    for one, other in zip(answer.texts, given, strict=True):
        assert other.log_probability == pytest.approx(one.log_probability, abs=1e-4)


def test_the_stream_is_what_a_beam_of_one_writes(trained):
    run, _ = trained
    greedy = run.decoding({"decode.beam": 1})
    for word, _ in pairs(11, 4):
        assert "".join(run.stream(word)) == greedy.predict([word])[0].text


def test_of_nothing_nothing_is_written(trained):
    run, _ = trained
    assert [answer.text for answer in run.predict(["", "b"])] == ["", run.predict(["b"])[0].text]


def test_what_a_decoder_would_do_is_refused_by_name(trained):
    run, _ = trained
    with pytest.raises(RegardError, match="without a decoder nothing looks at a source"):
        run.predict(["abc"], align=True)


def test_errors_are_told_by_kind(trained):
    run, _ = trained
    told = scores_as_json(run.evaluate([(word, text + "X") for word, text in pairs(13, 5)]), "these")
    assert told["edits"]["character_errors"].startswith("0 substitutions, 13 deletions, 0 insertions, of ")


@pytest.fixture(scope="module")
def predictor():
    recipe = recipe_from({**RECIPE, "data": {"train": "x"}})
    examples = [Example((word,), {"text": (text,)}, whole=True) for word, text in pairs(29, 1)]
    torch.manual_seed(2)
    made = build(recipe, *learn(recipe, examples, ("text",)))
    for parameter in made.model.output.parameters():
        parameter.data.add_(0.3 * torch.randn(parameter.shape))
    return sharpen(made.model).eval() and made, examples


def test_every_way_gives_the_same_answers(predictor):
    found = certify(*predictor)
    assert not found.failed, found.sentence


def test_neighbours_change_no_text(predictor):
    made, examples = predictor
    together = [answer.text for answer in made.predict(examples)]
    assert together == [next(made.predict([example])).text for example in examples]
    assert len(set(together)) > 7


def test_what_is_found_fits(predictor):
    made, examples = predictor
    for answer in made.predict(examples):
        assert frames_needed(answer.text) <= len(answer.words[0])
