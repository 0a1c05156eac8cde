"""A recipe's plain text -> what is learnt from, drawn anew for each epoch, and what is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.data.batching import Batch, Item, collate
from regard.data.example import Example
from regard.data.masking import anew
from regard.data.plain import PlainText, Split, evenly
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError
from regard.predict import Predictor
from regard.recipe.settings import Recipe
from regard.training.language_metric import LanguageScores, Told, Unigram

# The one column that is answered.
TEXT = "text"

# At most so many lines are set aside for dev, since it is asked again and again.
DEV_LINES = 2000

# So many lines, from everywhere in the text, teach the vocabulary and the floors.
LEARNT_FROM = 500_000

FLOOR = "how often each piece stands in train"


def read_texts(recipe: Recipe, paths: Sequence[str], split: Split) -> PlainText:
    """The lines of some files."""
    data = recipe.data
    return PlainText.of(paths, split, longest=data.longest, errors=data.encoding_errors)


def set_aside(recipe: Recipe, train: Sequence[Example]) -> list[Sequence[Example]]:
    """What is left to learn from, and what is set aside by chance: dev, or dev and test."""
    shares, random = recipe.data.split, np.random.default_rng(recipe.train.seed)
    order = random.permutation(len(train))
    part = np.zeros(len(train), dtype=np.int8)
    begin = 0
    for number, share in enumerate(shares, 1):
        count = min(DEV_LINES, max(1, round(share * len(train))))
        part[order[begin : begin + count]] = number
        begin += count
    if begin >= len(train):
        raise DataError(f"{len(train)} lines cannot be split into train and dev; give data.dev")
    return [_chosen(train, part == number) for number in range(len(shares) + 1)]


def _chosen(examples: Sequence[Example], chosen: np.ndarray) -> Sequence[Example]:
    if isinstance(examples, PlainText):
        return examples.take(chosen)
    return [examples[number] for number in np.flatnonzero(chosen).tolist()]


@dataclass(frozen=True)
class Drawn:
    """Items that are made of texts when they are asked for; where some pieces are masked, in each epoch others.

    seed: another seed, other masks
    """

    predictor: Predictor
    examples: Sequence[Example]
    seed: int

    @cached_property
    def sizes(self) -> np.ndarray:
        """(examples,): how long each is, in pieces."""
        begun = self.predictor.writes is not None
        lengths = (len(_tokenizer(self.predictor).numbers(example.words)) for example in self.examples)
        return np.fromiter(lengths, dtype=np.int32, count=len(self.examples)) + begun

    def item(self, number: int, epoch: int) -> Item:
        """One of them, as it is in that epoch."""
        example, masking = self.examples[number], self.predictor.masking
        if masking is None:
            return self.predictor.item(example)
        masked = masking.masked(example.words, anew(self.seed, epoch, number))
        return self.predictor.masked_item(example, masked)

    def batch(self, numbers: Sequence[int], epoch: int) -> Batch:
        made = collate([self.item(number, epoch) for number in numbers], range(len(numbers)))
        return Batch(made.inputs, made.labels, list(numbers))


def score_texts(predictor: Predictor, examples: Sequence[Example]) -> LanguageScores:
    """How probable the model holds what stands in texts, or behind their masks."""
    if predictor.masking is not None:
        behind = predictor.behind_masks(examples)
        told = [
            (one.log_probability, one.pieces, one.right, _letters(predictor, example))
            for one, example in zip(behind, examples, strict=True)
        ]
        return LanguageScores.of(told, masked=True)
    given = predictor.given(examples)
    told = [
        (one.log_probability, one.pieces, 0, _letters(predictor, example))
        for one, example in zip(given, examples, strict=True)
    ]
    return LanguageScores.of(told, masked=False)


def text_floors(
    predictor: Predictor, train: Sequence[Example], examples: Sequence[Example]
) -> Mapping[str, LanguageScores]:
    """What is reached by knowing how often each piece stands in train, on the same pieces as the model."""
    asked = _asked(predictor)
    pieces = next(iter(_tokenizer(predictor).sizes().values()))
    texts = (_tokenizer(predictor).numbers(example.words) for example in evenly(train, LEARNT_FROM))
    if predictor.writes is not None:  # a text's end is asked for too
        end = predictor.writes.end
        unigram = Unigram(((*text, end) for text in texts), pieces + 1)
    else:
        unigram = Unigram(texts, pieces)
    told: list[Told] = [unigram.told(asked(example), _letters(predictor, example)) for example in examples]
    return {FLOOR: LanguageScores.of(told, masked=predictor.masking is not None)}


def _asked(predictor: Predictor) -> Callable[[Example], Sequence[int]]:
    """Which pieces of an example are asked for."""
    (column,) = predictor.targets
    return lambda example: [int(piece) for piece in predictor.item(example).labels.get(column, ())]


def _tokenizer(predictor: Predictor) -> Tokenizer:
    assert isinstance(predictor.tokenizer, Tokenizer)
    return predictor.tokenizer


def _letters(predictor: Predictor, example: Example) -> int:
    return len(_tokenizer(predictor).joined(example.words))
