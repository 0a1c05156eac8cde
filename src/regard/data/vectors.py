"""Word vectors in the text format .vec: a word and its numbers on each line."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path

from regard.data.lines import read_lines
from regard.errors import DataError


def read_vectors(
    path: str | Path, words: Collection[str], width: int, encoding_errors: str = "strict"
) -> dict[str, list[float]]:
    """The vectors of those words that stand in the file.

    A first line of two numbers (how many words, how wide) is allowed and must be true of the width; lines of other
    widths are refused by number. Of a word that comes twice the first counts.
    """
    found: dict[str, list[float]] = {}
    lines = 0
    for number, line in read_lines(path, encoding_errors):
        cells = line.rstrip().split(" ")
        if number == 1 and len(cells) == 2 and all(cell.isdecimal() for cell in cells):
            if int(cells[1]) != width:
                raise DataError(f"{path} has vectors of {cells[1]} numbers; set input.word_width = {cells[1]}")
            continue
        lines += 1
        if len(cells) != width + 1:
            raise DataError(
                f"{path}, line {number}: {len(cells) - 1} numbers after the word where input.word_width is {width}"
            )
        word = cells[0]
        if word in words and word not in found:
            try:
                vector = [float(cell) for cell in cells[1:]]
            except ValueError:
                raise DataError(f"{path}, line {number}: what follows {word} are not all numbers") from None
            if not all(map(math.isfinite, vector)):
                raise DataError(f"{path}, line {number}: the vector of {word} is not finite")
            found[word] = vector
    if not lines:
        raise DataError(f"{path} holds no vectors")
    return found
