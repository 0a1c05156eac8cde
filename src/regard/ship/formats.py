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
from regard.ship.graph import Graph

# A graph's inputs by name -> its outputs by name.
Runner = Callable[[Inputs], dict[str, Tensor]]


@dataclass(frozen=True)
class Format:
    """A format.

    suffix: what a graph's file ends with
    save:   writes a graph
    load:   reads it again, as those do who use it, and gives what asks it; it is told the names of its inputs
    extra:  the extra of the packages that it needs
    code:   whether such a file could run code when it is read
    """

    suffix: str
    save: Callable[[Graph, Path], None]
    load: Callable[[Path, Sequence[str]], Runner]
    extra: str | None = None
    code: bool = False

    def file(self, folder: Path, name: str) -> Path:
        """Where a graph lies."""
        return folder / f"{name}{self.suffix}"


def check_installed(name: str) -> None:
    """Refuse a format whose packages are missing, naming what installs them."""
    extra = FORMATS[name].extra
    missing = [package for package in EXTRAS.get(extra or "", ()) if find_spec(package.replace("-", "_")) is None]
    if missing:
        raise RegardError(f"--to {name} needs {', '.join(missing)}, which is missing; pip install regard[{extra}]")


def _save_torch(graph: Graph, path: Path) -> None:
    with _quiet():
        torch.export.save(graph.drawn(), path)


def _load_torch(path: Path, names: Sequence[str]) -> Runner:
    with _quiet():
        module = torch.export.load(path).module()

    def run(inputs: Inputs) -> dict[str, Tensor]:
        with torch.no_grad():
            found: dict[str, Tensor] = module({name: inputs[name] for name in names})
            return found

    return run


def _save_onnx(graph: Graph, path: Path) -> None:
    # Inputs and outputs may not have the same name.
    names = {"input_names": list(graph.inputs), "output_names": [_onnx_output(name) for name in graph.outputs]}
    with _quiet():
        program = torch.onnx.export(graph.drawn(), **names, dynamo=True, verbose=False)  # type: ignore[arg-type]
        assert program is not None
        program.save(path)


def _onnx_output(name: str) -> str:
    return f"next.{name}" if name == "past" else name


def _load_onnx(path: Path, names: Sequence[str]) -> Runner:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = [one.name.removeprefix("next.") for one in session.get_outputs()]

    def run(inputs: Inputs) -> dict[str, Tensor]:
        found = session.run(None, {name: inputs[name].numpy() for name in names})
        return dict(zip(given, map(torch.from_numpy, found), strict=True))

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
    "torch": Format(".pt2", _save_torch, _load_torch, code=True),
    "onnx": Format(".onnx", _save_onnx, _load_onnx, extra="onnx"),
}
