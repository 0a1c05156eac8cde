"""Networks of the same size with another encoder."""

import pytest
import small

from regard.build import ENCODERS, build, learn
from regard.data.example import Example, Place
from regard.errors import RecipeError
from regard.matching import TIME_TOLERANCE, TOLERANCE, by_parameters, by_time, parameters, with_encoder
from regard.matching import matched as matched_by
from regard.recipe import recipe_from

EXAMPLES = small.examples(37)
TEXTS = [Example(e.words, {"text": (" ".join(e.words),)}, Place("small", 1), whole=True) for e in EXAMPLES]


def recipe(**changes):
    return recipe_from({**small.recipe(**changes), "data": {"train": "x"}})


def size(made, examples=EXAMPLES, column=small.COLUMN):
    tokenizer, targets = learn(made, examples, (column,))
    model = build(made, tokenizer, targets).model
    return tokenizer, targets, sum(parameter.numel() for parameter in model.parameters())


def matched(given, encoder, wanted, tokenizer, targets):
    return matched_by(given, encoder, wanted, by_parameters(tokenizer, targets, []))


def test_parameters_are_counted_without_making_them():
    tokenizer, targets, count = size(recipe())
    assert parameters(recipe(), tokenizer, targets) == count


@pytest.mark.parametrize(
    "changes", [{}, {"inner": 53}, {"heads": 3, "width": 48}, {"depth": 3, "norm": "none"}], ids=str
)
def test_every_encoder_can_be_as_large_as_attention_and_attention_as_every_encoder(changes):
    given = recipe(model={"width": 32, **changes})
    tokenizer, targets, wanted = size(given)
    for encoder in ENCODERS:
        other = matched(given, encoder, wanted, tokenizer, targets)
        assert other.model.encoder == encoder
        assert abs(size(other)[2] - wanted) <= TOLERANCE * wanted
        back = matched(other, "attention", 2 * wanted, tokenizer, targets)
        assert abs(size(back)[2] - 2 * wanted) <= TOLERANCE * 2 * wanted
        assert back.model.width % back.model.heads == 0


def test_the_same_encoder_of_the_same_size_is_the_same_width():
    given = recipe(model={"width": 24, "heads": 2})
    tokenizer, targets, wanted = size(given)
    assert matched(given, "attention", wanted, tokenizer, targets).model == given.model


@pytest.mark.parametrize("decoder", ["attention", "recurrent"])
def test_what_writes_is_counted_too(decoder):
    given = recipe_from(
        {
            "task": {"kind": "seq2seq"},
            "data": {"train": "x"},
            "input": {"tokens": "characters"},
            "model": {"width": 32, "heads": 2, "depth": 1, "decoder": decoder},
        }
    )
    tokenizer, targets, wanted = size(given, TEXTS, "text")
    other = matched(given, "recurrent", 2 * wanted, tokenizer, targets)
    assert other.model.width % other.model.heads == 0
    assert abs(size(other, TEXTS, "text")[2] - 2 * wanted) <= TOLERANCE * 2 * wanted


def test_settings_that_the_other_encoder_does_not_use_are_taken_out():
    other = with_encoder(recipe(model={"position": "rotary", "turned": 0.5, "window": 3}), "recurrent")
    assert other.model.model_fields_set == {"encoder", "width", "depth", "inner", "dropout"}
    assert with_encoder(other, "attention").model.encoder == "attention"


def test_a_size_that_no_width_gives_is_refused():
    given = recipe()
    tokenizer, targets, _ = size(given)
    with pytest.raises(
        RecipeError, match="no width gives a network with the encoder recurrent about 7 parameters; the nea"
    ):
        matched(given, "recurrent", 7, tokenizer, targets)


def test_an_encoder_can_be_as_wide_as_takes_as_long(monkeypatch):
    """The clock is planted: an update takes as long as the network's parameters say, the more the longer."""
    given = recipe(model={"width": 32})
    tokenizer, targets, _ = size(given)
    pace = by_time(tokenizer, targets, EXAMPLES)
    assert pace.of(given) > 0  # the true clock
    monkeypatch.setattr("regard.matching.seconds", lambda recipe, *given: parameters(recipe, *given[:2]) / 1e6)
    wanted = pace.of(given)
    for encoder in ENCODERS:
        other = matched_by(given, encoder, wanted, pace)
        assert abs(pace.of(other) - wanted) <= TIME_TOLERANCE * wanted
    with pytest.raises(
        RecipeError, match=r"no width gives a network with the encoder recurrent about 0\.0000 s an update"
    ):
        matched_by(given, "recurrent", 1e-9, pace)
