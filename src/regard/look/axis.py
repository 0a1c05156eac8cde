"""What stands along the sides of a picture of weights: tokens, patches of a picture, moments of a sound, or columns.

Each kind says how many elements it has, what each is called, and as what a page gets it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from regard.look.draw import visible


class Axis(Protocol):
    """One side of a picture."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each element is called, for those who see no picture."""

    def as_data(self) -> dict[str, Any]:
        """What the page draws it from; `kind` says which view that is."""


@dataclass(frozen=True)
class Tokens:
    """Pieces of a text, shown as written.

    words: which word each piece belongs to, counted from 0; empty where pieces are words
    """

    names: tuple[str, ...]
    words: tuple[int, ...] = ()

    def as_data(self) -> dict[str, Any]:
        merged = len(set(self.words)) < len(self.words)
        shown = [visible(name) for name in self.names]
        return {"kind": "tokens", "names": shown, **({"words": self.words} if merged else {})}


@dataclass(frozen=True)
class Grid:
    """Patches of a picture, row by row.

    picture: the picture as a file (PNG, JPEG, …), whose kind is `mime`
    extra:   names of elements before the patches, such as one that answers for all
    """

    rows: int
    columns: int
    picture: bytes
    mime: str = "image/png"
    extra: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        places = (
            f"row {row}, column {column}" for row in range(1, self.rows + 1) for column in range(1, self.columns + 1)
        )
        return (*self.extra, *places)

    def as_data(self) -> dict[str, Any]:
        image = f"data:{self.mime};base64,{b64encode(self.picture).decode()}"
        sizes = {"rows": self.rows, "columns": self.columns, "extra": len(self.extra)}
        return {"kind": "grid", "names": self.names, **sizes, "image": image}


@dataclass(frozen=True)
class Sound:
    """Moments of a sound.

    seconds:     of each element where it begins, and of the last where it ends
    spectrogram: (bands, frames), how loud each band is when, from low bands to high ones
    wave:        the sound as a WAV file, to be played; empty where there is none
    """

    seconds: tuple[float, ...]
    spectrogram: np.ndarray
    wave: bytes = b""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{one:.2f}–{other:.2f} s" for one, other in zip(self.seconds, self.seconds[1:], strict=False))

    def as_data(self) -> dict[str, Any]:
        low, high = float(self.spectrogram.min()), float(self.spectrogram.max())
        bright = np.round((self.spectrogram - low) / max(high - low, 1e-12) * 255).astype(np.uint8)
        spectrogram = {"bands": len(bright), "frames": bright.shape[1], "bytes": b64encode(bright.tobytes()).decode()}
        wave = f"data:audio/wav;base64,{b64encode(self.wave).decode()}" if self.wave else ""
        return {
            "kind": "sound",
            "names": self.names,
            "seconds": self.seconds,
            "spectrogram": spectrogram,
            "wave": wave,
        }


@dataclass(frozen=True)
class Columns:
    """Named columns of numbers, or moments of a series.

    values: for each element the number that is drawn along the side; empty where there is none
    """

    names: tuple[str, ...]
    values: tuple[float, ...] = ()

    def as_data(self) -> dict[str, Any]:
        return {"kind": "columns", "names": [visible(name) for name in self.names], "values": self.values}


def joined(names: Sequence[str], start: int, end: int) -> str:
    """What a few elements that share a place are called together."""
    some = names[start:end]
    return some[0] if len(some) == 1 else f"{some[0]} … {some[-1]}"
