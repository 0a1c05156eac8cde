"""Images: pixels -> patches, row after row, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from regard.data.drawing import Draws
from regard.data.example import Example, Late, Signal, values_of
from regard.data.kind import Encoded, InputKind
from regard.data.padding import PADDING, stacked
from regard.data.signal.augment import cropped, flipped, mixed_pictures, shifted, turned
from regard.data.signal.pictures import in_channels, resized
from regard.errors import DataError

# So many training pictures are looked at for means and spreads, taken evenly from all.
_LOOKED_AT = 2000


@dataclass(frozen=True)
class EncodedImage(Encoded):
    """A picture as the network reads it.

    pixels: (height, width, channels), of 8 or 16 bits, or once drawn anew from 0 to 1; or how to read them when needed
    size:   its height and width
    patch:  so many pixels on each side make one patch
    token:  whether a vector of its own stands before the patches, to answer for all
    """

    pixels: np.ndarray | Late
    size: tuple[int, int]
    made: Images
    patch: int
    token: bool = False

    @property
    def grid(self) -> tuple[int, int]:
        """How many rows and columns of patches it has; the last ones may hang over its border."""
        return -(-self.size[0] // self.patch), -(-self.size[1] // self.patch)

    @property
    def length(self) -> int:
        rows, columns = self.grid
        return rows * columns + self.token

    def read(self) -> np.ndarray:
        """The pixels, (height, width, channels), from 0 to 1."""
        return scaled(self.made.fitted(self.pixels) if isinstance(self.pixels, Late) else self.pixels)

    @classmethod
    def side_by_side(cls, items: Sequence[EncodedImage]) -> dict[str, Tensor]:
        """pixels: (batch, most rows, most columns, channels), not a number beyond each picture's border; places:
        (batch, most patches, 2), the row and the column where each vector stands"""
        return {
            "pixels": stacked([item.read() for item in items], PADDING["pixels"]),
            "places": stacked([places(*item.grid, token=item.token) for item in items], PADDING["places"]),
        }


def scaled(pixels: np.ndarray) -> np.ndarray:
    """Values from 0 to 1, of whatever number of bits."""
    if pixels.dtype.kind == "f":
        return pixels
    return (pixels / np.float32(np.iinfo(pixels.dtype).max)).astype(np.float32)


def places(rows: int, columns: int, *, token: bool = False) -> np.ndarray:
    """Where each vector of a picture stands, row after row, (vectors, 2); a token that answers for all stands at the
    first place."""
    grid = np.stack(np.divmod(np.arange(rows * columns), columns), -1)
    return np.concatenate((np.zeros((int(token), 2), dtype=np.int64), grid))


class Images(InputKind):
    """Pictures with as many channels as those of train, whose values are put in units of their spread there.

    channels:  1 (grey) or 3 (colours); other pictures are made so
    mean, deviation: of each channel, of values from 0 to 1
    size:      height and width to which each picture is drawn; None where each stays as it is
    grid:      rows and columns of patches of the largest picture of train
    """

    kind = "image"

    def __init__(
        self,
        mean: Sequence[float],
        deviation: Sequence[float],
        *,
        patch: int,
        size: tuple[int, int] | None = None,
        grid: tuple[int, int] = (1, 1),
        token: bool = False,
    ) -> None:
        self.mean = tuple(mean)
        self.deviation = tuple(deviation)
        self.channels = len(self.mean)
        self.patch = patch
        self.size = size
        self.grid = grid
        self.token = token

    @classmethod
    def learn(
        cls, examples: Sequence[Example], *, patch: int, size: tuple[int, int] | None, token: bool = False
    ) -> Images:
        """From the training examples: colours if any of those that are looked at has some."""
        some = examples[:: -(-len(examples) // _LOOKED_AT)]
        channels = max(checked(example).shape[-1] for example in some)
        made = cls((0.0,) * channels, (1.0,) * channels, patch=patch, size=size, token=token)
        sums, squares, count = np.zeros(channels), np.zeros(channels), 0
        for example in some:
            pixels = scaled(made.fitted(_signal(example))).astype(np.float64)
            sums, squares = sums + pixels.sum((0, 1)), squares + (pixels**2).sum((0, 1))
            count += pixels.shape[0] * pixels.shape[1]
        made.mean = tuple((sums / count).tolist())
        deviation = np.sqrt(np.maximum(squares / count - (sums / count) ** 2, 0))
        made.deviation = tuple(np.where(deviation > 1e-6, deviation, 1.0).tolist())
        grids = [made.of(example).grid for example in examples]
        made.grid = (max(rows for rows, _ in grids), max(columns for _, columns in grids))
        return made

    def fitted(self, signal: Signal) -> np.ndarray:
        """A picture with the channels and of the size that all have, (height, width, channels)."""
        pixels = values_of(signal)
        pixels = in_channels(pixels if pixels.ndim == 3 else pixels[..., None], self.channels)
        return pixels if self.size is None else resized(pixels, *self.size)

    def of(self, example: Example) -> EncodedImage:
        signal = _signal(example)
        shape = signal.shape if isinstance(signal, Late) else checked(example).shape
        size = self.size or (shape[0], shape[1])
        pixels = self.fitted(checked(example)) if isinstance(signal, np.ndarray) else signal
        return EncodedImage(pixels, size, self, self.patch, self.token)

    def names(self, example: Example) -> tuple[str, ...]:
        return (("(all)",) if self.token else ()) + patches(*self.of(example).grid)

    def sizes(self) -> dict[str, int]:
        return {"channels": self.channels}

    def saved(self) -> dict[str, Any]:
        names = ("mean", "deviation", "patch", "size", "grid", "token")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Images:
        size, grid = saved["size"], saved["grid"]
        return cls(
            tuple(map(float, saved["mean"])),
            tuple(map(float, saved["deviation"])),
            patch=int(saved["patch"]),
            size=None if size is None else (int(size[0]), int(size[1])),
            grid=(int(grid[0]), int(grid[1])),
            token=bool(saved["token"]),
        )


def patches(rows: int, columns: int) -> tuple[str, ...]:
    """What people call the patches of a picture: row and column, counted from 1."""
    return tuple(f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1))


def checked(example: Example) -> np.ndarray:
    """The pixels of an example as they are, or a refusal that names its place."""
    pixels = values_of(_signal(example))
    if pixels.dtype not in (np.uint8, np.uint16):
        raise DataError(
            f"{example.place}: pixels of {pixels.dtype}; a picture holds whole numbers of 8 or 16 bits (uint8, uint16)"
        )
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[-1] not in (1, 3) or 0 in pixels.shape:
        raise DataError(
            f"{example.place}: an array {pixels.shape}; a picture is (height, width), (height, width, 1) or "
            "(height, width, 3)"
        )
    return pixels


def _signal(example: Example) -> Signal:
    if example.signal is None:
        raise DataError(f"{example.place}: a text, where pictures are read; give a picture or a folder of them")
    return example.signal


@dataclass(frozen=True)
class ImageDraws(Draws):
    """How pictures are changed in training; 0 leaves them as they are.

    shift: pixels up, down and sideways; flip: whether half of them are mirrored; crop: the smallest share of their area
    that is cut out and drawn as large; turn: degrees to both sides
    """

    shift: int = 0
    flip: bool = False
    crop: float = 1.0
    turn: float = 0.0

    def __call__(self, encoded: EncodedImage, random: np.random.Generator) -> EncodedImage:
        pixels = encoded.read()
        if self.crop < 1:
            pixels = cropped(pixels, random, self.crop)
        if self.turn:
            pixels = turned(pixels, random, self.turn)
        if self.flip:
            pixels = flipped(pixels, random)
        if self.shift:
            pixels = shifted(pixels, random, self.shift)
        return replace(encoded, pixels=np.ascontiguousarray(pixels, dtype=np.float32))

    def mixed(self, one: EncodedImage, other: EncodedImage, share: float) -> EncodedImage:
        return replace(one, pixels=mixed_pictures(one.read(), other.read(), share))
