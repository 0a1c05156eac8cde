"""Story 2: one value for the whole. A character's Unicode name tells what kind of character it is; a small model learns
to say so from the standard library's own table."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from regard.demo.story import say, show_answers
from regard.experiment import train
from regard.folder import write_file
from regard.run import Run
from regard.scoring import Scored
from regard.training.floor import label_floors
from regard.training.metric import LabelScores
from regard.training.progress import talk_to

# Names that are made by counting and not by describing; there are tens of thousands of each.
COUNTED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HANGUL SYLLABLE",
    "TANGUT IDEOGRAPH",
    "NUSHU CHARACTER",
    "KHITAN SMALL SCRIPT CHARACTER",
)

# Unicode's general categories, as people call them (Unicode Standard, table 4-4).
CATEGORIES = {
    "Lu": "capital letter", "Ll": "small letter", "Lt": "title letter", "Lm": "modifier letter", "Lo": "other letter",
    "Mn": "mark", "Mc": "spacing mark", "Me": "enclosing mark", "Nd": "digit", "Nl": "letter number",
    "No": "other number", "Pc": "connector", "Pd": "dash", "Ps": "opening", "Pe": "closing", "Pi": "opening quote",
    "Pf": "closing quote", "Po": "other punctuation", "Sm": "mathematical sign", "Sc": "currency sign",
    "Sk": "modifier sign", "So": "other sign", "Zs": "space", "Cf": "format",
}  # fmt: skip

_SEED = 1
_SHARES = {"test": 0.1, "dev": 0.05}

_RECIPE = """# The demo's judge of names: a character's name -> its general category.

[task]
kind = "classify"

[data]
train = "train.tsv"
dev = "dev.tsv"
test = "test.tsv"
format = "tsv"
header = true
source = "name"
target = "category"

[input]
tokens = "words"
split = "spaces"
word_width = 64
dropout = 0.03

[model]
width = 64
depth = 1
heads = 2
inner = 128

[train]
epochs = 7
lr = 3e-3
batch_tokens = 800
evaluate_every = 400
threads = 1
"""


def tell(folder: Path, console: Console) -> None:
    """Write the names, train, and show what came of it."""
    names = named()
    say(
        console,
        f"\n\nOne value for the whole: the {len(names):,} characters whose names describe them (Unicode "
        f"{unicodedata.unidata_version}) each have a category. GREEK SMALL LETTER ALPHA is a small letter, EURO SIGN a "
        "currency sign. Can it be told from the name?\n",
    )
    write_data(folder, names)
    run = train(folder / "names.toml", run=folder / "names", talk=talk_to(console))
    found = run.evaluate(folder / "test.tsv")
    console.print()
    console.print(_table(run, found, folder))
    show_answers([answer for answer in found.answers if len(answer.words) > 2], console, "a ")
    _show_picture(run, console)
    say(
        console,
        f'\nnext   regard predict {folder}/names {folder}/test.tsv\n       regard look {folder}/names "EURO SIGN"\n'
        "       regard init classify --data YOUR.tsv",
    )


def named() -> list[tuple[str, str]]:
    """Every character's name and category, those with counted names left out."""
    found = (
        (unicodedata.name(chr(point), ""), unicodedata.category(chr(point))) for point in range(sys.maxunicode + 1)
    )
    return [
        (name, CATEGORIES[category])
        for name, category in found
        if name and category in CATEGORIES and not name.startswith(COUNTED)
    ]


def write_data(folder: Path, names: Sequence[tuple[str, str]]) -> None:
    """The names as TSV files, split at random, and the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    shuffled = list(names)
    random.Random(_SEED).shuffle(shuffled)
    start = 0
    for part, share in {**_SHARES, "train": 1.0}.items():
        end = min(len(shuffled), start + round(share * len(shuffled)))
        rows = "".join(f"{name}\t{category}\n" for name, category in shuffled[start:end])
        write_file(folder / f"{part}.tsv", f"name\tcategory\n{rows}")
        start = end
    write_file(folder / "names.toml", _RECIPE)


def _table(run: Run, found: Scored, folder: Path) -> Table:
    from regard.corpus import read_part

    examples = {part: read_part(run.recipe, [str(folder / f"{part}.tsv")]) for part in ("train", "test")}
    floors = label_floors(examples["train"], examples["test"], tuple(run.predictor.targets), ())
    assert isinstance(found.scores, LabelScores)
    table = Table(title=f"{found.scores.items:,} names never seen before", box=None, title_justify="left")
    for title in ("", "right", "mean F1 of the categories"):
        table.add_column(title, justify="right" if title else "left")
    for name, scores in {"this model": found.scores, **floors}.items():
        values = scores.values()
        table.add_row(name, f"{values['accuracy']:.1%}", f"{values['macro_f1']:.1%}")
    return table


def _show_picture(run: Run, console: Console) -> None:
    look = run.look("COMBINING LATIN SMALL LETTER A")
    say(console, f"\n{look.answered}\n")
    console.print(look.picture(1))
