"""Items -> answers: encoding, batching, answering, restoring order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch

from regard.data.batching import Item, batches
from regard.data.example import Example
from regard.data.target import Certainty, Target
from regard.data.tokenizer import Tokenizer
from regard.errors import ShapeError
from regard.models.model import EncoderModel

# So many examples are sorted by length at a time; memory does not grow with the file.
_AT_A_TIME = 2048


@dataclass(frozen=True)
class Answer:
    """An example with what the model answered.

    columns:       for each target column, an answer for each word, or one for the whole
    probabilities: for each target column with labels, how probable the model holds each of those answers; where an
                   answer is several classes, how probable it holds each class there is
    """

    words: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    probabilities: Mapping[str, tuple[Certainty, ...]]
    example: Example = field(repr=False, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers of the first target column: a label for each word."""
        return next(iter(self.columns.values()))

    @property
    def label(self) -> str:
        """The one answer of the first target column: a class."""
        (only,) = self.labels
        return only

    @property
    def number(self) -> float:
        """The one answer of the first target column: a number."""
        return float(self.label)


@dataclass
class Predictor:
    """A model with all it needs to read and to answer.

    whole: whether there is one answer for the whole example, and not one for each word
    """

    model: EncoderModel
    tokenizer: Tokenizer
    targets: Mapping[str, Target]
    batch_tokens: int
    whole: bool = False

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def item(self, example: Example) -> Item:
        """The example as numbers. Where the whole has one answer, a text without words is one unknown word."""
        words = example.words or ("",) if self.whole else example.words
        return Item(
            encoded=self.tokenizer.encode(words),
            labels={
                column: target.encode(example.labels[column])
                for column, target in self.targets.items()
                if column in example.labels
            },
            words=len(words),
            answers=1 if self.whole else len(example.words),
        )

    def predict(self, examples: Iterable[Example]) -> Iterator[Answer]:
        """An answer for each example, in the same order."""
        examples = iter(examples)
        while chunk := list(islice(examples, _AT_A_TIME)):
            yield from self._answer(chunk)

    def _answer(self, examples: Sequence[Example]) -> list[Answer]:
        answers: list[Answer | None] = [None] * len(examples)
        items = [self.item(example) for example in examples]
        # Without an element there is nothing to attend to, and no labels are asked for.
        full = [number for number, item in enumerate(items) if item.length]
        for number, example in enumerate(examples):
            if not items[number].length:
                nothing: dict[str, tuple[Any, ...]] = dict.fromkeys(self.targets, ())
                answers[number] = Answer(example.words, nothing, nothing, example)
        # A model that trains and evaluates in turns goes back to where it was.
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                for batch in batches([items[number] for number in full], self.batch_tokens):
                    numbers = [full[item] for item in batch.items]
                    found = self._found(batch.to(self.device).inputs, [examples[number] for number in numbers])
                    for row, number in enumerate(numbers):
                        answers[number] = self._as_answer(examples[number], found, row, items[number].answers)
        finally:
            self.model.train(training)
        return [answer for answer in answers if answer is not None]

    def _found(
        self, inputs: dict[str, torch.Tensor], examples: Sequence[Example]
    ) -> dict[str, tuple[list[list[float]], list[list[float]] | None]]:
        """For each column, the best answers as numbers, and their probabilities."""
        try:
            scores = self.model(inputs)
        except ShapeError as error:
            longest = max(examples, key=lambda example: len(example.words))
            raise ShapeError(f"{longest.place}: {error}") from None
        found = {}
        for column, of_column in scores.items():
            head = self.model.output.head(column)
            best = head.best(of_column, inputs["answers"])
            certain = head.certainty(of_column, best, inputs["answers"])
            found[column] = best.tolist(), None if certain is None else certain.tolist()
        return found

    def _as_answer(
        self,
        example: Example,
        found: Mapping[str, tuple[list[list[float]], list[list[float]] | None]],
        row: int,
        answers: int,
    ) -> Answer:
        return Answer(
            words=example.words,
            columns={
                column: tuple(map(self.targets[column].decode, best[row][:answers]))
                for column, (best, _) in found.items()
            },
            probabilities={
                column: tuple(map(self.targets[column].certainty, certain[row][:answers]))
                for column, (_, certain) in found.items()
                if certain is not None
            },
            example=example,
        )
