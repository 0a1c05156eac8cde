"""The command line: one short function per verb. Results go to stdout, talk to stderr; heavy imports stay inside."""

from __future__ import annotations

import os
import sys
import time

import typer

# isort: off
# Each brings its verbs, in the order in which --help has them.
from regard.cli import learn, answer, see, compare, ship, examine  # noqa: F401

# isort: on
from regard.cli.shared import app, refuse_together
from regard.errors import RegardError, ToldError
from regard.machine import processes

# So many seconds a process leaves to another one to say why all of them stop.
_SAYING = 3.0


def main() -> None:
    """The command line's entry: what a user can mend is one sentence and status 2."""
    try:
        app()
    except ToldError:  # another process says it; torchrun stops all as soon as one of them has ended
        time.sleep(_SAYING)
        sys.exit(2)
    except RegardError as error:
        print(f"regard: {error}", file=sys.stderr)
        sys.exit(2)
    except PermissionError as error:
        print(f"regard: {error.filename} may not be read or written by you", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output has gone; there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("regard: stopped", file=sys.stderr)
        sys.exit(130)


@app.callback()
def check_alone(context: typer.Context) -> None:
    """The whole Transformer as a tool: train it, look inside it, ship it."""
    rank, size, _ = processes()
    if size > 1 and context.invoked_subcommand != "train":
        refuse_together(rank, size, f"regard {context.invoked_subcommand}", "; predict has --processes")
