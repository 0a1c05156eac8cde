"""What `regard look` prints and writes: pictures, pages, tables, steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.data.conllu import Conllu
from regard.data.example import Example
from regard.data.reading import guess_format, read_examples
from regard.errors import DataError, RegardError
from regard.folder import write_file
from regard.look.attribute import leave_one_out
from regard.look.corpus import CorpusLook, look_at_corpus, read_gold, read_syntax
from regard.look.effect import Asked
from regard.look.look import Look, part_of, told
from regard.look.measure import ALL_MEASURES
from regard.look.save import PICTURES, save
from regard.look.space import picture, space_page, spaces_of, words_of
from regard.look.view import page, view
from regard.look.walk import walk
from regard.run import Run, load

if TYPE_CHECKING:
    from rich.console import Console

Say = Callable[[str], None]


@dataclass(frozen=True)
class Chosen:
    """Which picture of a look is meant: layer and head from 1, and the part."""

    layer: int | None = None
    head: int | None = None
    part: str | None = None


# What each way of looking takes beside the run; without a way, a picture and a page are made.
_TAKES: dict[str, tuple[str, ...]] = {
    "": ("--layer", "--head", "--part", "--out", "--beside", "--with", "--rows", "--columns", "--json"),
    "--steps": ("--layer", "--head", "--part", "--out"),
    "--leave-one-out": (),
    "--neighbours": (),
    "--analogy": (),
    "--space": (),
    "--corpus": ("--reference", "--gold"),
}
# Those that ask about the model and take no input.
_WITHOUT_INPUT = ("--neighbours", "--analogy", "--corpus")


def check_together(ways: Mapping[str, bool], given: Mapping[str, bool], *, has_input: bool) -> None:
    """Refuse what would be ignored, and what is missing."""
    asked = [way for way, wanted in ways.items() if wanted]
    if len(asked) > 1:
        raise RegardError(f"{' and '.join(asked)} are different questions; ask one at a time")
    way = asked[0] if asked else ""
    unused = [name for name, there in given.items() if there and name not in _TAKES[way]]
    if unused:
        with_what = f"beside {way}" if way else "without --corpus"
        raise RegardError(f"{', '.join(unused)} would not be used {with_what}; leave it out")
    if given["--json"] and any(given[name] for name in _TAKES[""] if name != "--json"):
        raise RegardError("--json gives all layers and heads as they are; leave the other options out")
    if has_input and way in _WITHOUT_INPUT:
        raise RegardError(f"{way} asks about the model and takes no input; leave the input out")
    if not has_input and way not in _WITHOUT_INPUT:
        raise RegardError('there is nothing to look at: give an input, as in regard look RUN "I saw a saw"')


def show(
    run: Run,
    text: str,
    chosen: Chosen,
    *,
    console: Console,
    say: Say,
    out: Path | None,
    beside: Sequence[tuple[str, Look]],
    rows: slice | None,
    columns: slice | None,
) -> None:
    """A picture in the terminal, and a page (or what the ending of `out` says).

    beside: other looks for the page, each with what it is called
    """
    found = run.look(item_of(run, text), rows=rows, columns=columns)
    drawn = found.picture(chosen.layer, chosen.head, chosen.part)
    console.print(found.answered, markup=False, highlight=False)
    console.print(drawn)
    path = run.folder / "look" / f"{_file_name(text)}.html" if out is None else out
    if path.suffix in PICTURES:
        if beside:
            raise RegardError(f"{path} is one picture; inputs or runs beside each other need a page (--out NAME.html)")
        save(found, path, chosen.layer, chosen.head, chosen.part)
    elif path.suffix == ".html":
        _say_worth(found, chosen, say)
        path.parent.mkdir(parents=True, exist_ok=True)
        own = view(found, f"{text} ({run.folder.name})" if any(name for name, _ in beside) else "")
        write_file(path, page([own, *(view(other, name) for name, other in beside)]))
    else:
        raise RegardError(f"{path} ends in none of .html, {', '.join(PICTURES)}")
    say(f"wrote {path}" + ("; it opens in any browser, offline" if path.suffix == ".html" else ""))


def _say_worth(found: Look, chosen: Chosen, say: Say) -> None:
    """What the picture in the terminal is worth, where it is of one head."""
    if found.measured and chosen.head is not None:
        _, path = found.chosen(chosen.layer, chosen.head, chosen.part)
        for sentence in found.effects[path][chosen.head - 1].sentences():
            say(sentence)


def others_beside(
    run: Run, text: str, beside: Sequence[str], runs: Sequence[Path], trust_code: bool
) -> list[tuple[str, Look]]:
    """Other inputs of the same run, and the same input in other runs."""
    found = [("", run.look(item_of(run, other))) for other in beside]
    for folder in runs:
        other = load(folder, trust_code=trust_code)
        found.append((f"{text} ({other.folder.name})", other.look(item_of(other, text))))
    return found


def item_of(run: Run, text: str) -> str | Example:
    """A text as it stands; where no text is read, the first item of a file, or the one whose number follows a colon
    (series.tsv:3)."""
    if run.recipe.input.kind == "text":
        return text
    name, _, number = text.rpartition(":")
    path, wanted = (name, int(number)) if name and number.isdecimal() else (text, 1)
    items = run.read(path, run.reader(path), on_error="stop")
    found = next(islice(items, max(0, wanted - 1), None), None)
    if wanted < 1 or not isinstance(found, Example):
        raise DataError(f"{path} has no item {wanted}; items are counted from 1")
    return found


def _file_name(text: str) -> str:
    """A file's name from the first letters of an input, in any script."""
    name = re.sub(r"[^\w]+", "-", text[:60]).strip("-_").lower()
    return name or "input"


def part_of_text(text: str | None, option: str) -> slice | None:
    """400:600 -> the elements from 401 to 600."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d*):(\d*)", text)
    if match is None:
        raise RegardError(f"{option} is {text!r}; it is a part such as 400:600, counted from 0, the end not included")
    return slice(*(int(number) if number else None for number in match.groups()))


def show_steps(run: Run, text: str, word: int, chosen: Chosen, out: Path | None, say: Say) -> None:
    """The walk through one head for one element."""
    found = walk(run.predictor, run.look(item_of(run, text)), word, chosen.layer, chosen.head or 1, chosen.part)
    print(found.text())
    if out is not None:
        if out.suffix != ".html":
            raise RegardError(f"{out}: steps are written as a page; name it NAME.html")
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, found.page())
        say(f"wrote {out}; it opens in any browser, offline")


def show_neighbours(run: Run, word: str) -> None:
    """The words with the most similar vectors."""
    _print_alike(words_of(run.predictor).neighbours(word))


def show_analogy(run: Run, words: str) -> None:
    """What is to the third as the second is to the first."""
    parts = [part for part in words.split(",") if part]
    if len(parts) != 3:
        raise RegardError(
            f"--analogy is {words!r}; it is three words, as in man,king,woman: king is to man as … to woman"
        )
    one, other, like = parts
    _print_alike(words_of(run.predictor).analogy(one, other, like))


def _print_alike(found: Sequence[tuple[str, float]]) -> None:
    print("word\tcosine")
    for name, alike in found:
        print(f"{name}\t{alike:.3f}")


def show_space(run: Run, text: str, out: Path, say: Say) -> None:
    """A picture of vectors as places."""
    spaces = spaces_of(run.predictor, run.example(item_of(run, text)))
    if not spaces:
        raise RegardError("there is nothing to draw: one element alone has no place")
    if out.suffix not in (".svg", ".html"):
        raise RegardError(f"{out}: vectors are drawn as .svg, or as a page (.html)")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_file(out, picture(spaces) if out.suffix == ".svg" else space_page(text, spaces))
    say(f"wrote {out}")


def show_left_out(run: Run, text: str) -> None:
    """What each word of the input is worth to the answer."""
    example = run.example(item_of(run, text))
    if not example.words:
        raise RegardError("there is nothing to look at: the input is empty")
    predictor = run.predictor
    from regard.data.batching import collate

    inputs = collate([predictor.item(example)], [0]).to(predictor.device).inputs
    told(predictor, inputs)
    worth = leave_one_out(Asked.of(predictor, example, inputs))
    print("left out\tlargest fall of the answer's probability\tmean")
    for word, row in zip(example.words, worth, strict=True):
        known = row[~row.isnan()]
        print(f"{word}\t{known.max():.3f}\t{known.mean():.3f}" if len(known) else f"{word}\t–\t–")


def corpus_look(run: Run, data: str, reference: str | None, gold: str | None, say: Say) -> CorpusLook:
    """What heads do over a file."""
    errors = run.recipe.data.encoding_errors
    links = None if gold is None else list(read_gold(gold, errors))
    if gold is not None:
        run.must_write("gold")
    syntax = None
    reads_text = run.recipe.input.kind == "text" and not run.predictor.whole
    if reads_text and guess_format(data, errors) == "conllu":
        source = run.recipe.data.source
        reader = Conllu(source[0] if source else None, ("head", "deprel"))
        examples: Sequence[Any] = read_examples(
            [data], reader, on_error=run.recipe.data.on_error, encoding_errors=errors, say=say
        )
        syntax = read_syntax((one.labels["head"], one.labels["deprel"]) for one in examples)
    else:
        examples = run.examples(data, reference, say=say)
    if links is not None and len(links) != len(examples):
        raise DataError(
            f"{data} has {len(examples)} items, but {gold} has {len(links)} lines of links; one belongs to each"
        )
    return look_at_corpus(run.predictor, examples, syntax=syntax, gold=links)


def print_corpus(found: CorpusLook, say: Say) -> None:
    """A row for each head; then its links and the syntactic heads it finds, where they are known."""
    names = [name for name in ALL_MEASURES if any(name in measures for _, _, measures in found.rows())]
    print("\t".join(["part", "layer", "head", *names, *(["alignment errors"] if found.has_links else [])]))
    number: dict[str, int] = {}
    of_part: dict[str, int] = {}
    for path, head, measures in found.rows():
        part = part_of(path)
        if path not in number:
            number[path] = of_part[part] = of_part.get(part, 0) + 1
        cells = [f"{measures[name]:.3f}" if name in measures else "–" for name in names]
        if found.has_links:
            cells.append(f"{found.found[path, head - 1].error_rate:.3f}" if part == "cross" else "–")
        print("\t".join([part, str(number[path]), str(head), *cells]))
    if found.has_links:
        print(f"\nalignment errors of the diagonal\t{found.diagonal.error_rate:.3f}")
    if found.has_syntax:
        print("\nrelation\tcount\tbest head finds\twhich\tbest offset finds\toffset")
        for relation, count, share, which, constant, offset in found.relations():
            print(f"{relation}\t{count}\t{share:.3f}\t{which}\t{constant:.3f}\t{offset:+d}")
    say(f"{found.items:,} items; " + "; ".join(f"{name}: {ALL_MEASURES[name]}" for name in names))
    if found.has_syntax:
        say("heads and offsets are chosen on these same items, so both are a little too good")


def look_as_data(found: Look) -> dict[str, Any]:
    """A look as JSON."""
    data: dict[str, Any] = {"tokens": found.tokens}
    if found.written:
        data["written"] = found.written
    data["labels"] = found.answer.columns
    data["weights"] = {path: layer.tolist() for path, layer in found.weights.items()}
    data["measures"] = {path: layer.measures for path, layer in found.maps.items()}
    return data
