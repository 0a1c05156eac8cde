"""Whether a picture explains the answer: what happens to the answer when what the picture shows is taken away.

That a map need not explain anything: Jain & Wallace 2019, arXiv:1902.10186; switching heads off: Michel, Levy & Neubig
2019, arXiv:1905.10650, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.question import TILE_WEIGHTS
from regard.data.batching import Item, collate
from regard.data.example import Example
from regard.data.target import Classes, Numbers
from regard.look.intervene import Edit, changing, cut_of
from regard.models.generate import Writer
from regard.models.inputs import Inputs
from regard.models.outputs import Head
from regard.predict import Predictor

# So many edges of a head are taken for what its picture shows: those that are drawn most strongly.
EDGES = 5

# An effect below this is too small to speak of; above half, little of the answer is left.
SMALL, LARGE = 0.05, 0.5


@dataclass(frozen=True)
class Effect:
    """How an answer differs when something is taken away.

    most:    the largest change of an element's probability (of a number: in units of its spread)
    at:      which element of the answer that is
    mean:    the mean change of all elements
    changed: how many elements are answered otherwise (of a number: none)
    count:   how many elements the answer has
    """

    most: float
    at: int
    mean: float
    changed: int
    count: int
    number: bool = False

    def sentence(self, what: str, names: Sequence[str] = ()) -> str:
        """What was done and what it means for the picture, plainly. names: what the answer's elements are called"""
        unit = "the answer by up to {:.2f} of its spread" if self.number else "the answer's probability by up to {:.2f}"
        told = f"{what} changes {unit.format(self.most)}"
        if self.count > 1 and self.at < len(names) and self.most >= SMALL:
            told += f" (at “{names[self.at]}”)"
        if self.changed:
            told += f" and {self.changed} of {self.count} answers"
            return f"{told}: the answer depends on this."
        if self.most < SMALL:
            return f"{told}: this map does not explain it."
        if self.number:
            return f"{told}: it matters."
        return f"{told}, but no answer: it matters, and does not decide."


@dataclass(frozen=True)
class Asked:
    """One input and the answer that the model gave to it: what is held against when something is changed.

    example, item: what was asked, and the same as numbers
    inputs: a batch of one; with what was written, where a text is
    best:   for each column, the answer as numbers: (1, answers) or (1, answers, classes)
    """

    predictor: Predictor
    example: Example
    item: Item
    inputs: Inputs
    best: dict[str, Tensor]

    @classmethod
    def of(cls, predictor: Predictor, example: Example, inputs: Inputs | None = None) -> Asked:
        """inputs: with what was written, where that is known already."""
        item = predictor.item(example)
        inputs = collate([item], [0]).to(predictor.device).inputs if inputs is None else inputs
        with torch.inference_mode():
            scores = predictor.model(inputs)
        best = {column: _head(predictor, column).best(found, inputs["answers"]) for column, found in scores.items()}
        if isinstance(predictor.answering, Writer):
            ended = torch.tensor([[*inputs["written"][0, 1:].tolist(), predictor.answering.end]])
            best = {predictor.answering.column: ended.to(predictor.device)}
        return cls(predictor, example, item, inputs, best)

    def copies(self, count: int) -> Inputs:
        """The input so many times, side by side."""
        batch = collate([self.item] * count, range(count)).to(self.predictor.device).inputs
        for name in ("written", "answers"):
            if name in self.inputs:
                batch[name] = self.inputs[name].expand(count, *self.inputs[name].shape[1:])
        return batch

    def answers(self, count: int = 1) -> tuple[Tensor, Tensor]:
        """How probable the model holds the answer, for copies side by side, and what it would answer now.

        output: (count, elements) and the same, answers as numbers that are equal where answers are; the elements of
            all columns one after the other
        """
        inputs = self.copies(count)
        shares, answers = [], []
        with torch.inference_mode():
            for column, scores in self.predictor.model(inputs).items():
                head, target = _head(self.predictor, column), self.predictor.targets[column]
                best = self.best[column].expand(count, *self.best[column].shape[1:])
                now = head.best(scores, inputs["answers"])
                if isinstance(target, Numbers):
                    shares.append(now)
                    answers.append(torch.zeros_like(now))
                elif isinstance(target, Classes):
                    shares.append(now.flatten(1))
                    answers.append((now > target.threshold).float().flatten(1))
                else:
                    certain = head.certainty(scores, best, inputs["answers"])
                    assert certain is not None
                    shares.append(certain)
                    answers.append(now.float())
        return torch.cat(shares, 1).float().cpu(), torch.cat(answers, 1).cpu()

    @property
    def measures_numbers(self) -> bool:
        return all(isinstance(target, Numbers) for target in self.predictor.targets.values())

    def effects(self, edits: Sequence[dict[str, Edit]], copies_at_once: int) -> list[Effect]:
        """What each of many changes does: each is done to a copy of its own, several copies at a time.

        edits: for each change what is done to which layers; an edit sees the weights of its copy alone,
               (1, heads, rows, keys)
        """
        found: list[Effect] = []
        for start in range(0, len(edits), copies_at_once):
            some = edits[start : start + copies_at_once]
            # The first copy is as it was: so both sides are rounded as numbers of one batch.
            with _each(self.predictor.model, [{}, *some]):
                shares, answers = self.answers(1 + len(some))
            found += [
                _effect(shares[0], shares[row], answers[row] != answers[0], self.measures_numbers)
                for row in range(1, 1 + len(some))
            ]
        return found


def _effect(before: Tensor, after: Tensor, changed: Tensor, number: bool) -> Effect:
    change = (after - before).abs()
    return Effect(
        float(change.max()), int(change.argmax()), float(change.mean()), int(changed.sum()), len(change), number
    )


@contextmanager
def _each(model: torch.nn.Module, edits: Sequence[dict[str, Edit]]) -> Iterator[None]:
    """While this is open, each copy in a batch is changed by edits of its own."""
    paths = {path for of_copy in edits for path in of_copy}

    def of(path: str) -> Edit:
        def edit(weights: Tensor, rows: slice) -> Tensor:
            changed = weights.clone()
            for copy, of_copy in enumerate(edits):
                if path in of_copy:
                    changed[copy : copy + 1] = of_copy[path](weights[copy : copy + 1], rows)
            return changed

        return edit

    with changing(model, {path: of(path) for path in paths}):
        yield


def at_once(heads: int, queries: int, keys: int) -> int:
    """How many copies may stand side by side, for weights that pass in one tile."""
    return max(1, TILE_WEIGHTS // max(1, heads * queries * keys) - 1)


def switch_off(head: int) -> Edit:
    def edit(weights: Tensor, rows: slice) -> Tensor:
        changed = weights.clone()
        changed[:, head] = 0.0
        return changed

    return edit


def cut(head: int, edges: Sequence[tuple[int, int]]) -> Edit:
    def edit(weights: Tensor, rows: slice) -> Tensor:
        return cut_of(weights, rows, head, edges)

    return edit


def strongest(weights: Tensor, count: int = EDGES) -> list[tuple[int, int]]:
    """The edges with the largest weights of a head, (query, key). weights: (queries, keys)"""
    found = weights.flatten().topk(min(count, int((weights > 0).sum()))).indices.tolist()
    return [divmod(place, weights.shape[1]) for place in found]


def others(weights: Tensor, edges: Sequence[tuple[int, int]], seed: int = 0) -> list[tuple[int, int]]:
    """As many edges of the same rows that are not among these, drawn by a seed: what is held against."""
    random = torch.Generator().manual_seed(seed)
    taken, found = set(edges), []
    for query, _ in edges:
        free = [key for key in weights[query].nonzero()[:, 0].tolist() if (query, key) not in taken]
        if free:
            edge = (query, free[int(torch.randint(len(free), (), generator=random))])
            taken.add(edge)
            found.append(edge)
    return found


@dataclass(frozen=True)
class OfHead:
    """What a head's picture is worth.

    off:   it is switched off
    cut:   its strongest edges are cut
    other: as many others of the same rows are cut
    """

    off: Effect
    cut: Effect
    other: Effect
    edges: int

    def sentences(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """What the picture is worth, plainly. names: what the answer's elements are called"""
        which = "the only edge" if self.edges == 1 else f"the {self.edges} strongest edges"
        against = f"Cutting as many other edges of the same rows: by up to {self.other.most:.2f}."
        off = self.off.sentence("Switching the whole head off", names)
        off = off.replace("this map does not explain it", "here it can be spared")
        return self.cut.sentence(f"Cutting {which}", names), against, off


def of_heads(asked: Asked, weights: dict[str, Tensor]) -> dict[str, list[OfHead]]:
    """What each head's picture is worth. weights: path -> (heads, queries, keys)"""
    found = {}
    for path, layer in weights.items():
        edges = [strongest(head) for head in layer]
        edits = [
            *({path: switch_off(head)} for head in range(len(layer))),
            *({path: cut(head, edges[head])} for head in range(len(layer))),
            *({path: cut(head, others(layer[head], edges[head]))} for head in range(len(layer))),
        ]
        effects = asked.effects(edits, at_once(*layer.shape))
        parts = [effects[start : start + len(layer)] for start in range(0, len(effects), len(layer))]
        found[path] = [
            OfHead(off, shown, other, len(edges[head]))
            for head, (off, shown, other) in enumerate(zip(*parts, strict=True))
        ]
    return found


@dataclass(frozen=True)
class Importance:
    """Heads switched off one after the other, from the one that matters least alone to the one that matters most.

    order: (path, head from 0) in that order
    mean:  the mean probability of the answer (of a number: how near it stays) with the first 0, 1, 2 … of them off
    kept:  which share of its elements is still answered the same
    """

    order: list[tuple[str, int]]
    mean: list[float]
    kept: list[float]


def importance(asked: Asked, found: dict[str, list[OfHead]], copies: int) -> Importance:
    """How many heads can be spared. Source: Michel, Levy & Neubig 2019, arXiv:1905.10650, section 4."""
    order = sorted(
        ((path, head) for path, heads in found.items() for head in range(len(heads))),
        key=lambda one: found[one[0]][one[1]].off.mean,
    )
    means, kept = [], []
    whole = asked.answers()[1]
    for start in range(0, len(order) + 1, copies):
        some = range(start, min(start + copies, len(order) + 1))
        edits: list[dict[str, Edit]] = [_all_off(order[:count]) for count in some]
        with _each(asked.predictor.model, edits):
            shares, answers = asked.answers(len(edits))
        means += shares.mean(1).tolist()
        kept += (answers == whole).double().mean(1).tolist()
    return Importance(order, means, kept)


def _all_off(heads: Sequence[tuple[str, int]]) -> dict[str, Edit]:
    by_path: dict[str, list[int]] = {}
    for path, head in heads:
        by_path.setdefault(path, []).append(head)

    def off(numbers: list[int]) -> Callable[[Tensor, slice], Any]:
        def edit(weights: Tensor, rows: slice) -> Tensor:
            changed = weights.clone()
            changed[:, numbers] = 0.0
            return changed

        return edit

    return {path: off(numbers) for path, numbers in by_path.items()}


def _head(predictor: Predictor, column: str) -> Head:
    return predictor.model.output.head(column)
