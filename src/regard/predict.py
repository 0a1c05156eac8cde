"""Items -> answers: encoding, batching, answering, restoring order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch

from regard.data.batching import Item, batches
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.tokenizer import Tokenizer
from regard.errors import ShapeError
from regard.models.model import EncoderModel

# So many examples are sorted by length at a time; memory does not grow with the file.
_AT_A_TIME = 2048


@dataclass(frozen=True)
class Tagged:
    """An example with the labels that the model gave it.

    columns:       for each target column, a label for each word
    probabilities: for each target column, how probable the model holds each of those labels
    """

    words: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    probabilities: Mapping[str, tuple[float, ...]]
    example: Example = field(repr=False, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the first target column."""
        return next(iter(self.columns.values()))


@dataclass
class Predictor:
    """A model with all it needs to read and to answer."""

    model: EncoderModel
    tokenizer: Tokenizer
    labels: Mapping[str, Labels]
    batch_tokens: int

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def item(self, example: Example) -> Item:
        """The example as numbers."""
        return Item(
            encoded=self.tokenizer.encode(example.words),
            labels={
                column: labels.encode(example.labels[column])
                for column, labels in self.labels.items()
                if column in example.labels
            },
            words=len(example.words),
        )

    def predict(self, examples: Iterable[Example]) -> Iterator[Tagged]:
        """An answer for each example, in the same order."""
        examples = iter(examples)
        while chunk := list(islice(examples, _AT_A_TIME)):
            yield from self._answer(chunk)

    def _answer(self, examples: Sequence[Example]) -> list[Tagged]:
        nothing: dict[str, tuple[str, ...]] = dict.fromkeys(self.labels, ())
        answers = [Tagged((), nothing, dict.fromkeys(self.labels, ()), example) for example in examples]
        full = [number for number, example in enumerate(examples) if example.words]
        items = [self.item(examples[number]) for number in full]
        # A model that trains and evaluates in turns goes back to where it was.
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                for batch in batches(items, self.batch_tokens):
                    numbers = [full[item] for item in batch.items]
                    scores = self._scores(batch.to(self.device).inputs, [examples[number] for number in numbers])
                    for row, number in enumerate(numbers):
                        answers[number] = self._tagged(examples[number], scores, row)
        finally:
            self.model.train(training)
        return answers

    def _scores(
        self, inputs: dict[str, torch.Tensor], examples: Sequence[Example]
    ) -> dict[str, tuple[list[list[int]], list[list[float]]]]:
        """For each column, the numbers of the best labels and their probabilities."""
        try:
            scores = self.model(inputs)
        except ShapeError as error:
            longest = max(examples, key=lambda example: len(example.words))
            raise ShapeError(f"{longest.place}: {error}") from None
        found = {}
        for column, of_column in scores.items():
            head = self.model.output.head(column)
            best = head.best(of_column, inputs["words"])
            probabilities = head.probabilities(of_column, inputs["words"])
            certain = probabilities.gather(-1, best[..., None])[..., 0]
            found[column] = best.tolist(), certain.tolist()
        return found

    def _tagged(
        self, example: Example, scores: Mapping[str, tuple[list[list[int]], list[list[float]]]], row: int
    ) -> Tagged:
        words = len(example.words)
        return Tagged(
            words=example.words,
            columns={
                column: tuple(self.labels[column].names[number] for number in best[row][:words])
                for column, (best, _) in scores.items()
            },
            probabilities={column: tuple(certain[row][:words]) for column, (_, certain) in scores.items()},
            example=example,
        )
