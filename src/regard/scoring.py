"""A model's answers held against the data: scores, what is wrong, and the floors beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regard.corpus import Corpus
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.target import Classes, Numbers
from regard.errors import DataError
from regard.plain_text import score_texts
from regard.plain_text import text_floors as plain_floors
from regard.predict import Answer, Predictor
from regard.recipe.settings import TEXT_TASKS, Recipe
from regard.training.floor import ahead_floors, class_floors, label_floors, number_floors
from regard.training.interval import intervals
from regard.training.metric import (
    LabelScores,
    NumberScores,
    Scores,
    TextScores,
    collect_numbers,
    count_classes,
    count_labels,
)
from regard.training.text_floor import text_floors

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
            others = any(other == one for one in answered for other in answer.example.others)
            if not isinstance(self.scores, NumberScores) and answered != true and not others:
                yield answer.words, true, answered

    @property
    def cut(self) -> int:
        """How many texts were stopped before their end."""
        return sum(answer.cut for answer in self.answers)


def score(predictor: Predictor, examples: Sequence[Example], recipe: Recipe) -> Scored:
    """Answer examples with targets and count what is right, as the recipe says."""
    if recipe.task.kind in TEXT_TASKS:
        return Scored(score_texts(predictor, examples), ())
    return score_answers(predictor, list(predictor.predict(examples)), recipe)


def score_answers(predictor: Predictor, answers: Sequence[Answer], recipe: Recipe) -> Scored:
    """Count what is right among answers. Labels that training never saw are missed, and named."""
    ignore, scheme = recipe.data.ignore, recipe.output.scheme
    for column in predictor.targets:
        if answers and column not in answers[0].example.labels:
            raise DataError(f"{answers[0].example.place}: there is no column {column} to score against")
    if predictor.writes:
        return Scored(_texts(predictor, answers, recipe), answers)
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


def _texts(predictor: Predictor, answers: Sequence[Answer], recipe: Recipe) -> TextScores:
    """Written texts beside the right ones. What is not known cannot be scored."""
    known = [answer for answer in answers if right_texts(answer.example)]
    # Of what elements spell, a right text may not fit at all: how probable such texts are on average tells nothing.
    given = [] if predictor.spells else predictor.given([answer.example for answer in known])
    return TextScores(
        answered=[answer.text for answer in known],
        right=[right_texts(answer.example) for answer in known],
        given=[(found.log_probability, found.pieces) for found in given],
        bleu_tokens=recipe.output.bleu_tokens,
        asked=recipe.metric,
    )


def right_texts(example: Example) -> tuple[str, ...]:
    """All texts that are right for an example."""
    (text,) = next(iter(example.labels.values()))
    return tuple(one for one in (text, *example.others) if one is not None)


def floors(predictor: Predictor, corpus: Corpus, examples: Sequence[Example], recipe: Recipe) -> Mapping[str, Scores]:
    """What is reached without a network, on the same items as the model's."""
    ignore, separator = recipe.data.ignore, recipe.data.separator
    if recipe.task.kind in TEXT_TASKS:
        return dict(plain_floors(predictor, corpus.train, examples))
    if predictor.writes:
        known = [example for example in examples if right_texts(example)]
        right = [right_texts(example) for example in known]
        return {
            name: TextScores(answered, right, bleu_tokens=recipe.output.bleu_tokens, asked=recipe.metric)
            for name, answered in text_floors(corpus.train, known).items()
        }
    if separator is not None:
        return dict(class_floors(corpus.train, examples, corpus.columns, separator))
    if recipe.task.kind == "forecast":
        return dict(ahead_floors(corpus.train, examples, corpus.columns))
    if recipe.task.kind == "regress":
        return dict(number_floors(corpus.train, examples, corpus.columns, ignore))
    return dict(label_floors(corpus.train, examples, corpus.columns, ignore, scheme=recipe.output.scheme))


def _names(predictor: Predictor, column: str) -> Sequence[str]:
    target = predictor.targets[column]
    assert isinstance(target, Labels | Classes)
    return target.names
