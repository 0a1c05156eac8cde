"""Pictures: files and arrays -> pixels, exact to one step, in one form for a whole data set."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType

import numpy as np

from regard.errors import DataError

# What shows through where a picture is transparent, from 0 to 1: black.
BACKGROUND = 0.0

# A picture of more pixels than this is refused before it is unpacked: a small file may hold a huge one.
MOST_PIXELS = 50_000_000

# Which share each colour has in a grey picture: ITU-R recommendation 601.
GREY = (0.299, 0.587, 0.114)

# The first bytes of files that hold one picture.
_BEGINNINGS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\x00", b"MM\x00*")


def is_picture(path: Path) -> bool:
    """Whether a file begins as one of the formats that are read."""
    with path.open("rb") as stream:
        first = stream.read(8)
    return first.startswith(_BEGINNINGS)


def read_picture(path: str | Path) -> np.ndarray:
    """The pixels of a file (PNG, JPEG, WebP, GIF's first frame …), (height, width, 1 | 3), of 8 or of 16 bits.

    A picture of a camera stands as the camera was held (EXIF orientation). What is transparent shows BACKGROUND, and
    not the colour that is hidden there. A palette becomes its colours, black and white 0 and 255.
    """
    image = _library().Image
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large pictures; here they are refused
            with image.open(path) as opened:
                if opened.size[0] * opened.size[1] > MOST_PIXELS:
                    raise image.DecompressionBombError
                return _pixels(_library().ImageOps.exif_transpose(opened), path)
    except image.DecompressionBombError:
        raise DataError(f"{path} has more pixels than the {MOST_PIXELS:,} that are read; make it smaller") from None
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DataError(f"cannot read the picture {path}: {error}") from None


def _pixels(image: object, path: str | Path) -> np.ndarray:
    mode = image.mode  # type: ignore[attr-defined]
    convert = image.convert  # type: ignore[attr-defined]
    if mode.startswith("I"):  # 16 bits of grey, in 16 or in 32
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise DataError(f"{path}: grey values from {values.min()} to {values.max()}, but 16 bits hold 0 to 65535")
        return values.astype(np.uint16)[..., None]
    if mode == "F":
        raise DataError(
            f"{path}: a picture of real numbers, whose black and white are not known; save it in 8 or 16 bits"
        )
    if "transparency" in image.info or mode in ("PA", "LA", "La", "RGBA", "RGBa"):  # type: ignore[attr-defined]
        grey = mode in ("L", "LA", "La", "1")
        return shown_over(np.asarray(convert("RGBA")), grey=grey)
    if mode in ("1", "L"):
        return np.asarray(convert("L"))[..., None]
    colours = np.asarray(convert("RGB"))
    # A palette of greys is grey.
    return colours[..., :1] if mode == "P" and (colours == colours[..., :1]).all() else colours


def shown_over(pixels: np.ndarray, *, grey: bool) -> np.ndarray:
    """Colours with their opacity, (height, width, 4), as they look over BACKGROUND: (height, width, 1 | 3)."""
    opacity = pixels[..., 3:].astype(np.float64) / 255
    shown = pixels[..., :3] * opacity + 255 * BACKGROUND * (1 - opacity)
    return np.rint(shown).astype(np.uint8)[..., : 1 if grey else 3]


def in_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Grey as three equal colours, or colours as grey.

    pixels: (height, width, 1 | 3); output: (height, width, channels)
    """
    if pixels.shape[-1] == channels:
        return pixels
    if pixels.shape[-1] == 1:
        return np.repeat(pixels, channels, -1)
    return np.rint(pixels[..., :3] @ np.array(GREY)).astype(pixels.dtype)[..., None]


def resized(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Drawn larger or smaller; a smaller picture's pixels are means of what they cover, whatever its sides' ratio.

    pixels: (height, width, channels) of 8 or 16 bits
    """
    if pixels.shape[:2] == (height, width):
        return pixels
    image = _library().Image
    planes = [
        image.fromarray(plane.astype(np.float32)).resize((width, height), image.Resampling.BILINEAR)
        for plane in np.moveaxis(pixels, -1, 0)
    ]
    drawn = np.stack([np.asarray(plane) for plane in planes], -1)
    return np.clip(np.rint(drawn), 0, np.iinfo(pixels.dtype).max).astype(pixels.dtype)


def _library() -> ModuleType:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise DataError("cannot read pictures: the package pillow is missing; pip install regard[vision]") from None
    return PIL
