"""Vectors as places: neighbours, analogies, and a picture of the plane in which they differ most."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.position import Position
from regard.data.batching import batches
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.tokenizer import CharacterTokenizer, SubwordTokenizer, WordTokenizer
from regard.data.vocabulary import SPECIAL
from regard.errors import RegardError, nearest
from regard.look.draw import visible
from regard.models.gather import real
from regard.models.model import DecoderModel, EncoderDecoderModel, EncoderModel
from regard.models.outputs import SoftmaxHead
from regard.page import page, paragraph, section
from regard.predict import Predictor

PANEL, EDGE = 420, 46


@dataclass(frozen=True)
class Space:
    """Names and their vectors. vectors: (names, width)"""

    names: tuple[str, ...]
    vectors: Tensor

    def neighbours(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """The words whose vectors point most the same way: (word, cosine), nearest first."""
        return self._nearest(self.vectors[self._number(word)], {word}, count)

    def analogy(self, one: str, other: str, like: str, count: int = 5) -> list[tuple[str, float]]:
        """What is to `like` as `other` is to `one`: the words nearest to other − one + like, these three left out.

        Source: Mikolov, Yih & Zweig 2013, NAACL, section 4 (vectors of length one).
        """
        unit = torch.nn.functional.normalize(self.vectors, dim=-1)
        wanted = unit[self._number(other)] - unit[self._number(one)] + unit[self._number(like)]
        return self._nearest(wanted, {one, other, like}, count)

    def _number(self, word: str) -> int:
        if word not in self.names:
            raise RegardError(f"{word!r} has no vector of its own; {len(self.names):,} have{nearest(word, self.names)}")
        return self.names.index(word)

    def _nearest(self, vector: Tensor, without: set[str], count: int) -> list[tuple[str, float]]:
        alike = torch.nn.functional.cosine_similarity(vector, self.vectors, dim=-1)
        order = alike.argsort(descending=True, stable=True).tolist()
        found = [(self.names[number], float(alike[number])) for number in order if self.names[number] not in without]
        return found[:count]


def reading(predictor: Predictor) -> EncoderModel | EncoderDecoderModel:
    """The model, if what it reads is shown as it stands: neither masked, nor written by itself."""
    if isinstance(predictor.model, DecoderModel) or predictor.masking is not None:
        raise RegardError(
            "what a run of plain text (mlm, lm) reads has no vectors to be drawn; a run that begins with it has "
            "(model.start)"
        )
    return predictor.model


def words_of(predictor: Predictor) -> Space:
    """All that is in the vocabulary, as the encoder is given it: before it has seen a neighbour."""
    model, names = reading(predictor), _vocabulary(predictor)
    items = [predictor.item(Example((name,), whole=predictor.whole)) for name in names]
    found: list[Tensor | None] = [None] * len(items)
    with torch.inference_mode():
        for batch in batches(items, predictor.batch_tokens):
            inputs = batch.to(predictor.device).inputs
            x = model.input(inputs)
            mine = real(x, inputs).to(x.dtype)[..., None]
            means = (x * mine).sum(1) / mine.sum(1).clamp(min=1)
            for row, number in enumerate(batch.items):
                found[number] = means[row].float().cpu()
    return Space(tuple(names), torch.stack([vector for vector in found if vector is not None]))


def _vocabulary(predictor: Predictor) -> list[str]:
    tokenizer = predictor.tokenizer
    if isinstance(tokenizer, WordTokenizer):
        return list(tokenizer.words.symbols[len(SPECIAL) :])
    if isinstance(tokenizer, CharacterTokenizer):
        return list(tokenizer.characters.symbols[len(SPECIAL) :])
    if not isinstance(tokenizer, SubwordTokenizer):
        raise RegardError(f"neighbours are asked for, but this run reads {tokenizer.kind}, which have no vocabulary")
    texts = [tokenizer.written([number])[0] for number in range(len(SPECIAL), tokenizer.sizes()["pieces"])]
    return list(dict.fromkeys(text for text in texts if "\ufffd" not in text))


def spaces_of(predictor: Predictor, example: Example) -> dict[str, Space]:
    """What can be drawn of one input: its elements before and after the encoder, the labels, the positions."""
    model, item = reading(predictor), predictor.item(example)
    (batch,) = batches([item], predictor.batch_tokens)
    inputs = batch.to(predictor.device).inputs
    names = predictor.tokenizer.names(example)
    with torch.inference_mode():
        before = model.input(inputs)
        after = model.encoder(before, model.input.mask(inputs))
        found = {
            "before the encoder": Space(names, before[0].float().cpu()),
            "after it": Space(names, after[0].float().cpu()),
        }
        for column, target in predictor.targets.items():
            head = model.output.head(column)
            if (
                isinstance(target, Labels)
                and isinstance(head, SoftmaxHead)
                and isinstance(head.project, torch.nn.Linear)
            ):
                found[f"labels of {column}"] = Space(tuple(target.names), head.project.weight.detach().float().cpu())
        position = getattr(model.encoder, "position", None)
        if isinstance(position, Position) and type(position.at(0)).embed is not Position.embed:
            nothing = torch.zeros_like(before)
            where = torch.arange(before.shape[1], device=before.device)[None]
            places = position.at(0).embed(nothing, where)[0].float().cpu()
            found["positions alone"] = Space(tuple(str(place + 1) for place in range(len(names))), places)
    return {name: space for name, space in found.items() if len(space.names) > 1}


def plane(vectors: Tensor) -> tuple[Tensor, float]:
    """Principal components: places in the plane in which vectors differ most, and how much of their variance it has.

    Source: Pearson 1901. vectors: (names, width); output: (names, 2)
    """
    centred = vectors.double() - vectors.double().mean(0)
    left, sizes, _ = torch.linalg.svd(centred, full_matrices=False)
    # A sign is a matter of chance: the largest number of each component is made positive.
    signs = left.gather(0, left.abs().argmax(0, keepdim=True)).sign()
    places = (left * signs * sizes)[:, :2]
    total = float(sizes.square().sum())
    share = float(sizes[:2].square().sum()) / total if total else 1.0
    return torch.nn.functional.pad(places, (0, 2 - places.shape[1])), share


def picture(spaces: Mapping[str, Space]) -> str:
    """A drawing (SVG) with a panel for each space, each in the plane of its own."""
    width = PANEL * min(2, len(spaces))
    height = (PANEL + 34) * -(-len(spaces) // 2)
    drawn = []
    for number, (title, space) in enumerate(spaces.items()):
        places, share = plane(space.vectors)
        x, y = PANEL * (number % 2), (PANEL + 34) * (number // 2)
        drawn.append(f'<g transform="translate({x} {y})">{_panel(title, space.names, places, share)}</g>')
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="system-ui, Noto Sans, sans-serif" font-size="13" fill="#1a2230"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}><title>principal components</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(drawn)}</svg>\n'
    )


def _panel(title: str, names: Sequence[str], places: Tensor, share: float) -> str:
    low, high = places.amin(0), places.amax(0)
    size = float((high - low).max()) or 1.0  # both axes in one measure
    middle, inner = (low + high) / 2, PANEL - 2 * EDGE
    dots = []
    for name, place in zip(names, places, strict=True):
        across, up = ((place - middle) / size * inner).tolist()
        x, y = PANEL / 2 + across, PANEL / 2 + 24 - up
        word = f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{html.escape(visible(name))}</text>'
        dots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1f5fa8"/>{word}')
    said = f"{share:.0%} of the variance"
    return (
        f'<text x="14" y="22" font-weight="600">{html.escape(title)}</text>'
        f'<text x="14" y="40" fill="#5a6472">{said}</text>'
        f'<rect x="6" y="50" width="{PANEL - 12}" height="{PANEL - 26}" fill="none" stroke="#dfe3e8" rx="6"/>'
        f"{''.join(dots)}"
    )


def space_page(title: str, spaces: Mapping[str, Space]) -> str:
    """The drawing as a page, with the sentence that it needs."""
    told = paragraph(
        "Each panel shows vectors in the plane in which they differ most (two principal components). What stands near "
        "each other may still differ in what the plane does not show; how much of the variance it has is said."
    )
    return page(title, section("Vectors as places", picture(spaces), told))
