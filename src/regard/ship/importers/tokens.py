"""Others' tokenizers: the library's own file, or lists of pieces from which it makes one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.data.tokenizer import LibraryTokenizer, Signs
from regard.errors import FolderError

TOKENIZER, PIECES, VOCABULARY, MERGES, CONFIG = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"),
    "tokenizer_config.json",
)


def read_tokenizer(folder: Path, signs: Sequence[str], count: int, *, bert: bool) -> LibraryTokenizer:
    """The tokenizer in a folder.

    signs: what begin, end, unknown, mask and padding are called
    count: how many pieces have a vector
    bert:  whether a list of pieces is BERT's, which parts texts at spaces and signs
    """
    try:
        model = _model(folder, signs, bert)
    except FolderError:
        raise
    except Exception as error:  # the library raises bare Exceptions
        raise FolderError(f"the tokenizer in {folder} cannot be read: {error}") from None
    missing = [sign for sign in signs if model.token_to_id(sign) is None]
    if missing:
        raise FolderError(f"the tokenizer in {folder} does not know {', '.join(missing)}")
    if model.get_vocab_size() > count:
        raise FolderError(
            f"the tokenizer in {folder} knows {model.get_vocab_size()} pieces, but only {count} have a vector; they "
            "are not of one model"
        )
    model.no_truncation()
    model.no_padding()
    begin, end, unknown, mask, padding = (model.token_to_id(sign) for sign in signs)
    return LibraryTokenizer(model, Signs(begin, end, unknown, mask, padding), count)


def _model(folder: Path, signs: Sequence[str], bert: bool) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    if (folder / TOKENIZER).is_file():
        return Tokenizer.from_file(str(folder / TOKENIZER))
    if (folder / PIECES).is_file():
        names = (folder / PIECES).read_text(encoding="utf-8").splitlines()
        pieces = {name: number for number, name in enumerate(names)}
        model = Tokenizer(models.WordPiece(pieces, unk_token=signs[2], max_input_chars_per_word=100))
        model.decoder = decoders.WordPiece()
        config = _json(folder / CONFIG) or {}
        if (
            not bert and "do_lower_case" not in config
        ):  # nothing says how texts are split, but that pieces are in a list
            model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        else:
            model.normalizer = normalizers.BertNormalizer(lowercase=config.get("do_lower_case", True))
            model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        model.add_special_tokens([sign for sign in signs if sign in pieces])
        return model
    if (folder / VOCABULARY).is_file() and (folder / MERGES).is_file():
        model = Tokenizer(models.BPE.from_file(str(folder / VOCABULARY), str(folder / MERGES)))
        model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        model.decoder = decoders.ByteLevel()
        model.add_special_tokens([sign for sign in signs if model.token_to_id(sign) is not None])
        return model
    raise FolderError(
        f"{folder} has no tokenizer that can be read: {TOKENIZER}, {PIECES}, or {VOCABULARY} with {MERGES}"
    )


def _json(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
