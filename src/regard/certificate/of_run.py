"""The certificate of a run: on the data it was chosen by, or on other data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.certificate.certify import Certificate, Line, More, certify
from regard.corpus import Say, read_corpus, read_part
from regard.data.example import Example
from regard.data.lines import digest
from regard.errors import FolderError
from regard.folder import CERTIFICATE, CODE, model_folder, write_file
from regard.recipe.settings import Recipe
from regard.run import Run, load

# Where a run keeps what its data can be known by again.
_DATA = Path("last") / "state" / "data.json"


def certify_run(
    run: str | Path,
    data: str | Path | None = None,
    *,
    trust_code: bool = False,
    say: Say = lambda sentence: None,
    more: More | None = None,
) -> Certificate:
    """Certify a run's best model (or the model in the folder itself), and keep the certificate beside it.

    data: a file as `predict` reads it; what the run was chosen by where it is not given
    more: further lines, as of what was exported
    """
    loaded, folder = load(run, trust_code=trust_code), model_folder(run)
    examples, source = examples_of(loaded, folder, data, say, command=f"regard certify {folder}")
    code = folder / CODE
    certificate = certify(
        loaded.predictor, examples, folder=folder, code=code if code.is_dir() else None, source=source, more=more
    )
    save_certificate(folder, certificate)
    return certificate


def save_certificate(folder: Path, certificate: Certificate) -> None:
    """Beside the model; nothing that loads a model asks for it."""
    write_file(folder / CERTIFICATE, json.dumps(certificate.as_data(), indent=1, ensure_ascii=False) + "\n")


def add_line(folder: Path, line: Line) -> None:
    """One more line in a model's certificate, in the place of an older one of that name; without a certificate there
    is none to add to."""
    path = folder / CERTIFICATE
    if not path.is_file():
        return
    kept = json.loads(path.read_text(encoding="utf-8"))
    lines = [one for one in kept["lines"] if one["line"] != line.name]
    write_file(path, json.dumps({**kept, "lines": [*lines, line.as_data()]}, indent=1, ensure_ascii=False) + "\n")


def examples_of(
    loaded: Run, folder: Path, data: str | Path | None, say: Say, *, command: str
) -> tuple[Sequence[Example], Mapping[str, str]]:
    """What a model is asked, and the digests of its files: what is given, or what the model was chosen by.

    command: how the user gives data, for the message where the model's own are not there
    """
    return _dev(loaded.recipe, folder, say, command) if data is None else _given(loaded, Path(data))


def _given(loaded: Run, data: Path) -> tuple[Sequence[Example], Mapping[str, str]]:
    found = loaded.read(data, loaded.reader(data))
    return [example for example in found if isinstance(example, Example)], {str(data): digest(data)}


def _dev(recipe: Recipe, folder: Path, say: Say, command: str) -> tuple[Sequence[Example], Mapping[str, str]]:
    """What the model was chosen by, if its files are there and as they were."""
    known = _known(folder, command)
    needed = recipe.data.dev or (*recipe.data.train, *recipe.data.test)
    faults = [fault for path in needed if (fault := _changed(path, known)) is not None]
    if faults:
        raise FolderError(f"{'; '.join(faults)}; give data to ask: {command} DATA")
    examples = read_part(recipe, recipe.data.dev, say) if recipe.data.dev else read_corpus(recipe, say).dev
    return examples, {path: known[path] for path in needed}


def _known(folder: Path, command: str) -> dict[str, str]:
    path = folder.parent / _DATA
    if not path.is_file():
        raise FolderError(
            f"{folder} lies in no run ({path} is missing), so that it is not known what it was chosen by; give data to "
            f"ask: {command} DATA"
        )
    known: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return known


def _changed(path: str, known: Mapping[str, str]) -> str | None:
    if path not in known:
        return f"{path} is no file that the run was chosen by"
    if not Path(path).is_file():
        return f"{path}, which the run was chosen by, is not there any more"
    return None if digest(path) == known[path] else f"{path} has changed since the run was chosen by it"
