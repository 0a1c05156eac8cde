"""What stands along a picture's side for each kind of input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regard.data.example import Example, values_of
from regard.data.signal.images import EncodedImage
from regard.look.axis import Axis, Columns, Grid, Tokens
from regard.look.png import png_of
from regard.predict import Predictor
from regard.written import Source


def side_of(predictor: Predictor, example: Example) -> Axis:
    """What is read, as a side of a picture."""
    return SIDES.get(predictor.tokenizer.kind, _tokens)(predictor, example)


def _tokens(predictor: Predictor, example: Example) -> Axis:
    names, words = predictor.names(example), Source(predictor.tokenizer, example).units
    # A mask is one piece, however many its sign would be read as.
    return Tokens(names, words if len(words) == len(names) else ())


def _series(predictor: Predictor, example: Example) -> Axis:
    """The steps of a series, and beside them its first column; of steps that are read together their mean."""
    names = predictor.tokenizer.names(example)
    assert example.signal is not None
    values = np.asarray(values_of(example.signal), dtype=float)
    first = values.reshape(len(values), -1)[:, 0]
    parts = np.array_split(first, len(names)) if len(first) >= len(names) > 0 else []
    drawn = [float(part[~np.isnan(part)].mean()) if (~np.isnan(part)).any() else 0.0 for part in parts]
    return Columns(names, tuple(drawn))


def _picture(predictor: Predictor, example: Example) -> Axis:
    """The picture as the network is given it, under its patches; what hangs over the border is white."""
    encoded = predictor.tokenizer.of(example)
    assert isinstance(encoded, EncodedImage)
    rows, columns = encoded.grid
    pixels = encoded.read()
    height, width = rows * encoded.patch - pixels.shape[0], columns * encoded.patch - pixels.shape[1]
    whole = np.pad(pixels, ((0, height), (0, width), (0, 0)), constant_values=1.0)
    colours = np.broadcast_to(whole, (*whole.shape[:2], 3)) if whole.shape[2] == 1 else whole[..., :3]
    extra = predictor.names(example)[: int(encoded.token)]
    return Grid(rows, columns, png_of(np.round(colours * 255).astype(np.uint8)), extra=extra)


# Kinds of input (data/kind.py) that are no text.
SIDES: dict[str, Callable[[Predictor, Example], Axis]] = {"vectors": _series, "image": _picture}
