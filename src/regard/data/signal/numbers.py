"""Numbers in text: what is a value, and what stands where one is missing."""

from __future__ import annotations

import math

from regard.errors import DataError

# What stands where a value is missing, in small letters.
MISSING = ("", "?", "na", "n/a", "nan", "null", "none")


def value(cell: str, place: object) -> float:
    """The number in a cell, not a number where it is missing; what is neither is named with its place."""
    if cell.strip().lower() in MISSING:
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise DataError(
            f"{place}: {cell.strip()!r} is no number; leave the cell empty where a value is missing, and name the "
            "columns to read with data.source and the one to learn with data.target"
        ) from None


def is_value(cell: str) -> bool:
    """Whether a cell holds a number, or says that one is missing."""
    try:
        value(cell, "")
    except DataError:
        return False
    return True
