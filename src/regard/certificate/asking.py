"""Asking a model in one way, and how far what was found lies from what another way finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.certificate.ways import USUAL, Note, Way
from regard.data.batching import Batch, Item
from regard.data.labels import Labels
from regard.data.target import Classes, Texts
from regard.decode.search import Hypothesis
from regard.models.inputs import Inputs
from regard.models.model import EncoderDecoderModel
from regard.models.outputs import SoftmaxHead, log_probabilities
from regard.models.spelling import Speller
from regard.predict import Predictor

# How far scores may lie apart: sums are taken in another order in another batch. The answer may differ only where the
# two best lie no further apart.
THRESHOLD = 1e-4

# Speech that comes bit by bit comes by so many samples.
_BIT = 4001


@dataclass(frozen=True)
class Found:
    """What a model says to one item in one way.

    scores:  what is compared, for each column: probabilities of all labels, classes or next pieces, (answers, labels);
             numbers in units of their spread
    raw:     (answers, labels), what the output part gives, for each column
    answers: for each column the answer, as numbers; of numbers nothing, since their scores are the answer
    score:   what a text was chosen by, where one was written
    likely:  the log-probability of the text that was told, for each piece, which is compared too
    """

    scores: Mapping[str, Tensor]
    raw: Mapping[str, Tensor]
    answers: Mapping[str, tuple[Any, ...]]
    score: float | None = None
    likely: float = 0.0


def ask(predictor: Predictor, items: Sequence[Item], way: Way = USUAL) -> tuple[list[Found], Note]:
    """What the model says to each item in this way, and what the way has noted."""
    model = predictor.model
    found: list[Found | None] = [None] * len(items)
    training = model.training
    model.eval()
    try:
        with way.around(model) as note, torch.inference_mode(not way.gradients):
            for batch in way.cut(items, predictor.batch_tokens):
                batch = batch.to(predictor.device)
                for row, one in zip(batch.items, _of_batch(predictor, batch, items, way), strict=True):
                    found[row] = one
    finally:
        model.train(training)
    return [one for one in found if one is not None], note


def scores_of(predictor: Predictor, inputs: Inputs, way: Way) -> dict[str, Tensor]:
    """The output part's scores of each column, (batch, answers, labels)."""
    model = predictor.model
    if way.streams:
        return _streamed(predictor, inputs)
    if not way.steps:
        return model(inputs)
    assert isinstance(model, EncoderDecoderModel)
    memory, mask = model.read(inputs)
    cache = model.decoder.cache()
    steps = [model.write(numbers, memory, mask, cache) for numbers in inputs["written"].split(1, 1)]
    return {column: torch.cat([step[column] for step in steps], 1) for column in steps[0]}


def _streamed(predictor: Predictor, inputs: Inputs) -> dict[str, Tensor]:
    """The scores of recordings that come in pieces."""
    speller = predictor.answering
    assert isinstance(speller, Speller)
    rows = [
        torch.cat(list(speller.heard(samples[:count].cpu().numpy()[at : at + _BIT] for at in range(0, count, _BIT))))
        for samples, count in zip(inputs["samples"], inputs["sample_counts"].tolist(), strict=True)
    ]
    return {speller.column: torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)}


def _of_batch(predictor: Predictor, batch: Batch, items: Sequence[Item], way: Way) -> list[Found]:
    raw = {column: scores.detach() for column, scores in scores_of(predictor, batch.inputs, way).items()}
    with torch.inference_mode():
        if predictor.writer is not None:
            (column,) = raw
            shares = raw[column].float().softmax(-1)
            texts = predictor.writer.search(batch.inputs)
            return [
                _of_text(raw[column][row], shares[row], column, items[number], texts[row], predictor, way)
                for row, number in enumerate(batch.items)
            ]
        lengths = batch.inputs["answers"]
        heads = {column: predictor.model.output.head(column) for column in raw}
        best = {column: head.best(raw[column], lengths) for column, head in heads.items()}
        shares_of = {
            column: head.probabilities(raw[column], lengths) if isinstance(head, SoftmaxHead) else best[column]
            for column, head in heads.items()
        }
    return [
        Found(
            scores={column: shares_of[column][row, : items[number].answers].cpu() for column in raw},
            raw={column: raw[column][row, : items[number].answers].cpu() for column in raw},
            answers={column: _answer(predictor, column, best[column][row, : items[number].answers]) for column in raw},
        )
        for row, number in enumerate(batch.items)
    ]


def _answer(predictor: Predictor, column: str, best: Tensor) -> tuple[Any, ...]:
    target = predictor.targets[column]
    if isinstance(target, Classes):
        return tuple(share > target.threshold for share in best.flatten().tolist())
    return tuple(best.tolist()) if isinstance(target, Labels) else ()


def _of_text(
    raw: Tensor, shares: Tensor, column: str, item: Item, texts: Sequence[Hypothesis], predictor: Predictor, way: Way
) -> Found:
    """What is said to the item's text (`telling` has put one there), and what the search writes."""
    pieces = torch.tensor(item.labels[column], device=raw.device)
    text = texts[0] if texts else Hypothesis((), -torch.inf, -torch.inf, cut=True)
    total = float(log_probabilities(raw[None, : len(pieces)], pieces[None]))
    if way.steps and _pieces(text, predictor) == item.labels[column]:
        total = text.log_probability
    return Found(
        scores={column: shares[: len(pieces)].cpu()},
        raw={},
        answers={column: text.tokens},
        score=text.score,
        likely=total / len(pieces),
    )


def telling(predictor: Predictor, items: Sequence[Item]) -> list[Item]:
    """The items with what the model itself writes as their texts, where it writes: so each way can be told the same."""
    writes = predictor.writes
    writer = predictor.writer
    if writes is None or writer is None:
        return list(items)
    column, told = writer.column, list(items)
    training = predictor.model.training
    predictor.model.eval()
    try:
        with torch.inference_mode():
            for batch in USUAL.cut(items, predictor.batch_tokens):
                for number, texts in zip(batch.items, writer.search(batch.to(predictor.device).inputs), strict=True):
                    told[number] = with_text(
                        items[number], column, _pieces(texts[0] if texts else None, predictor), writes
                    )
    finally:
        predictor.model.train(training)
    return told


def with_text(item: Item, column: str, pieces: Sequence[int], writes: Texts) -> Item:
    """The item with another text, as pieces."""
    written = (writes.start, *pieces[:-1])
    return replace(item, labels={column: tuple(pieces)}, answers=len(pieces), written=written)


def _pieces(text: Hypothesis | None, predictor: Predictor) -> tuple[int, ...]:
    """All that is learnt of a text: its symbols, and its end where it was not cut."""
    assert predictor.writes is not None
    end = (predictor.writes.end,)
    if text is None:
        return end
    return (text.tokens if text.cut else (*text.tokens, *end)) or end


@dataclass(frozen=True)
class Distance:
    """How far what two ways found lies apart.

    scores:  the largest difference; None where one is not finite
    answers: how many answers differ
    ties:    how many of these may, since the two answers are as good as each other
    """

    scores: float | None
    answers: int
    ties: int

    @property
    def near(self) -> bool:
        """Whether this is the same."""
        return self.scores is not None and self.scores <= THRESHOLD and self.answers == self.ties


def distance(predictor: Predictor, one: Sequence[Found], other: Sequence[Found]) -> Distance:
    """How far what two ways found for the same items lies apart."""
    largest: float | None = 0.0
    answers = ties = 0
    for here, there in zip(one, other, strict=True):
        compared = [(scores, there.scores[name]) for name, scores in here.scores.items()]
        for scores, others in (*compared, (torch.tensor(here.likely), torch.tensor(there.likely))):
            apart = _apart(scores, others)
            largest = None if largest is None or apart is None else max(largest, apart)
        for column, answer in here.answers.items():
            if answer != there.answers[column]:
                answers += 1
                ties += _between(predictor, column, here, there) <= THRESHOLD
    return Distance(largest, answers, ties)


def _apart(one: Tensor, other: Tensor) -> float | None:
    """The largest difference; None where it is not finite."""
    if one.shape != other.shape:
        return None
    apart = torch.where(one == other, torch.zeros_like(one), (one - other).abs())
    largest = float(apart.max()) if apart.numel() else 0.0
    return largest if torch.isfinite(apart).all() else None


def _between(predictor: Predictor, column: str, one: Found, other: Found) -> float:
    """How far apart two answers to an item lie in what the first way found: in log-probability, or of several classes
    in how far they are from being decided otherwise."""
    target, head = predictor.targets[column], predictor.model.output.head(column)
    if one.score is not None and other.score is not None:
        return abs(one.score - other.score)
    if isinstance(target, Classes):
        pairs = zip(one.answers[column], other.answers[column], one.scores[column].flatten().tolist(), strict=True)
        return max(abs(share - target.threshold) for answer, another, share in pairs if answer != another)
    raw = one.raw[column][None].to(predictor.device)
    lengths = torch.tensor([raw.shape[1]], device=predictor.device)
    likely = [
        head.negative_log_likelihood(raw, torch.tensor([found.answers[column]], device=predictor.device), lengths)
        for found in (one, other)
    ]
    return abs(float(likely[0].detach()) - float(likely[1].detach()))
