"""Story 1: words with two readings. A tagger learns to tell them apart by their neighbours; beside it a model that sees
each word alone, and fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.demo.grammar import AMBIGUOUS, KEPT_BACK, Sentence, sentences
from regard.experiment import train
from regard.folder import write_file
from regard.predict import Answer
from regard.run import Run
from regard.scoring import Scored
from regard.training.floor import FLOORS
from regard.training.progress import talk_to

COLUMN = "upos"

# Distinct sentences, so that none that is asked has been learnt.
_SEED = 2
_SIZES = {"train": 4000, "dev": 500, "test": 1000}

_RECIPE = """# The demo's tagger: {what}.

[data]
train = "train.conllu"
dev = "dev.conllu"
test = "test.conllu"

[input]
tokens = "words"
word_width = 48
dropout = 0.0

[model]
{model}
width = 48
depth = 2
inner = 96

[train]
epochs = {epochs}
lr = 3e-3
batch_tokens = 512
evaluate_every = {evaluate_every}
threads = 1
"""


class Shown(NamedTuple):
    """A model of the story: what it is, its settings, and how long and how often it is trained and evaluated."""

    what: str
    model: str
    epochs: int
    evaluate_every: int


MODELS = {
    "attention": Shown("each word looks at all others", 'encoder = "attention"\nheads = 2', 12, 125),
    "pointwise": Shown("each word is seen alone", 'encoder = "pointwise"', 5, 125),
}


class Triple(NamedTuple):
    """One sentence with its tags and the answers to it."""

    words: Sequence[str]
    tags: Sequence[str | None]
    answers: Sequence[str]


class Shares(NamedTuple):
    """What is right: words, the words that have two readings, whole sentences."""

    words: float
    ambiguous: float
    sentences: float


def tell(folder: Path, console: Console) -> None:
    """Write the data, train both models, and show what came of it."""
    say(console, _BEGINNING)
    parts = write_data(folder)
    runs = {name: _trained(folder, name, console) for name in MODELS}
    scored = {name: run.evaluate(folder / "test.conllu") for name, run in runs.items()}
    console.print()
    console.print(_table(parts, scored))
    _show_answers(scored, console)
    _show_picture(runs["attention"], console)
    say(console, _END.format(folder=folder))


def write_data(folder: Path) -> dict[str, list[Sentence]]:
    """The grammar's sentences as CoNLL-U files, those of train as plain text too, and a recipe for each model."""
    everything = iter(sentences(sum(_SIZES.values()), _SEED))
    folder.mkdir(parents=True, exist_ok=True)
    parts = {part: [next(everything) for _ in range(size)] for part, size in _SIZES.items()}
    for part, of_part in parts.items():
        write_file(folder / f"{part}.conllu", "".join(map(_conllu, of_part)))
    write_file(folder / "train.txt", "".join(" ".join(sentence.words) + "\n" for sentence in parts["train"]))
    for name, shown in MODELS.items():
        write_file(folder / f"{name}.toml", _RECIPE.format(**shown._asdict()))
    return parts


def shares(triples: Sequence[Triple]) -> Shares:
    """How much of the answers is right."""
    words = [(word, tag == answer) for triple in triples for word, tag, answer in zip(*triple, strict=True)]
    ambiguous = [right for word, right in words if word in AMBIGUOUS]
    whole = [tuple(triple.tags) == tuple(triple.answers) for triple in triples]
    return Shares(
        sum(right for _, right in words) / len(words), sum(ambiguous) / len(ambiguous), sum(whole) / len(whole)
    )


def answered(scored: Scored) -> list[Triple]:
    """A model's answers."""
    return [Triple(answer.words, answer.example.labels[COLUMN], answer.labels) for answer in scored.answers]


def looked_up(parts: Mapping[str, Sequence[Sentence]]) -> list[Triple]:
    """The answers of a list that has each word's most frequent tag: the best that a word alone can tell."""
    from regard.data.example import Example

    train = [Example(sentence.words, {COLUMN: sentence.tags}) for sentence in parts["train"]]
    look_up = list(FLOORS.values())[-1](train, COLUMN, ())
    return [Triple(s.words, s.tags, [look_up(word) for word in s.words]) for s in parts["test"]]


def _conllu(sentence: Sentence) -> str:
    rows = (
        f"{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n"
        for number, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True), 1)
    )
    return "".join((f"# text = {' '.join(sentence.words)}\n", *rows, "\n"))


def _trained(folder: Path, name: str, console: Console) -> Run:
    say(console, f"\n{name}: {MODELS[name].what}")
    return train(folder / f"{name}.toml", run=folder / name, talk=talk_to(console))


def _table(parts: Mapping[str, Sequence[Sentence]], scored: Mapping[str, Scored]) -> Table:
    table = Table(title=f"{_SIZES['test']:,} sentences never seen before", box=None, title_justify="left")
    for name in ("", "words", "words with two readings", "whole sentences"):
        table.add_column(name, justify="right" if name else "left")
    rows = {name: answered(found) for name, found in scored.items()}
    rows["list of each word's most frequent tag"] = looked_up(parts)
    for name, triples in rows.items():
        table.add_row(name, *(f"{share:.1%} right" for share in shares(triples)))
    return table


def _show_answers(scored: Mapping[str, Scored], console: Console) -> None:
    """An unseen sentence that only attention gets right, and one that it gets wrong."""
    both = list(zip(answered(scored["attention"]), answered(scored["pointwise"]), strict=True))
    for title, wanted in (
        ("told apart by attention, not by the word alone:", lambda a, p: _right(a) and not _right(p)),
        ("attention is wrong here:", lambda a, p: not _right(a)),
    ):
        found = next((pair for pair in both if wanted(*pair)), None)
        if found is None:
            say(console, f"\n{title} nowhere in these sentences")
            continue
        say(console, f"\n{title}")
        rows = {
            "": found[0].words,
            "right": found[0].tags,
            "attention": found[0].answers,
            "pointwise": found[1].answers,
        }
        console.print(_aligned(rows, found[0].tags))


def _right(triple: Triple) -> bool:
    return tuple(triple.tags) == tuple(triple.answers)


def _aligned(rows: Mapping[str, Sequence[str | None]], right: Sequence[str | None]) -> Table:
    table = Table.grid(padding=(0, 1))
    for number, (name, cells) in enumerate(rows.items()):
        styles = ["" if number == 0 or cell == tag else "bold red" for cell, tag in zip(cells, right, strict=True)]
        marks = ["" if not style else "✗" for style in styles]
        table.add_row(
            Text(name, "dim"),
            *(Text(f"{mark}{cell}", style) for cell, mark, style in zip(cells, marks, styles, strict=True)),
        )
    return table


def _show_picture(run: Run, console: Console) -> None:
    """The kept-back sentence, and the head that looks most at a neighbour."""
    look = run.look(KEPT_BACK)
    tagged = " ".join(f"{word}/{label}" for word, label in zip(look.answer.words, look.answer.labels, strict=True))
    say(console, f"\nand the sentence that was kept back:\n\n    {tagged}\n")
    layer, head, offset, weight = look.sharpest_neighbour()
    where = "before" if offset < 0 else "after"
    say(
        console,
        f"How? Here is the head that looks most at a neighbour: on average {weight:.0%} of its weight is on the word "
        f"{where} the one that is named.\n",
    )
    console.print(look.picture(layer, head))


def show_answers(answers: Sequence[Answer], console: Console, article: str = "") -> None:
    """Two answers to a whole that are right and two that are wrong. article: what stands before what it should be"""
    for right, title in ((True, "right:"), (False, "wrong:")):
        shown = [answer for answer in answers if (answer.label == _wanted(answer)) is right][:2]
        say(console, f"\n{title}{'' if shown else ' nowhere'}")
        for answer in shown:
            should = "" if right else f" (it is {article}{_wanted(answer)})"
            console.print(Text.assemble("    ", " ".join(answer.words), " → ", (answer.label, "bold"), should))


def _wanted(answer: Answer) -> str | None:
    """What stands in the data, in the first column."""
    return next(iter(answer.example.labels.values()))[0]


def say(console: Console, text: str) -> None:
    """Text as it is, wrapped to the terminal."""
    console.print(text, markup=False, highlight=False)


_BEGINNING = (
    f'A saw is a thing, and "saw" is what eyes did. In "{" ".join(KEPT_BACK)}" the same word is both.\n\n'
    f"A small Transformer learns here to name each word's part of speech, from {_SIZES['train']:,} sentences of a "
    "small English in which half of all words could be two things and only their neighbours tell which. Beside it a "
    "model is trained that sees each word alone."
)

_END = """
next   regard look {folder}/attention "the light can light the can"
       regard evaluate {folder}/attention {folder}/test.conllu
       regard init label --data YOUR.conllu
       and open {folder}/attention/report.html to see how it learnt"""
