"""The report of a run: one page, offline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.page import code, curve, page, pairs, paragraph, section, table
from regard.training.metric import METRICS, LabelScores, NumberScores, Scores, TextScores, shown, shown_interval

# At most so many wrong answers are shown, and so many labels stand in a table of confusions.
_SAMPLES = 12
_CONFUSED = 30

_INTERVALS = "in brackets the interval that holds 95 % of resamples of these items"


@dataclass(frozen=True)
class Report:
    """All that a report tells.

    scores:  the part it was measured on (dev, test) -> the model's scores
    intervals: how far each of them would move with other items
    floors:  the same for each floor
    history: one row for each evaluation
    samples: (words, true labels, answered labels) of items that are wrong somewhere
    certificate: what is told of it, the head and the rows of its table; None where there is none
    """

    name: str
    history: Sequence[Mapping[str, Any]]
    scores: Mapping[str, Scores]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    floors: Mapping[str, Mapping[str, Scores]]
    samples: Sequence[tuple[Sequence[str], Sequence[str | None], Sequence[str]]]
    facts: Mapping[str, object]
    recipe: str
    metric: str
    certificate: tuple[str, Sequence[str], Sequence[Sequence[str]]] | None = None

    def html(self) -> str:
        """The page."""
        parts = [self._curves(), *(self._scores(part) for part in self.scores)]
        last, scores = list(self.scores.items())[-1]
        if isinstance(scores, LabelScores):
            parts += [self._labels(last, scores), *self._confusions(last, scores)]
        if not isinstance(scores, NumberScores):
            parts.append(self._samples())
        if self.certificate is not None:
            note, head, rows = self.certificate
            parts.append(section("Every way of running it gives the same answers", table(head, rows), note=note))
        parts += [section("Machine and data", pairs(self.facts)), section("Recipe", code(self.recipe))]
        return page(f"Report: {self.name}", *parts, subtitle="trained with regard")

    def _curves(self) -> str:
        # A share and a perplexity do not fit into one picture.
        kind = _is_share(self.metric)
        names = [name for name in (self.history[-1]["scores"] if self.history else {}) if _is_share(name) == kind]
        shown = {f"dev {name}": [(row["update"], row["scores"][name]) for row in self.history] for name in names}
        values = {name: scores.values() for name, scores in self.floors.get("dev", {}).items()}
        floors = {name: found[self.metric] for name, found in values.items() if self.metric in found}
        losses = {"loss of a label": [(row["update"], row["loss"]) for row in self.history if row["loss"] is not None]}
        return section(
            "How it learnt",
            curve(shown, title="Scores on dev", x_label="update", y_label="score", levels=floors),
            curve(losses, title="Loss in training", x_label="update", y_label="loss"),
        )

    def _scores(self, part: str) -> str:
        model, floors = self.scores[part].values(), self.floors[part]
        apart = self.intervals[part]
        rows = [
            ["this model", *(f"{shown(name, model[name])} ({shown_interval(name, apart[name])})" for name in model)]
        ]
        for name, scores in floors.items():
            values = scores.values()
            rows.append([name, *(shown(metric, values[metric]) if metric in values else "" for metric in model)])
        items = f"{self.scores[part].items:,} items"
        scheme = getattr(self.scores[part], "scheme", "none")
        items += "" if scheme == "none" else f"; spans are read strictly as {scheme}"
        items += "".join(f"; {name}: {how}" for name, how in signatures(self.scores[part]).items())
        return section(
            f"Scores on {part}", table(["", *model], rows, highlight=0), note=f"{items}; {_INTERVALS}; floors beside it"
        )

    def _labels(self, part: str, scores: LabelScores) -> str:
        tables = []
        for column, counts in scores.columns.items():
            rows = [
                [label, f"{count:,}", percent(precision), percent(recall), percent(both)]
                for label, count, precision, recall, both in counts.table()
            ]
            tables += [paragraph(f"Column {column}"), table(["label", "count", "precision", "recall", "F1"], rows)]
        return section(f"Each label, on {part}", *tables)

    def _confusions(self, part: str, scores: LabelScores) -> list[str]:
        """Which label is taken for which, where each item has one."""
        if not scores.whole or scores.several:
            return []
        tables = []
        for column, counts in scores.columns.items():
            labels = [label for label, *_ in counts.table()][:_CONFUSED]
            rows = [[gold, *(counts.pairs[gold, answer] or "" for answer in labels)] for gold in labels]
            tables += [paragraph(f"Column {column}: rows are true, columns answered"), table(["", *labels], rows)]
        return [section(f"What is taken for what, on {part}", *tables)]

    def _samples(self) -> str:
        tables = [
            table(
                ["word", "should be", "answered"],
                [
                    [word, gold or "", answer if answer == gold else f"✗ {answer}"]
                    for word, gold, answer in _rows(words, golds, answers)
                ],
            )
            for words, golds, answers in self.samples[:_SAMPLES]
        ]
        return section("Where it is wrong", *(tables or [paragraph("Nowhere on this data.")]))


def _rows(
    words: Sequence[str], golds: Sequence[str | None], answers: Sequence[str]
) -> list[tuple[str, str | None, str]]:
    """A word each; or the whole text where it has one answer."""
    if len(golds) == 1 != len(words):
        return [(" ".join(words), golds[0], answers[0])]
    return list(zip(words, golds, answers, strict=True))


def signatures(scores: Scores) -> dict[str, str]:
    """How BLEU and chrF were computed, where they were."""
    return scores.signatures if isinstance(scores, TextScores) else {}


def edits(scores: Scores) -> dict[str, str]:
    """What the errors of texts are, where they were counted."""
    return scores.edits if isinstance(scores, TextScores) else {}


def _is_share(name: str) -> bool:
    metric = METRICS.get(name.split(" ")[0])
    return metric is None or metric.share


def percent(share: float) -> str:
    return f"{share:.2%}"


def history(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The evaluations in a metrics.jsonl."""
    return [row for row in map(json.loads, lines) if "scores" in row]
