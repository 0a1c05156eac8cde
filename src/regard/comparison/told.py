"""A comparison as people read it: a sentence, a table, a page; and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from regard.comparison.compare import Comparison
from regard.comparison.paired import Difference
from regard.comparison.parts import Part
from regard.comparison.telling import Case
from regard.page import curve, page, pairs, paragraph, section, table
from regard.training.metric import METRICS, shown

# What p must be below for a difference to be called one.
SURE = 0.05


def sentence(found: Comparison) -> str:
    """Which run is better, by how much, and how sure that is."""
    name, (one, other) = found.metric, found.names
    difference = found.scores[name]
    if not found.cases.answered and difference.difference == 0:
        return f"{one} and {other} answer all {found.items:,} items the same: there is no difference (p = 1)."
    better, worse = (one, other) if _sign(name) * difference.difference >= 0 else (other, one)
    told = f"{size(name, difference)} (95 %: {edges(name, difference)}, {shown_p(difference.p)})"
    others = f"{better} answers {_more(found, better)} items better, {worse} {_more(found, worse)}"
    if difference.p < SURE:
        return f"{better} is better than {worse} by {told}; {others}."
    if difference.difference == 0:
        return f"{one} and {other} have the same {name} ({shown_p(difference.p)}); {others}."
    return f"{better} is ahead of {worse} by {told}, which may be chance; {others}."


def rows(found: Comparison) -> Iterator[Sequence[str]]:
    """A table of every score: both runs' own, the difference, its interval, and both p."""
    yield ["score", *found.names, "difference", "low", "high", "p", "p by resampling"]
    for name, difference in found.scores.items():
        yield [name, *_cells(difference)]


def part_rows(part: Part, names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The same of one way to part the data."""
    yield [part.metric, part.counted, *names, "difference", "low", "high", "p", "p by resampling"]
    for row in part.rows:
        yield [row.name, str(row.count), *_cells(row.difference)]


def _cells(difference: Difference) -> list[str]:
    values = (difference.one, difference.other, difference.difference, difference.low, difference.high)
    return [*(f"{value:.4f}" for value in values), f"{difference.p:.4f}", f"{difference.p_resampled:.4f}"]


def told(found: Comparison) -> str:
    """All for a terminal: the table, the sentence, the parts, and items of each kind."""
    parts = [rows(found), *(part_rows(part, found.names) for part in found.parts)]
    tables = ["\n".join("\t".join(row) for row in part) for part in parts]
    kinds = zip(found.names, (found.cases.best, found.cases.worst), strict=True)
    items = [_listed(name, some, found.names) for name, some in kinds if some]
    return "\n\n".join([tables[0], sentence(found), *tables[1:], *items])


def _listed(name: str, some: Sequence[Case], names: Sequence[str]) -> str:
    lines = [f"{name} answers better, the most telling first:"]
    for case in some:
        lines.append(f"{case.place}\t{' '.join(case.text.split())}")
        lines += [
            f"\t{who}\t{what}" for who, what in zip(("right", *names), (case.right, case.one, case.other), strict=True)
        ]
    return "\n".join(lines)


def as_data(found: Comparison) -> dict[str, Any]:
    """All that was found, as JSON takes it."""
    return {
        "runs": list(found.names),
        "data": found.data,
        "items": found.items,
        "metric": found.metric,
        "sentence": sentence(found),
        "scores": {name: _as_data(difference) for name, difference in found.scores.items()},
        "parts": {
            part.name: [
                {"name": row.name, part.counted: row.count, part.metric: _as_data(row.difference)} for row in part.rows
            ]
            for part in found.parts
        },
        "cases": asdict(found.cases),
        "notes": list(found.notes),
        "trials": found.trials,
        "seed": found.seed,
    }


def _as_data(difference: Difference) -> dict[str, float]:
    return asdict(difference)


def html(found: Comparison) -> str:
    """The page."""
    head, *body = rows(found)
    one, other = found.names
    sections = [
        section("What came of it", paragraph(sentence(found)), *map(paragraph, found.notes)),
        section("Every score", table(head, body, highlight=0), note=f"{found.items:,} items of {found.data}; {HOW}"),
        section(
            "How far chance goes",
            curve(
                {name: _heaped(values) for name, values in found.drawn.items()},
                title=f"Differences in {found.metric}: {one} − {other}",
                x_label="difference is at most",
                y_label="share of draws",
            ),
        ),
    ]
    if found.histories:
        sections.append(section("How they learnt", _learning(found)))
    sections += [section(part.name, _part_table(part, found.names), note=MANY) for part in found.parts]
    sections += [_cases(found, one, found.cases.won, found.cases.best)]
    sections += [_cases(found, other, found.cases.lost, found.cases.worst)]
    facts = {"first run": one, "second run": other, "data": found.data, "trials": found.trials, "seed": found.seed}
    return page(
        f"{one} and {other}", *sections, section("What was compared", pairs(facts)), subtitle="compared with regard"
    )


HOW = (
    "differences are the first run's score less the second's; low and high hold 95 % of resamples of the items (paired "
    "bootstrap); p is how often answers swapped between the runs by chance are as far apart (approximate randomisation)"
)
MANY = "each p is for one question asked alone: of twenty rows without a difference one has p below 0.05"


def _learning(found: Comparison) -> str:
    return curve(
        dict(found.histories), title=f"{found.metric} on each run's own dev", x_label="update", y_label=found.metric
    )


def _part_table(part: Part, names: Sequence[str]) -> str:
    head, *body = part_rows(part, names)
    return table(head, body)


def _cases(found: Comparison, name: str, count: int, shown_cases: Sequence[Case]) -> str:
    head = ["where", "text", "right", *found.names]
    body = [[case.place, case.text, case.right, case.one, case.other] for case in shown_cases]
    return section(f"{count:,} items that {name} answers better", table(head, body), note="the most telling first")


def _heaped(values: np.ndarray) -> list[tuple[float, float]]:
    """How large a share of the values is at most as large as each of them."""
    return [(float(value), place / len(values)) for place, value in enumerate(np.sort(values), 1)]


def _sign(name: str) -> int:
    return METRICS[name].sign


def size(name: str, difference: Difference) -> str:
    apart = abs(difference.difference)
    return f"{100 * apart:.2f} points of {name}" if METRICS[name].share else f"{shown(name, apart)} of {name}"


def edges(name: str, difference: Difference) -> str:
    """The interval of how far they are apart, in the direction that was found."""
    low, high = difference.low, difference.high
    low, high = (low, high) if difference.difference >= 0 else (-high, -low)
    return f"{100 * low:.2f} to {100 * high:.2f}" if METRICS[name].share else f"{low:.4f} to {high:.4f}"


def _more(found: Comparison, name: str) -> str:
    return f"{found.cases.won if name == found.names[0] else found.cases.lost:,}"


def shown_p(p: float) -> str:
    """p = 0.012, and never p = 0."""
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
