"""`init` for what is no text: looks at series and pictures, and chooses settings for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.corpus import ANSWERS
from regard.data.example import Example
from regard.data.reading import read_examples
from regard.data.signal.kinds import SIGNALS
from regard.data.signal.reader import Wanted
from regard.errors import RegardError

Values = dict[str, dict[str, Any]]
Files = dict[str, tuple[str, ...]]

# Of fewer training items none are set aside: too few would be left to choose a model by, and each is needed to learn.
FEW = 500

# Of fewer and short series more is changed at random, and the network is smaller.
_SMALL = 100

# Small sets are learnt in so many updates, of batches of at least so many items.
_UPDATES, _LEAST = 1000, 8

# A series has about so many vectors, where several steps make one; a picture is drawn to at most so many pixels a side.
_VECTORS, _SIDE = 50, 64


def read_signals(
    task: str,
    kind: str,
    paths: Sequence[str],
    columns: Mapping[str, tuple[str | int, ...]],
    format: str,
    *,
    item: str | int | None,
    horizon: int | None,
) -> tuple[Values, Files, dict[str, list[Example]]]:
    """Settings, the files of each part, and their examples. item: the column whose equal values make an item"""
    files = _parts(paths)
    format = SIGNALS[kind].guess(files["train"][0]) if format == "guess" else format
    if format not in SIGNALS[kind].readers:
        raise RegardError(f"{kind} are read from {', '.join(SIGNALS[kind].readers)}, not from {format}")
    wanted = Wanted(ANSWERS.get(task, "whole"), columns["source"], columns["target"], item, patch=_PATCHES[kind])
    examples = {
        part: read_examples(of, SIGNALS[kind].readers[format](wanted, SIGNALS[kind].check), on_error="stop")
        for part, of in files.items()
    }
    if task == "forecast" and horizon is None:
        raise RegardError("a forecast needs --horizon: how many of the next steps are answered, as in --horizon 24")
    values = SETTINGS[kind](task, examples["train"])
    values["input"] = {"kind": kind, **values["input"]}
    values["data"] = {"format": format, **{name: of for name, of in columns.items() if of}, **values.get("data", {})}
    if item is not None:
        values["data"]["item"] = item
    if task == "forecast":
        values["output"] = {"horizon": horizon}
    if "dev" not in files and task != "forecast" and len(examples["train"]) < FEW:
        # One evaluation, at the end: nothing is chosen by the items that were learnt.
        values["train"]["evaluate_every"] = 10 * _UPDATES
        files = {"train": files["train"], "dev": files["train"], **{k: v for k, v in files.items() if k == "test"}}
    return values, files, examples


def told(values: Values, files: Files, examples: Mapping[str, Sequence[Example]]) -> list[str]:
    """What was found in the files."""
    found = []
    for part, of_part in examples.items():
        shapes = [_shape(example) for example in of_part]
        if len(shapes[0]) == 3:
            sides = [f"{min(side)} to {max(side)}" for side in zip(*(shape[:2] for shape in shapes), strict=True)]
            found.append(f"{part:>5}  {len(of_part):,} pictures, {sides[0]} pixels high and {sides[1]} wide")
        else:
            lengths = sorted(shape[0] for shape in shapes)
            median = lengths[len(lengths) // 2]
            width = shapes[0][1] if len(shapes[0]) > 1 else 1
            found.append(
                f"{part:>5}  {len(of_part):,} series of {width} columns; lengths {lengths[0]} to {lengths[-1]}, median "
                f"{median}"
            )
    if files.get("dev") == files["train"]:
        found.append(
            f"fewer than {FEW} items: none are set aside, dev is train itself, and the model of the last update is kept"
        )
    return found


def _parts(paths: Sequence[str]) -> Files:
    """TRAIN [DEV [TEST]]; of two, the second is for test where its name says so, as in the UCR archive."""
    if not 1 <= len(paths) <= 3:
        raise RegardError(f"--data takes TRAIN [DEV [TEST]], one to three files or folders; found {len(paths)}")
    names = ("train", "dev", "test")
    if len(paths) == 2 and "test" in Path(paths[1]).name.lower():
        names = ("train", "test", "")
    return {name: (path,) for name, path in zip(names, paths, strict=False)}


def _shape(example: Example) -> tuple[int, ...]:
    assert example.signal is not None
    return example.signal.shape


def _vectors(task: str, train: Sequence[Example]) -> Values:
    """Small networks, and much of what they see changed at random: from trials on UCR's and UEA's sets of 50 to 300."""
    median = int(np.median([_shape(example)[0] for example in train]))
    if task == "forecast":
        return {
            "input": {},
            "model": {"width": 64, "depth": 2, "heads": 4, "dropout": 0.1, "pooling": "last"},
            "train": {"minutes": 2.0, "batch_tokens": 2000, "lr": 3e-3},
        }
    patch = 1 if task == "label" else max(1, round(median / _VECTORS))
    given: dict[str, Any] = {"patch": patch, "kernel": 9, "jitter": 0.1, "scaling": 0.1}
    model: dict[str, Any] = {"width": 48, "depth": 2, "heads": 4, "inner": 96, "dropout": 0.2}
    if task == "classify":
        given["mixup"] = 0.2
    if task != "label" and median > _VECTORS:  # a short series has no time to lose
        given["warp"] = 0.1
    elif task == "classify" and len(train) < _SMALL:
        given |= {"jitter": 0.2, "mixup": 0.3}
        model |= {"width": 32, "inner": 64, "dropout": 0.3}
    if task in ("classify", "regress"):
        model["pooling"] = "attention"
    length = max(1, -(-median // patch))
    return {"input": given, "model": model, "train": _training(task, len(train), length)}


def _images(task: str, train: Sequence[Example]) -> Values:
    """A convolutional stem and few patches: of some thousand pictures, patches alone learn little."""
    sides = np.array([_shape(example)[:2] for example in train])
    height, width = (int(side) for side in np.median(sides, axis=0))
    colours = max(_shape(example)[2] if len(_shape(example)) > 2 else 1 for example in train) > 1
    given: dict[str, Any] = {"patch": _PATCHES["image"], "stem": "convolution"}
    if max(height, width) > _SIDE and task != "label":
        share = _SIDE / max(height, width)
        given |= {"patch": 8, "picture_size": (max(8, round(height * share)), max(8, round(width * share)))}
    if task == "classify":
        # Digits and letters have a left and a right side; what has colours mostly has not.
        given |= {"shift": 3, "flip": True, "crop": 0.7} if colours else {"shift": 2, "turn": 10.0}
    drawn = given.get("picture_size", (height, width))
    length = -(-drawn[0] // given["patch"]) * -(-drawn[1] // given["patch"])
    model: dict[str, Any] = {"width": 64, "depth": 3, "heads": 4, "inner": 128, "dropout": 0.1}
    if task in ("classify", "regress"):
        model["pooling"] = "attention"
    return {"input": given, "model": model, "train": _training(task, len(train), length)}


def _training(task: str, items: int, length: int) -> dict[str, Any]:
    """How long is learnt: small sets for so many updates, large ones by the clock."""
    batch = min(64, max(_LEAST, items // 16))
    training: dict[str, Any] = {"batch_tokens": batch * length, "lr": 1e-3, "weight_decay": 0.05}
    if items < FEW:
        training["epochs"] = float(max(10, round(_UPDATES * batch / items)))
    else:
        training |= {"minutes": 10.0 if items < 20_000 else 40.0, "lr": 2e-3, "average": 5}
    if task == "classify":
        training["label_smoothing"] = 0.1
    return training


_PATCHES = {"vectors": 1, "image": 4}

SETTINGS: dict[str, Callable[[str, Sequence[Example]], Values]] = {"vectors": _vectors, "image": _images}
