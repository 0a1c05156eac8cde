"""A run that can be asked: loaded from its folder, it predicts, evaluates and shows what attention does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.corpus import (
    Pairs,
    asking_splitter,
    given_corpus,
    guess,
    read_beside,
    read_part,
    reader_of,
    to_be_answered,
    to_be_scored,
)
from regard.data.example import Example
from regard.data.reading import PAIR_READERS, Reader, found_in, guess_format, guess_table
from regard.data.signal.reader import SignalReader, steps
from regard.data.target import Texts
from regard.data.text import Text
from regard.errors import DataError, RegardError, choose
from regard.folder import load_model, model_folder
from regard.joining import join
from regard.look.look import Look, look
from regard.models.looking import cross_attention
from regard.models.mean import are_several
from regard.models.model import DecoderModel, EncoderDecoderModel
from regard.predict import Answer, Given, Predictor
from regard.recipe.decoding import with_decoding
from regard.recipe.settings import NAMES, TEXT_TASKS, Recipe
from regard.scoring import Scored, score
from regard.writing import writer
from regard.written import Timed

# What can be asked.
Items = str | Path | Iterable[str | Sequence[str] | np.ndarray | Example]

_ON_ERROR = {name: name for name in NAMES["data.on_error"]}


@dataclass
class Run:
    """A model and the folder it lives in; what `regard.train` and `regard.load` give."""

    folder: Path
    recipe: Recipe
    predictor: Predictor

    def predict(
        self, items: Items, *, on_error: str | None = None, best: int = 1, align: bool = False, layer: int | None = None
    ) -> list[Answer]:
        """An answer for each item, in order. Items are lines of text, sequences of words, or all that is in a file
        (given as a Path).

        on_error: as in data.on_error, the run's own where not given; with skip, what cannot be read has an answer with
            an error in its place
        best, align, layer: as `asking` takes them; the texts are in each answer's `texts`
        """
        plain = best == 1 and not align and layer is None
        run = self if plain else self.asking(best=best, align=align, layer=layer)
        return list(run.answers(items, on_error=on_error))

    def decoding(self, overrides: Mapping[str, Any]) -> Run:
        """The same run with other settings of [decode], by dotted key, as in {"decode.beam": 8}."""
        recipe = with_decoding(self.recipe, overrides)
        writes, model = self.predictor.writes, self.predictor.model
        if not overrides or writes is None:
            return self
        if self.predictor.spells:
            speller = replace(self.predictor.answering, beam=recipe.decode.beam)  # type: ignore[type-var]
            return replace(self, recipe=recipe, predictor=replace(self.predictor, answering=speller))
        assert isinstance(model, EncoderDecoderModel | DecoderModel)
        (column,) = self.predictor.targets
        answering = writer(recipe.decode, model, column, writes)
        copying = recipe.decode.unknown == "copy"
        return replace(self, recipe=recipe, predictor=replace(self.predictor, answering=answering, copying=copying))

    def asking(self, *, best: int = 1, align: bool = False, layer: int | None = None) -> Run:
        """The same run, asked for the `best` texts of each item, and with `align` for which word of the source stands
        behind which written word, by what is looked at in a layer of the decoder (counted from 1; the last where not
        given)."""
        self.must_write("best" if best != 1 else "align" if align else "layer")
        if best < 1:
            raise RegardError(f"best is {best}, but at least one text is asked for")
        if layer is not None and not align:
            raise RegardError("layer says by what texts are aligned; ask for align too")
        if align and self.predictor.spells:
            raise RegardError("align is asked for, but without a decoder nothing looks at a source; see timestamps")
        if self.predictor.spells:
            return replace(self, predictor=self.predictor.asking(count=best))
        if align and are_several(self.predictor.model):
            raise RegardError("align is asked for, but several runs answer together, and each looks elsewhere")
        if isinstance(self.predictor.model, DecoderModel) or are_several(self.predictor.model):
            if align:
                raise RegardError(f"align is asked for, but {self.folder} reads nothing that could stand behind a word")
            return replace(self, predictor=self.predictor.asking(count=best))
        assert isinstance(self.predictor.model, EncoderDecoderModel)
        if layer is not None:
            assert isinstance(self.predictor.model, EncoderDecoderModel)
            cross_attention(self.predictor.model, layer)
        looking = (0 if layer is None else layer) if align else None
        return replace(self, predictor=self.predictor.asking(count=best, layer=looking))

    def filling(self, count: int) -> Run:
        """The same run, asked for so many pieces behind each mask; they are in each answer's `masks`."""
        if self.predictor.masking is None:
            raise RegardError(f"top is asked for, but {self.folder} fills no masks ({self._kind})")
        if count < 1:
            raise RegardError(f"top is {count}, but at least one piece is asked for")
        return replace(self, predictor=self.predictor.filling(count))

    @property
    def _kind(self) -> str:
        return f"task.kind = {self.recipe.task.kind}"

    def must_write(self, what: str) -> Texts:
        """Refuse what only a run that writes texts can do."""
        writes = self.predictor.writes
        if writes is None:
            raise RegardError(f"{what} is asked for, but {self.folder} writes no texts ({self._kind})")
        return writes

    def stream(self, item: str | Sequence[str] | Example) -> Iterator[str]:
        """The text of one item as it is decided, in parts that are never half a letter; joined they are the text that a
        beam of 1 writes."""
        self.must_write("stream")
        reason = self.predictor.against_streaming
        if self.predictor.spells and self.of_speech and reason is not None:
            raise RegardError(f"stream is asked for, but {reason}")
        if self.predictor.copying:
            raise RegardError("stream is asked for, but decode.unknown = copy knows its words only when all is written")
        if self.recipe.decode.required:
            raise RegardError("stream is asked for, but decode.required needs several beginnings; take one of them out")
        return self.predictor.stream(self.example(item))

    @property
    def of_speech(self) -> bool:
        return self.recipe.input.kind == "speech"

    def timed(self, example: Example, text: str) -> list[Timed]:
        """When each word of a text is said in a recording: by the most probable way in which its elements spell it."""
        self.must_write("timestamps")
        if not self.of_speech:
            raise RegardError("timestamps are asked for, but this run reads no speech (input.kind = speech)")
        if not (self.predictor.spells or self.recipe.output.ctc):
            raise RegardError("timestamps are asked for, but nothing spells the text: train with output.ctc, as 0.3")
        return self.predictor.timed(example, text)

    def given(self, examples: Sequence[Example], texts: Sequence[str]) -> list[Given]:
        """How probable the model holds given texts, one for each example."""
        self.must_write("score-targets")
        if self.recipe.task.kind in TEXT_TASKS:
            raise RegardError(f"{self.folder} reads nothing beside the text it writes; regard evaluate scores texts")
        (column,) = self.predictor.targets
        if len(examples) != len(texts):
            raise DataError(f"there are {len(examples)} items, but {len(texts)} texts to be scored; give one for each")
        asked = [replace(one, labels={column: (text,)}) for one, text in zip(examples, texts, strict=True)]
        # Of nothing, nothing is written: all else is impossible.
        return [
            found if one.words or not text else replace(found, log_probability=-math.inf)
            for found, one, text in zip(self.predictor.given(asked), examples, texts, strict=True)
        ]

    def answers(self, items: Items, *, on_error: str | None = None) -> Iterator[Answer]:
        """The same one after the other, in memory that does not grow."""
        if isinstance(items, Path):
            return self.answers_in(items, self.reader(items), on_error=on_error)
        return self.predictor.predict(map(self.example, [items] if isinstance(items, str) else items))

    def reader(self, path: str | Path, format: str = "guess") -> Reader | SignalReader:
        """How a file without targets is read: as what it looks like, and the standard input as lines of text."""
        if self.recipe.input.kind != "text":
            format = guess(self.recipe, path) if format == "guess" else format
            return reader_of(self.recipe, path, format=format, predicting=True)
        if format == "guess":
            format = self._looks_like(path)
        if format == "text":
            return Text(asking_splitter(self.recipe), whole=self.predictor.whole)
        return reader_of(self.recipe, path, format=format, target=tuple(self.predictor.targets), predicting=True)

    def _looks_like(self, path: str | Path) -> str:
        errors = self.recipe.data.encoding_errors
        if str(path) == "-" or self.recipe.task.kind in TEXT_TASKS:
            return "text"
        if self.predictor.whole:
            # A line of text may hold tabs and commas: only what was trained on tables is read as one.
            guessed = guess_table(path, errors)
            return guessed if guessed == self.recipe.data.format else "text"
        guessed = guess_format(path, errors)
        return "text" if guessed == "columns" and self.recipe.data.format != "columns" else guessed

    def answers_in(
        self, path: str | Path, reader: Reader | SignalReader, *, on_error: str | None = None
    ) -> Iterator[Answer]:
        """The answers to a file without labels, one after the other."""
        return self.predictor.predict_in_place(self.read(path, reader, on_error=on_error))

    def read(
        self, path: str | Path, reader: Reader | SignalReader, *, on_error: str | None = None
    ) -> Iterator[Example | DataError]:
        """What is in a file without labels, one after the other: each example, or with on_error = skip what is wrong
        with it."""
        on_error = choose(_ON_ERROR, self.recipe.data.on_error if on_error is None else on_error, "data.on_error")
        for found in found_in(path, reader, self.recipe.data.encoding_errors):
            found = self._fitting(found) if isinstance(found, Example) else found
            if isinstance(found, DataError) and on_error == "stop":
                raise DataError(f"{found} (--on-error skip leaves its place empty)")
            yield found

    def _fitting(self, example: Example) -> Example | DataError:
        """An example as it is asked, or why it is none that this model reads."""
        try:
            asked = to_be_answered(self.recipe, example)
            if asked.signal is not None:
                self.predictor.tokenizer.of(asked)
        except DataError as error:
            return error
        return asked

    def evaluate(
        self,
        data: str | Path | Pairs,
        reference: str | Path | None = None,
        *,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> Scored:
        """The model's scores on data with targets, and its answers.

        reference: a file with the targets of data, line by line
        """
        return score(self.predictor, self.examples(data, reference, say=say), self.recipe)

    def examples(
        self,
        data: str | Path | Pairs,
        reference: str | Path | None = None,
        *,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> Sequence[Example]:
        """Data with targets, as this run reads and scores it."""
        if reference is not None:
            examples: Sequence[Example] = self._beside(data, reference, say)
        elif isinstance(data, str | Path):
            if self.recipe.data.format in PAIR_READERS:
                raise DataError(f"{data} alone has no targets: this run reads parallel files; give the second one too")
            examples = read_part(self.recipe, [str(data)], say)
        else:
            examples = given_corpus(self.recipe, {"train": data, "dev": data}, say).dev
        return to_be_scored(self.recipe, examples)

    def _beside(self, data: str | Path | Pairs, reference: str | Path, say: Callable[[str], None]) -> Sequence[Example]:
        """Lines of one file with targets from another."""
        if not isinstance(data, str | Path):
            raise DataError("a reference is a file beside a file of texts; pairs have their targets with them")
        if not self.predictor.whole or len(self.predictor.targets) != 1:
            columns = ", ".join(self.predictor.targets)
            what = columns if self.predictor.whole else f"{columns} for each word"
            raise DataError(f"{reference} holds one target a line, but this run answers {what}; give one file with all")
        (column,) = self.predictor.targets
        return read_beside(self.recipe, str(data), str(reference), column, say)

    def look(
        self,
        item: str | Sequence[str] | np.ndarray | Example,
        *,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> Look:
        """The answer to one item, and what attention did for it.

        rows, columns: which elements pictures show of a long input, as in slice(400, 600)
        """
        if are_several(self.predictor.model):
            raise RegardError("look is asked for, but several runs answer together; look at one of them")
        return look(self.predictor, self.example(item), rows, columns)

    def example(self, item: str | Sequence[str] | np.ndarray | Example) -> Example:
        """An item as this run reads it: a line of text is split into words."""
        if isinstance(item, Example):
            return to_be_answered(self.recipe, item) if item.signal is not None and not item.labels else item
        if isinstance(item, np.ndarray):
            return self.example(_of_array(item, whole=self.predictor.whole or self.recipe.task.kind == "forecast"))
        if self.recipe.input.kind != "text":
            raise DataError(
                f"{item!r} is text, but this run reads {self.recipe.input.kind}; give an array of numbers, or a file "
                "as a Path"
            )
        words = asking_splitter(self.recipe)(item) if isinstance(item, str) else tuple(item)
        return Example(words, whole=self.predictor.whole)


def _of_array(values: np.ndarray, *, whole: bool) -> Example:
    """A user's own array to be answered."""
    return Example(("array",) if whole else steps(len(values)), whole=whole, signal=values)


def load(run: str | Path | Sequence[str | Path], *, trust_code: bool = False) -> Run:
    """The best model of a run (or the model in the folder itself), ready to predict; of several runs, one that answers
    with the mean of what all hold probable, under the name of the first.

    trust_code: let code that came with the run be run
    """
    names = [run] if isinstance(run, str | Path) else list(run)
    loaded = [load_model(model_folder(name), trust_code=trust_code) for name in names]
    predictor = loaded[0].predictor
    if len(names) > 1:
        known = {f"{name} (number {n})" if names.count(name) > 1 else str(name): one
                 for n, (name, one) in enumerate(zip(names, loaded, strict=True), 1)}  # fmt: skip
        predictor = join(known)
    return Run(Path(names[0]), loaded[0].recipe, predictor)
