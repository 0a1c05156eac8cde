"""What stands along a picture's side for each kind of input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regard.data.example import Example, values_of
from regard.look.axis import Axis, Columns, Tokens
from regard.predict import Predictor
from regard.written import Source


def side_of(predictor: Predictor, example: Example) -> Axis:
    """What is read, as a side of a picture."""
    return SIDES.get(predictor.tokenizer.kind, _tokens)(predictor, example)


def _tokens(predictor: Predictor, example: Example) -> Axis:
    return Tokens(predictor.tokenizer.names(example), Source(predictor.tokenizer, example).units)


def _series(predictor: Predictor, example: Example) -> Axis:
    """The steps of a series, and beside them its first column; of steps that are read together their mean."""
    names = predictor.tokenizer.names(example)
    assert example.signal is not None
    values = np.asarray(values_of(example.signal), dtype=float)
    first = values.reshape(len(values), -1)[:, 0]
    parts = np.array_split(first, len(names)) if len(first) >= len(names) > 0 else []
    drawn = [float(part[~np.isnan(part)].mean()) if (~np.isnan(part)).any() else 0.0 for part in parts]
    return Columns(names, tuple(drawn))


# Kinds of input (data/kind.py) that are no text.
SIDES: dict[str, Callable[[Predictor, Example], Axis]] = {"vectors": _series}
