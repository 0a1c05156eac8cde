"""What does not fit a kind of input is refused, never ignored."""

import pytest

from regard.errors import RecipeError
from regard.recipe import recipe_from

VECTORS, IMAGE = {"kind": "vectors"}, {"kind": "image"}
FORECAST = {"task": {"kind": "forecast"}, "input": VECTORS, "output": {"horizon": 3}}

FAULTS = {
    "text's settings": (
        {"input": {**VECTORS, "lowercase": True}},
        r"input\.lowercase is not used with input",
    ),
    "vectors' settings": ({"input": {"jitter": 0.1}}, r"input\.jitter is not used with input\.kind = text"),
    "vectors' settings for pictures": (
        {"input": {**IMAGE, "warp": 0.1}},
        r"input\.warp is not used with input",
    ),
    "pictures' settings": ({"input": {**VECTORS, "flip": True}}, r"input\.flip is not used with input\.kind = vectors"),
    "a patch of text": ({"input": {"patch": 2}}, r"input\.patch is not used with input\.kind = text"),
    "mixed labels of steps": (
        {"task": {"kind": "label"}, "input": {**VECTORS, "mixup": 0.2}},
        r"input\.mixup is not used with task\.kind = label",
    ),
    "items of text": ({"data": {"item": "who"}}, r"data\.item is not used with input\.kind = text"),
    "towers": ({"input": VECTORS, "model": {"towers": True}}, r"model\.towers is not used with input\.kind = vectors"),
    "a format of text": (
        {"input": VECTORS, "data": {"format": "conllu"}},
        r"data\.format is conllu, but input\.kind = vectors is read from ts, csv, tsv, npz, npy",
    ),
    "a format of series": (
        {"data": {"format": "ts"}},
        r"data\.format is ts, but input\.kind = text is read",
    ),
    "a label per step, of several": (
        {"task": {"kind": "label"}, "input": {**VECTORS, "patch": 3}},
        r"input\.patch is 3, but each step has a label; use patch = 1",
    ),
    "shared pieces": (
        {"task": {"kind": "seq2seq"}, "input": IMAGE, "output": {"share": "all"}},
        r"output\.share = all shares pieces with a source of text; input\.kind is image",
    ),
    "copied words": (
        {"task": {"kind": "seq2seq"}, "input": IMAGE, "output": {"tokens": "words"}, "decode": {"unknown": "copy"}},
        r"decode\.unknown is not used with input\.kind = image",
    ),
    "a forecast of text": (
        {"task": {"kind": "forecast"}, "output": {"horizon": 3}},
        r"task\.kind is forecast, which reads input\.kind = vectors; it is text",
    ),
    "a forecast of nothing": (
        {"task": {"kind": "forecast"}, "input": VECTORS},
        r"output\.horizon is missing: how many of the next steps",
    ),
    "a horizon of classes": ({"output": {"horizon": 3}}, r"output\.horizon is not used with task\.kind = classify"),
    "a context of classes": (
        {"input": {**VECTORS, "context": 3}},
        r"input\.context is not used with task\.kind = classify",
    ),
    "a forecast divided by chance": (
        {**FORECAST, "data": {"split_by": "lines"}},
        r"data\.split_by is not used with task\.kind = forecast, which sets aside the end of each series",
    ),
    "smoothed numbers": (
        {**FORECAST, "train": {"label_smoothing": 0.1}},
        r"train\.label_smoothing is not used with task\.kind = forecast",
    ),
    "a column of series": (
        {"input": VECTORS, "data": {"split_by": "column", "split_column": "who"}},
        r"data\.split_by is column, which tables have; with input\.kind = vectors there is none",
    ),
    "a position along a line": (
        {"input": IMAGE, "model": {"position": "alibi"}},
        r"model\.position is alibi, which knows no rows and columns; use none, sinusoidal",
    ),
    "a window in a picture": (
        {"input": IMAGE, "model": {"window": 3}},
        r"model\.window reaches along a line, but a picture has rows and columns",
    ),
    "a patch that is not halved": (
        {"input": {**IMAGE, "patch": 6, "stem": "convolution"}},
        r"input\.patch is 6, but a convolution halves its sides; use 1, 2, 4, 8 or 16",
    ),
    "a token that nobody asks": ({"input": {**IMAGE, "class_token": True}}, r"use it with pooling = first"),
    "labels of a drawn picture": (
        {"task": {"kind": "label"}, "input": {**IMAGE, "picture_size": [8, 8]}},
        r"input\.picture_size draws pictures anew, but each patch has a label",
    ),
    "labels of a moved picture": (
        {"task": {"kind": "label"}, "input": {**IMAGE, "flip": True}},
        r"move pixels away from the labels of their patches",
    ),
    "one side of a picture": ({"input": {**IMAGE, "picture_size": [8]}}, r"must be two numbers, \[height, width\]"),
    "hidden words": (
        {"task": {"kind": "mlm"}, "input": VECTORS},
        r"task\.kind is mlm, which reads text; input\.kind is vectors",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_is_refused(fault):
    changes, words = FAULTS[fault]
    values = {"task": {"kind": "classify"}, "data": {"train": "x"}, **changes}
    values["data"] = {"train": "x", **changes.get("data", {})}
    with pytest.raises(RecipeError, match=words):
        recipe_from(values)


def test_what_fits_is_taken():
    recipe = recipe_from({**FORECAST, "data": {"train": "x"}})
    assert recipe.context == 12 and recipe.metric == "rmse" and recipe.patch == 1
    assert recipe_from({"task": {"kind": "classify"}, "data": {"train": "x"}, "input": IMAGE}).patch == 4
