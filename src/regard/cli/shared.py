"""What every verb shares: the application, options that several have, and how results and talk are printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.errors import RegardError, ToldError

if TYPE_CHECKING:
    from rich.console import Console


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Results as JSON, a line each.")]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Let code that came with the run be run.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[key=value …]", help="Other settings of decode, as in decode.beam=8.")
]
With = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="RUN", help="Another run that answers too: the mean of all; may be given again."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or its best/ or last/.")]


def refuse_together(rank: int, size: int, what: str, instead: str = "") -> None:
    """Each of torchrun's processes would do all of it again."""
    sentence = f"{what} is done by one process, and torchrun started {size}; start it without torchrun{instead}"
    raise RegardError(sentence) if rank == 0 else ToldError(sentence)


def parted(words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Files, of which there may be one, and settings among them."""
    from regard.recipe import parse_overrides

    settings = [word for word in words if "=" in word and not os.path.exists(word)]
    files = [word for word in words if word not in settings]
    if len(files) > 1:
        raise RegardError(f"cannot read {files[1]!r}; a setting is decode.key=value, as in decode.beam=8")
    return files, parse_overrides(settings)


def names_in(listed: str) -> list[str]:
    return [name for name in listed.split(",") if name]


def console(stderr: bool = True, width: int | None = None) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, width=width)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def progressing(answers: Iterator[Any]) -> Iterator[Any]:
    """The same answers; whoever waits longer than two seconds is told how many there are."""
    from regard.long_file import Progress

    progress = Progress()
    for answer in answers:
        yield answer
        progress(1)
    progress.end()
