"""The verb for what is there before anything is trained: doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.shared import Json, app, print_json


@app.command()
def doctor(
    data: Annotated[list[str] | None, typer.Argument(metavar="[DATA …]", help="Files to look at.")] = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="They are source, target, source … line by line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """What this machine has; or what is odd about files of data."""
    if data:
        from regard.doctor import examine, examine_pairs

        told = examine_pairs(data) if parallel else examine(data)
        print("\n".join(told)) if not as_json else print_json(told)
        return
    from regard.machine import environment, extras

    found = {**environment(), **extras()}
    print("\n".join(f"{name:<12} {value}" for name, value in found.items())) if not as_json else print_json(found)
