"""Words -> numbers: which vector belongs to what. A kind is a class in a file of its own, and a line in the table."""

from __future__ import annotations

import json
from typing import Any

from regard.data.tokenizer.characters import CharacterTokenizer
from regard.data.tokenizer.kind import EncodedText, Tokenizer, TokenizerSettings
from regard.data.tokenizer.library import LibraryTokenizer, Signs
from regard.data.tokenizer.subwords import SubwordTokenizer
from regard.data.tokenizer.words import SHAPES, WordCharacterTokenizer, WordTokenizer
from regard.errors import FolderError, RegardError, choose

__all__ = [
    "SHAPES",
    "TOKENIZERS",
    "CharacterTokenizer",
    "EncodedText",
    "LibraryTokenizer",
    "Signs",
    "SubwordTokenizer",
    "Tokenizer",
    "TokenizerSettings",
    "WordCharacterTokenizer",
    "WordTokenizer",
    "tokenizer_from_json",
    "tokenizer_to_json",
]

TOKENIZERS: dict[str, Any] = {
    kind.kind: kind
    for kind in (WordTokenizer, CharacterTokenizer, SubwordTokenizer, WordCharacterTokenizer, LibraryTokenizer)
}


def tokenizer_to_json(tokenizer: Tokenizer) -> str:
    """The tokenizer as text that can be saved."""
    return json.dumps({"kind": tokenizer.kind, **tokenizer.saved()}, ensure_ascii=False)


def tokenizer_from_json(text: str, where: str) -> Tokenizer:
    """The tokenizer that was saved; `where` is for the message if it cannot be read."""
    try:
        saved = json.loads(text)
        restored: Tokenizer = choose(TOKENIZERS, saved["kind"], "tokenizer").restored(saved)
        return restored
    except RegardError as error:
        raise FolderError(f"{where}: {error}") from None
    except Exception as error:  # the library tokenizers raises bare Exceptions
        raise FolderError(f"{where} is not a tokenizer of regard's, or incomplete: {error}") from None
