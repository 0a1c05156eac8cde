"""What a model did with one input: its answer and its attention, as pictures, a page, tables and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from rich.console import RenderableType
from torch import Tensor

from regard.data.batching import collate
from regard.data.example import Example
from regard.errors import RegardError
from regard.look.axis import Axis, Tokens
from regard.look.draw import heat_map
from regard.look.effect import Asked, Importance, OfHead, at_once, importance, of_heads
from regard.look.pool import Extent, Map, Pool
from regard.look.record import attention_layers, record
from regard.look.side import side_of
from regard.models.inputs import Inputs
from regard.predict import Answer, Predictor

# The kinds of attention, by the last part of a layer's path; of a decoder's layers those to the memory come first to
# mind, since they show which part of what was read stands behind what was written.
PARTS = ("cross", "encoder", "decoder")

# The signs that begin and end a text.
START, END = "<start>", "<end>"

# All weights of an input are kept as long as they are no more than these (256 MB); of a longer one only its pictures.
MOST_WEIGHTS = 2**26

# What pictures are worth is measured by a pass for each head and more; of longer inputs only when it is asked for.
MOST_MEASURED = 512


@dataclass(frozen=True)
class Look:
    """One input, the answer, and the weights of each attention layer.

    tokens:  what is read, as the network sees it
    written: what is written, piece by piece; nothing where no text is
    maps:    module path -> the layer's picture and measures, in the order of the layers
    read:    what is read, as a side of a picture
    written_words: which word each piece that is written belongs to
    steps:   where a text is written, for each of its pieces and its end what else could have stood there: (piece,
             probability), most probable first
    """

    answer: Answer
    tokens: tuple[str, ...]
    kept: Mapping[str, Tensor]
    written: tuple[str, ...] = ()
    maps: Mapping[str, Map] = field(default_factory=dict, repr=False)
    read: Axis = field(default_factory=lambda: Tokens(()), repr=False)
    written_words: tuple[int, ...] = ()
    steps: tuple[tuple[tuple[str, float], ...], ...] = ()
    asked: Asked | None = field(default=None, repr=False, compare=False)

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """Module path -> (heads, queries, keys), in the order of the layers."""
        if not self.kept:
            raise RegardError(
                f"of an input of {len(self.tokens):,} elements not all weights are kept, only pictures (maps); "
                "regard.look.record.record(model, layers=…, heads=…, rows=…) keeps those that you name"
            )
        return self.kept

    def to_numpy(self) -> dict[str, np.ndarray]:
        """The weights as arrays, (heads, queries, keys) for each layer."""
        return {path: weights.numpy() for path, weights in self.weights.items()}

    @property
    def answered(self) -> str:
        """The words with their labels, or the words and the one answer to them."""
        if self.answer.example.whole:
            return f"{' '.join(self.answer.words)} → {', '.join(map(': '.join, self._answers()))}"
        return " ".join("/".join(row) for row in zip(self.answer.words, *self.answer.columns.values(), strict=True))

    def _answers(self) -> list[tuple[str, str]]:
        return [(column, answer) for column, answers in self.answer.columns.items() for answer in answers]

    def layers(self, part: str) -> dict[str, Map]:
        """The layers of one part: encoder, decoder, or cross (what the decoder looks at in what was read)."""
        return {path: layer for path, layer in self.maps.items() if part_of(path) == part}

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that there are."""
        return tuple(part for part in PARTS if self.layers(part))

    def sides(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who looks, and at what. A row of the decoder is the piece that was written by it."""
        rows, columns = self.axes(part_of(path))
        return rows.names, columns.names

    def axes(self, part: str) -> tuple[Axis, Axis]:
        """What stands along a picture's rows and along its columns."""
        if part == "encoder":
            return self.read, self.read
        last = max(self.written_words, default=-1) + 1
        rows = Tokens((*self.written, END), (*self.written_words, last))
        if part == "cross":
            return rows, self.read
        return rows, Tokens((START, *self.written), (0, *(word + 1 for word in self.written_words)))

    def chosen(self, layer: int | None = None, head: int | None = None, part: str | None = None) -> tuple[str, str]:
        """The part and the path of a layer, counted from 1; the last one of the first part where none is named."""
        part = self.parts[0] if part is None else part
        if part not in self.parts:
            raise RegardError(f"this model has no part {part} to look at; there are {', '.join(self.parts)}")
        layers = list(self.layers(part))
        layer = len(layers) if layer is None else layer
        if not 1 <= layer <= len(layers):
            raise RegardError(f"there is no layer {layer}; the layers are 1 to {len(layers)}")
        path = layers[layer - 1]
        heads = len(self.maps[path].cells)
        if head is not None and not 1 <= head <= heads:
            raise RegardError(f"there is no head {head}; the heads are 1 to {heads}")
        return part, path

    def picture(self, layer: int | None = None, head: int | None = None, part: str | None = None) -> RenderableType:
        """One head (both counted from 1), or the mean over all heads of the layer; the last layer if none is named.

        part: encoder, decoder or cross; cross if not given and there, else the encoder
        """
        part, path = self.chosen(layer, head, part)
        shown, rows, columns = self.shown(path, head)
        layers = list(self.layers(part))
        count = len(self.maps[path].cells)
        which = f"mean of {count} heads" if head is None else f"head {head} of {count}"
        of = "" if self.parts == ("encoder",) else f"{part} "
        title = f"{of}layer {layers.index(path) + 1} of {len(layers)}, {which}: each row looks at the columns"
        found = self.maps[path]
        if max(found.rows.size, found.columns.size) > 1:
            title += f"; a cell is the largest of {found.rows.size} × {found.columns.size}"
        return heat_map(shown.tolist(), rows, columns, title=title)

    def shown(self, path: str, head: int | None) -> tuple[Tensor, list[str], list[str]]:
        """What a picture shows of a layer: (rows, columns), and what they are called; head from 1, None: their mean."""
        found = self.maps[path]
        cells = found.cells.mean(0) if head is None else found.cells[head - 1]
        rows, columns = self.sides(path)
        return cells, names_of(rows, found.rows), names_of(columns, found.columns)

    def sharpest(self, part: str) -> tuple[int, int]:
        """The head whose rows are least spread out: (layer, head), both counted from 1."""
        found = [
            (float(layer.cells[head].amax(-1).mean()), -number, -head - 1)
            for number, layer in enumerate(self.layers(part).values(), 1)
            for head in range(len(layer.cells))
        ]
        _, layer, head = max(found)
        return -layer, -head

    def sharpest_neighbour(self) -> tuple[int, int, int, float]:
        """The head that looks most at one neighbour: (layer, head, offset, mean weight), both counted from 1; offset
        -1 is the word before, 1 the word after."""
        found = [
            (float(weights.diagonal(offset, 1, 2).mean(-1)[head]), layer, head + 1, offset)
            for layer, weights in enumerate(self.weights.values(), 1)
            for head in range(len(weights))
            for offset in (-1, 1)
        ]
        weight, layer, head, offset = max(found)
        return layer, head, offset, weight

    @cached_property
    def effects(self) -> dict[str, list[OfHead]]:
        """For each layer and head what its picture is worth: the answer without it."""
        assert self.asked is not None
        return of_heads(self.asked, dict(self.weights))

    @cached_property
    def importance(self) -> Importance:
        """Heads switched off one after the other, the least important first."""
        assert self.asked is not None
        sizes = [layer.shape for layer in self.weights.values()]
        copies = at_once(*(max(each) for each in zip(*sizes, strict=True)))
        return importance(self.asked, self.effects, copies)

    @property
    def measured(self) -> bool:
        """Whether the input is short enough for effects to be measured unasked."""
        longest = max(len(self.tokens), len(self.written) + 1)
        return bool(self.kept) and self.asked is not None and longest <= MOST_MEASURED

    def page(self, *beside: Look) -> str:
        """One HTML file that needs nothing else, with other inputs or other runs' looks beside this one."""
        from regard.look.view import page, view

        return page([view(look) for look in (self, *beside)])

    def save(
        self, path: str | Path, layer: int | None = None, head: int | None = None, part: str | None = None
    ) -> None:
        """Write a page (.html), one picture (.svg, .png) or its numbers (.csv); layer, head and part as `picture`."""
        from regard.look.save import save

        save(self, Path(path), layer, head, part)

    def _repr_html_(self) -> str:
        """In a notebook the page stands in a frame of its own, so that there may be many."""
        import html

        return (
            f'<iframe srcdoc="{html.escape(self.page())}" width="100%" height="760" style="border:0" '
            'title="attention" sandbox="allow-scripts allow-downloads"></iframe>'
        )


def part_of(path: str) -> str:
    """encoder, decoder or cross, from a layer's module path."""
    return "cross" if path.endswith("cross_attention") else path.partition(".")[0]


def names_of(names: tuple[str, ...], extent: Extent) -> list[str]:
    """What each place of a side is called."""
    from regard.look.axis import joined

    starts = range(extent.start, extent.stop, extent.size)
    return [joined(names, start, min(start + extent.size, extent.stop)) for start in starts]


def look(predictor: Predictor, example: Example, rows: slice | None = None, columns: slice | None = None) -> Look:
    """Answer one example and record what attention does meanwhile.

    A text is written first, unwatched; then the model is told it piece by piece, all at once, and watched. Each row is
    what the same step of writing saw, since no piece looks ahead.

    rows, columns: which elements pictures show, as in slice(400, 600); all where not given
    """
    if not example.words:
        raise RegardError("there is nothing to look at: the input is empty")
    answer = next(predictor.predict([example]))
    item = predictor.item(example)
    inputs = collate([item], [0]).to(predictor.device).inputs
    numbers = told(predictor, inputs)
    writes = predictor.writes
    written = () if writes is None else writes.tokenizer.written(numbers)
    pools = _pools(predictor, item.length, len(written) + 1, rows, columns)
    if not pools:
        raise RegardError(
            "this model has no attention to look at; its encoder is not attention (regard look RUN INPUT "
            "--leave-one-out says what each word is worth to its answer)"
        )
    pairs = sum(
        layer.heads * _sizes(path, item.length, len(written) + 1)[0] * _sizes(path, item.length, len(written) + 1)[1]
        for path, layer in attention_layers(predictor.model).items()
    )
    kept: dict[str, Tensor] = {}
    with torch.inference_mode():
        if pairs <= MOST_WEIGHTS:
            with record(predictor.model) as recording:
                predictor.model(inputs)
            for path, weights in recording.weights.items():
                kept[path] = weights[0].cpu()
                pools[path].take(weights, slice(0, weights.shape[2]))
        else:
            with record(predictor.model, take=lambda path: pools[path].take):
                predictor.model(inputs)
    return Look(
        answer=answer,
        tokens=predictor.names(example),
        kept=kept,
        written=written,
        maps={path: pool.map for path, pool in pools.items() if pool.map is not None},
        read=side_of(predictor, example),
        written_words=() if writes is None else writes.tokenizer.units(numbers),
        steps=alternatives(predictor, inputs),
        asked=Asked.of(predictor, example, inputs),
    )


def _sizes(path: str, read: int, written: int) -> tuple[int, int]:
    """How many look at how many."""
    part = part_of(path)
    return (read, read) if part == "encoder" else (written, read if part == "cross" else written)


def _pools(predictor: Predictor, read: int, written: int, rows: slice | None, columns: slice | None) -> dict[str, Pool]:
    pools = {}
    for path in attention_layers(predictor.model):
        queries, keys = _sizes(path, read, written)
        extents = Extent.of(queries, rows), Extent.of(keys, columns)
        if not extents[0].places or not extents[1].places:
            raise RegardError(
                f"nothing is left to show of {path}: it has {queries} rows and {keys} columns, counted from 0"
            )
        pools[path] = Pool(path, *extents, own=part_of(path) != "cross")
    return pools


def told(predictor: Predictor, inputs: Inputs) -> tuple[int, ...]:
    """Put what the model writes of one item into its inputs, where it writes; gives its pieces as numbers."""
    writes = predictor.writes
    writer = predictor.writer
    if writes is None or writer is None:
        return ()
    with torch.inference_mode():
        numbers = writer.search(inputs)[0][0].tokens
    inputs["written"] = torch.tensor([[writes.start, *numbers]], device=predictor.device)
    inputs["answers"] = torch.tensor([len(numbers) + 1], device=predictor.device)
    return tuple(numbers)


def alternatives(predictor: Predictor, inputs: Inputs, count: int = 3) -> tuple[tuple[tuple[str, float], ...], ...]:
    """For each piece that is written, which pieces were most probable there."""
    writes = predictor.writes
    if writes is None:
        return ()
    with torch.inference_mode():
        (scores,) = predictor.model(inputs).values()
    shares, numbers = scores[0].float().softmax(-1).topk(min(count, scores.shape[-1]))
    names = [
        [END if one == writes.end else writes.tokenizer.written([one])[0] for one in row] for row in numbers.tolist()
    ]
    return tuple(tuple(zip(names, row, strict=True)) for names, row in zip(names, shares.tolist(), strict=True))
