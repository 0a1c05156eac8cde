"""How good texts are that were written: each is held against the right ones, and counts are summed over all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from regard.training.scores import Metric, Weights

# jiwer's names of what is changed, missing and too many.
_KINDS = ("substitute", "delete", "insert")

# A text's log-probability, and how many pieces it has.
Given = tuple[float, int]


@dataclass
class TextScores:
    """Written texts beside the right ones, item by item.

    answered:    what was written
    right:       what would be right: one text, or several that are all right
    given:       how probable the model holds the first right one
    bleu_tokens: how BLEU splits texts into words, sacrebleu's name
    asked:       the score that is wanted in any case
    """

    answered: Sequence[str]
    right: Sequence[tuple[str, ...]]
    given: Sequence[Given] = ()
    bleu_tokens: str = "13a"
    asked: str = ""

    @property
    def items(self) -> int:
        return len(self.answered)

    def values(self, weights: Weights | None = None) -> dict[str, float]:
        """All scores by name; without weights each item counts once."""
        counted = np.ones(self.items) if weights is None else weights
        return {name: metric.of(self, counted) for name, metric in TEXT_METRICS.items() if self._has(name)}

    def _has(self, name: str) -> bool:
        """Whether a metric tells something here: BLEU, chrF and errors among words nothing of texts of one word."""
        if name == "perplexity":
            return bool(self.given) or not self.items
        return name == self.asked or self._of_words or name not in ("bleu", "chrf", "word_errors")

    @cached_property
    def _of_words(self) -> bool:
        """Whether the right texts have two words and more, on average."""
        words = sum(len(texts[0].split()) for texts in self.right)
        return words >= 2 * self.items or self.bleu_tokens in ("zh", "char")

    @property
    def signatures(self) -> dict[str, str]:
        """How BLEU and chrF were computed, as sacrebleu says it."""
        if not self.items or not self._has("bleu"):
            return {}
        found = {}
        for name, metric in _sacrebleu(self.bleu_tokens).items():
            # It knows its signature only then: how many right texts there are is part of it.
            metric.corpus_score(list(self.answered), _side_by_side(self.right))
            found[name] = str(metric.get_signature())
        return found

    @property
    def edits(self) -> dict[str, str]:
        """What the errors among words and letters are, where they are counted."""
        found = {}
        for name in ("word_errors", "character_errors"):
            if self.items and self._has(name):
                changed, missing, more, of = (int(count) for count in getattr(self, name).sum(0))
                found[name] = f"{changed} substitutions, {missing} deletions, {more} insertions, of {of}"
        return found

    @cached_property
    def exact(self) -> np.ndarray:
        """(items,): whether each is right."""
        return np.array([a in right for a, right in zip(self.answered, self.right, strict=True)], dtype=np.float64)

    @cached_property
    def word_errors(self) -> np.ndarray:
        """(items, 4): words that are changed, missing and too many, and the words of the right text."""
        return _errors(self.answered, self.right, "process_words")

    @cached_property
    def character_errors(self) -> np.ndarray:
        """(items, 4): the same of letters and signs."""
        return _errors(self.answered, self.right, "process_characters")

    @cached_property
    def bleu(self) -> np.ndarray:
        """(items, counts): what BLEU counts of each item."""
        return self._statistics("bleu")

    @cached_property
    def chrf(self) -> np.ndarray:
        """(items, counts): what chrF counts of each item."""
        return self._statistics("chrf")

    def _statistics(self, name: str) -> np.ndarray:
        metric = _sacrebleu(self.bleu_tokens)[name]
        right = _side_by_side(self.right)
        return np.array(metric._extract_corpus_statistics(list(self.answered), right), dtype=np.float64)


def _side_by_side(right: Sequence[tuple[str, ...]]) -> list[list[str | None]]:
    """The first right text of each item, the second of each, and so on, as sacrebleu takes them; None where an item has
    fewer."""
    most = max(map(len, right), default=1)
    return [[texts[n] if n < len(texts) else None for texts in right] for n in range(most)]


def _errors(answered: Sequence[str], right: Sequence[tuple[str, ...]], process: str) -> np.ndarray:
    """(items, 4): the fewest errors of each kind against any of the right texts, and that text's length; counted by
    jiwer."""
    import jiwer

    if not answered:
        return np.zeros((0, 4))
    pairs = [(text, answer) for answer, texts in zip(answered, right, strict=True) for text in texts]
    found = getattr(jiwer, process)([text for text, _ in pairs], [answer for _, answer in pairs])
    each = [(*_wrong(chunks), len(units)) for chunks, units in zip(found.alignments, found.references, strict=True)]
    ends = np.cumsum([len(texts) for texts in right]).tolist()
    groups = [each[end - len(texts) : end] for end, texts in zip(ends, right, strict=True)]
    return np.array([min(group, key=lambda one: sum(one[:3]) / max(1, one[3])) for group in groups], dtype=np.float64)


def _wrong(chunks) -> tuple[int, ...]:  # type: ignore[no-untyped-def]
    """How many units of an aligned text are changed, missing and too many."""
    lengths = [
        (chunk.type, max(chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx))
        for chunk in chunks
    ]
    return tuple(sum(count for kind, count in lengths if kind == wanted) for wanted in _KINDS)


@lru_cache
def _sacrebleu(tokens: str):  # type: ignore[no-untyped-def]
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return {"bleu": BLEU(tokenize=tokens), "chrf": CHRF()}


def exact(scores: TextScores, weights: Weights) -> float:
    """The share of texts that are right to the letter."""
    return float(weights @ scores.exact) / max(1.0, float(weights.sum()))


def word_errors(scores: TextScores, weights: Weights) -> float:
    """Words wrong, missing or too many, for each word of the right texts (word error rate; of phonemes, if texts are
    phonemes with spaces between). Source: Levenshtein 1966."""
    return _rate(weights @ scores.word_errors)


def character_errors(scores: TextScores, weights: Weights) -> float:
    """The same of letters and signs (character error rate)."""
    return _rate(weights @ scores.character_errors)


def _rate(sums: np.ndarray) -> float:
    return float(sums[:3].sum()) / max(1.0, float(sums[3]))


def bleu(scores: TextScores, weights: Weights) -> float:
    """How many runs of one to four words are shared with the right texts, 0 to 1.

    Source: Papineni et al. 2002, ACL; computed by sacrebleu (Post 2018, arXiv:1804.08771)."""
    return _sacrebleu_score("bleu", scores, weights)


def chrf(scores: TextScores, weights: Weights) -> float:
    """How many runs of one to six letters are shared, 0 to 1. Source: Popović 2015, WMT; computed by sacrebleu."""
    return _sacrebleu_score("chrf", scores, weights)


def _sacrebleu_score(name: str, scores: TextScores, weights: Weights) -> float:
    if not scores.items:
        return 0.0
    sums = (weights @ getattr(scores, name)).tolist()
    metric = _sacrebleu(scores.bleu_tokens)[name]
    return float(metric._compute_score_from_stats([int(total) for total in sums]).score) / 100


class _Told(Protocol):
    """Scores that know how probable texts were held."""

    @property
    def given(self) -> Sequence[Given] | np.ndarray: ...


def perplexity(scores: _Told, weights: Weights) -> float:
    """Between how many pieces the model wavers on average when it is told the right beginning."""
    sums = weights @ np.array(scores.given, dtype=np.float64).reshape(-1, 2)
    return math.exp(min(700.0, -float(sums[0]) / max(1.0, float(sums[1]))))


TEXT_METRICS: dict[str, Metric] = {
    "exact": Metric(exact),
    "bleu": Metric(bleu),
    "chrf": Metric(chrf),
    "word_errors": Metric(word_errors, sign=-1),
    "character_errors": Metric(character_errors, sign=-1),
    "perplexity": Metric(perplexity, sign=-1, share=False),
}
