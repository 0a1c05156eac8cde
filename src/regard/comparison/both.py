"""The answers of two runs as one set of scores, and what is measured of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.comparison.paired import Measure
from regard.data.example import Example
from regard.predict import Answer
from regard.run import Run
from regard.scoring import Scored, right_texts, score_answers
from regard.training.label_metric import LABEL_METRICS, Tally
from regard.training.metric import LabelScores, NumberScores, Scores, TextScores, Weights
from regard.training.number_metric import NUMBER_METRICS
from regard.training.text_metric import TEXT_METRICS


def both(run: Run, one: Scored, other: Scored) -> Scores:
    """Scores whose first half are one run's answers, and whose second half the other's."""
    if isinstance(one.scores, TextScores) and isinstance(other.scores, TextScores):
        return TextScores(
            [*one.scores.answered, *other.scores.answered],
            [*one.scores.right, *other.scores.right],
            [*one.scores.given, *other.scores.given],
            one.scores.bleu_tokens,
        )
    return score_answers(run.predictor, [*one.answers, *other.answers], run.recipe).scores


def counted(scored: Scored) -> Sequence[Answer]:
    """The answers that the scores' items are: of texts, those whose right text is known."""
    if not isinstance(scored.scores, TextScores):
        return scored.answers
    return [answer for answer in scored.answers if right_texts(answer.example)]


def every_score(scores: Scores) -> Measure:
    """All values of the scores, in their order."""
    return lambda weights: np.array(list(scores.values(weights).values()))


def one_score(scores: Scores, name: str) -> Measure:
    """One metric of the scores: exact is another of texts than of labels."""
    kinds = ((LabelScores, LABEL_METRICS), (NumberScores, NUMBER_METRICS), (TextScores, TEXT_METRICS))
    of = next(metrics for kind, metrics in kinds if isinstance(scores, kind))[name].of
    return lambda weights: np.array([of(scores, weights)])


def f1_of_each(tally: Tally, labels: Sequence[int]) -> Measure:
    """(labels,): the F1 of some labels, known by their numbers; 0 of one that neither stands nor is answered."""
    chosen = np.array(labels, dtype=np.int64)

    def measure(weights: Weights) -> np.ndarray:
        gold, predicted, right = (m.of_each(weights)[chosen] for m in (tally.gold, tally.predicted, tally.right))
        return 2 * right / np.maximum(1, gold + predicted)

    return measure


def losses(scores: Scores) -> np.ndarray:
    """(items,): how wrong each answer is: labels that are wrong, missing or too many; the share of a text's letters
    that is; how far numbers are from the true ones, in units of the spread of these."""
    if isinstance(scores, LabelScores):
        return _wrong_labels(scores)
    if isinstance(scores, NumberScores):
        return _distances(scores)
    assert isinstance(scores, TextScores)
    errors = scores.character_errors
    return errors[:, 0] / np.maximum(1, errors[:, 1])


def _wrong_labels(scores: LabelScores) -> np.ndarray:
    wrong = np.zeros(scores.items)
    for counts in scores.columns.values():
        tally = counts.labels
        for marks, sign in ((tally.gold, 1), (tally.predicted, 1), (tally.right, -2)):
            wrong += sign * np.bincount(marks.items, minlength=scores.items)
    return wrong


def _distances(scores: NumberScores) -> np.ndarray:
    apart = np.zeros(scores.items)
    for pairs in scores.columns.values():
        spread = float(pairs.true.std()) if len(pairs.true) else 0.0
        distance = np.abs(pairs.answered - pairs.true) / (spread or 1.0)
        apart += np.bincount(pairs.items, weights=distance, minlength=scores.items)
    return apart


def length(example: Example, letters: bool) -> int:
    """How many words an example has, or letters."""
    return sum(map(len, example.words)) if letters else len(example.words)
