"""Forecasting: a series is cut into what is looked back at and the steps to come."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.data.example import Example, Place
from regard.data.signal.vectors import checked, columns_of
from regard.errors import DataError


@dataclass(frozen=True)
class Span:
    """Which steps of its series a window forecasts, from first to before last, and how many steps the series has."""

    first: int
    last: int
    of: int


def names(horizon: int) -> tuple[str, ...]:
    """What people call the steps to come."""
    return tuple(f"+{step}" for step in range(1, horizon + 1))


def windows(series: Example, *, context: int, horizon: int, columns: Sequence[str | int] = ()) -> Iterator[Example]:
    """Each place in a series where there are steps to look back at and steps to come, from first to last.

    columns: what is forecast; all where none is named. A series too short for a whole context has one place, at its end
    """
    values, called = checked(series), columns_of(series)
    chosen = [_place(column, called, series) for column in columns] or list(range(len(called)))
    if len(values) <= horizon:
        raise DataError(
            f"{series.place}: {len(values)} steps are too few to forecast {horizon} from the steps before them; use a "
            "smaller output.horizon, or longer series"
        )
    begins = min(context, len(values) - horizon)
    for first in range(begins, len(values) - horizon + 1):
        to_come = values[first : first + horizon]
        yield Example(
            words=names(horizon),
            labels={called[column]: tuple(map(_text, to_come[:, column].tolist())) for column in chosen},
            place=Place(series.place.file, series.place.line + first),
            group=str(series.place),
            signal=values[max(0, first - context) : first],
            columns=called,
            record=Span(first, first + horizon, len(values)),
        )


def asked(series: Example, *, context: int, horizon: int) -> Example:
    """The end of a series, whose next steps are asked for."""
    values = checked(series)
    return replace(series, words=names(horizon), whole=False, signal=values[-context:], columns=columns_of(series))


def by_time(examples: Sequence[Example], shares: Sequence[float]) -> list[list[Example]]:
    """The end of each series is set aside: what is learnt from forecasts none of the steps that others are scored by.

    Windows that forecast steps on both sides of a border belong to no side.
    """
    found: list[list[Example]] = [[] for _ in range(len(shares) + 1)]
    for example in examples:
        span = example.record
        assert isinstance(span, Span)
        borders = [0, *(round(span.of * (1 - sum(shares[part:]))) for part in range(len(shares))), span.of]
        for part in range(len(found)):
            if borders[part] <= span.first and span.last <= borders[part + 1]:
                found[part].append(example)
    if not all(found):
        raise DataError(
            f"data.split sets aside {', '.join(map(str, shares))} of each series, in which no forecast fits; give a "
            "larger share, a smaller output.horizon, or data.dev"
        )
    return found


def _place(column: str | int, called: Sequence[str], series: Example) -> int:
    if isinstance(column, int) and 1 <= column <= len(called):
        return column - 1
    if column not in called:
        raise DataError(f"{series.place}: there is no column {column} to forecast; there are {', '.join(called)}")
    return called.index(str(column))


def _text(value: float) -> str | None:
    return None if math.isnan(value) else repr(value)


def last_known(values: np.ndarray) -> np.ndarray:
    """The last value of each column that is not missing; 0 where all are.

    values: (time, columns); output: (columns,)
    """
    found = np.zeros(values.shape[1])
    for column, of_column in enumerate(values.T):
        known = of_column[~np.isnan(of_column)]
        found[column] = known[-1] if len(known) else 0.0
    return found
