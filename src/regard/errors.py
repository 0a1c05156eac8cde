"""What can go wrong, as a tree.

    RegardError            something the user can mend; the command line prints it and stops with status 2
    ├── RecipeError        a recipe's settings: every fault at once, each with its place
    ├── DataError          a file of data: named with file and line
    ├── FolderError        a run folder: missing, incomplete, of another version, or unsafe
    ├── ShapeError         tensors or sizes that do not fit together
    └── ToldError          what another process of the same training tells of

An error's text says what was found, what was expected and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

Choice = TypeVar("Choice")


class RegardError(Exception):
    """Something the user can mend, told in one sentence."""


class RecipeError(RegardError):
    """The settings of a recipe are not what they must be."""


class DataError(RegardError):
    """A file of data cannot be read as what it should be."""


class FolderError(RegardError):
    """A run folder cannot be used."""


class ShapeError(RegardError):
    """Tensors or sizes do not fit together."""


class ToldError(RegardError):
    """What stops several processes at once, in those that need not tell of it."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint "; did you mean X?" where one of the known names is close, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def choose(table: Mapping[str, Choice], name: str, what: str) -> Choice:
    """The table's entry of that name; an unknown name is answered with the known ones and the nearest."""
    if name not in table:
        raise RegardError(f"unknown {what} {name}; known: {', '.join(table)}{nearest(name, table)}")
    return table[name]
