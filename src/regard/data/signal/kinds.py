"""The kinds of signals: which files each is read from, and what it becomes for the network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.data.example import Example
from regard.data.kind import InputKind
from regard.data.lines import check_file, read_lines
from regard.data.signal import images, speech, vectors
from regard.data.signal.arrays import Npy, Npz
from regard.data.signal.csv import CsvVectors, TsvVectors, looks_like
from regard.data.signal.image_files import IMAGE_READERS, guess_images
from regard.data.signal.images import Images
from regard.data.signal.reader import SignalReader
from regard.data.signal.sound_files import SOUND_READERS, guess_sound
from regard.data.signal.speech import Speech
from regard.data.signal.ts import Ts
from regard.data.signal.vectors import Vectors
from regard.data.tokenizer import tokenizer_from_json
from regard.errors import DataError, FolderError


@dataclass(frozen=True)
class SignalKind:
    """A kind of input that is no text.

    readers: by the name of their format
    guess:   the format of a file or a folder, by its contents
    made:    what makes of an example what the network reads
    check:   raises a DataError at an example that is none of this kind, as one with infinite values
    """

    readers: Mapping[str, type[SignalReader]]
    guess: Callable[[str | Path], str]
    made: type[InputKind]
    check: Callable[[Example], object]


def _guess_vectors(path: str | Path) -> str:
    """The format of a file of series: by its first bytes, which for text are its first lines."""
    check_file(path)
    with Path(path).open("rb") as stream:
        first = stream.read(6)
    if first.startswith(b"PK"):
        return Npz.name
    if first == b"\x93NUMPY":
        return Npy.name
    lines = (line.lower() for _, line in islice(read_lines(path, "replace"), 500))
    return Ts.name if any(line.startswith("@data") for line in lines) else looks_like(path)


def input_to_json(kind: InputKind) -> str:
    """What an input has learnt, as text that can be saved."""
    return json.dumps({"kind": kind.kind, **kind.saved()}, ensure_ascii=False)


def input_from_json(text: str, where: str) -> InputKind:
    """The input that was saved; `where` is for the message if it cannot be read."""
    try:
        saved = json.loads(text)
        kind = SIGNALS.get(saved["kind"])
    except (ValueError, TypeError, KeyError):
        kind = None
    if kind is None:
        return tokenizer_from_json(text, where)
    try:
        return kind.made.restored(saved)
    except (DataError, ValueError, TypeError, KeyError) as error:
        raise FolderError(f"{where} is damaged: {error}") from None


SIGNALS: dict[str, SignalKind] = {
    "speech": SignalKind(SOUND_READERS, guess_sound, Speech, speech.checked),
    "vectors": SignalKind(
        {reader.name: reader for reader in (Ts, CsvVectors, TsvVectors, Npz, Npy)},
        _guess_vectors,
        Vectors,
        vectors.checked,
    ),
    "image": SignalKind(IMAGE_READERS, guess_images, Images, images.checked),
}
