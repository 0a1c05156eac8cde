"""Settings of tasks that write a text: what does not fit together is refused with the reason, what nothing uses too."""

from typing import Any

import pytest

from regard.errors import RecipeError
from regard.recipe.read import recipe_from
from regard.recipe.settings import DecodeSettings, Recipe
from regard.recipe.write import commented


def given(**sections: Any) -> Recipe:
    values: dict[str, Any] = {
        "task": {"kind": "seq2seq"},
        "data": {"train": "a.tsv"},
        "input": {"tokens": "characters"},
    }
    return recipe_from({**values, **{name: {**values.get(name, {}), **part} for name, part in sections.items()}})


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one table of letters and words": (
        {"output": {"tokens": "words", "share": "all"}},
        "output.share = all needs one kind of piece on both sides, characters or subwords; input.tokens is characters, "
        "output.tokens words",
    ),
    "one table of words": (
        {"input": {"tokens": "words"}, "output": {"tokens": "words", "share": "all"}},
        "output.share = all needs one kind of piece on both sides, characters or subwords; input.tokens is words, "
        "output.tokens words",
    ),
    "a size that the one table has already": (
        {"output": {"share": "all", "size": 99}},
        "output.size is not used with output.share = all; take it out",
    ),
    "a normalisation that the one table has already": (
        {"output": {"share": "all", "normalize": "NFC"}},
        "output.normalize is not used with output.share = all; take it out",
    ),
    "nothing to attend to": (
        {"model": {"encoder": "pointwise"}},
        "model.encoder is pointwise, but a text is written by attention to what was read; use attention",
    ),
    "two texts": (
        {"data": {"target": ["a", "b"]}},
        "data.target names several columns, but one text is written",
    ),
    "a penalty without a search": (
        {"decode": {"beam": 1, "length_penalty": 2.0}},
        "decode.length_penalty is not used with decode.beam = 1; take it out",
    ),
    "rare letters": (
        {"output": {"minimum_count": 2}},
        "output.minimum_count is not used with output.tokens = characters; take it out",
    ),
    "labels to ignore": ({"data": {"ignore": "_"}}, "data.ignore is not used with task.kind = seq2seq; take it out"),
    "a CRF": ({"output": {"crf": True}}, "output.crf is not used with task.kind = seq2seq; take it out"),
    "a scheme of spans": (
        {"output": {"scheme": "IOB2"}},
        "output.scheme is not used with task.kind = seq2seq; take it out",
    ),
    "one vector of the whole": (
        {"model": {"pooling": "first"}},
        "model.pooling is not used with task.kind = seq2seq; take it out",
    ),
    "classes in a cell": (
        {"data": {"separator": "|"}},
        "data.separator is not used with task.kind = seq2seq; take it out",
    ),
    "weights of labels": (
        {"train": {"class_weights": "balanced"}},
        "train.class_weights is not used with task.kind = seq2seq; take it out",
    ),
    "another task's score": (
        {"train": {"metric": "accuracy"}},
        "train.metric is accuracy, but a task of kind seq2seq has exact, bleu, chrf, word_errors, character_errors, "
        "perplexity",
    ),
}


@pytest.mark.parametrize(("sections", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_a_text_is_refused_with_the_reason(sections: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError) as raised:
        given(**sections)
    assert words in str(raised.value).removeprefix("recipe: ").splitlines()[0]


# Values of settings that have none of their own.
DECODE = {"max_length": 2, "max_ratio": 1.5, "no_repeat": 3, "prefix": "a", "top_k": 5}


@pytest.mark.parametrize("kind", ["label", "classify", "regress"])
@pytest.mark.parametrize(
    "setting",
    [
        *(("decode", name, DECODE.get(name, field.default)) for name, field in DecodeSettings.model_fields.items()),
        *(("output", name, value) for name, value in (("tokens", "words"), ("size", 9), ("share", "none"))),
        *(("output", name, value) for name, value in (("bleu_tokens", "zh"), ("normalize", "NFC"))),
        ("model", "decoder_depth", 2),
        ("data", "several_right", True),
    ],
)
def test_what_only_a_text_needs_is_refused_elsewhere(kind: str, setting: tuple[str, str, Any]) -> None:
    section, name, value = setting
    values: dict[str, Any] = {"task": {"kind": kind}, "data": {"train": "a"}}
    with pytest.raises(RecipeError, match=rf"{section}\.{name} is not used with .*; take it out"):
        recipe_from(
            {**values, section: {**values.get(section, {}), name: list(value) if isinstance(value, tuple) else value}}
        )


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("decode", "beam", 0),
        ("decode", "max_length", 0),
        ("decode", "length_penalty", -0.5),
        ("decode", "coverage_penalty", -0.5),
        ("decode", "min_length", -1),
        ("decode", "max_ratio", 0.0),
        ("decode", "no_repeat", 0),
        ("decode", "top_k", 0),
        ("decode", "top_p", 0.0),
        ("decode", "temperature", 0.0),
        ("decode", "seed", -1),
        ("model", "decoder_depth", 0),
    ],
)
def test_sizes_of_a_search_are_at_least_what_makes_sense(section: str, name: str, value: float) -> None:
    with pytest.raises(RecipeError, match=rf"{section}\.{name} is {value}, but must be"):
        given(**{section: {name: value}})


def test_a_commented_recipe_shows_what_a_text_uses_and_nothing_else() -> None:
    text = commented(given(), "heading")
    for wanted in ("[decode]", "beam = 4", "length_penalty = 1.0", "# max_length =", "share = ", "bleu_tokens"):
        assert wanted in text
    for other in ("crf", "scheme =", "pooling", "ignore", "minimum_count"):
        assert f"\n{other}" not in text and f"\n# {other} =" not in text
    assert "length_penalty" not in commented(given(decode={"beam": 1}), "heading")
    other = commented(recipe_from({"data": {"train": "a"}}), "heading")
    assert "beam" not in other and "decoder_depth" not in other and "several_right" not in other
