"""The exports that a run has made are part of its certificate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.certificate import Certificate, Line, certify_run
from regard.corpus import Say
from regard.data.example import Example
from regard.data.lines import digest
from regard.errors import RegardError
from regard.folder import WEIGHTS, model_folder
from regard.predict import Predictor
from regard.ship.check import compare
from regard.ship.export import DESCRIPTION, exports
from regard.ship.formats import FORMATS, check_installed


def certify_with_exports(
    run: str | Path, data: str | Path | None = None, *, trust_code: bool = False, say: Say = lambda sentence: None
) -> Certificate:
    """Certify a run's best model, and every export that was made of it."""
    folder = model_folder(run)

    def lines(predictor: Predictor, examples: Sequence[Example]) -> Iterator[Line]:
        for to in FORMATS:
            if (exports(folder) / to / DESCRIPTION).is_file():
                yield _line(predictor, examples, folder, to, trust_code)

    return certify_run(run, data, trust_code=trust_code, say=say, more=lines)


def _line(predictor: Predictor, examples: Sequence[Example], folder: Path, to: str, trust_code: bool) -> Line:
    name, ways, format = f"export {to}", ("as it is", f"exported to {to}"), FORMATS[to]
    place = exports(folder) / to
    if format.code and not trust_code:
        return Line(name, ways, reason=f"the files in {place} could hold code; --trust-code lets them be read")
    try:
        check_installed(to)
    except RegardError as error:
        return Line(name, ways, reason=str(error))
    told: dict[str, Any] = json.loads((place / DESCRIPTION).read_text(encoding="utf-8"))
    if told.get("weights") != digest(folder / WEIGHTS):
        return Line(name, ways, reason="it was made of other weights; export it again", failed=True)
    try:
        runs = {
            graph["name"]: format.load(format.file(place, graph["name"]), [one["name"] for one in graph["inputs"]])
            for graph in told["graphs"]
        }
    except Exception as error:  # another library's, of whatever kind
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return Line(name, ways, reason=f"{place} cannot be read: {first}", failed=True)
    return compare(predictor, runs, examples, name, told["most"].get("time"))
