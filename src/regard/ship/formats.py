"""The formats that a graph can be kept in: how each is written, and how it is asked."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.machine import EXTRAS
from regard.models.inputs import Inputs

# Inputs -> for each target column (batch, answers, scores).
Runner = Callable[[Inputs], dict[str, Tensor]]


@dataclass(frozen=True)
class Format:
    """A format.

    file:   what the graph's file is called
    save:   writes a graph with its inputs' and outputs' names
    load:   reads it again, as those do who use it; gives what asks it
    extra:  the extra of the package that it needs
    code:   whether such a file could run code when it is read
    """

    file: str
    save: Callable[[torch.export.ExportedProgram, Path, Sequence[str], Sequence[str]], None]
    load: Callable[[Path, Sequence[str]], Runner]
    extra: str | None = None
    code: bool = False


def check_installed(name: str) -> None:
    """Refuse a format whose packages are missing, naming what installs them."""
    extra = FORMATS[name].extra
    missing = [package for package in EXTRAS.get(extra or "", ()) if find_spec(package.replace("-", "_")) is None]
    if missing:
        raise RegardError(f"--to {name} needs {', '.join(missing)}, which is missing; pip install regard[{extra}]")


def output_name(column: str) -> str:
    """What a graph calls the scores of a target column."""
    return f"scores.{column}"


def _save_torch(graph: torch.export.ExportedProgram, path: Path, inputs: Sequence[str], columns: Sequence[str]) -> None:
    with _quiet():
        torch.export.save(graph, path)


def _load_torch(path: Path, columns: Sequence[str]) -> Runner:
    with _quiet():
        module = torch.export.load(path).module()

    def run(inputs: Inputs) -> dict[str, Tensor]:
        with torch.no_grad():
            return module(inputs)

    return run


def _save_onnx(graph: torch.export.ExportedProgram, path: Path, inputs: Sequence[str], columns: Sequence[str]) -> None:
    names = [output_name(column) for column in columns]
    with _quiet():
        program = torch.onnx.export(graph, input_names=list(inputs), output_names=names, dynamo=True, verbose=False)
        assert program is not None
        program.save(path)


def _load_onnx(path: Path, columns: Sequence[str]) -> Runner:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    asked = [one.name for one in session.get_inputs()]

    def run(inputs: Inputs) -> dict[str, Tensor]:
        found = session.run([output_name(column) for column in columns], {name: inputs[name].numpy() for name in asked})
        return {column: torch.from_numpy(scores) for column, scores in zip(columns, found, strict=True)}

    return run


@contextmanager
def _quiet() -> Iterator[None]:
    """What libraries say to those who build them is not for those who use them."""
    import logging

    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


FORMATS: dict[str, Format] = {
    "torch": Format("model.pt2", _save_torch, _load_torch, code=True),
    "onnx": Format("model.onnx", _save_onnx, _load_onnx, extra="onnx"),
}
