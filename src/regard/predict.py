"""Items -> answers: encoding, batching, answering, restoring order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

import torch

from regard.data.batching import IGNORED, Batch, Item, batches
from regard.data.example import Example
from regard.data.kind import InputKind
from regard.data.masking import MASK, Masked, Masking, of_the_item
from regard.data.signal.speech import EncodedSpeech
from regard.data.target import Certainty, Target, Texts
from regard.data.tokenizer import EncodedText, LibraryTokenizer
from regard.data.vocabulary import SEPARATOR
from regard.decode.ctc import align, frames_needed
from regard.errors import DataError, ShapeError
from regard.models.answering import Answered, Answering, best_at_masks
from regard.models.generate import Writer
from regard.models.inputs import Inputs
from regard.models.model import DecoderModel, EncoderDecoderModel, EncoderModel
from regard.models.outputs import SoftmaxHead, log_probabilities
from regard.models.spelling import Speller, spelling_of
from regard.models.streaming import against_streaming
from regard.written import EMPTY, Source, Timed, Written, read, timed, word_of_each

# So many examples are sorted by length at a time; memory does not grow with the file.
_AT_A_TIME = 2048


@dataclass(frozen=True)
class Answer:
    """An example with what the model answered.

    columns:       for each target column, an answer for each word, or one for the whole
    probabilities: for each target column with labels or texts, how probable the model holds each of those answers; of
                   several classes, how probable it holds each class there is
    cut:           whether a text was stopped before its end, being longer than it may be
    texts:         where texts are written, those that were found, best first
    masks:         where something is masked, behind each mask the most probable pieces, best first: (piece, share)
    error:         why there is no answer, where the item could not be read
    """

    words: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    probabilities: Mapping[str, tuple[Certainty, ...]]
    example: Example = field(repr=False, compare=False)
    cut: bool = False
    error: DataError | None = None
    texts: tuple[Written, ...] = ()
    masks: tuple[tuple[tuple[str, float], ...], ...] = ()

    @classmethod
    def unread(cls, error: DataError) -> Answer:
        """What stands in the place of an item that could not be read."""
        return cls((), {}, {}, Example(()), error=error)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers of the first target column: a label for each word."""
        if self.error is not None:
            raise self.error
        return next(iter(self.columns.values()))

    @property
    def label(self) -> str:
        """The one answer of the first target column: a class."""
        (only,) = self.labels
        return only

    @property
    def text(self) -> str:
        """The one answer of the first target column: a text."""
        return self.label

    @property
    def number(self) -> float:
        """The one answer of the first target column: a number."""
        return float(self.label)


@dataclass
class Predictor:
    """A model with all it needs to read and to answer.

    tokenizer: how an example becomes what the network reads: of text a tokenizer
    answering: what the model answers to a batch
    whole:     whether there is one answer for the whole example, and not one for each word
    apart:     whether the texts of an example are read apart
    marked:    whether words are marked that stand in another of its texts too
    copying:   whether unknown words that are written are copied from where the model looks in the source
    masking:   how a text is masked, where what is masked is learnt
    told:      hears how many items were answered, each time some are, before their answers are given in order
    """

    model: EncoderModel | EncoderDecoderModel | DecoderModel
    tokenizer: InputKind
    targets: Mapping[str, Target]
    answering: Answering
    batch_tokens: int
    whole: bool = False
    apart: bool = False
    marked: bool = False
    copying: bool = False
    masking: Masking | None = None
    told: Callable[[float], None] = lambda count: None

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def writes(self) -> Texts | None:
        """What is written, where the answer is a text."""
        return next((target for target in self.targets.values() if isinstance(target, Texts)), None)

    @property
    def writer(self) -> Writer | None:
        """What writes piece by piece, where a decoder does."""
        return self.answering if isinstance(self.answering, Writer) else None

    @property
    def spells(self) -> bool:
        """Whether the elements that were read spell the text between them (CTC)."""
        return isinstance(self.answering, Speller)

    @property
    def against_streaming(self) -> str | None:
        """Why texts cannot be spelled while speech is still coming; None where they can."""
        if not isinstance(self.answering, Speller):
            return "no text is spelled"
        return against_streaming(self.answering.model)

    def quick(self, examples: Sequence[Example]) -> Predictor:
        """The same for the many evaluations of training: texts are written without a search, and no longer than the
        longest of these examples' own."""
        if isinstance(self.answering, Speller):
            return replace(self, answering=replace(self.answering, beam=1))
        if not isinstance(self.answering, Writer):
            return self
        longest = max((len(self.item(example).written) for example in examples), default=1)
        return replace(self, answering=self.answering.greedy(max(1, longest - 1)))

    def item(self, example: Example) -> Item:
        """The example as numbers. Where the whole has one label or number, a text without words is one unknown word;
        where a text is written, nothing is written of nothing."""
        if self.masking is not None:
            by_hand = MASK in example.words
            random = of_the_item(example.words)
            masked = self.masking.given(example.words) if by_hand else self.masking.masked(example.words, random)
            return self.masked_item(example, masked)
        writes = self.writes
        words = example.words or ("",) if self.whole and writes is None else example.words
        labels = {
            column: target.encode(example.labels[column])
            for column, target in self.targets.items()
            if column in example.labels
        }
        if isinstance(self.model, DecoderModel) and writes is not None and words:
            # What is read is what is written: the text itself, or its beginning.
            labels = dict.fromkeys(self.targets, (*writes.tokenizer.numbers(words), writes.end))
        text = next(iter(labels.values()), ()) if writes and not self.spells else ()
        encoded = self.tokenizer.of(example if words is example.words else replace(example, words=words))
        return Item(
            encoded=encoded,
            labels=labels,
            words=len(words),
            answers=self._answers(example, encoded.length or len(words), len(text)),
            written=(writes.start, *map(int, text[:-1])) if writes and text else (),
            texts=texts_of(words, encoded) if self.apart and isinstance(encoded, EncodedText) else (),
            shared=shared_words(words) if self.marked else (),
            spelled=self.spells,
        )

    def names(self, example: Example) -> tuple[str, ...]:
        """What the network attends to, as people call it."""
        if self.masking is None:
            return self.tokenizer.names(example)
        tokenizer = self.masking.tokenizer
        if isinstance(tokenizer, LibraryTokenizer):  # signs stand around the whole, and a mask has a sign of its own
            return tokenizer.named(self.masking.given(example.words).shown.pieces)
        pieces = tokenizer.pieces
        return tuple(piece for word in example.words for piece in ((MASK,) if word == MASK else pieces([word])))

    def masked_item(self, example: Example, masked: Masked) -> Item:
        """A text as numbers, of which some are asked for."""
        (column,) = self.targets
        labels = {column: masked.pieces or (IGNORED,) * len(masked.places)}
        return Item(masked.shown, labels, len(example.words), len(masked.places), asked=masked.places)

    def _answers(self, example: Example, vectors: int, pieces: int) -> int:
        """How many answers there are: one for each vector, each piece, or each word, or one for the whole."""
        if self.spells:
            return vectors
        return pieces if self.writes else 1 if self.whole else len(example.words)

    def teaches(self, item: Item) -> bool:
        """Whether something can be learnt of an item: it has elements and, where a text is written, a known one that
        its elements can say."""
        if not item.length or self.writes is None:
            return bool(item.length)
        (labels,) = item.labels.values()
        return bool(labels) and (not self.spells or self.needed(item) <= item.length)

    def needed(self, item: Item) -> int:
        """How many elements it takes to say the item's text."""
        (labels,) = item.labels.values()
        return frames_needed([int(number) for number in labels[:-1]])

    def predict(self, examples: Iterable[Example]) -> Iterator[Answer]:
        """An answer for each example, in the same order."""
        examples = iter(examples)
        while chunk := list(islice(examples, _AT_A_TIME)):
            yield from self._answer(chunk)

    def predict_in_place(self, found: Iterable[Example | DataError]) -> Iterator[Answer]:
        """An answer for each example; what could not be read keeps its place among them."""
        unread: dict[int, DataError] = {}

        def examples() -> Iterator[Example]:
            for number, one in enumerate(found):
                if isinstance(one, Example):
                    yield one
                else:
                    unread[number] = one

        given = 0
        for answer in self.predict(examples()):
            while given in unread:
                yield Answer.unread(unread.pop(given))
                given += 1
            yield answer
            given += 1
        yield from map(Answer.unread, unread.values())

    def _answer(self, examples: Sequence[Example]) -> list[Answer]:
        answers: list[Answer | None] = [None] * len(examples)
        items = [self.item(example) for example in examples]
        # Without an element there is nothing to attend to, and no labels are asked for.
        full = [
            n for n, item in enumerate(items) if item.length and (self.masking is None or MASK in examples[n].words)
        ]
        for number in set(range(len(items))) - set(full):
            answers[number] = self._nothing(examples[number])
        self.told(len(examples) - len(full))
        # A model that trains and evaluates in turns goes back to where it was.
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                for group in self._groups(batches([items[number] for number in full], self.batch_tokens)):
                    numbers = [full[item] for batch in group for item in batch.items]
                    sources = [batch.to(self.device).inputs for batch in group]
                    found = self._found(sources, [examples[number] for number in numbers])
                    if not isinstance(self.answering, Writer):
                        self.told(len(numbers))
                    for batch, of_batch in zip(group, found, strict=True):
                        for row, item in enumerate(batch.items):
                            number = full[item]
                            answers[number] = self._as_answer(examples[number], of_batch, row, items[number])
        finally:
            if training:
                self.model.train()
        return [answer for answer in answers if answer is not None]

    def _groups(self, batches: Iterator[Batch]) -> Iterator[list[Batch]]:
        """Batches that are answered together; where texts are written all of which as many can be written side by side,
        since as the text of one item ends, that of another begins in its place. The longest go first, so that the last
        to end are short."""
        writer = self.answering
        if not isinstance(writer, Writer):
            yield from ([batch] for batch in batches)
            return
        # What is longer than this is written with fewer beside it; of these like goes to like.
        longest = self.batch_tokens // writer.at_once

        def size(batch: Batch) -> int:
            return max(longest, int(batch.inputs["lengths"].max())).bit_length()

        for _, group in groupby(reversed(list(batches)), size):
            yield list(group)

    def _found(self, sources: Sequence[Inputs], examples: Sequence[Example]) -> list[dict[str, Answered]]:
        """For each batch, the best answers of each column as numbers, and their probabilities."""
        try:
            if isinstance(self.answering, Writer):
                return list(self.answering.answers(sources, self.batch_tokens, self.told))
            return [self.answering(inputs) for inputs in sources]
        except ShapeError as error:
            longest = max(examples, key=lambda example: len(example.words))
            raise ShapeError(f"{longest.place}: {error}") from None

    def filling(self, count: int) -> Predictor:
        """The same, asked for so many pieces behind each mask."""
        assert isinstance(self.model, EncoderModel)
        assert self.masking is not None
        return replace(self, answering=best_at_masks(self.model, count, never=self.masking.tokenizer.special))

    def asking(self, *, count: int = 1, layer: int | None = None) -> Predictor:
        """The same, asked for so many texts of each item, and for what looked at what in a layer of the decoder.

        layer: counted from 1; 0 is the last
        """
        if isinstance(self.answering, Speller):
            return replace(self, answering=replace(self.answering, count=count))
        assert isinstance(self.answering, Writer)
        layer = self.answering.looking if layer is None else layer
        return replace(self, answering=replace(self.answering, count=count, looking=layer))

    def stream(self, example: Example) -> Iterator[str]:
        """The text of one example as it is decided, in parts that are never half a letter."""
        writes, item = self.writes, self.item(example)
        assert writes is not None and isinstance(self.answering, Writer | Speller)
        self.model.eval()
        if item.length:
            yield from writes.tokenizer.growing(self._decided(self._growing(item)))

    def timed(self, example: Example, text: str) -> list[Timed]:
        """When each word of a text is said in a recording; nothing where it cannot be said in it."""
        item, writes = self.item(example), self.writes
        assert writes is not None and isinstance(item.encoded, EncodedSpeech)
        (column,) = self.targets
        tokens = [int(number) for number in writes.encode([text])[:-1]]
        assert not isinstance(self.model, DecoderModel)
        self.model.eval()
        with torch.inference_mode():
            inputs = next(batches([item], self.batch_tokens)).to(self.device).inputs
            scores = spelling_of(self.model, column, inputs)
        assert scores is not None
        spans = align(scores[0, : item.length], tokens, writes.end)
        return timed(text, spans, word_of_each(writes.tokenizer, tokens), item.encoded.cut.seconds)

    def _growing(self, item: Item) -> Iterator[int]:
        """The pieces of an item's text, each as soon as it is decided."""
        assert isinstance(self.answering, Writer | Speller)
        if isinstance(self.answering, Speller) and isinstance(item.encoded, EncodedSpeech):
            return self.answering.listen(item.encoded.blocks())
        return self.answering.follow(next(batches([item], self.batch_tokens)).to(self.device).inputs)

    @staticmethod
    def _decided(pieces: Iterator[int]) -> Iterator[int]:
        while True:
            with torch.inference_mode():
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    def _as_answer(self, example: Example, found: Mapping[str, Answered], row: int, item: Item) -> Answer:
        for column, of_column in found.items():
            if of_column.texts is not None:
                return self._as_written(example, column, self._read(example, of_column, row, item))
            if self.masking is not None:
                assert of_column.certain is not None
                return self._filled(example, column, of_column.best[row], of_column.certain[row])
        count = 1 if self.whole else item.answers
        return Answer(
            words=example.words,
            columns={c: tuple(map(self.targets[c].decode, of_c.best[row][:count])) for c, of_c in found.items()},
            probabilities={
                c: tuple(map(self.targets[c].certainty, of_c.certain[row][:count]))
                for c, of_c in found.items()
                if of_c.certain is not None
            },
            example=example,
        )

    def _filled(self, example: Example, column: str, best: Sequence[Any], certain: Sequence[Any]) -> Answer:
        """The text with the most probable piece in the place of each mask."""
        decode = self.targets[column].decode
        masks = [
            tuple((decode(piece), float(share)) for piece, share in zip(pieces, shares, strict=True))
            for pieces, shares in zip(best, certain, strict=True)
        ]
        found = masks[: example.words.count(MASK)]
        first = iter(of_mask[0][0] for of_mask in found)
        assert self.masking is not None
        text = self.masking.tokenizer.joined([next(first) if word == MASK else word for word in example.words])
        shares = {column: tuple(of_mask[0][1] for of_mask in found)}
        return Answer(example.words, {column: (text,)}, shares, example, masks=tuple(found))

    def _read(self, example: Example, found: Answered, row: int, item: Item) -> tuple[Written, ...]:
        assert self.writes is not None and found.texts is not None
        looked = None if found.looked is None else found.looked[row]
        return read(self.writes, found.texts[row], looked, Source(self.tokenizer, example), copying=self.copying)

    @staticmethod
    def _as_written(example: Example, column: str, texts: tuple[Written, ...]) -> Answer:
        best = texts[0]
        shares = {column: (math.exp(best.log_probability),)}
        return Answer(example.words, {column: (best.text,)}, shares, example, best.cut, texts=texts)

    def _nothing(self, example: Example) -> Answer:
        """The answer to an example without an element: no labels, or an empty text."""
        if self.masking is not None:
            text = (self.masking.tokenizer.joined(example.words),)
            return Answer(example.words, dict.fromkeys(self.targets, text), {}, example)
        if self.writes is None:
            nothing: dict[str, tuple[Any, ...]] = dict.fromkeys(self.targets, ())
            return Answer(example.words, nothing, nothing, example)
        (column,) = self.targets
        return self._as_written(example, column, (EMPTY,))

    def given(self, examples: Sequence[Example]) -> list[Given]:
        """How probable the model holds the texts that stand in the examples themselves."""
        writes = self.writes
        assert writes is not None
        items = [self.item(example) for example in examples]
        found = [Given(0.0, 0)] * len(examples)
        full = [number for number, item in enumerate(items) if item.length and any(item.labels.values())]
        for batch, scores in self.scored([items[number] for number in full]):
            for column, of_column in scores.items():
                head = self.model.output.head(column)
                assert isinstance(head, SoftmaxHead)
                each = head.log_probabilities(of_column, batch.labels[column], batch.inputs["answers"])
                for row, item in enumerate(batch.items):
                    found[full[item]] = Given(float(each[row]), len(items[full[item]].labels[column]))
        return found

    def behind_masks(self, examples: Sequence[Example]) -> list[Behind]:
        """How probable the model holds what stands behind masks, which are drawn for each text from itself alone."""
        assert self.masking is not None
        items = [self.item(example) for example in examples]
        found = [Behind(0.0, 0, 0)] * len(examples)
        full = [number for number, item in enumerate(items) if item.answers]
        for batch, scores in self.scored([items[number] for number in full]):
            for column, of_column in scores.items():
                each = log_probabilities(of_column, batch.labels[column])
                right = (of_column.argmax(-1) == batch.labels[column]).sum(1)
                for row, item in enumerate(batch.items):
                    known = int((batch.labels[column][row] != IGNORED).sum())
                    found[full[item]] = Behind(float(each[row]), known, int(right[row]))
        return found

    def scored(self, items: Sequence[Item]) -> Iterator[tuple[Batch, dict[str, torch.Tensor]]]:
        """Batches, and the scores of all labels in each."""
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                for batch in batches(items, self.batch_tokens):
                    batch = batch.to(self.device)
                    yield batch, self.model(batch.inputs)
        finally:
            if training:
                self.model.train()


def texts_of(words: Sequence[str], encoded: EncodedText) -> tuple[int, ...]:
    """Which of the joined texts each vector belongs to, counted from 0; what parts two texts belongs to none (-1)."""
    texts, number = [], 0
    for word in words:
        texts.append(-1 if word == SEPARATOR else number)
        number += word == SEPARATOR
    return tuple(texts[word] for word in encoded.word_of_piece) if encoded.pieces else tuple(texts)


def shared_words(words: Sequence[str]) -> tuple[int, ...]:
    """Whether each word stands in another of the joined texts too, whatever its case; what parts them does not."""
    texts = texts_of(words, EncodedText())
    found: dict[str, set[int]] = {}
    for word, text in zip(words, texts, strict=True):
        if text >= 0:
            found.setdefault(word.lower(), set()).add(text)
    return tuple(int(text >= 0 and len(found[word.lower()]) > 1) for word, text in zip(words, texts, strict=True))


@dataclass(frozen=True)
class Given:
    """A given text's log-probability, and how many pieces it has, its end included."""

    log_probability: float
    pieces: int


@dataclass(frozen=True)
class Behind:
    """The log-probability of what stands behind a text's masks, how many these are, and how many are answered right."""

    log_probability: float
    pieces: int
    right: int
