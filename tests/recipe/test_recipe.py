"""What a recipe file must keep to, and what is said to those who get it wrong."""

import math
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from regard.errors import RecipeError
from regard.recipe import NAMES, Recipe, commented, differences, parse_overrides, read_recipe, recipe_from, resolved
from regard.recipe.settings import ALSO_CALLED, FORMATS, SEVERAL_METRICS, TASK_METRICS, TEXT_TASKS, WHOLE_TASKS

SECTIONS: dict[str, type[BaseModel]] = {
    section: field.annotation  # type: ignore[misc]
    for section, field in Recipe.model_fields.items()
}
SETTINGS = [f"{section}.{name}" for section, part in SECTIONS.items() for name in part.model_fields]

DATA = '[data]\ntrain = "a.conllu"\n'


def written(folder: Path, text: str, name: str = "recipe.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def given(**sections: Mapping[str, Any]) -> Recipe:
    """The settings in dictionaries, with a file to learn from."""
    return recipe_from({"data": {"train": "a.conllu", **sections.pop("data", {})}, **sections})


def said(text: str, folder: Path, name: str = "recipe.toml", overrides: Mapping[str, Any] | None = None) -> list[str]:
    """What is said about a bad recipe, line by line, with the file's name shortened."""
    path = written(folder, text, name)
    with pytest.raises(RecipeError) as raised:
        read_recipe(path, overrides)
    return str(raised.value).replace(str(path), name).splitlines()


# Written and read back

RECIPES: dict[str, Mapping[str, Mapping[str, Any]]] = {
    "defaults": {},
    "every part changed": {
        "data": {"dev": ["b", "c"], "target": ["upos", 7], "ignore": ["_"], "source": 2, "on_error": "skip"},
        "input": {"tokens": "words+characters", "size": 97, "lowercase": True, "normalize": "NFC", "filters": 13},
        "output": {"crf": True, "scheme": "IOBES"},
        "model": {"width": 42, "heads": 7, "key_heads": 1, "score": "mine:MyScore", "position": "learned"},
        "train": {"minutes": 1.5, "lr": 1e-5, "clip": 0.25, "patience": 3},
    },
    "a class for the whole": {
        "task": {"kind": "classify"},
        "data": {"format": "tsv", "source": ["title", 3], "target": "class", "header": True},
        "model": {"pooling": "attention"},
        "train": {"metric": "macro_f1"},
    },
    "several classes": {"task": {"kind": "classify"}, "data": {"separator": "; "}, "train": {"metric": "exact"}},
    "a number for the whole": {"task": {"kind": "regress"}, "data": {"header": False, "format": "csv"}},
    "letters": {"input": {"tokens": "characters"}},
    "pieces": {"input": {"tokens": "subwords", "size": 300}},
    "pointwise": {"model": {"encoder": "pointwise"}},
    "convolution": {"model": {"encoder": "convolution", "kernel": 7, "dilations": "doubling"}},
    "recurrence": {"model": {"encoder": "recurrent", "cell": "gru", "directions": "forward"}},
    "convolution that looks back, after attention": {
        "task": {"kind": "seq2seq"},
        "model": {"decoder": "convolution", "kernel": 5, "position": "t5", "heads": 2},
    },
    "recurrence that looks back, after a convolution": {
        "task": {"kind": "seq2seq"},
        "model": {"encoder": "convolution", "decoder": "recurrent", "kernel": 5, "cell": "rnn", "score": "additive"},
    },
    "attention in other shapes": {
        "model": {"window": [3, 0], "turned": 0.25, "query_key_norm": "rms", "value_width": 7, "normalizer": "entmax15"}
    },
    "attention as it is": {"model": {"projections": False, "window": 5, "position": "t5", "distance": 33}},
    "text that needs care": {"data": {"ignore": ['"', "\\", "#", "é", "a\nb", "\u0301"]}},
}


@pytest.mark.parametrize("sections", RECIPES.values(), ids=RECIPES)
def test_a_commented_recipe_read_back_equals_the_settings(
    sections: Mapping[str, Mapping[str, Any]], tmp_path: Path
) -> None:
    recipe = given(**sections)
    back = read_recipe(written(tmp_path, commented(recipe, "a heading\n\nof three lines")))
    assert back.model_dump() == recipe.model_dump()


@pytest.mark.parametrize("sections", RECIPES.values(), ids=RECIPES)
def test_a_resolved_recipe_read_back_equals_the_settings(sections: Mapping[str, Mapping[str, Any]]) -> None:
    recipe = given(**sections)
    assert recipe_from(tomllib.loads(resolved(recipe))).model_dump() == recipe.model_dump()


@pytest.mark.parametrize("write", [resolved, lambda recipe: commented(recipe, "")], ids=["resolved", "commented"])
def test_no_clipping_read_back_is_no_clipping(write: Any) -> None:
    recipe = given(train={"clip": math.inf})
    assert recipe_from(tomllib.loads(write(recipe))).train.clip == math.inf


@pytest.mark.parametrize("value", [None, 0, -math.inf, math.nan])
def test_a_gradient_is_clipped_to_some_length(value: float | None) -> None:
    with pytest.raises(RecipeError, match=r"^recipe: train\.clip is "):
        given(train={"clip": value})


def test_no_clipping_can_be_said_on_the_command_line() -> None:
    overrides = parse_overrides(["train.clip=inf"])
    assert recipe_from({"data": {"train": "a"}}, overrides).train.clip == math.inf


def test_no_clipping_can_be_said_in_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "data: {train: a}\ntrain:\n  clip: .inf\n", "recipe.yaml")
    assert read_recipe(path).train.clip == math.inf


def test_every_setting_is_explained() -> None:
    for setting in SETTINGS:
        section, _, name = setting.partition(".")
        description = SECTIONS[section].model_fields[name].description
        assert description and description.strip(), setting


def test_every_section_is_explained() -> None:
    assert all(part.__doc__ for part in SECTIONS.values())


def test_a_commented_recipe_explains_each_setting_that_it_shows() -> None:
    lines = commented(given(), "heading").splitlines()
    shown = [place for place, line in enumerate(lines) if re.match(r"(# )?\w+ =", line)]
    assert len(shown) > 30
    assert all(lines[place - 1].startswith("# ") for place in shown)


def test_every_name_belongs_to_a_setting() -> None:
    assert set(NAMES) <= set(SETTINGS)


# What a task of that kind needs to be one: what can only be read cannot be written, and only series have a next step.
NEEDED: dict[str, Mapping[str, Any]] = {
    "lm": {"input": {"tokens": "words"}},
    "forecast": {"input": {"kind": "vectors"}, "output": {"horizon": 3}},
}
KIND = {kind: {"task": {"kind": kind}, **NEEDED.get(kind, {})} for kind in NAMES["task.kind"]}

# What else must be set in the section, that the setting be used.
USED_WITH: dict[str, Mapping[str, Mapping[str, Any]]] = {
    "model.pooling": {"task": {"kind": "classify"}},
    "data.format": {"data": {"train": ["a", "b"]}},
    "input.kind": {"task": {"kind": "classify"}},
    "input.stem": {"task": {"kind": "classify"}, "input": {"kind": "image"}},
    "input.level": {"task": {"kind": "classify"}, "input": {"kind": "speech"}},
    **{
        f"output.{name}": {"task": {"kind": "seq2seq"}, "input": {"tokens": "characters"}}
        for name in ("tokens", "share", "bleu_tokens")
    },
    "model.decoder": {"task": {"kind": "seq2seq"}},
    "decode.length_norm": {"task": {"kind": "seq2seq"}},
    "decode.unknown": {"task": {"kind": "seq2seq"}, "output": {"tokens": "words"}},
    "model.dilations": {"model": {"encoder": "convolution"}},
    "model.cell": {"model": {"encoder": "recurrent"}},
    "model.directions": {"model": {"encoder": "recurrent"}},
    "data.scheme": {"output": {"scheme": "IOBES"}},
    "data.split_by": {"task": {"kind": "classify"}, "data": {"split_column": "a"}},
}
# A task that has the metric.
TASK_OF = {metric: kind for kind, metrics in TASK_METRICS.items() for metric in metrics}


@pytest.mark.parametrize("setting", NAMES)
def test_every_allowed_name_is_accepted(setting: str) -> None:
    section, _, key = setting.partition(".")
    for name in NAMES[setting]:
        others = KIND[TASK_OF.get(name, "classify")] if setting == "train.metric" else USED_WITH.get(setting, {})
        if name == "micro_f1":
            others = {"task": {"kind": "classify"}, "data": {"separator": "|"}}
        if name == "span_f1":
            others = {**others, "output": {"scheme": "IOB2"}}
        if name in ("chance", "lines"):
            others = {}
        if setting == "data.format":
            kind = next((kind for kind, of in FORMATS.items() if name in of), "text")
            others = {**others, "input": {"kind": kind}, **({"task": {"kind": "classify"}} if kind == "speech" else {})}
        if setting == "task.kind":
            others = KIND[name]
        recipe = given(**{**others, section: {key: name, **others.get(section, {})}})
        assert getattr(getattr(recipe, section), key) == name


@pytest.mark.parametrize(("name", "meant"), ALSO_CALLED.items())
def test_a_scheme_may_be_called_by_its_other_name(name: str, meant: str) -> None:
    recipe = given(data={"scheme": name}, output={"scheme": name})
    assert recipe.data.scheme == recipe.output.scheme == meant
    assert not differences(recipe, given(data={"scheme": meant}, output={"scheme": meant}))


def test_iob1_is_read_and_not_learnt() -> None:
    with pytest.raises(RecipeError, match=r"output\.scheme is 'IOB1', but must be one of none, IOB2, .* did you mean"):
        given(output={"scheme": "IOB1"})


def test_a_recipe_cannot_be_changed() -> None:
    recipe = given()
    with pytest.raises(ValueError, match="frozen"):
        recipe.train.seed = 3  # type: ignore[misc]


def test_paths_are_relative_to_the_recipe_s_folder(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, '[data]\ntrain = ["a", "../b"]\ndev = "/c/d"\n'))
    assert recipe.data.train == (str(tmp_path / "a"), str(tmp_path.parent / "b"))
    assert recipe.data.dev == ("/c/d",)


def test_a_column_may_be_given_by_name_or_number_alone_or_in_a_list() -> None:
    for found, wanted in [("upos", ("upos",)), (4, (4,)), (["upos", 5], ("upos", 5))]:
        assert given(data={"target": found}).data.target == wanted


def test_ten_epochs_are_meant_where_nothing_is_said() -> None:
    assert given().train.epochs == 10
    assert given(train={"minutes": 3}).train.epochs is None


# Overrides


def test_overrides_are_values_as_in_toml_and_else_text() -> None:
    words = ["model.depth=3", "model.position=rotary", 'data.target=["upos", 5]', "train.lr=1e-3", "output.crf=true"]
    assert parse_overrides(words) == {
        "model.depth": 3,
        "model.position": "rotary",
        "data.target": ["upos", 5],
        "train.lr": 1e-3,
        "output.crf": True,
    }
    assert parse_overrides(["data.train=a=b.txt", 'data.dev="x y"']) == {"data.train": "a=b.txt", "data.dev": "x y"}


@pytest.mark.parametrize("word", ["depth=3", "model.depth", ""])
def test_what_is_no_override_is_refused(word: str) -> None:
    with pytest.raises(RecipeError) as raised:
        parse_overrides([word])
    assert str(raised.value) == f"cannot read {word!r}; an override is section.key=value, as in model.depth=3"


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, DATA + "[model]\ndepth = 2\nwidth = 28\n")
    recipe = read_recipe(path, {"model.depth": 5, "train.seed": 7})
    assert (recipe.model.depth, recipe.model.width, recipe.train.seed) == (5, 28, 7)


@pytest.mark.parametrize(("stands", "instead"), [("epochs", "minutes"), ("minutes", "epochs")])
def test_overriding_the_length_takes_out_the_other_measure(stands: str, instead: str, tmp_path: Path) -> None:
    path = written(tmp_path, DATA + f"[train]\n{stands} = 3\n")
    train = read_recipe(path, {f"train.{instead}": 2}).train
    assert getattr(train, instead) == 2 and getattr(train, stands) is None


def test_overriding_both_lengths_is_refused(tmp_path: Path) -> None:
    assert said(DATA, tmp_path, overrides={"train.epochs": 3, "train.minutes": 2}) == [
        "override: train.epochs and train.minutes are both given; give one of them"
    ]


def test_a_faulty_override_is_named_as_such(tmp_path: Path) -> None:
    text = DATA + "[model]\ndepth = 2\n"
    assert said(text, tmp_path, overrides={"model.depth": "deep", "model.widht": 3}) == [
        "override: model.depth is 'deep', but must be a whole number",
        "override: unknown setting model.widht; did you mean width?",
    ]


def test_an_override_of_an_unknown_section_is_named_as_such(tmp_path: Path) -> None:
    [line] = said(DATA, tmp_path, overrides={"modle.depth": 3})
    assert line.startswith("override: unknown section [modle]")


def test_overrides_do_not_change_what_was_given() -> None:
    values = {"data": {"train": "a"}, "train": {"epochs": 3}}
    recipe_from(values, {"train.minutes": 1, "data.train": "b"})
    assert values == {"data": {"train": "a"}, "train": {"epochs": 3}}


# Faults

BAD: dict[str, tuple[str, list[str]]] = {
    "a setting misspelt": (
        DATA + "[model]\nwidht = 30\n",
        ["recipe.toml:4: unknown setting model.widht; did you mean width?"],
    ),
    "a setting in another section": (
        DATA + "[train]\nwidth = 30\n",
        ["recipe.toml:4: unknown setting train.width; did you mean model.width?"],
    ),
    "a setting like no other": (
        DATA + "[output]\nzzz = 30\n",
        [
            "recipe.toml:4: unknown setting output.zzz; known: scheme, horizon, crf, tokens, size, minimum_count, "
            "normalize, share, ctc, bleu_tokens"
        ],
    ),
    "an unknown section": (
        DATA + "[modle]\nwidth = 30\n",
        [
            "recipe.toml:3: unknown section [modle]; known: task, data, input, output, model, train, decode; "
            "did you mean model?"
        ],
    ),
    "a setting outside of sections": (
        "width = 30\n" + DATA,
        ["recipe.toml:1: unknown section [width]; known: task, data, input, output, model, train, decode"],
    ),
    "a name misspelt": (
        DATA + '[train]\n\nmetric = "acuracy"\n',
        [
            "recipe.toml:5: train.metric is 'acuracy', but must be one of accuracy, exact, macro_f1, micro_f1, "
            "span_f1, pearson, spearman, rmse, bleu, chrf, word_errors, character_errors, perplexity, "
            "character_perplexity; did you mean accuracy?"
        ],
    ),
    "a window with three sides": (
        DATA + "[model]\nwindow = [1, 2, 3]\n",
        [
            "recipe.toml:4: model.window is [1, 2, 3], but must be one number, or two, from 0: how far back and "
            "how far ahead"
        ],
    ),
    "a window that is negative": (
        DATA + "[model]\nwindow = -1\n",
        ["recipe.toml:4: model.window is -1, but must be one number, or two, from 0: how far back and how far ahead"],
    ),
    "a share that is too large": (
        DATA + "[model]\nturned = 1.5\n",
        ["recipe.toml:4: model.turned is 1.5, but must be less than or equal to 1"],
    ),
    "a name of one's own misspelt": (
        DATA + '[model]\nscore = "my score"\n',
        [
            "recipe.toml:4: model.score is 'my score', but must be one of scaled_dot, dot, cosine, bilinear, "
            "additive, or file:Class for one of your own"
        ],
    ),
    "a whole number": (
        DATA + "[model]\ndepth = 2.5\n",
        ["recipe.toml:4: model.depth is 2.5, but must be a whole number"],
    ),
    "a whole number, not text": (
        DATA + '[model]\ndepth = "2"\n',
        ["recipe.toml:4: model.depth is '2', but must be a whole number"],
    ),
    "a number": (DATA + '[train]\nlr = "fast"\n', ["recipe.toml:4: train.lr is 'fast', but must be a number"]),
    "true or false": (DATA + "[output]\ncrf = 1\n", ["recipe.toml:4: output.crf is 1, but must be true or false"]),
    "text": (DATA + "[model]\nnorm = 3\n", ["recipe.toml:4: model.norm is 3, but must be text"]),
    "a list": ("[data]\ntrain = 1.5\n", ["recipe.toml:2: data.train is 1.5, but must be a list"]),
    "text in a list": ('[data]\ntrain = ["a", 3]\n', ["recipe.toml:2: data.train is 3, but must be text"]),
    "a section": ("model = 3\n" + DATA, ["recipe.toml:1: model is 3, but must be a section"]),
    "too small": (
        DATA + "[model]\ndepth = 0\n",
        ["recipe.toml:4: model.depth is 0, but must be greater than or equal to 1"],
    ),
    "too large": (DATA + "[model]\ndropout = 1.0\n", ["recipe.toml:4: model.dropout is 1.0, but must be less than 1"]),
    "not above zero": (DATA + "[train]\nlr = 0\n", ["recipe.toml:4: train.lr is 0, but must be greater than 0"]),
    "nothing": ("", ["recipe.toml: data is missing: every recipe needs this section"]),
    "no file to learn from": (
        '[data]\ndev = "b"\n',
        ["recipe.toml:1: data.train is missing: files to learn from; paths are relative to this recipe"],
    ),
    "heads that do not divide the width": (
        DATA + "[model]\nwidth = 30\nheads = 4\n",
        [
            "recipe.toml:5: model.width is 30, which cannot be split into 4 heads; use heads = 1, 2, 3, 5, 6, or "
            "width = 28 or 32"
        ],
    ),
    "more heads than width": (
        DATA + "[model]\nwidth = 3\nheads = 5\n",
        ["recipe.toml:5: model.width is 3, which cannot be split into 5 heads; use heads = 1, 3, or width = 5"],
    ),
    "key heads that do not divide the heads": (
        DATA + "[model]\nkey_heads = 3\n",
        ["recipe.toml:4: model.key_heads is 3, which does not divide heads = 4"],
    ),
    "two lengths": (
        DATA + "[train]\nepochs = 3\nminutes = 2\n",
        ["recipe.toml:5: train.epochs and train.minutes are both given; give one of them"],
    ),
    "all at once": (
        '# a comment\n[data]\ntrian = "x"\n\n[model]\nwidht = 3\nheads = "a"  # four\n[train]\nlr = -1\n[modle]\n',
        [
            "recipe.toml:2: data.train is missing: files to learn from; paths are relative to this recipe",
            "recipe.toml:3: unknown setting data.trian; did you mean train?",
            "recipe.toml:7: model.heads is 'a', but must be a whole number",
            "recipe.toml:6: unknown setting model.widht; did you mean width?",
            "recipe.toml:9: train.lr is -1, but must be greater than 0",
            "recipe.toml:10: unknown section [modle]; known: task, data, input, output, model, train, decode; "
            "did you mean model?",
        ],
    ),
    "a table in one line": (
        DATA + "[model]\nwidth = { a = 3 }\n",
        ["recipe.toml:4: model.width is {'a': 3}, but must be a whole number"],
    ),
    "dotted keys": (
        "model.widht = 3\n" + DATA,
        ["recipe.toml:1: unknown setting model.widht; did you mean width?"],
    ),
}


BAD |= {
    "a window without a middle": (
        DATA + '[model]\nencoder = "convolution"\nkernel = 4\n',
        ["recipe.toml:5: model.kernel is 4, but must be odd, so that as many stand to both sides, as 3 or 5"],
    ),
    "too narrow for two directions": (
        DATA + '[model]\nencoder = "recurrent"\nwidth = 1\n',
        [
            "recipe.toml:3: model.width is 1, which two directions cannot share; use width = 2 or "
            "more, or directions = forward"
        ],
    ),
    "heads of what was read, which a convolution attends to": (
        DATA + '[task]\nkind = "seq2seq"\n[model]\nencoder = "convolution"\ndecoder = "convolution"\nheads = 3\n',
        [
            "recipe.toml:8: model.width is 128, which cannot be split into 3 heads; use heads = 1, 2, 4, or width = "
            "126 or 129"
        ],
    ),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_every_fault_is_named_with_its_place_what_was_found_and_what_is_allowed(
    text: str, words: list[str], tmp_path: Path
) -> None:
    assert sorted(said(text, tmp_path)) == sorted(words)


def test_a_setting_that_allows_two_types_names_both(tmp_path: Path) -> None:
    found = said('[data]\ntrain = "a"\nsource = [[1]]\n', tmp_path)
    assert found and all(line.startswith("recipe.toml:3: data.source is [1], but must be ") for line in found)
    assert "text" in " ".join(found) and "a whole number" in " ".join(found)


def test_a_word_without_quotes_is_named_with_its_line(tmp_path: Path) -> None:
    [line] = said(DATA + "[model]\nposition = rotary\n", tmp_path)
    assert line.startswith("recipe.toml is not TOML: ") and "line 4" in line
    assert line.endswith('; text needs quotes, as in position = "rotary"')


def test_a_missing_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as raised:
        read_recipe(tmp_path / "none.toml")
    assert str(raised.value) == f"there is no recipe {tmp_path / 'none.toml'}; `regard init` writes one"


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="cannot read the recipe"):
        read_recipe(tmp_path)


def test_a_recipe_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_bytes(b'[data]\ntrain = "\xe9"\n')
    with pytest.raises(RecipeError, match=r"cannot read the recipe .*recipe\.toml: 'utf-8'"):
        read_recipe(tmp_path / "recipe.toml")


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path, "\ufeff" + DATA)).data.train == (str(tmp_path / "a.conllu"),)


def test_windows_line_ends_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_bytes(DATA.replace("\n", "\r\n").encode())
    assert read_recipe(tmp_path / "recipe.toml").data.train == (str(tmp_path / "a.conllu"),)


UNUSED: dict[str, tuple[Mapping[str, Mapping[str, Any]], str]] = {
    **{
        f"{name} of {encoder}": (
            {"model": {"encoder": encoder, name: value}},
            f"model.{name} is not used with model.encoder = {encoder}",
        )
        for encoder, given in {
            "attention": {"kernel": 5, "dilations": "none", "cell": "gru", "directions": "both"},
            "pointwise": {"kernel": 5, "dilations": "none", "cell": "gru", "directions": "both"},
            "convolution": {"cell": "gru", "directions": "both", "heads": 2, "position": "none", "window": 3},
            "recurrent": {"kernel": 5, "dilations": "none", "heads": 2, "position": "none", "window": 3},
        }.items()
        for name, value in given.items()
    },
    **{
        f"{name} of {encoder} and {decoder}": (
            {"task": {"kind": "seq2seq"}, "model": {"encoder": encoder, "decoder": decoder, name: value}},
            f"model.{name} is not used with model.encoder = {encoder}{reason}",
        )
        for encoder, decoder, name, value, reason in (
            ("convolution", "recurrent", "position", "none", " and model.decoder = recurrent"),
            ("convolution", "recurrent", "directions", "both", ""),
            ("attention", "convolution", "cell", "gru", " and model.decoder = convolution"),
            ("recurrent", "attention", "kernel", 5, " and model.decoder = attention"),
            ("recurrent", "attention", "window", 5, ""),
        )
    },
    "decoder of a label for each word": (
        {"model": {"decoder": "recurrent"}},
        "model.decoder is not used with task.kind = label",
    ),
    **{
        f"{name} of {tokens}": (
            {"input": {"tokens": tokens, name: value}},
            f"input.{name} is not used with input.tokens = {tokens}",
        )
        for tokens, names in {
            "characters": ("minimum_count", "lowercase", "word_width", "pretrained", "character_width", "filters"),
            "subwords": ("minimum_count", "lowercase", "word_width", "pretrained", "character_width", "filters"),
            "words": ("character_width", "filters"),
        }.items()
        for name in names
        for value in [{"lowercase": True, "pretrained": "v.vec"}.get(name, 7)]
    },
    **{
        f"{name} of pointwise": (
            {"model": {"encoder": "pointwise", name: value}},
            f"model.{name} is not used with model.encoder = pointwise",
        )
        for name, value in {
            "heads": 2,
            "head_width": 5,
            "key_heads": 1,
            "score": "dot",
            "normalizer": "softmax",
            "scale": 0.5,
            "position": "none",
            "longest": 97,
            "attention_dropout": 0.1,
            "value_width": 3,
            "projections": True,
            "query_key_norm": "none",
            "distance": 7,
            "turned": 0.5,
            "window": 7,
        }.items()
    },
    **{
        f"{name} without projections": (
            {"model": {"projections": False, name: 1}},
            f"model.{name} is not used with model.projections = false",
        )
        for name in ("head_width", "key_heads", "value_width")
    },
    **{
        f"{name} of {position}": (
            {"model": {"position": position, name: value}},
            f"model.{name} is not used with model.position = {position}",
        )
        for name, value, position in (
            ("distance", 7, "alibi"),
            ("distance", 7, "mine:Own"),
            ("turned", 0.5, "sinusoidal"),
            ("longest", 97, "t5"),
        )
    },
    "longest of rotary": (
        {"model": {"position": "rotary", "longest": 97}},
        "model.longest is not used with model.position = rotary",
    ),
    "split beside dev": (
        {"data": {"dev": "b", "split": 0.2}},
        "data.split is not used with data.dev, which is given",
    ),
    "split by beside dev": (
        {"data": {"dev": "b", "split_by": "lines"}},
        "data.split_by is not used with data.dev, which is given",
    ),
    "column of a split by lines": (
        {"task": {"kind": "classify"}, "data": {"split_by": "lines", "split_column": "who"}},
        "data.split_column is not used with data.split_by = lines",
    ),
    "smoothing with crf": (
        {"output": {"crf": True}, "train": {"label_smoothing": 0.1}},
        "train.label_smoothing is not used with output.crf = true",
    ),
    "pooling of a label for each word": (
        {"task": {"kind": "label"}, "model": {"pooling": "mean"}},
        "model.pooling is not used with task.kind = label",
    ),
    **{
        f"crf of {kind}": (
            {**KIND[kind], "output": {"crf": True}},
            f"output.crf is not used with task.kind = {kind}",
        )
        for kind in WHOLE_TASKS
    },
    **{
        f"scheme of {kind}": (
            {**KIND[kind], "output": {"scheme": "IOB2"}},
            f"output.scheme is not used with task.kind = {kind}",
        )
        for kind in WHOLE_TASKS
    },
    "header of a label for each word": (
        {"data": {"header": True}},
        "data.header is not used with task.kind = label",
    ),
    "scheme of the files of labels that are no spans": (
        {"data": {"scheme": "IOB1"}},
        "data.scheme is not used with output.scheme = none",
    ),
    "scheme of the files of a class": (
        {"task": {"kind": "classify"}, "data": {"scheme": "IOB1"}},
        "data.scheme is not used with task.kind = classify",
    ),
    "smoothing of numbers": (
        {"task": {"kind": "regress"}, "train": {"label_smoothing": 0.1}},
        "train.label_smoothing is not used with task.kind = regress",
    ),
    **{
        f"{name} of parallel files": (
            {"task": {"kind": "classify"}, "data": {"format": "parallel", "train": ["a", "b"], name: "text"}},
            f"data.{name} is not used with data.format = parallel",
        )
        for name in ("source", "target")
    },
    **{
        f"separator of {kind}": (
            {"task": {"kind": kind}, "data": {"separator": "|"}},
            f"data.separator is not used with task.kind = {kind}",
        )
        for kind in ("label", "regress")
    },
    "smoothing of several classes": (
        {"task": {"kind": "classify"}, "data": {"separator": "|"}, "train": {"label_smoothing": 0.1}},
        "train.label_smoothing is not used with data.separator",
    ),
    **{
        f"class weights with {reason}": (
            {**sections, "train": {"class_weights": "balanced"}},
            f"train.class_weights is not used with {reason}",
        )
        for reason, sections in {
            "task.kind = regress": {"task": {"kind": "regress"}},
            "output.crf = true": {"output": {"crf": True}},
            "data.separator": {"task": {"kind": "classify"}, "data": {"separator": "|"}},
        }.items()
    },
    "header of JSON lines": (
        {"task": {"kind": "classify"}, "data": {"format": "jsonl", "header": True}},
        "data.header is not used with data.format = jsonl",
    ),
}


@pytest.mark.parametrize(("sections", "words"), UNUSED.values(), ids=UNUSED)
def test_a_setting_that_nothing_uses_is_refused_by_name(sections: Mapping[str, Mapping[str, Any]], words: str) -> None:
    with pytest.raises(RecipeError) as raised:
        given(**sections)
    assert str(raised.value) == f"recipe: {words}; take it out"


@pytest.mark.parametrize(
    ("kind", "metric"),
    [(kind, metric) for kind, own in TASK_METRICS.items() for metric in NAMES["train.metric"] if metric not in own],
)
def test_a_metric_of_another_task_is_refused(kind: str, metric: str) -> None:
    with pytest.raises(RecipeError) as raised:
        given(**KIND[kind], train={"metric": metric})
    assert str(raised.value) == (
        f"recipe: train.metric is {metric}, but a task of kind {kind} has {', '.join(TASK_METRICS[kind])}"
    )


@pytest.mark.parametrize("metric", [name for name in NAMES["train.metric"] if name not in SEVERAL_METRICS])
def test_several_classes_have_metrics_of_their_own(metric: str) -> None:
    several = {"task": {"kind": "classify"}, "data": {"separator": "|"}}
    assert given(**several).metric == SEVERAL_METRICS[0] == "micro_f1"
    with pytest.raises(RecipeError) as raised:
        given(**several, train={"metric": metric})
    assert str(raised.value) == (
        f"recipe: train.metric is {metric}, but a task of kind classify with data.separator has "
        f"{', '.join(SEVERAL_METRICS)}"
    )


def test_spans_can_be_the_metric_only_where_a_scheme_says_what_they_are() -> None:
    with pytest.raises(RecipeError) as raised:
        given(train={"metric": "span_f1"})
    assert str(raised.value) == ("recipe: train.metric is span_f1, which needs output.scheme to say what a span is")
    for crf in (False, True):
        assert given(train={"metric": "span_f1"}, output={"scheme": "IOB2", "crf": crf}).metric == "span_f1"


def test_where_no_metric_is_given_the_task_s_own_is_meant() -> None:
    assert {kind: given(**KIND[kind]).metric for kind in NAMES["task.kind"]} == {
        "label": "accuracy",
        "classify": "accuracy",
        "regress": "pearson",
        "seq2seq": "exact",
        "forecast": "rmse",
        "mlm": "perplexity",
        "lm": "perplexity",
        "ctc": "word_errors",
    }
    assert given(task={"kind": "regress"}, train={"metric": "rmse"}).metric == "rmse"


def test_columns_that_are_read_may_be_several() -> None:
    for found, wanted in [("text", ("text",)), (2, (2,)), (["title", "text"], ("title", "text")), ([], ())]:
        assert given(task={"kind": "classify"}, data={"source": found}).data.source == wanted


def test_a_label_for_each_word_has_one_column_that_is_read() -> None:
    with pytest.raises(RecipeError) as raised:
        given(data={"source": ["form", "lemma"], "format": "conllu"})
    assert str(raised.value) == "recipe: data.source names several columns, but a label for each word reads one"


@pytest.mark.parametrize("kind", sorted(set(WHOLE_TASKS) - set(TEXT_TASKS)))
@pytest.mark.parametrize("format", ["guess", "tsv", "csv"])
def test_a_table_may_have_a_header_where_its_format_is_guessed_too(format: str, kind: str) -> None:
    assert given(task={"kind": kind}, data={"header": True, "format": format}).data.header is True


# YAML


def test_yaml_has_the_rules_of_1_2(tmp_path: Path) -> None:
    text = (
        "data:\n  train: no\n  target: [on, yes]\n  ignore: 2020-01-01\n"
        "train:\n  lr: 1e-4\n  epochs: 3\n"
        "output:\n  crf: true\n"
    )
    recipe = read_recipe(written(tmp_path, text, "recipe.yaml"))
    assert recipe.data.train == (str(tmp_path / "no"),)
    assert recipe.data.target == ("on", "yes") and recipe.data.ignore == ("2020-01-01",)
    assert recipe.train.lr == 1e-4 and recipe.train.epochs == 3 and recipe.output.crf is True


@pytest.mark.parametrize(("text", "value"), [("010", 10), ("0o14", 12), ("0x1f", 31), ("17", 17)])
def test_yaml_s_whole_numbers_have_the_rules_of_1_2(text: str, value: int, tmp_path: Path) -> None:
    path = written(tmp_path, f"data: {{train: a}}\ntrain:\n  seed: {text}\n", "recipe.yml")
    assert read_recipe(path).train.seed == value


def test_yaml_s_times_are_text(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path, "data: {train: a, ignore: 1:30}\n", "recipe.yml")).data.ignore == ("1:30",)


BAD_YAML: dict[str, tuple[str, list[str]]] = {
    "a setting misspelt": (
        "data:\n  train: a\nmodel:\n  widht: 3\n",
        ["recipe.yaml:4: unknown setting model.widht; did you mean width?"],
    ),
    "no sections": ("- a\n- b\n", ["recipe.yaml must consist of sections such as model: and train:"]),
    "nothing": ("", ["recipe.yaml: data is missing: every recipe needs this section"]),
}


@pytest.mark.parametrize(("text", "words"), BAD_YAML.values(), ids=BAD_YAML)
def test_faults_in_yaml_are_named_the_same_way(text: str, words: list[str], tmp_path: Path) -> None:
    assert said(text, tmp_path, "recipe.yaml") == words


@pytest.mark.parametrize("text", ["data:\n  train: [a\n", "data: !!python/object/apply:os.getcwd []\n"])
def test_what_is_not_yaml_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    [line] = said(text, tmp_path, "recipe.yaml")
    assert line.startswith("recipe.yaml is not YAML: ") and "line" in line


SPLITS: dict[str, tuple[Mapping[str, Mapping[str, Any]], str]] = {
    "three shares": (
        {"data": {"split": [0.1, 0.1, 0.1]}},
        "data.split is [0.1, 0.1, 0.1], but must be one share (for dev) or two (for dev and test), together less than "
        "1",
    ),
    "no share": ({"data": {"split": []}}, "data.split is [], but must be one share (for dev) or two"),
    "all": ({"data": {"split": [0.5, 0.5]}}, "data.split is [0.5, 0.5], but must be one share (for dev) or two"),
    "a whole": ({"data": {"split": 1}}, "data.split is 1, but must be less than 1"),
    "nothing": ({"data": {"split": [0.1, 0.0]}}, "data.split is 0.0, but must be greater than 0"),
    "test twice": (
        {"data": {"split": [0.1, 0.1], "test": "b"}},
        "data.split has a second share, for test, but data.test is given; give one share",
    ),
    "more than every second": (
        {"data": {"split": [0.1, 0.6], "split_by": "lines"}},
        "data.split is 0.6, but data.split_by = lines sets aside every n-th item, at most 0.5",
    ),
    "no column": (
        {"task": {"kind": "classify"}, "data": {"split_by": "column"}},
        "data.split_by is column, but data.split_column names none",
    ),
    "a column of words": (
        {"data": {"split_by": "column", "split_column": 3}},
        "data.split_by is column, which tables have; with task.kind = label there is none",
    ),
    "a column of parallel files": (
        {
            "task": {"kind": "classify"},
            "data": {"split_by": "column", "split_column": 3, "format": "parallel", "train": ["a", "b"]},
        },
        "data.split_by is column, which tables have; with data.format = parallel there is none",
    ),
}


@pytest.mark.parametrize(("sections", "words"), SPLITS.values(), ids=SPLITS)
def test_a_split_that_cannot_be_is_refused_by_name(sections: Mapping[str, Mapping[str, Any]], words: str) -> None:
    with pytest.raises(RecipeError) as raised:
        given(**sections)
    assert str(raised.value).splitlines()[0].startswith(f"recipe: {words}")


def test_a_split_may_have_one_share_or_two() -> None:
    assert given(data={"split": 0.2}).data.split == given(data={"split": [0.2]}).data.split == (0.2,)
    assert given(data={"split": [0.2, 0.3]}).data.split == (0.2, 0.3)
    assert given().data.split == (0.1,)


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_parallel_files_come_in_twos(part: str) -> None:
    files = {"train": ["a", "b"], part: ["a", "b", "c"]}
    with pytest.raises(RecipeError) as raised:
        given(task={"kind": "classify"}, data={"format": "parallel", **files})
    assert str(raised.value) == (
        f"recipe: data.{part} names 3 files, but data.format = parallel takes them in twos: source, target, source, "
        "target …"
    )
    given(task={"kind": "classify"}, data={"format": "parallel", **files, part: ["a", "b", "c", "d"]})


# Never a dump

VALUES: list[Any] = [3, -1, "text", [1, "a"], True, math.nan, {"a": 1}, None, 2**70]


@pytest.mark.parametrize("setting", SETTINGS)
def test_any_value_is_accepted_or_named_by_its_key(setting: str) -> None:
    section, _, name = setting.partition(".")
    for value in VALUES:
        values: dict[str, Any] = {"data": {"train": "a"}}
        values.setdefault(section, {})[name] = value
        try:
            recipe_from(values)
        except RecipeError as error:
            text = str(error)
            assert "pydantic" not in text.lower() and "validation error" not in text.lower()
            assert all(re.search(rf"\b{name}\b", line) for line in text.splitlines()), (value, text)


NOT_FINITE = [
    ("model.scale", math.nan),
    ("model.scale", math.inf),
    ("train.lr", math.inf),
    ("train.epochs", math.inf),
    ("train.minutes", math.inf),
    ("train.weight_decay", math.inf),
]


@pytest.mark.parametrize(("setting", "value"), NOT_FINITE)
def test_numbers_must_be_finite(setting: str, value: float) -> None:
    section, _, name = setting.partition(".")
    with pytest.raises(RecipeError):
        given(**{section: {name: value}})


def test_train_must_name_a_file() -> None:
    with pytest.raises(RecipeError, match=r"data\.train"):
        given(data={"train": []})


# Differences


def test_recipes_that_are_the_same_have_no_differences() -> None:
    assert differences(given(), given()) == []


def test_differences_name_the_settings_that_changed() -> None:
    one = given(model={"depth": 3}, data={"target": "upos"})
    other = given(model={"position": "none"}, data={"target": ["upos", "xpos"]}, train={"patience": 2})
    assert differences(one, other) == [
        'data.target was "upos" and is now ["upos", "xpos"]',
        "model.depth was 3 and is now 2",
        'model.position was "rotary" and is now "none"',
        "train.patience was not given and is now 2",
    ]


def test_data_that_moved_are_no_difference() -> None:
    assert differences(given(data={"dev": "b"}), given(data={"train": "c", "dev": "d", "test": "e"})) == []


def test_a_default_that_is_written_out_is_no_difference() -> None:
    recipe = given()
    assert differences(recipe, recipe_from(tomllib.loads(resolved(recipe)))) == []


def test_reading_a_recipe_does_not_import_torch() -> None:
    script = "import sys, regard.recipe; assert 'torch' not in sys.modules; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize(("given", "read"), [("7", (7, 7)), ("[7, 0]", (7, 0)), ("[]", ())])
def test_a_window_is_one_number_for_both_sides_or_two(given: str, read: tuple[int, ...], tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(DATA + f"[model]\nwindow = {given}\n")
    assert read_recipe(tmp_path / "recipe.toml").model.window == read
    (tmp_path / "recipe.toml").write_text(DATA)
    assert read_recipe(tmp_path / "recipe.toml", parse_overrides([f"model.window={given}"])).model.window == read
