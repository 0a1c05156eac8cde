"""Writing: binds a model and its cache to the search's step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.decode.filter import Filter, Required
from regard.decode.sample import Sampling
from regard.decode.search import Draw, Hypothesis, Ranking, follow, search
from regard.layers.watch import Watch, watching
from regard.models.answering import Answered
from regard.models.inputs import Inputs
from regard.models.looking import cross_attention, looked_at
from regard.models.model import DecoderModel, EncoderDecoderModel, WritingModel

# A text may have so many pieces for each of the source, and so many more, where nothing else is said.
PIECES_FOR_EACH, PIECES_MORE = 3, 50


@dataclass(frozen=True)
class Writer:
    """A model that writes texts.

    column:     the target column it answers
    start, end: the numbers of the signs that begin and end a text
    forbidden:  numbers that are never written
    ranking:    what texts are compared by
    max_length, max_ratio: how many pieces a text may have, and how many for each of the source
    shortest:   how many pieces a text needs at least to have all that is asked of it
    filters:    what may be written; required is one of them, where something must be
    sampling:   texts are drawn instead of searched for
    count:      how many texts are wanted of each item
    looking:    whether to tell what each piece looked at in the source, in this layer (counted from 1; 0 is the last)
    """

    model: WritingModel
    column: str
    start: int
    end: int
    forbidden: Sequence[int]
    beam: int
    ranking: Ranking
    max_length: int | None
    max_ratio: float | None = None
    shortest: int = 0
    filters: Sequence[Filter] = ()
    required: Required | None = None
    sampling: Sampling | None = None
    count: int = 1
    looking: int | None = None

    def __call__(self, inputs: Inputs) -> dict[str, Answered]:
        """The best texts for each item."""
        texts = self.search(inputs, self.count)
        return {
            self.column: Answered(
                texts=texts,
                looked=None if self.looking is None else self._looked(inputs, texts),
            )
        }

    def _looked(self, inputs: Inputs, texts: Sequence[Sequence[Hypothesis]]) -> list[list[Tensor]]:
        each = [(item, one.tokens) for item, found in enumerate(texts) for one in found]
        assert isinstance(self.model, EncoderDecoderModel)
        looked = iter(looked_at(self.model, inputs, each, self.start, self.looking or None))
        return [[next(looked) for _ in found] for found in texts]

    def greedy(self, max_length: int) -> Writer:
        """The same, taking the best next piece each time; what needs a search is not asked."""
        filters = [filter for filter in self.filters if filter is not self.required]
        return replace(
            self, beam=1, max_length=max_length, max_ratio=None, filters=filters, required=None, sampling=None
        )

    def search(self, inputs: Inputs, count: int = 1) -> list[list[Hypothesis]]:
        """So many of the best texts for each item, best first; at least one, be it that nothing can be written."""
        texts = self._searched(inputs, count) if self.sampling is None else self._drawn(inputs, count, self.sampling)
        return [found or [NOTHING] for found in texts]

    def _searched(self, inputs: Inputs, count: int) -> list[list[Hypothesis]]:
        with self._steps(inputs) as steps:
            return search(
                steps,
                self.limits(inputs),
                start=self.start,
                end=self.end,
                beam=max(self.beam, count, 0 if self.required is None else self.required.most + 1),
                ranking=self.ranking,
                count=count,
                filters=self.filters,
                required=self.required,
                looked=steps.looked,
            )

    def _drawn(self, inputs: Inputs, count: int, sampling: Sampling) -> list[list[Hypothesis]]:
        """So many texts are drawn for each item; those that come twice are one."""
        limits = [limit for limit in self.limits(inputs) for _ in range(count)]
        chances = [sampling.chances(item, max(limits), draw) for item in self._items(inputs) for draw in range(count)]
        with self._steps(inputs, count) as steps:
            found = search(
                steps,
                limits,
                start=self.start,
                end=self.end,
                filters=self.filters,
                draw=Draw(sampling, torch.stack(chances)),
            )
        drawn = [[one for of_draw in found[at : at + count] for one in of_draw] for at in range(0, len(found), count)]
        distinct = [list({one.tokens: one for one in of_item}.values()) for of_item in drawn]
        return [sorted(of_item, key=lambda one: -one.score) for of_item in distinct]

    def _items(self, inputs: Inputs) -> list[list[int]]:
        """What each item is, as numbers."""
        numbers = inputs["piece_numbers"] if "piece_numbers" in inputs else inputs["word_numbers"]
        return [row[:length].tolist() for row, length in zip(numbers, inputs["lengths"].tolist(), strict=True)]

    def follow(self, inputs: Inputs) -> Iterator[int]:
        """The pieces of one item's text, each as soon as it is decided; the text is that of a beam of 1."""
        (limit,) = self.limits(inputs)
        draw = None
        if self.sampling is not None:
            (item,) = self._items(inputs)
            draw = Draw(self.sampling, self.sampling.chances(item, limit)[None])
        with self._steps(inputs) as steps:
            yield from follow(steps, limit, start=self.start, end=self.end, filters=self.filters, draw=draw)

    def _steps(self, inputs: Inputs, copies: int = 1) -> _Steps:
        watched = bool(self.ranking.coverage_penalty) and self.sampling is None
        told = self._items(inputs) if isinstance(self.model, DecoderModel) else None
        return _Steps(self.model, self.column, inputs, self.forbidden, copies=copies, watched=watched, told=told)

    def limits(self, inputs: Inputs) -> list[int]:
        """How many symbols each text may have, its end included; no more than the decoder has positions for."""
        most = self.model.decoder.position.most
        if isinstance(self.model, DecoderModel):  # what is read is the text's beginning
            more = max(self.shortest, PIECES_MORE if self.max_length is None else self.max_length)
            lengths = [length + more for length in inputs["lengths"].tolist()]
        else:
            lengths = [max(self.shortest, self._longest(length)) for length in inputs["lengths"].tolist()]
        return [length + 1 if most is None else min(length + 1, most) for length in lengths]

    def _longest(self, length: int) -> int:
        if self.max_ratio is None:
            return PIECES_FOR_EACH * length + PIECES_MORE if self.max_length is None else self.max_length
        relative = math.ceil(self.max_ratio * length)
        return relative if self.max_length is None else min(relative, self.max_length)


# What is found where nothing can be written.
NOTHING = Hypothesis((), -math.inf, -math.inf, cut=True)


class _Steps(ExitStack):
    """One batch being written: what was read, and what the decoder remembers.

    copies:  how many texts are written of each item, each as if it were an item of its own
    watched: whether what is looked at in the source can be asked for, while this is open
    told:    for each item how its texts begin, where that is given: nothing else is possible there
    """

    def __init__(
        self,
        model: WritingModel,
        column: str,
        inputs: Inputs,
        forbidden: Sequence[int],
        *,
        copies: int = 1,
        watched: bool = False,
        told: Sequence[Sequence[int]] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.column = column
        self.lengths = inputs["lengths"].repeat_interleave(copies, 0)
        memory, _ = model.read(inputs)
        self.memory = memory.repeat_interleave(copies, 0)
        self.mask = model.mask(self.lengths)
        self.told = [] if told is None else [list(one) for one in told for _ in range(copies)]
        self.cache = model.decoder.cache()
        self.forbidden = torch.tensor(forbidden, dtype=torch.long, device=self.memory.device)
        self.watch: Watch | None = None
        if watched:
            assert isinstance(model, EncoderDecoderModel)
            self.watch = self.enter_context(watching(cross_attention(model).weights))

    def __call__(self, tokens: Tensor, rows: Tensor | None, items: Tensor | None) -> Tensor:
        """(rows, pieces): log-probabilities of the next piece."""
        device = self.memory.device
        if rows is not None:
            self.cache.select(rows.to(device))
        if items is not None:
            items = items.to(device)
            self.cache.select_memory(items)
            self.memory, self.lengths = self.memory[items], self.lengths[items]
            self.mask = self.model.mask(self.lengths)
            self.told = [self.told[item] for item in items.tolist()] if self.told else []
        written = self.cache.length
        scores = self.model.write(tokens.to(device)[:, None], self.memory, self.mask, self.cache)[self.column][:, -1]
        # What is forbidden keeps its share of the probability, so that a text's score is that of the model itself.
        found = scores.float().log_softmax(-1).index_fill(-1, self.forbidden, -torch.inf)
        return self._as_told(found, written) if self.told else found

    def _as_told(self, scores: Tensor, written: int) -> Tensor:
        """The scores where a text's given beginning leaves no choice.

        scores: (rows, pieces), rows of one item follow one another; written: how many pieces there are already
        """
        each = len(scores) // len(self.told)
        for item, beginning in enumerate(self.told):
            if written < len(beginning):
                rows = slice(item * each, (item + 1) * each)
                scores[rows] = -torch.inf
                scores[rows, beginning[written]] = 0.0
        return scores

    def looked(self) -> Tensor:
        """(rows, time): how much the latest pieces looked at each element of the source, in the last layer, as the mean
        of its heads; padding counts as looked at."""
        assert self.watch is not None
        # (items, beam, time), or (rows, 1, time) -> (rows, time)
        weights = self.watch.weights.mean(1).flatten(0, 1)
        lengths = self.lengths.repeat_interleave(len(weights) // len(self.lengths), 0)
        padding = torch.arange(weights.shape[1], device=weights.device) >= lengths[:, None]
        return weights.masked_fill(padding, 1.0)
