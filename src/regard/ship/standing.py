"""Graphs in the place of the model that they were drawn from: all else asks them as it asks the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import torch
from torch import Tensor

from regard.decode.search import Hypothesis
from regard.models.answering import best_of_each
from regard.models.generate import Writer
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel, EncoderModel
from regard.predict import Predictor
from regard.ship.formats import Runner
from regard.ship.graph import inputs_of, output_name
from regard.ship.packed import packed_width

# Texts are compared up to so many pieces.
LONGEST = 30


def standing_in(predictor: Predictor, runs: Mapping[str, Runner]) -> Predictor:
    """The same predictor, asked by way of graphs.

    runs: what asks each graph, by its name
    """
    model = predictor.model
    if isinstance(model, EncoderModel):
        whole = _Answers(model, runs["model"]).train(model.training)  # it has the model's own parts
        return replace(predictor, model=whole, answering=best_of_each(whole))
    assert isinstance(model, EncoderDecoderModel) and isinstance(predictor.answering, Writer)
    writes = _Writes(model, runs["encoder"], runs["step"]).train(model.training)
    writer = predictor.answering
    settings = {field.name: getattr(writer, field.name) for field in fields(writer)}
    return replace(predictor, model=writes, answering=_GraphWriter(**{**settings, "model": writes}))


def plainly(predictor: Predictor) -> Predictor:
    """The same, writing the best next piece each time, whatever `[decode]` asks: how texts are searched for is no part
    of a graph."""
    writer = predictor.answering
    if not isinstance(writer, Writer):
        return predictor
    greedy = replace(writer.greedy(LONGEST), filters=(), shortest=0)
    return replace(predictor, answering=greedy)


class _Answers(EncoderModel):
    """A graph that answers at once."""

    def __init__(self, model: EncoderModel, run: Runner) -> None:
        super().__init__(model.input, model.encoder, model.gather, model.output)
        self.run = run

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        found = self.run(inputs_of(inputs))
        return {column: found[output_name(column)] for column in self.output.columns}


class _Writes(EncoderDecoderModel):
    """Two graphs that write: one reads, one writes a piece more."""

    def __init__(self, model: EncoderDecoderModel, read: Runner, step: Runner) -> None:
        super().__init__(model.input, model.encoder, model.written, model.decoder, model.output)
        self.run_read, self.run_step = read, step
        self.packed = packed_width(model)

    def begin(self, inputs: Inputs) -> Inputs:
        """What a step is given beside the latest pieces: what was read, and that nothing is written yet."""
        memory = self.run_read(inputs_of(inputs))["memory"]
        past = memory.new_zeros(len(memory), 0, self.packed)
        return {"memory": memory, "lengths": inputs["lengths"], "past": past}

    def step(self, numbers: Tensor, given: Inputs) -> tuple[dict[str, Tensor], Inputs]:
        """The columns' scores, (batch, 1, pieces), and what the next step is given. numbers: (batch, 1)"""
        found = self.run_step({"written": numbers, **given})
        scores = {column: found[output_name(column)] for column in self.output.columns}
        return scores, {**given, "past": found["past"]}

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """All places at once, by writing them one after the other."""
        given, steps = self.begin(inputs), []
        for numbers in inputs["written"].split(1, 1):
            scores, given = self.step(numbers, given)
            steps.append(scores)
        return {column: torch.cat([step[column] for step in steps], 1) for column in steps[0]}


class _GraphWriter(Writer):
    """Writes by way of graphs, with a loop as those have who know nothing of regard: the best next piece each time."""

    def search(self, inputs: Inputs, count: int = 1) -> list[list[Hypothesis]]:
        assert isinstance(self.model, _Writes)
        limits, given = [limit - 1 for limit in self.limits(inputs)], self.model.begin(inputs)  # without the end
        texts: list[list[int]] = [[] for _ in limits]
        likely, done = [0.0] * len(limits), [False] * len(limits)
        numbers = torch.full((len(limits), 1), self.start)
        for length in range(1, max(limits) + 1):
            scores, given = self.model.step(numbers, given)
            found = scores[self.column][:, -1].log_softmax(-1).index_fill(-1, torch.tensor(self.forbidden), -torch.inf)
            numbers = found.argmax(-1, keepdim=True)
            for row, number in enumerate(numbers[:, 0].tolist()):
                if not done[row]:
                    likely[row] += float(found[row, number])
                    done[row] = number == self.end or length == limits[row]
                    texts[row] += [] if number == self.end else [number]
            if all(done):
                break
        return [
            [Hypothesis(tuple(text), share, share, cut=len(text) == limit)]
            for text, share, limit in zip(texts, likely, limits, strict=True)
        ]
