"""Verbs at the door: certify, export, import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.shared import Json, RunFolder, TrustCode, app, print_json, say


@app.command()
def certify(
    run: RunFolder,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="A file as predict reads it; the run's dev if not given.")
    ] = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Show that every way of running the model gives the same answers; status 1 where one does not."""
    from regard.certificate import HEAD, STATED
    from regard.ship import certify_with_exports

    found = certify_with_exports(run, data, trust_code=trust_code, say=say)
    if as_json:
        print_json(found.as_data())
    else:
        print("\n".join("\t".join(row) for row in (HEAD, *found.rows())))
    say(f"{found.sentence}\n{STATED}")
    if found.failed:
        raise typer.Exit(1)


@app.command()
def export(
    run: RunFolder,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="onnx, or torch (.pt2).")],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="What both are asked; the run's dev if not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write; RUN/export/FORMAT if not given.")
    ] = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Write the model in another format; refused where it would not give the same answers there."""
    from regard.certificate import HEAD
    from regard.ship import export_run

    found = export_run(run, to, data, out=out, trust_code=trust_code, say=say)
    if as_json:
        print_json({"folder": str(found.folder), **found.line.as_data()})
    else:
        print("\n".join("\t".join(row) for row in (HEAD, found.line.cells())))
    say(f"wrote {found.folder}")


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A folder as Hugging Face's libraries save it.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The run's folder to make.")],
    as_json: Json = False,
) -> None:
    """Make a run of a model that was trained elsewhere: BERT, RoBERTa, DistilBERT, ALBERT."""
    from regard.ship.importers import import_run

    found = import_run(path, out, say=say)
    if as_json:
        kept = {"folder": str(found.folder), "family": found.family, "numbers": found.numbers, "head": found.head}
        print_json({**kept, "left out": dict(found.unused)})
    else:
        print(found.told())
    say(f'wrote {out}; next: echo "… [MASK] …" | regard predict {out} --top 3')
