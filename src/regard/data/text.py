"""Plain text: a line is an example."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from regard.data.example import Example, Place
from regard.data.lines import Line
from regard.errors import DataError


class Text:
    """Reads lines as examples; n lines in, n examples out: a blank line is an example without words."""

    name = "text"

    def __init__(self, split: Callable[[str], tuple[str, ...]] | None = None, *, whole: bool = False) -> None:
        self.split = at_punctuation if split is None else split
        self.whole = whole

    def examples(self, lines: Iterator[Line], file: str) -> Iterator[Example | DataError]:
        """Each line as words."""
        for number, line in lines:
            yield Example(words=self.split(line), place=Place(file, number), whole=self.whole)

    def write(self, example: Example, labels: Mapping[str, Sequence[str]]) -> str:
        """word/LABEL word/LABEL …, several columns as word/LABEL/LABEL; of one answer for the whole, that answer."""
        if self.whole:
            return "\t".join(one_line(value) for of_column in labels.values() for value in of_column)
        return " ".join("/".join(parts) for parts in zip(example.words, *labels.values(), strict=True))


def one_line(text: str) -> str:
    """A text as a line: what ends lines becomes a space, so that n items are n lines."""
    return re.sub("\r\n|\r|\n", " ", text)


def at_spaces(line: str) -> tuple[str, ...]:
    """Words are what stands between spaces."""
    return tuple(line.split())


def at_punctuation(line: str) -> tuple[str, ...]:
    """Words are runs of letters, digits and the marks on them; each other sign is a word of its own.

    An apostrophe, hyphen or full stop between letters or digits belongs to the word: don't, well-known, 3.14.
    """
    words: list[str] = []
    for chunk in line.split():
        signs = each_sign(chunk)
        kinds = [_in_word(sign) for sign in signs]
        for index in range(1, len(signs) - 1):
            if signs[index] in _JOINING and _in_word(signs[index - 1]) and _in_word(signs[index + 1]):
                kinds[index] = True
        for in_word, run in groupby(zip(signs, kinds, strict=True), key=lambda pair: pair[1]):
            found = [sign for sign, _ in run]
            words.extend(["".join(found)] if in_word else found)
    return tuple(words)


def each_sign(line: str) -> tuple[str, ...]:
    """Each letter or sign is a word, with the marks that belong to it; spaces are none."""
    words: list[str] = []
    joined = beside_space = False
    for sign in line:
        if sign.isspace():
            joined, beside_space = False, True
        elif words and not beside_space and (joined or unicodedata.category(sign) in ("Mn", "Mc", "Me", "Cf")):
            words[-1] += sign
            joined = sign == "\u200d"  # what follows a zero-width joiner belongs to the sign before it
        else:
            words.append(sign)
            joined = beside_space = False
    return tuple(words)


# Between letters or digits these belong to the word.
_JOINING = ("'", "’", ".", "-")


def _in_word(sign: str) -> bool:
    # Letters, numbers, the marks on letters; also the underscore.
    return unicodedata.category(sign[0])[0] in "LNM" or sign[0] == "_"


SPLITS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "punctuation": at_punctuation,
    "spaces": at_spaces,
    "characters": each_sign,
}
