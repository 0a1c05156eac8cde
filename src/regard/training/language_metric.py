"""How good a model of language is: how probable it holds what stands in texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.training.scores import Metric, Weights
from regard.training.text_metric import perplexity

# Of one text: its log-probability, how many pieces were asked for, how many of these were right, and its letters.
Told = tuple[float, int, int, int]


@dataclass(frozen=True)
class LanguageScores:
    """What a model holds of texts, one after the other.

    told:   (items, 4), as `Told`
    masked: whether only what stands behind masks was asked for, and not the whole text
    """

    told: np.ndarray
    masked: bool

    @classmethod
    def of(cls, told: Iterable[Told], *, masked: bool) -> LanguageScores:
        return cls(np.array(list(told), dtype=np.float64).reshape(-1, 4), masked)

    @property
    def items(self) -> int:
        return len(self.told)

    @property
    def given(self) -> np.ndarray:
        """(items, 2): log-probability and pieces of each text."""
        return self.told[:, :2]

    def values(self, weights: Weights | None = None) -> dict[str, float]:
        """All scores by name; without weights each item counts once."""
        counted = np.ones(self.items) if weights is None else weights
        metrics = MASKED_METRICS if self.masked else LANGUAGE_METRICS
        return {name: metric.of(self, counted) for name, metric in metrics.items()}


def character_perplexity(scores: LanguageScores, weights: Weights) -> float:
    """The same for each letter of the texts: so models with other pieces can be compared."""
    sums = weights @ scores.told
    return math.exp(min(700.0, -float(sums[0]) / max(1.0, float(sums[3]))))


def accuracy(scores: LanguageScores, weights: Weights) -> float:
    """The share of what stands behind masks that is answered right."""
    sums = weights @ scores.told
    return float(sums[2]) / max(1.0, float(sums[1]))


LANGUAGE_METRICS: dict[str, Metric] = {
    "perplexity": Metric(perplexity, sign=-1, share=False),
    "character_perplexity": Metric(character_perplexity, sign=-1, share=False),
}

MASKED_METRICS: dict[str, Metric] = {
    "perplexity": Metric(perplexity, sign=-1, share=False),
    "accuracy": Metric(accuracy),
}


class Unigram:
    """Holds each piece as probable as it is frequent, whatever stands around it; what never came counts once.

    Source of counting everything once more: Laplace; Jurafsky & Martin, "Speech and Language Processing", 3rd edition,
    section 3.6.1.
    """

    def __init__(self, texts: Iterable[Sequence[int]], pieces: int) -> None:
        self.counts: Counter[int] = Counter()
        for text in texts:
            self.counts.update(text)
        self.total = self.counts.total() + pieces
        self.most = min(self.counts, key=lambda piece: (-self.counts[piece], piece), default=0)

    def told(self, asked: Sequence[int], letters: int) -> Told:
        """What it holds of some pieces."""
        log_probability = sum(math.log((self.counts[piece] + 1) / self.total) for piece in asked)
        return log_probability, len(asked), sum(piece == self.most for piece in asked), letters
