"""What heads do over a corpus: their measures, how often they find a syntactic head, how well they align words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from regard.data.alignment import Pairs, aligned
from regard.data.batching import batches
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError, RegardError
from regard.look.look import part_of
from regard.look.measure import Totals, merged
from regard.look.record import attention_layers, record
from regard.predict import Predictor
from regard.written import Source

# Relations that occur less often are not told of one by one.
FEWEST = 10
# The offsets among which the best constant is sought: so many words to either side.
OFFSETS = tuple(offset for offset in range(-5, 6) if offset)


@dataclass(frozen=True)
class Syntax:
    """Of each word of a sentence its syntactic head, from 0 (None: the root, or unknown), and the relation to it."""

    heads: tuple[int | None, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True)
class Gold:
    """Links that people have drawn between words, (source, written) from 0. Source: Och & Ney 2003, section 4.1.

    sure: those of which nobody doubts; possible: these and more
    """

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


@dataclass
class Found:
    """What one head was counted to do.

    syntax:  relation -> [found from the dependent, found from the head, how many there are]
    links:   for the alignment error rate: [links, sure ones among them, possible ones among them, sure ones there are]
    """

    syntax: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    links: list[int] = field(default_factory=lambda: [0, 0, 0, 0])

    @property
    def error_rate(self) -> float:
        """1 − (|A∩S| + |A∩P|) / (|A| + |S|). Source: Och & Ney 2003, equation 21."""
        links, sure, possible, there = self.links
        return 1 - (sure + possible) / (links + there) if links + there else float("nan")


@dataclass
class CorpusLook:
    """What each head of each layer does over a corpus.

    totals: path -> its measures; found: (path, head from 0) -> what was counted; offsets: relation -> offset -> count
    diagonal: what a link to the word at the same share of the length reaches, to hold error rates against
    """

    items: int
    totals: dict[str, Totals]
    found: dict[tuple[str, int], Found]
    offsets: dict[str, Counter[int]]
    diagonal: Found

    def rows(self) -> list[tuple[str, int, dict[str, float]]]:
        """(path, head from 1, its measures) of each head."""
        return [
            (path, head, measures)
            for path, totals in self.totals.items()
            for head, measures in enumerate(totals.means(), 1)
        ]

    @property
    def has_syntax(self) -> bool:
        return bool(self.offsets)

    @property
    def has_links(self) -> bool:
        return bool(self.diagonal.links[3])

    def relations(self) -> list[tuple[str, int, float, str, float, int]]:
        """For each relation: how many there are, the best head's share, which head and from where, and what the best
        constant offset reaches. Heads and offsets are chosen on the same data, so both are a little too good.

        Source: Clark et al. 2019, arXiv:1906.04341, section 4.2 and table 1.
        """
        rows = []
        layers = {path: number for number, path in enumerate(self.totals, 1)}
        for relation, count in Counter({name: sum(each.values()) for name, each in self.offsets.items()}).most_common():
            if count < FEWEST:
                continue
            best = max(
                (found.syntax[relation][way] / count, f"layer {layers[path]} head {head + 1}, from the {whence}")
                for (path, head), found in self.found.items()
                if relation in found.syntax
                for way, whence in ((0, "dependent"), (1, "head"))
            )
            offset, hits = max(
                ((offset, self.offsets[relation][offset]) for offset in OFFSETS), key=lambda each: each[1]
            )
            rows.append((relation, count, *best, hits / count, offset))
        return rows


def look_at_corpus(
    predictor: Predictor,
    examples: Sequence[Example],
    *,
    syntax: Sequence[Syntax] | None = None,
    gold: Sequence[Gold] | None = None,
) -> CorpusLook:
    """Measure each head over many examples; of a model that writes, while it is told the texts of the examples.

    syntax, gold: one for each example
    """
    layers = attention_layers(predictor.model)
    if not layers:
        raise RegardError("this model has no attention to look at; its encoder is not attention")
    totals = {path: Totals(own=part_of(path) != "cross") for path in layers}
    found = {(path, head): Found() for path, layer in layers.items() for head in range(layer.heads)}
    looked = CorpusLook(0, totals, found, defaultdict(Counter), Found())
    items = [predictor.item(example) for example in examples]
    numbers = [number for number, item in enumerate(items) if item.length and (item.written or not predictor.writes)]
    if not numbers:
        raise RegardError(
            "there is nothing to look at: no example of the corpus has an input (and, where texts are written, a text)"
        )
    for batch in batches([items[number] for number in numbers], predictor.batch_tokens):
        inputs = batch.to(predictor.device).inputs
        with torch.inference_mode(), record(predictor.model) as recording:
            predictor.model(inputs)
        for row, place in enumerate(batch.items):
            number = numbers[place]
            looked.items += 1
            for path, weights in recording.weights.items():
                _count(looked, path, weights[row].cpu(), items[number].length, items[number].answers)
            _count_words(
                looked,
                predictor,
                examples[number],
                {path: weights[row].cpu() for path, weights in recording.weights.items()},
                None if syntax is None else syntax[number],
                None if gold is None else gold[number],
            )
    return looked


def _count(looked: CorpusLook, path: str, weights: Tensor, read: int, written: int) -> None:
    """The measures of one layer for one item; weights: (heads, queries, keys) with padding."""
    part = part_of(path)
    queries = read if part == "encoder" else written
    keys = written if part == "decoder" else read
    totals = looked.totals[path]
    totals.add(weights[:, :queries, :keys], torch.arange(queries))
    totals.add_padding(weights[:, :queries, keys:].sum(-1))


def _count_words(
    looked: CorpusLook,
    predictor: Predictor,
    example: Example,
    weights: dict[str, Tensor],
    syntax: Syntax | None,
    gold: Gold | None,
) -> None:
    if syntax is not None:
        words = _words_of_pieces(predictor, example)
        _count_offsets(looked, syntax)
        for path, layer in weights.items():
            if part_of(path) == "encoder":
                _count_heads(looked, path, merged(layer[:, : len(words), : len(words)], words, words), syntax)
    if gold is not None:
        writes = predictor.writes
        assert writes is not None
        source = Source(predictor.tokenizer, example).units
        pieces = writes.encode(next(iter(example.labels.values())))[:-1]
        written = writes.tokenizer.units(tuple(map(int, pieces)))
        lengths = max(source, default=-1) + 1, max(written, default=-1) + 1
        _count_links(looked.diagonal, _diagonal(*lengths), gold)
        for path, layer in weights.items():
            if part_of(path) == "cross":
                for head, of_head in enumerate(layer):
                    pairs = aligned(of_head[: len(written), : len(source)].numpy(), source, written)
                    _count_links(looked.found[path, head], pairs, gold)


def _words_of_pieces(predictor: Predictor, example: Example) -> tuple[int, ...]:
    """Which word of the example each piece belongs to; each its own, where words are read whole."""
    assert isinstance(predictor.tokenizer, Tokenizer)
    return predictor.tokenizer.of(example).word_of_piece or tuple(range(len(example.words)))


def _count_offsets(looked: CorpusLook, syntax: Syntax) -> None:
    for word, (head, relation) in enumerate(zip(syntax.heads, syntax.relations, strict=True)):
        if head is not None:
            for name in ("all", relation):
                looked.offsets[name][head - word] += 1


def _count_heads(looked: CorpusLook, path: str, weights: Tensor, syntax: Syntax) -> None:
    """weights: (heads, words, words). Nobody is his own head, so the word itself does not count."""
    others = weights.clone()
    others.diagonal(dim1=1, dim2=2).fill_(-1.0)
    from_dependent, from_head = others.argmax(2).tolist(), others.argmax(1).tolist()
    for head in range(len(weights)):
        found = looked.found[path, head]
        for word, (wanted, relation) in enumerate(zip(syntax.heads, syntax.relations, strict=True)):
            if wanted is None:
                continue
            for name in ("all", relation):
                counts = found.syntax[name]
                counts[0] += from_dependent[head][word] == wanted
                counts[1] += from_head[head][word] == wanted
                counts[2] += 1


def _count_links(found: Found, pairs: Pairs, gold: Gold) -> None:
    links = set(pairs)
    for place, count in enumerate((len(links), len(links & gold.sure), len(links & gold.possible), len(gold.sure))):
        found.links[place] += count


def _diagonal(source: int, written: int) -> Pairs:
    return tuple((min(source - 1, word * source // written), word) for word in range(written)) if source else ()


def read_syntax(rows: Iterable[tuple[Sequence[str | None], Sequence[str | None]]]) -> list[Syntax]:
    """Heads and relations as CoNLL-U writes them: heads from 1, 0 for the root, _ where nothing is known."""
    return [
        Syntax(
            tuple(int(head) - 1 if head and head.isdecimal() and head != "0" else None for head in heads),
            tuple(relation or "_" for relation in relations),
        )
        for heads, relations in rows
    ]


def read_gold(path: str | Path, encoding_errors: str = "strict") -> Iterator[Gold]:
    """A line for each pair: links as 0-0 (sure) and 1p2 or 1?2 (possible), source first, counted from 0."""
    for number, line in read_lines(path, encoding_errors):
        sure, possible = set(), set()
        for link in line.split():
            match = re.fullmatch(r"(\d+)([-p?])(\d+)", link)
            if match is None:
                raise DataError(
                    f"{path}, line {number}: {link!r} is no link; 0-0 is a sure one, 1p2 or 1?2 a possible one, "
                    "source word first, counted from 0"
                )
            pair = int(match[1]), int(match[3])
            possible.add(pair)
            if match[2] == "-":
                sure.add(pair)
        yield Gold(frozenset(sure), frozenset(possible))
