"""`regard export`: a model leaves in another format, and is shown to give the same answers there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.certificate import Line
from regard.certificate.certify import some
from regard.certificate.of_run import add_line, examples_of
from regard.corpus import Say
from regard.data.batching import Item
from regard.data.example import Example
from regard.data.lines import digest
from regard.data.signal.kinds import input_to_json
from regard.errors import FolderError, RegardError, choose
from regard.folder import RESOLVED, TOKENIZER, WEIGHTS, model_folder, replacing
from regard.layers import Encoder
from regard.models.model import EncoderDecoderModel, EncoderModel
from regard.predict import Predictor
from regard.recipe.settings import Recipe
from regard.run import load
from regard.ship.check import compare
from regard.ship.describe import described
from regard.ship.formats import FORMATS, check_installed
from regard.ship.graph import EXAMPLES, graphs
from regard.ship.refuse import notes, refuse

# Where a run's exports lie, a folder for each format; and what stands beside a graph.
EXPORTS, DESCRIPTION = "export", "model.json"


@dataclass(frozen=True)
class Export:
    """A model that has left: where it lies, and that it is the same there."""

    folder: Path
    line: Line


def export_run(
    run: str | Path,
    to: str,
    data: str | Path | None = None,
    *,
    out: str | Path | None = None,
    trust_code: bool = False,
    say: Say = lambda sentence: None,
) -> Export:
    """Write a run's best model in another format, if it gives the same answers there.

    data: what both are asked; what the run was chosen by where it is not given
    out:  the folder to write; RUN/export/FORMAT where it is not given
    """
    choose(FORMATS, to, "format")
    check_installed(to)
    loaded, folder = load(run, trust_code=trust_code), model_folder(run)
    refuse(loaded.recipe, to)
    examples, _ = examples_of(loaded, folder, data, say, command=f"regard export {run} --to {to}")
    target = exports(folder) / to if out is None else Path(out)
    _check_free(target)
    line = write_export(loaded.predictor, loaded.recipe, examples, to, target, weights=digest(folder / WEIGHTS))
    for note in notes(loaded.recipe):
        say(note)
    add_line(folder, line)
    return Export(target, line)


def exports(folder: Path) -> Path:
    """Where the exports of a model lie: in its run, or in itself where it is in none."""
    run = folder.parent
    return (run if (run / RESOLVED).is_file() else folder) / EXPORTS


def _check_free(target: Path) -> None:
    """An export may be made anew; anything else is not written over."""
    if target.exists() and not (target / DESCRIPTION).is_file():
        raise FolderError(f"{target} holds something else than an export; name another folder with --out")


def write_export(
    predictor: Predictor, recipe: Recipe, examples: Sequence[Example], to: str, target: Path, *, weights: str
) -> Line:
    """The graph and what stands beside it; nothing stays if it does not give the same."""
    format, most = FORMATS[to], longest(predictor)
    parts = list(graphs(predictor, _drawn_by(predictor, examples, most.get("time")), most))
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as folder:
        for part in parts:
            format.save(part, format.file(folder, part.name))
        told = described(recipe, to, parts, predictor.targets, most=most, weights=weights)
        (folder / DESCRIPTION).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / TOKENIZER).write_text(input_to_json(predictor.tokenizer), encoding="utf-8")
        runs = {part.name: format.load(format.file(folder, part.name), list(part.inputs)) for part in parts}
        line = compare(predictor, runs, examples, f"export {to}", most.get("time"))
        if line.failed:
            raise RegardError(f"the export to {to} {line.verdict}; nothing is written")
    return line


def longest(predictor: Predictor) -> dict[str, int]:
    """How long what is read (time) and written (length) may be, where there is a longest."""
    model, found = predictor.model, {}
    assert isinstance(model, EncoderModel | EncoderDecoderModel)
    of_encoder = model.encoder.position.most if isinstance(model.encoder, Encoder) else None
    if known := [most for most in (model.input.most, of_encoder) if most is not None]:
        found["time"] = min(known)
    if isinstance(model, EncoderDecoderModel) and model.decoder.position.most is not None:
        found["length"] = model.decoder.position.most
    return found


def _drawn_by(predictor: Predictor, examples: Sequence[Example], most: int | None) -> list[Item]:
    """Items by which a graph is drawn: none is alone, none of one element, and not all axes are alike."""
    asked = some(predictor, examples)
    words = tuple(word for example in asked for word in example.words) or ("",)
    lengths = [2 + number * 3 for number in range(EXAMPLES)]
    made = [Example((words * length)[:length], whole=predictor.whole) for length in lengths]
    items = [predictor.item(example) for example in made]
    fitting = [item for item in items if most is None or item.length <= most]
    if len(fitting) < 2:
        raise RegardError(f"model.longest is {most}: a graph is drawn by items of up to {items[1].length} elements")
    return fitting
