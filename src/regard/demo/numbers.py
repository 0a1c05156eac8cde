"""Story 3: another sequence. A small encoder and decoder learn to write numbers in digits that are given in words, and
the picture of what the decoder looks at shows which word stands behind which digit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from regard.demo.story import say, show_answers
from regard.experiment import train
from regard.folder import write_file
from regard.run import Run
from regard.scoring import Scored
from regard.training.metric import shown
from regard.training.progress import talk_to
from regard.training.text_floor import text_floors

# Numbers go up to here, this one left out.
END = 1_000_000

# Of a million numbers few are small: those below this are learnt several times over, and some are kept apart and
# reported apart.
SMALL = 1_000
_TIMES = 4

# Never learnt, so that it can be shown to a model that has not seen it.
KEPT_BACK = 2007

_SEED = 3
_SIZES = {"dev": 400, "test": 1_000}
_SMALL_TEST = 200

# How many of each length in digits are learnt, beside the small ones.
_LEARNT = {4: 6_000, 5: 10_000, 6: 22_000}

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

_RECIPE = """# The demo's reader of numbers: words -> digits.

[task]
kind = "seq2seq"

[data]
train = "numbers-train.tsv"
dev = "numbers-dev.tsv"
test = "numbers-test.tsv"
format = "tsv"
header = true
source = "words"
target = "digits"

[input]
tokens = "words"
split = "spaces"
word_width = 64
minimum_count = 1
dropout = 0.0

[output]
tokens = "characters"

[model]
width = 64
depth = 2
heads = 2
inner = 128
dropout = 0.0

[train]
epochs = 3
lr = 3e-3
batch_tokens = 1000
evaluate_every = 250
threads = 1

[decode]
beam = 1
"""


def in_words(number: int) -> str:
    """A number below a million as it is said: two thousand and seven."""
    thousands, rest = divmod(number, 1_000)
    if not thousands:
        return _below_thousand(rest)
    begin = f"{_below_thousand(thousands)} thousand"
    if not rest:
        return begin
    return f"{begin} and {_below_thousand(rest)}" if rest < 100 else f"{begin} {_below_thousand(rest)}"


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    begin = f"{_ONES[hundreds]} hundred"
    return f"{begin} and {_below_hundred(rest)}" if rest else begin


def _below_hundred(number: int) -> str:
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens - 2]} {_ONES[ones]}" if ones else _TENS[tens - 2]


def drawn() -> dict[str, list[int]]:
    """The numbers of each part, none in two of them: train also has the small ones that are not asked."""
    chance = random.Random(_SEED)
    small = chance.sample(range(SMALL), SMALL)
    asked = [n for n in chance.sample(range(SMALL, END), sum(_SIZES.values()) + 1) if n != KEPT_BACK]
    left_out = {*asked, KEPT_BACK}
    train = small[_SMALL_TEST:] * _TIMES
    for digits, count in _LEARNT.items():
        # As many more are drawn as may have to be left out.
        found = chance.sample(range(10 ** (digits - 1), 10**digits), count + len(left_out))
        train += [number for number in found if number not in left_out][:count]
    chance.shuffle(train)
    dev, test = asked[: _SIZES["dev"]], asked[_SIZES["dev"] : _SIZES["dev"] + _SIZES["test"]]
    return {"train": train, "dev": dev, "test": test, "small": small[:_SMALL_TEST]}


def tell(folder: Path, console: Console) -> None:
    """Write the numbers, train, and show what came of it."""
    parts = drawn()
    say(
        console,
        f"\n\nAnother sequence: a number in words is written in digits, from {len(set(parts['train'])):,} of the "
        f'{END:,} numbers below a million. "{in_words(KEPT_BACK)}" is not among them: its zeros are nowhere in its '
        "words.\n",
    )
    write_data(folder, parts)
    run = train(folder / "numbers.toml", run=folder / "numbers", talk=talk_to(console))
    found = {part: run.evaluate(folder / f"numbers-{part}.tsv") for part in ("test", "small")}
    console.print()
    console.print(_table(run, found, folder))
    show_answers([answer for scored in found.values() for answer in scored.answers], console)
    _show_picture(run, console)
    say(
        console,
        f'\nnext   regard look {folder}/numbers "forty thousand and six"\n'
        f'       echo "nine hundred and ninety" | regard predict {folder}/numbers\n'
        "       regard init seq2seq --data YOUR.tsv",
    )


def write_data(folder: Path, parts: dict[str, list[int]]) -> None:
    """The numbers as TSV files, and the recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, numbers in parts.items():
        rows = "".join(f"{in_words(number)}\t{number}\n" for number in numbers)
        write_file(folder / f"numbers-{part}.tsv", f"words\tdigits\n{rows}")
    write_file(folder / "numbers.toml", _RECIPE)


def _table(run: Run, found: dict[str, Scored], folder: Path) -> Table:
    from regard.corpus import read_part

    train = read_part(run.recipe, [str(folder / "numbers-train.tsv")])
    table = Table(title="numbers never seen before, right in every digit", box=None, title_justify="left")
    for title in ("", f"{_SIZES['test']:,} numbers", f"{_SMALL_TEST} of them below {SMALL:,}"):
        table.add_column(title, justify="right" if title else "left")
    table.add_row("this model", *(shown("exact", scored.values["exact"]) for scored in found.values()))
    examples = {part: [answer.example for answer in scored.answers] for part, scored in found.items()}
    written = {part: text_floors(train, of_part) for part, of_part in examples.items()}
    for name in written["test"]:
        shares = (_share(written[part][name], examples[part]) for part in found)
        table.add_row(name, *(shown("exact", share) for share in shares))
    return table


def _share(texts: Sequence[str], examples: Sequence) -> float:  # type: ignore[type-arg]
    return sum(text == example.labels["digits"][0] for text, example in zip(texts, examples, strict=True)) / len(texts)


def _show_picture(run: Run, console: Console) -> None:
    """What the sharpest head of the decoder looks at in the words, for each digit."""
    look = run.look(in_words(KEPT_BACK))
    say(console, f"\n{look.answered}\n")
    say(console, "Which word stands behind which digit? Here is the decoder's sharpest head.\n")
    console.print(look.picture(*look.sharpest("cross"), part="cross"))
