"""Where two runs differ: by label, by length, by words that their vocabularies know and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.comparison.both import f1_of_each, length, one_score
from regard.comparison.paired import Difference, paired
from regard.data.example import Example
from regard.data.tokenizer import WordTokenizer
from regard.data.vocabulary import UNKNOWN
from regard.predict import Answer
from regard.run import Run
from regard.training.label_metric import Tally, count_labels
from regard.training.metric import LabelScores, Scores

# At most so many labels, the most frequent, and so many stretches of lengths are told apart.
_LABELS = 30
_STRETCHES = 4


@dataclass(frozen=True)
class Row:
    """A part of the data: its name, how many labels, items or words it has, and how far the runs are apart there."""

    name: str
    count: int
    difference: Difference


@dataclass(frozen=True)
class Part:
    """One way to part the data. name: by what; counted: what its rows count; metric: what differs."""

    name: str
    counted: str
    metric: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Answered:
    """Both runs' answers to the same items, and how they are drawn.

    scores: those of the first run before those of the second
    """

    runs: tuple[Run, Run]
    answers: tuple[Sequence[Answer], Sequence[Answer]]
    scores: Scores
    trials: int
    seed: int

    @property
    def items(self) -> int:
        return len(self.answers[0])

    @property
    def examples(self) -> list[Example]:
        return [answer.example for answer in self.answers[0]]


def parts(both: Answered, metric: str) -> list[Part]:
    """All ways to part this data that tell something."""
    found = [*_by_label(both), *_by_length(both, metric), *_by_word(both)]
    return [part for part in found if part.rows]


def _by_label(both: Answered) -> Iterator[Part]:
    """Each label's F1, or each kind of span's."""
    if not isinstance(both.scores, LabelScores):
        return
    once = np.repeat([1, 0], both.items)
    for column, counts in both.scores.columns.items():
        tally = counts.spans or counts.labels
        rows = _labels(both, tally, tally.gold.of_each(once))
        yield Part(f"Each {'kind of span' if counts.spans else 'label'} of {column}", "count", "F1", rows)


def _labels(both: Answered, tally: Tally, often: np.ndarray) -> list[Row]:
    names = tally.gold.names
    order = sorted(range(len(names)), key=lambda number: (-often[number], names[number]))[:_LABELS]
    if not order:
        return []
    found = paired(f1_of_each(tally, order), both.items, trials=both.trials, seed=both.seed).differences
    return [Row(names[number], int(often[number]), of) for number, of in zip(order, found, strict=True)]


def _by_length(both: Answered, metric: str) -> Iterator[Part]:
    """The metric among items of like length."""
    letters = all(len(example.words) < 2 for example in both.examples)
    lengths = np.array([length(example, letters) for example in both.examples])
    unit, measure, rows = "letters" if letters else "words", one_score(both.scores, metric), []
    for low, high in stretches(lengths):
        among = np.flatnonzero((low <= lengths) & (lengths <= high))
        (found,) = paired(measure, both.items, among=among, trials=both.trials, seed=both.seed).differences
        rows.append(Row(f"{low} to {high} {unit}" if low < high else f"{low} {unit}", len(among), found))
    yield Part("By length", "items", metric, rows if len(rows) > 1 else [])


def stretches(lengths: np.ndarray) -> list[tuple[int, int]]:
    """Stretches of lengths (first, last) that have about as many items each, and two or more."""
    shares = np.arange(1, _STRETCHES + 1) / _STRETCHES
    found, low = [], int(lengths.min())
    for high in np.unique(np.quantile(lengths, shares, method="lower")).tolist():
        if ((low <= lengths) & (lengths <= high)).sum() > 1:
            found.append((low, high))
            low = high + 1
    # The longest, where it is one alone, stands with those before it.
    return [*found[:-1], (found[-1][0], int(lengths.max()))]


def _by_word(both: Answered) -> Iterator[Part]:
    """The accuracy of words that both vocabularies know, and of the others, where each word has a label."""
    if not isinstance(both.scores, LabelScores) or both.scores.whole:
        return
    tokenizers = [run.predictor.tokenizer for run in both.runs]
    known = [_knows(tokenizer) for tokenizer in tokenizers if isinstance(tokenizer, WordTokenizer)]
    if len(known) < len(tokenizers):
        return
    rows = []
    for name, wanted in (("in both vocabularies", True), ("others", False)):
        chosen = [[all(knows(word) for knows in known) == wanted for word in e.words] for e in both.examples]
        rows += _words(both, name, chosen)
    yield Part("Words that training saw often enough, and others", "words", "accuracy", rows)


def _knows(tokenizer: WordTokenizer) -> Callable[[str], bool]:
    unknown = tokenizer.words.number(UNKNOWN)
    return lambda word: tokenizer.words.number(tokenizer.look_up(word)) != unknown


def _words(both: Answered, name: str, chosen: Sequence[Sequence[bool]]) -> list[Row]:
    """A row for some words of each item; nothing where they stand in fewer than two items."""
    pairs = [
        (answer.columns, {column: _only(labels, of) for column, labels in answer.example.labels.items()})
        for answers in both.answers
        for answer, of in zip(answers, chosen, strict=True)
    ]
    scores = count_labels(pairs, both.runs[0].recipe.data.ignore)
    among = np.flatnonzero([any(of) for of in chosen])
    if len(among) < 2:
        return []
    measure = one_score(scores, "accuracy")
    (found,) = paired(measure, both.items, among=among, trials=both.trials, seed=both.seed).differences
    return [Row(name, sum(map(sum, chosen)), found)]


def _only(labels: Sequence[str | None], chosen: Sequence[bool]) -> tuple[str | None, ...]:
    return tuple(label if wanted else None for label, wanted in zip(labels, chosen, strict=True))
