"""The settings of [decode] -> a writer: texts that are asked for become pieces."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from regard.data.target import Texts
from regard.data.vocabulary import SPECIAL
from regard.decode.filter import FILTERS, Filter, Phrase, Required, where_free
from regard.decode.sample import Sampling
from regard.decode.search import Ranking
from regard.errors import RecipeError
from regard.models.generate import Writer
from regard.models.mean import are_several
from regard.models.model import DecoderModel, WritingModel
from regard.recipe.settings import DecodeSettings

UNKNOWN = SPECIAL[1]


def writer(decode: DecodeSettings, model: WritingModel, column: str, texts: Texts) -> Writer:
    """What writes as the settings say; what no text could fulfil is refused."""
    if are_several(model) and (decode.coverage_penalty or decode.unknown == "copy"):
        what = "decode.coverage_penalty" if decode.coverage_penalty else "decode.unknown = copy"
        raise RecipeError(f"{what} asks what a model looks at, but several runs answer together; take one of them out")
    asked = _Asked(decode, texts)
    filters = asked.filters()
    if isinstance(model, DecoderModel):
        filters = [where_free(filter) for filter in filters]
    required = next((filter for filter in filters if isinstance(filter, Required)), None)
    shortest = max(decode.min_length, len(asked.prefix) + (0 if required is None else required.most))
    asked.check_room(shortest, model.decoder.position.most)
    return Writer(
        model,
        column,
        texts.start,
        texts.end,
        forbidden=[number for number in SPECIAL if not (number == UNKNOWN and decode.unknown == "copy")],
        beam=decode.beam,
        patience=decode.patience,
        at_once=decode.at_once,
        ranking=Ranking(decode.length_penalty, decode.length_norm, decode.coverage_penalty),
        max_length=decode.max_length,
        max_ratio=decode.max_ratio,
        shortest=shortest,
        filters=filters,
        required=required,
        looking=0 if decode.unknown == "copy" else None,
        sampling=Sampling(decode.temperature, decode.top_k, decode.top_p, decode.seed) if decode.sample else None,
    )


class _Asked:
    """What texts must, must not and should begin with, in the pieces that they are written in."""

    def __init__(self, decode: DecodeSettings, texts: Texts) -> None:
        self.decode = decode
        self.texts = texts
        self.prefix = () if decode.prefix is None else self.numbers("prefix", decode.prefix)

    def filters(self) -> list[Filter]:
        """Those that are asked for, in the order of the table."""
        given = {name: arguments for name, arguments in self._arguments() if arguments[0]}
        return [make(*given[name]) for name, make in FILTERS.items() if name in given]

    def _arguments(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        decode, end = self.decode, self.texts.end
        yield "forbidden", (self.phrases("forbidden", decode.forbidden),)
        yield "no_repeat", (decode.no_repeat,)
        yield "min_length", (decode.min_length, end)
        yield "required", (self.phrases("required", decode.required), end)
        yield "prefix", (self.prefix,)
        for name, text in (("prefix", decode.prefix), *(("required", text) for text in decode.required)):
            if decode.no_repeat is not None and text is not None:
                self.check_repeats(name, text, decode.no_repeat)

    def phrases(self, name: str, wanted: Sequence[str]) -> list[Phrase]:
        """Each text as what it is spelled in."""
        spelled: list[Sequence[Hashable]] = []
        for number in range(self.texts.end + 1):
            written = number not in SPECIAL and number != self.texts.end
            spelled.append(self.texts.tokenizer.spelled(number) if written else ())
        return [Phrase(self._spelling(name, text), spelled) for text in dict.fromkeys(wanted)]

    def _spelling(self, name: str, text: str) -> Sequence[Hashable]:
        self.numbers(name, text)
        return self.texts.tokenizer.spelling(text)

    def numbers(self, name: str, text: str) -> tuple[int, ...]:
        """A text as pieces; a symbol that is not known is refused."""
        numbers = self.texts.encode([text])[:-1]
        if not numbers:
            raise RecipeError(f"decode.{name} is {text!r}, in which there is nothing to be written")
        if UNKNOWN in numbers:
            spelling = self.texts.tokenizer.spelling(text)
            raise RecipeError(
                f"decode.{name} is {text!r}, but {spelling[numbers.index(UNKNOWN)]!r} is not among the "
                f"{self.texts.end - len(SPECIAL):,} {self.texts.tokenizer.kind} that this run writes in"
            )
        return numbers

    def check_repeats(self, name: str, text: str, size: int) -> None:
        """What is asked for must not itself be what must not be written twice."""
        numbers = self.numbers(name, text)
        runs = [numbers[place : place + size] for place in range(len(numbers) - size + 1)]
        again = next((run for place, run in enumerate(runs) if run in runs[:place]), None)
        if again is not None:
            raise RecipeError(
                f"decode.{name} is {text!r}, in which {self.texts.decode(again)!r} stands twice, but decode.no_repeat "
                f"= {size} lets nothing of that length be written twice"
            )

    def check_room(self, shortest: int, positions: int | None) -> None:
        """What is asked for must fit into a text."""
        longest = self.decode.max_length
        if longest is not None and shortest > longest:
            raise RecipeError(
                f"decode.max_length is {longest}, but decode.prefix and decode.required together have {shortest} pieces"
            )
        if positions is not None and shortest + 1 > positions:
            raise RecipeError(
                f"decode.min_length, decode.prefix and decode.required ask for {shortest} pieces, but with the learned "
                f"positions a text has at most {positions - 1}"
            )
