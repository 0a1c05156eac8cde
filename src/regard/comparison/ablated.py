"""What the parts of a network buy, as people read it: sentences, a table, a page; and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from regard.comparison.ablation import Ablation, Bought
from regard.comparison.cells import left_out
from regard.comparison.paired import Difference
from regard.comparison.studied import POOLED
from regard.comparison.study import Trained
from regard.comparison.told import SURE, edges, shown_p, size
from regard.page import curve, page, pairs, paragraph, section, table
from regard.training.metric import METRICS, shown

HEAD = ("depth", "network", "seeds", "mean", "lowest", "highest", "bought", "low", "high", "p", "minutes")


def groups(found: Ablation) -> dict[tuple[int, str], list[Trained]]:
    """What was trained by depth and network, in this order."""
    grouped: dict[tuple[int, str], list[Trained]] = {}
    for of in found.trained:
        grouped.setdefault((of.cell.depth, of.cell.encoder), []).append(of)  # type: ignore[attr-defined]
    return dict(sorted(grouped.items(), key=lambda pair: pair[0][0]))


def sentence(found: Ablation) -> str:
    """What each part buys at each depth, and how sure that is."""
    if not found.bought:
        return "Nothing to hold against each other: no depth has the whole network and one without a part."
    return " ".join(_bought(of, found.metric) for of in found.bought)


def _bought(of: Bought, metric: str) -> str:
    difference, sign = of.difference, METRICS[metric].sign
    begin = f"At depth {of.depth} {of.without}"
    told = f"{size(metric, difference)} (95 %: {edges(metric, difference)}, {shown_p(difference.p)})"
    if not difference.difference:
        return f"{begin} is as good as the whole."
    how = "worse" if sign * difference.difference > 0 else "better"
    chance = "" if difference.p < SURE else ", which may be chance"
    return f"{begin} is {how} than the whole by {told}{chance}."


def rows(found: Ablation) -> Iterator[list[str]]:
    """A row for each depth and network."""
    apart = {(of.depth, of.without): of.difference for of in found.bought}
    for (depth, name), some in groups(found).items():
        scores = [of.scored.values[found.metric] for of in some]
        yield [
            *(str(depth), name, str(len(some))),
            *(shown(found.metric, value) for value in (float(np.mean(scores)), min(scores), max(scores))),
            *_cells(apart.get((depth, name))),
            f"{np.mean([of.minutes for of in some]):.2f}",
        ]


def _cells(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["–"] * 4
    values = (difference.difference, difference.low, difference.high, difference.p)
    return [f"{value:.4f}" for value in values]


def told(found: Ablation) -> str:
    """All for a terminal."""
    body = "\n".join("\t".join(row) for row in (HEAD, *rows(found)))
    after = [part for part in (sentence(found), left_out(found.left)) if part]
    return "\n\n".join([f"{found.metric} on {found.part}\n{body}", *after])


def as_data(found: Ablation) -> dict[str, Any]:
    """All that was found, as JSON takes it."""
    return {
        "study": found.name,
        "metric": found.metric,
        "part": found.part,
        "cells": [
            {**asdict(of.cell), found.metric: of.scored.values[found.metric], "minutes": of.minutes}
            for of in found.trained
        ],
        "bought": [asdict(of) for of in found.bought],
        "sentence": sentence(found),
        "left": [cell.name for cell in found.left],
    }


def html(found: Ablation) -> str:
    """The page."""
    after = [paragraph(_bought(of, found.metric)) for of in found.bought] or [paragraph(sentence(found))]
    left = [paragraph(left_out(found.left))] if found.left else []
    facts = {"what was scored": found.part, "metric": found.metric, "trainings": len(found.trained)}
    sections = [
        section("What each part buys", *after, *left, note=POOLED),
        section("By depth", _curves(found), note="bands reach from the lowest to the highest seed"),
        section("Every network", table(HEAD, rows(found)), note=BOUGHT),
        section("What was done", pairs(facts)),
    ]
    return page(f"Without its parts: {found.name}", *sections, subtitle="trained with regard")


BOUGHT = (
    "bought is the whole network's score less that of the network without the part; low and high hold 95 % of "
    "resamples of the items; one-head has one head as wide as all of the whole's"
)


def _curves(found: Ablation) -> str:
    lines: dict[str, list[tuple[float, float]]] = {}
    bands: dict[str, list[tuple[float, float, float]]] = {}
    for (depth, name), some in groups(found).items():
        scores = [of.scored.values[found.metric] for of in some]
        lines.setdefault(name, []).append((depth, float(np.mean(scores))))
        bands.setdefault(name, []).append((depth, min(scores), max(scores)))
    return curve(
        lines,
        title=f"{found.metric} on {found.part}",
        x_label="depth: blocks one after the other",
        y_label=f"{found.metric} (1 is all)" if METRICS[found.metric].share else found.metric,
        bands=bands,
    )
