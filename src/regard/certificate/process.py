"""The same model, read from its folder by a new process, which is asked the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.certificate.asking import Found, ask, with_text
from regard.data.batching import Item
from regard.data.example import Example, values_of
from regard.errors import FolderError
from regard.folder import load_model, load_tensors, save_tensors
from regard.machine import threads
from regard.predict import Predictor

_QUESTION, _SIGNALS, _ANSWERS, _SCORES = "question.json", "signals.npz", "answers.json", "scores.safetensors"

# What the new process is given to do.
_CODE = "import sys; from regard.certificate.process import answer; answer(sys.argv[1])"


def in_a_new_process(
    predictor: Predictor, examples: Sequence[Example], items: Sequence[Item], folder: Path, code: Path | None
) -> list[Found]:
    """What the model in a folder says to the examples, asked by a process that knows nothing but the folder.

    items: the examples' own, for the texts that are told
    code:  the folder of the user's own files, where the model carries code that is trusted
    """
    with tempfile.TemporaryDirectory() as place:
        question = {
            "folder": str(folder.resolve()),
            "code": None if code is None else str(code.resolve()),
            "threads": torch.get_num_threads(),
            "batch_tokens": predictor.batch_tokens,
            "examples": [
                {
                    "words": example.words,
                    "whole": example.whole,
                    "columns": example.columns,
                    "text": _text(item, predictor),
                }
                for example, item in zip(examples, items, strict=True)
            ],
        }
        (Path(place) / _QUESTION).write_text(json.dumps(question), encoding="utf-8")
        signals = {str(n): values_of(one.signal) for n, one in enumerate(examples) if one.signal is not None}
        np.savez(Path(place) / _SIGNALS, **signals)  # type: ignore[arg-type]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", _CODE, place], env=environment, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise FolderError(f"{folder} could not be asked in a new process: {last}")
        return _read(Path(place))


def answer(place: str) -> None:
    """What the new process does: load the model, ask it, write down what it says."""
    question = json.loads((Path(place) / _QUESTION).read_text(encoding="utf-8"))
    code = question["code"]
    predictor = load_model(Path(question["folder"]), own=None if code is None else Path(code)).predictor
    predictor.batch_tokens = question["batch_tokens"]
    items = []
    signals = np.load(Path(place) / _SIGNALS)
    for number, given in enumerate(question["examples"]):
        item = predictor.item(
            Example(
                tuple(given["words"]),
                whole=given["whole"],
                signal=signals.get(str(number)),
                columns=tuple(given["columns"]),
            )
        )
        writes, (column, *_) = predictor.writes, predictor.targets
        items.append(
            item if predictor.writer is None or writes is None else with_text(item, column, given["text"], writes)
        )
    with threads(question["threads"]):
        found, _ = ask(predictor, items)
    _write(Path(place), found)


def _text(item: Item, predictor: Predictor) -> list[int] | None:
    """The pieces of the text that the item tells."""
    if predictor.writer is None:
        return None
    (pieces,) = item.labels.values()
    return [int(piece) for piece in pieces]


def _write(place: Path, found: Sequence[Found]) -> None:
    tensors = {
        f"{number} {kind} {name}": tensor.clone()  # of numbers, both are views of the same
        for number, one in enumerate(found)
        for kind, of_kind in (("scores", one.scores), ("raw", one.raw))
        for name, tensor in of_kind.items()
    }
    save_tensors(place / _SCORES, tensors)
    rows = [{"answers": one.answers, "score": one.score, "likely": one.likely} for one in found]
    (place / _ANSWERS).write_text(json.dumps(rows), encoding="utf-8")


def _read(place: Path) -> list[Found]:
    tensors: dict[tuple[int, str], dict[str, Tensor]] = {}
    for key, tensor in load_tensors(place / _SCORES).items():
        number, kind, name = key.split(" ", 2)
        tensors.setdefault((int(number), kind), {})[name] = tensor
    rows: list[dict[str, Any]] = json.loads((place / _ANSWERS).read_text(encoding="utf-8"))
    return [
        Found(
            scores=tensors.get((number, "scores"), {}),
            raw=tensors.get((number, "raw"), {}),
            answers={column: tuple(answers) for column, answers in row["answers"].items()},
            score=row["score"],
            likely=row["likely"],
        )
        for number, row in enumerate(rows)
    ]
