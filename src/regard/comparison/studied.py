"""A study as people read it: a sentence, a table, a page; and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.comparison.cells import left_out
from regard.comparison.study import Study, Trained, Verdict
from regard.comparison.told import SURE, edges, shown_p, size
from regard.page import curve, page, pairs, paragraph, section, table
from regard.training.metric import METRICS, shown


@dataclass(frozen=True)
class Line:
    """An encoder with a number of examples, over its seeds; a score's low and high are those of the seeds."""

    encoder: str
    size: int
    seeds: int
    mean: float
    low: float
    high: float
    parameters: int
    minutes: float
    megabytes: float | None


def lines(found: Study) -> list[Line]:
    """A line for each encoder and size that was trained, in the order of sizes."""
    kinds = dict.fromkeys((of.cell.size, of.cell.encoder) for of in found.trained)
    grouped = {
        (number, encoder): [of for of in found.trained if (of.cell.size, of.cell.encoder) == (number, encoder)]
        for number, encoder in sorted(kinds, key=lambda kind: kind[0])
    }
    return [_line(encoder, number, some, found.metric) for (number, encoder), some in grouped.items()]


def _line(encoder: str, number: int, some: Sequence[Trained], metric: str) -> Line:
    scores = [of.scored.values[metric] for of in some]
    memory = [of.megabytes for of in some if of.megabytes is not None]
    return Line(
        *(encoder, number, len(some), float(np.mean(scores)), min(scores), max(scores)),
        parameters=max(of.parameters for of in some),  # the vocabulary may differ from seed to seed
        minutes=float(np.mean([of.minutes for of in some])),
        megabytes=max(memory) if memory else None,
    )


def sentence(found: Study) -> str:
    """Which encoder is best with most data, by how much, and how sure that is."""
    if not found.verdicts:
        return "Nothing to hold against each other: no two encoders were trained with the same size and seed."
    first = found.verdicts[0]
    seeds = f"{len(first.seeds)} seed{'s' * (len(first.seeds) > 1)}"
    against = "; ".join(_against(verdict, found.metric) for verdict in found.verdicts)
    return f"With {first.size:,} examples and {seeds}, {first.best} {against}."


def _against(verdict: Verdict, metric: str) -> str:
    of = verdict.difference
    told = f"{size(metric, of)} (95 %: {edges(metric, of)}, {shown_p(of.p)})"
    if of.p < SURE:
        return f"is better than {verdict.other} by {told}"
    return f"is ahead of {verdict.other} by {told}, which may be chance" if of.difference else f"is as {verdict.other}"


HEAD = ("encoder", "examples", "seeds", "mean", "lowest", "highest", "parameters", "minutes", "peak MB")


def rows(found: Study) -> Iterator[list[str]]:
    """A row for each line."""
    for line in lines(found):
        scores = (shown(found.metric, score) for score in (line.mean, line.low, line.high))
        memory = "–" if line.megabytes is None else f"{line.megabytes:,.0f}"
        yield [
            *(line.encoder, str(line.size), str(line.seeds), *scores),
            *(f"{line.parameters}", f"{line.minutes:.2f}", memory),
        ]


def told(found: Study) -> str:
    """All for a terminal."""
    body = "\n".join("\t".join(row) for row in (HEAD, *rows(found)))
    after = [part for part in (sentence(found), left_out(found.left)) if part]
    return "\n\n".join([f"{found.metric} on {found.part}\n{body}", *after])


def as_data(found: Study) -> dict[str, Any]:
    """All that was found, as JSON takes it."""
    return {
        "study": found.name,
        "metric": found.metric,
        "part": found.part,
        "lines": [asdict(line) for line in lines(found)],
        "verdicts": [asdict(verdict) for verdict in found.verdicts],
        "sentence": sentence(found),
        "left": [cell.name for cell in found.left],
    }


def html(found: Study) -> str:
    """The page."""
    after = [paragraph(text) for text in (sentence(found), left_out(found.left)) if text]
    facts = {"what was scored": found.part, "metric": found.metric, "trainings": len(found.trained)}
    sections = [
        section("What came of it", *after, note=POOLED),
        section(
            "How they learn from more data", _curves(found), note="bands reach from the lowest to the highest seed"
        ),
        section("Every encoder and size", table(HEAD, rows(found)), note=COSTS),
        section("What was done", pairs(facts)),
    ]
    return page(f"Study: {found.name}", *sections, subtitle="trained with regard")


POOLED = (
    "p is how often answers swapped between two encoders by chance are as far apart, the answers of all seeds to an "
    "item together (approximate randomisation); of other seeds than these the bands tell"
)
COSTS = "minutes are the mean of the seeds' trainings; peak memory is the process's or the accelerator's, the highest"


def _curves(found: Study) -> str:
    kinds = lines(found)
    names = list(dict.fromkeys(line.encoder for line in kinds))
    of = {name: [line for line in kinds if line.encoder == name] for name in names}
    share = METRICS[found.metric].share
    return curve(
        {name: [(math.log10(line.size), line.mean) for line in some] for name, some in of.items()},
        title=f"{found.metric} on {found.part}",
        x_label="examples learnt from, as a power of ten",
        y_label=f"{found.metric} (1 is all)" if share else found.metric,
        bands={name: [(math.log10(line.size), line.low, line.high) for line in some] for name, some in of.items()},
    )
