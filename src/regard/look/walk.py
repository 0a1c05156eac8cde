"""Attention step by step with the model's own numbers: query, key, score, scaling, softmax, weighted sum.

The walk is that of Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1; its footnote 4 says why scores are scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.normalizer import Softmax
from regard.attention.plain import scored
from regard.attention.score import ScaledDot
from regard.errors import RegardError
from regard.layers.multihead import MultiHeadAttention
from regard.look.intervene import layer_at
from regard.look.look import Look
from regard.look.record import record
from regard.page import code, page, paragraph, section, table
from regard.predict import Predictor

# So many numbers of a vector are written out.
FIRST = 6


@dataclass(frozen=True)
class Walk:
    """One position of one head, step by step.

    title:    which position, layer and head
    names:    what it looks at
    query:    (head_width,), what it asks; keys: (keys, head_width), what each offers
    products: (keys,), query · key; None where the score is another
    scores:   (keys,), what goes into the normaliser: scaled, with what the position adds
    allowed:  (keys,), which of them may be looked at
    weights:  (keys,); values: (keys, value_width); output: (value_width,), their weighted sum
    factor:   what products are multiplied by
    variances: of all products of this head, and of them scaled; None where the score is another
    unscaled: (keys,), what softmax would make of the products without scaling
    added:    whether the position adds to scores
    kinds:    the names of score and normaliser
    """

    title: str
    names: tuple[str, ...]
    query: Tensor
    keys: Tensor
    products: Tensor | None
    scores: Tensor
    allowed: Tensor
    weights: Tensor
    values: Tensor
    output: Tensor
    factor: float
    variances: tuple[float, float] | None
    unscaled: Tensor | None
    added: bool
    kinds: tuple[str, str]

    def rows(self) -> list[list[object]]:
        """For each element: its score in each step, its weight, and its part of the sum."""
        found: list[list[object]] = []
        for number, name in enumerate(self.names):
            steps = [] if self.products is None else [f"{self.products[number]:.3f}"]
            seen = bool(self.allowed[number])
            score = f"{self.scores[number]:.3f}" if seen else "hidden"
            part = float(self.weights[number] * self.values[number].norm())
            found.append([name, *steps, score, f"{self.weights[number]:.3f}", f"{part:.3f}"])
        return found

    @property
    def head(self) -> list[str]:
        first = [] if self.products is None else ["query · key"]
        scaled = "score" if self.products is None else "scaled" + (" + position" if self.added else "")
        return ["looks at", *first, scaled, "weight", "|weight × value|"]

    def sentences(self) -> list[tuple[str, str]]:
        """(the step's name, what happens in it)"""
        score, normalizer = self.kinds
        told = [
            ("query", f"What it asks, {len(self.query)} numbers: {_numbers(self.query)}"),
            ("key", f"What each element offers, as many numbers each; that of the first: {_numbers(self.keys[0])}"),
        ]
        if self.products is None or self.variances is None or self.unscaled is None:
            told.append(("score", f"How well query and key fit, by {score}."))
        else:
            before, after = self.variances
            top = float(self.weights.max()), float(self.unscaled.max())
            told += [
                ("score", "How well query and key fit: the sum of their products, number by number (query · key)."),
                (
                    "scaling",
                    f"Each is multiplied by {self.factor:.4g} = 1/√{len(self.query)}. The variance of all scores of "
                    f"this head falls from {before:.3g} to {after:.3g}. Without scaling the largest weight here would "
                    f"be {top[1]:.3f} instead of {top[0]:.3f}.",
                ),
            ]
        total = float(self.weights.sum())
        told += [
            (normalizer, f"Scores become weights; they sum to {total:.3f}. What may not be seen gets exactly 0."),
            ("weighted sum", f"Each value times its weight, added up: {_numbers(self.output)}"),
        ]
        return told

    def text(self) -> str:
        """The walk for the terminal."""
        lines = [self.title, ""]
        lines += [f"{number}  {name:<13} {told}" for number, (name, told) in enumerate(self.sentences(), 1)]
        rows = [self.head, *([str(cell) for cell in row] for row in self.rows())]
        widths = [max(len(row[place]) for row in rows) for place in range(len(self.head))]
        lines.append("")
        for row in rows:
            cells = [
                cell.ljust(width) if not place else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("   ".join(cells).rstrip())
        return "\n".join(lines)

    def page(self) -> str:
        """The walk as a page that opens offline."""
        steps = [
            section(f"{number}. {name}", paragraph(told)) for number, (name, told) in enumerate(self.sentences(), 1)
        ]
        numbers = section(
            "Number by number",
            table(self.head, self.rows(), highlight=int(self.weights.argmax())),
            note="The row that is looked at most is marked.",
        )
        vectors = section(
            "The whole vectors", code(f"query  {_numbers(self.query, None)}\nsum    {_numbers(self.output, None)}")
        )
        return page(
            self.title, *steps, numbers, vectors, subtitle="Attention, step by step, with the model's own numbers"
        )


def walk(
    predictor: Predictor, look: Look, row: int, layer: int | None = None, head: int = 1, part: str | None = None
) -> Walk:
    """The steps of one head (layer and head from 1) for one element that looks (row, from 1)."""
    part, path = look.chosen(layer, head, part)
    rows, columns = look.sides(path)
    if not 1 <= row <= len(rows):
        raise RegardError(f"there is no element {row} that looks; there are 1 to {len(rows)} ({rows[0]} to {rows[-1]})")
    assert look.asked is not None
    with torch.inference_mode(), record(predictor.model, layers=[path], states=True) as recording:
        predictor.model(look.asked.inputs)
        module = layer_at(predictor.model, path)
        whole = recording.questions[path].of_heads(slice(head - 1, head))
        question = whole.of_rows(slice(row - 1, row))
        scores, allowed = scored(question)
        weights = question.normalizer(scores, allowed)
        gathered = weights @ question.values
        added = question.position.values(weights, question.where_queries, question.where_keys)
        gathered = gathered if added is None else gathered + added
        products, variances, unscaled = _products(module, whole, question, scores, allowed)
    of = list(look.layers(part)).index(path) + 1
    seen = torch.ones(len(columns), dtype=torch.bool) if allowed is None else allowed.expand(scores.shape)[0, 0, 0]
    return Walk(
        title=f"“{rows[row - 1]}” ({row} of {len(rows)}) looks, {part} layer {of}, head {head}",
        names=columns,
        query=question.queries[0, 0, 0],
        keys=question.keys[0, 0],
        products=products,
        scores=scores[0, 0, 0],
        allowed=seen,
        weights=weights[0, 0, 0],
        values=question.values[0, 0],
        output=gathered[0, 0, 0],
        factor=module.head_width**-0.5 if module.scale is None else module.scale,
        variances=variances,
        unscaled=unscaled,
        added=question.added() is not None,
        kinds=(type(module.score).__name__, type(module.normalizer).__name__.lower()),
    )


def _products(module: MultiHeadAttention, whole, question, scores: Tensor, allowed: Tensor | None):  # type: ignore[no-untyped-def]
    """Query · key of this row, the variance of the whole head's with and without scaling, and weights without it; of
    another score than the scaled dot product, or another normaliser than softmax, nothing."""
    if not isinstance(module.score, ScaledDot) or not isinstance(module.normalizer, Softmax):
        return None, None, None
    factor = module.head_width**-0.5 if module.scale is None else module.scale
    everything = whole.queries @ whole.keys.transpose(-1, -2)
    seen = everything if whole.allowed is None else everything[whole.allowed.expand(everything.shape)]
    variance = float(seen.var(unbiased=False))
    products = question.queries @ question.keys.transpose(-1, -2)
    unscaled = question.normalizer(scores - factor * products + products, allowed)
    return products[0, 0, 0], (variance, variance * factor**2), unscaled[0, 0, 0]


def _numbers(vector: Tensor, first: int | None = FIRST) -> str:
    some: Sequence[float] = vector[:first].tolist()
    return " ".join(f"{number:.2f}" for number in some) + (" …" if first is not None and len(vector) > first else "")
