"""A model's answers held against the data: scores, what is wrong, and the floors beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.corpus import Corpus
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.target import Classes, Numbers
from regard.errors import DataError
from regard.predict import Answer, Predictor
from regard.training.floor import class_floors, label_floors, number_floors
from regard.training.interval import intervals
from regard.training.metric import LabelScores, NumberScores, Scores, collect_numbers, count_classes, count_labels

# An item that is wrong somewhere: its words, what it should be and what was answered.
Wrong = tuple[Sequence[str], Sequence[str | None], Sequence[str]]


@dataclass(frozen=True)
class Scored:
    """Scores on a set of items, and the answers they were counted from.

    unseen: labels of the data that training never saw; they count as missed
    """

    scores: Scores
    answers: Sequence[Answer]
    unseen: Sequence[str] = ()

    @property
    def values(self) -> dict[str, float]:
        return self.scores.values()

    def intervals(self) -> dict[str, tuple[float, float]]:
        """How far each score would move with other items of the same kind: (low, high), which hold 95 %."""
        return intervals(self.scores)

    def wrong(self) -> Iterator[Wrong]:
        """Items that are not wholly right in their first column."""
        for answer in self.answers:
            column, answered = next(iter(answer.columns.items()))
            true = answer.example.labels[column]
            if isinstance(self.scores, LabelScores) and answered != true:
                yield answer.words, true, answered


def score(predictor: Predictor, examples: Sequence[Example], ignore: Sequence[str], scheme: str = "none") -> Scored:
    """Answer examples with targets and count what is right.

    scheme: how labels mean spans, which are then scored too
    """
    return score_answers(predictor, list(predictor.predict(examples)), ignore, scheme)


def score_answers(
    predictor: Predictor, answers: Sequence[Answer], ignore: Sequence[str], scheme: str = "none"
) -> Scored:
    """Count what is right among answers. Labels that training never saw are missed, and named."""
    for column in predictor.targets:
        if answers and column not in answers[0].example.labels:
            raise DataError(f"{answers[0].example.place}: there is no column {column} to score against")
    pairs = [(answer.columns, answer.example.labels) for answer in answers]
    scores: LabelScores | NumberScores
    if any(isinstance(target, Numbers) for target in predictor.targets.values()):
        scores = collect_numbers(pairs, ignore)
        return Scored(scores, answers)
    separator = next((target.separator for target in predictor.targets.values() if isinstance(target, Classes)), None)
    if separator is not None:
        scores = count_classes(pairs, separator)
    else:
        scores = count_labels(pairs, ignore, whole=predictor.whole, scheme=scheme)
    unseen = [
        label
        for column, counts in scores.columns.items()
        for label in sorted(counts.labels.gold.counts())
        if label not in _names(predictor, column)
    ]
    return Scored(scores, answers, unseen)


def floors(
    corpus: Corpus,
    examples: Sequence[Example],
    ignore: Sequence[str],
    *,
    numbers: bool,
    scheme: str = "none",
    separator: str | None = None,
) -> dict[str, Scores]:
    """What is reached without a network, on the same items.

    separator: what parts several classes in a cell
    """
    if separator is not None:
        return dict(class_floors(corpus.train, examples, corpus.columns, separator))
    if numbers:
        return dict(number_floors(corpus.train, examples, corpus.columns, ignore))
    return dict(label_floors(corpus.train, examples, corpus.columns, ignore, scheme=scheme))


def _names(predictor: Predictor, column: str) -> Sequence[str]:
    target = predictor.targets[column]
    assert isinstance(target, Labels | Classes)
    return target.names
