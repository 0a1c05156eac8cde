"""Writing: binds a model and its cache to the search's step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.decode.filter import Filter, Required
from regard.decode.sample import Sampling
from regard.decode.search import Draw, Hypothesis, Ranking, follow, search
from regard.layers.cache import Cache, joined
from regard.layers.one_step import OneStep
from regard.layers.stack import Decoder
from regard.layers.watch import Watch, watching
from regard.models.answering import Answered
from regard.models.inputs import Inputs
from regard.models.looking import cross_attention, looked_at
from regard.models.model import DecoderModel, EncoderDecoderModel, WritingModel
from regard.models.outputs import SoftmaxHead

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
    at_once:    how many items are written side by side; the others wait until one is done
    patience:   a search ends after this times beam ended texts, be it that a better one could still be found
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
    at_once: int = 64
    patience: float | None = None
    looking: int | None = None

    def __call__(self, inputs: Inputs) -> dict[str, Answered]:
        """The best texts for each item."""
        (found,) = self.answers([inputs])
        return found

    def answers(
        self, sources: Sequence[Inputs], room: int | None = None, told: Callable[[float], None] = lambda count: None
    ) -> Iterator[dict[str, Answered]]:
        """The best texts for each item of each batch.

        room: items that are written side by side, times the longest source, is at most this; no matter where not given
        told: hears how many items were done, each time some are
        """
        texts = iter(self._written(sources, self.count, room, told))
        for inputs in sources:
            found = list(islice(texts, len(inputs["lengths"])))
            looked = None if self.looking is None else self._looked(inputs, found)
            yield {self.column: Answered(texts=found, looked=looked)}

    def _looked(self, inputs: Inputs, texts: Sequence[Sequence[Hypothesis]]) -> list[list[Tensor]]:
        each = [(item, one.tokens) for item, found in enumerate(texts) for one in found]
        assert isinstance(self.model, EncoderDecoderModel)
        looked = iter(looked_at(self.model, inputs, each, self.start, self.looking or None))
        return [[next(looked) for _ in found] for found in texts]

    def greedy(self, max_length: int) -> Writer:
        """The same, taking the best next piece each time; what needs a search is not asked."""
        filters = [filter for filter in self.filters if filter is not self.required]
        return replace(
            self,
            beam=1,
            patience=None,
            max_length=max_length,
            max_ratio=None,
            filters=filters,
            required=None,
            sampling=None,
        )

    def search(self, inputs: Inputs, count: int = 1) -> list[list[Hypothesis]]:
        """So many of the best texts for each item, best first; at least one, be it that nothing can be written."""
        return self._written([inputs], count)

    def _written(
        self,
        sources: Sequence[Inputs],
        count: int,
        room: int | None = None,
        told: Callable[[float], None] = lambda count: None,
    ) -> list[list[Hypothesis]]:
        longest = max(int(inputs["lengths"].max()) for inputs in sources)
        at_once = self.at_once if room is None else max(1, min(self.at_once, room // longest))
        texts = self._drawn if self.sampling is not None else self._searched
        return [found or [NOTHING] for found in texts(sources, count, at_once, told)]

    def _searched(
        self, sources: Sequence[Inputs], count: int, at_once: int, told: Callable[[float], None]
    ) -> list[list[Hypothesis]]:
        beam = max(self.beam, count, 0 if self.required is None else self.required.most + 1)
        with self._steps(sources, beam=beam) as steps:
            return search(
                steps,
                [limit for inputs in sources for limit in self.limits(inputs)],
                start=self.start,
                end=self.end,
                beam=beam,
                ranking=self.ranking,
                count=count,
                enough=None if self.patience is None else max(count, math.ceil(self.patience * beam)),
                filters=self.filters,
                required=self.required,
                looked=steps.looked,
                enter=steps.enter,
                at_once=at_once,
                told=told,
            )

    def _drawn(
        self, sources: Sequence[Inputs], count: int, at_once: int, told: Callable[[float], None]
    ) -> list[list[Hypothesis]]:
        """So many texts are drawn for each item; those that come twice are one."""
        assert self.sampling is not None
        limits = [limit for inputs in sources for limit in self.limits(inputs) for _ in range(count)]
        items = [item for inputs in sources for item in self._items(inputs)]
        chances = [self.sampling.chances(item, max(limits), draw) for item in items for draw in range(count)]
        with self._steps(sources, copies=count) as steps:
            found = search(
                steps,
                limits,
                start=self.start,
                end=self.end,
                filters=self.filters,
                draw=Draw(self.sampling, torch.stack(chances)),
                enter=steps.enter,
                at_once=at_once,
                told=lambda done: told(done / count),
            )
        drawn = [[one for of_draw in found[at : at + count] for one in of_draw] for at in range(0, len(found), count)]
        distinct = [list({one.tokens: one for one in of_item}.values()) for of_item in drawn]
        return [sorted(of_item, key=lambda one: -one.score) for of_item in distinct]

    def _items(self, inputs: Inputs) -> list[list[int]]:
        """What each item is, as numbers."""
        signal = next((inputs[name] for name in _SIGNALS if name in inputs), None)
        if signal is not None:
            return [_bits(row, count) for row, count in zip(signal, _counts(inputs, signal), strict=True)]
        numbers = inputs["piece_numbers"] if "piece_numbers" in inputs else inputs["word_numbers"]
        return [row[:length].tolist() for row, length in zip(numbers, inputs["lengths"].tolist(), strict=True)]

    def follow(self, inputs: Inputs) -> Iterator[int]:
        """The pieces of one item's text, each as soon as it is decided; the text is that of a beam of 1."""
        (limit,) = self.limits(inputs)
        draw = None
        if self.sampling is not None:
            (item,) = self._items(inputs)
            draw = Draw(self.sampling, self.sampling.chances(item, limit)[None])
        with self._steps([inputs]) as steps:
            steps.enter(torch.arange(1))
            yield from follow(steps, limit, start=self.start, end=self.end, filters=self.filters, draw=draw)

    def _steps(self, sources: Sequence[Inputs], *, beam: int = 1, copies: int = 1) -> _Steps:
        watched = bool(self.ranking.coverage_penalty) and self.sampling is None
        # Only a text without a source is told what it goes on from; a picture or a recording has no numbers.
        goes_on = sources if isinstance(self.model, DecoderModel) else ()
        told = [item for inputs in goes_on for item in self._items(inputs) for _ in range(copies)]
        return _Steps(
            self.model,
            self.column,
            sources,
            self.forbidden,
            beam=beam,
            copies=copies,
            watched=watched,
            told=told,
        )

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


# What is read where that is no text.
_SIGNALS = ("samples", "vectors", "pixels")


def _counts(inputs: Inputs, signal: Tensor) -> list[int]:
    """How many values of each row there are; what is not a number is padding, or missing."""
    counts = inputs.get("sample_counts")
    return [signal.shape[1]] * len(signal) if counts is None else counts.tolist()


def _bits(row: Tensor, count: int) -> list[int]:
    """The known values of a signal as whole numbers, which are the same for the same values."""
    values = row[:count]
    return values[~values.isnan()].float().contiguous().view(torch.int32).tolist()


# What is found where nothing can be written.
NOTHING = Hypothesis((), -math.inf, -math.inf, cut=True)


class _Steps(ExitStack):
    """Texts that are being written: what was read for each, and what the decoder remembers.

    sources: what is read, in batches, in the order in which items are to enter
    beam:    how many rows an item has
    copies:  how many texts are written of each item, each as if it were an item of its own
    watched: whether what is looked at in the source can be asked for, while this is open
    told:    for each item how its texts begin, where that is given: nothing else is possible there
    """

    def __init__(
        self,
        model: WritingModel,
        column: str,
        sources: Iterable[Inputs],
        forbidden: Sequence[int],
        *,
        beam: int = 1,
        copies: int = 1,
        watched: bool = False,
        told: Iterable[Sequence[int]] = (),
    ) -> None:
        super().__init__()
        self.model = model
        self.column = column
        self.waiting = _Waiting(model, sources, copies)
        self.cache = model.decoder.cache(beam)
        self.device = next(model.parameters()).device
        self.forbidden = torch.tensor(forbidden, dtype=torch.long, device=self.device)
        self.lengths = torch.zeros(0, dtype=torch.long, device=self.device)
        self.mask = Mask()
        self.told: list[Sequence[int]] = []
        self.to_be_told = iter(told)
        # What was read is in the cache, as keys and values.
        self.memory = torch.empty(0, device=self.device)
        self.watch: Watch | None = None
        if watched:
            assert isinstance(model, EncoderDecoderModel)
            self.watch = self.enter_context(watching(cross_attention(model).weights))
        self.scores = torch.empty(0, device=self.device)
        self.one_step = _one_step(model, self.cache)
        self.in_one_step = False

    def enter(self, places: Tensor) -> None:
        """The next items that wait take these places, or are the first."""
        lengths, memory = self.waiting.take(len(places))
        places = places.to(self.device)
        self.lengths = lengths if not len(self.lengths) else self.lengths.index_copy(0, places, lengths)
        self.cache.enter(places, len(self.lengths), memory, int(self.lengths.max()))
        self._look_at_all()
        self._tell(places.tolist())

    def _look_at_all(self) -> None:
        """Others are there: what is seen of what was read."""
        self.mask = self.model.mask(self.lengths)
        self.in_one_step = self.one_step is not None and self.one_step.may_see(self.mask)

    def _tell(self, places: Sequence[int]) -> None:
        """What those that enter are told."""
        new = dict(zip(places, islice(self.to_be_told, len(places)), strict=False))
        if new:
            self.told = [new[place] if place in new else self.told[place] for place in range(len(self.lengths))]

    def __call__(self, tokens: Tensor, rows: Tensor | None, items: Tensor | None) -> Tensor:
        """(rows, pieces): log-probabilities of the next piece."""
        if rows is not None:
            self.cache.select(rows.to(self.device))
        if items is not None:
            items = items.to(self.device)
            self.cache.select_memory(items)
            self.lengths = self.lengths[items]
            self._look_at_all()
            self.told = [self.told[item] for item in items.tolist()] if self.told else []
        written = self.cache.written(len(self.lengths))
        scores = self._scores(tokens.to(self.device)[:, None])
        # What is forbidden keeps its share of the probability, so that a text's score is that of the model itself.
        found = torch.log_softmax(scores, -1, out=scores).index_fill_(-1, self.forbidden, -torch.inf)
        return self._as_told(found, written) if self.told else found

    def _scores(self, tokens: Tensor) -> Tensor:
        """(rows, pieces), in the same memory at each step. tokens: (rows, 1)"""
        if self.one_step is None or not self.in_one_step:
            return self.model.write(tokens, self.memory, self.mask, self.cache)[self.column][:, -1].float()
        vectors = self.one_step(self.model.written(tokens))[:, 0]
        head = self.model.output.head(self.column)
        assert isinstance(head, SoftmaxHead)
        vectors, weight, bias = head.project.last(vectors)
        if len(self.scores) < len(vectors):
            self.scores = vectors.new_empty(len(vectors), len(weight))
        return torch.addmm(bias, vectors, weight.T, out=self.scores[: len(vectors)])

    def _as_told(self, scores: Tensor, written: Sequence[int]) -> Tensor:
        """The scores where a text's given beginning leaves no choice.

        scores: (rows, pieces), rows of one item follow one another; written: how many pieces each item has already
        """
        each = len(scores) // len(self.told)
        for item, (beginning, there) in enumerate(zip(self.told, written, strict=True)):
            if there < len(beginning):
                rows = slice(item * each, (item + 1) * each)
                scores[rows] = -torch.inf
                scores[rows, beginning[there]] = 0.0
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


def _one_step(model: WritingModel, cache: Cache) -> OneStep | None:
    """How the model goes on one piece, written out, where it can be."""
    if not isinstance(model.decoder, Decoder) or not OneStep.applies(model.decoder):
        return None
    watched = any(part._forward_hooks or part._forward_pre_hooks for part in (model, *model.output.modules()))
    single = all(part.dtype == torch.float32 for part in model.parameters())
    return OneStep(model.decoder, cache) if single and not watched else None


class _Waiting:
    """Items that are not being written yet: each batch of sources is encoded once, when the first of it is asked for.

    lengths: (items,), of the latest batch
    memory:  for each block of the decoder the keys and values that it makes of this batch
    taken:   how many of it are being written already
    """

    def __init__(self, model: WritingModel, sources: Iterable[Inputs], copies: int) -> None:
        self.model, self.sources, self.copies = model, iter(sources), copies
        self.lengths = torch.zeros(0, dtype=torch.long)
        self.memory: list[tuple[Tensor, Tensor]] = []
        self.taken = 0

    def take(self, count: int) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """The lengths of the next so many, and for each block their keys and values."""
        parts = []
        while count:
            if self.taken == len(self.lengths):
                self._read(next(self.sources))
            some = slice(self.taken, self.taken + count)
            parts.append((self.lengths[some], [(keys[some], values[some]) for keys, values in self.memory]))
            self.taken += len(parts[-1][0])
            count -= len(parts[-1][0])
        if len(parts) == 1:
            return parts[0]
        blocks = zip(*(memory for _, memory in parts), strict=True)
        return (
            torch.cat([lengths for lengths, _ in parts]),
            [(joined([keys for keys, _ in block]), joined([values for _, values in block])) for block in blocks],
        )

    def _read(self, inputs: Inputs) -> None:
        self.lengths = inputs["lengths"].repeat_interleave(self.copies, 0)
        self.memory = [
            (keys.repeat_interleave(self.copies, 0), values.repeat_interleave(self.copies, 0))
            for keys, values in self.model.remember(inputs)
        ]
        self.taken = 0
