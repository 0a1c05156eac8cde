"""`regard init`: looks at data and writes a complete, commented recipe for it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.conllu import COLUMNS
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.reading import guess_format, read_examples, reader_for, table_reader_for
from regard.data.target import parted
from regard.data.text import at_punctuation
from regard.errors import RegardError, nearest
from regard.init.plain import language_settings, read_plain, shown, told_of
from regard.init.sequences import read_sequences, sequence_settings
from regard.init.signals import read_signals
from regard.init.signals import told as told_of_signals
from regard.init.sizes import label_settings, whole_settings
from regard.init.speech import lengths as lengths_of
from regard.init.speech import read_speech
from regard.init.table import look_at_table
from regard.recipe.read import recipe_from
from regard.recipe.settings import BODY, NAMES, TEXT_TASKS, TO_TEXT_TASKS, DataSettings, Recipe
from regard.recipe.write import commented

PARTS = ("train", "dev", "test")

# So many sentences are looked at to see which columns are filled.
_LOOKED_AT = 500


@dataclass(frozen=True)
class Reading:
    """What was found in the data: the recipe for it, and what to tell."""

    recipe: Recipe
    text: str
    told: Sequence[str]


def read_data(
    task: str,
    paths: Sequence[str],
    out: Path,
    *,
    target: Sequence[str] = (),
    source: Sequence[str] = (),
    format: str,
    separator: str | None = None,
    kind: str = "text",
    item: str | None = None,
    horizon: int | None = None,
    start: Path | None = None,
    tokens: str | None = None,
) -> Reading:
    """Look at files (train, dev, test; each of them two where a text is written line by line) and choose settings.

    kind, item, horizon: what is read, as in input.kind; the column that makes items, as in data.item; output.horizon
    separator: what parts several classes in a cell
    start:     a run to begin with, whose body's settings need not be chosen
    tokens:    of plain text, as in input.tokens
    """
    if task not in NAMES["task.kind"]:
        raise RegardError(
            f"unknown task {task}; known: {', '.join(NAMES['task.kind'])}{nearest(task, NAMES['task.kind'])}"
        )
    if task in TEXT_TASKS:
        if target or source or format != "guess":
            raise RegardError(f"{task} learns from plain text, line by line; take --target, --source and --format out")
        return _plain(task, paths, out, start, tokens)
    if tokens is not None:
        raise RegardError(f"--tokens is for mlm and lm; in a recipe of kind {task} it is input.tokens")
    columns = {"target": tuple(map(_column, target)), "source": tuple(map(_column, source))}
    if separator is not None and task != "classify":
        raise RegardError(f"--separator parts the classes of a cell, but a task of kind {task} has none; take it out")
    if kind not in NAMES["input.kind"]:
        raise RegardError(f"unknown --input {kind}; known: {', '.join(NAMES['input.kind'])}")
    if kind != "text" and start is not None:
        raise RegardError(f"--start is for text; for {kind} say model.start in the recipe")
    if kind == "speech" and (separator or item or horizon):
        raise RegardError("--separator, --item and --horizon are not of speech; take them out")
    if kind not in ("text", "speech"):
        given = None if item is None else _column(item)
        found = read_signals(task, kind, paths, columns, format, item=given, horizon=horizon)
        return _of_signals(task, out, separator, found)
    if kind == "text" and task not in _CHOICES:
        raise RegardError(f"a task of kind {task} reads no text; say with --input vectors what is read")
    choose = _CHOICES[task] if kind == "text" else partial(_speech, task)
    choose = choose if separator is None else partial(_whole, task, separator=separator)
    values, files, examples = choose(paths, columns, format)
    values = {**values, "task": {"kind": task}}
    if separator is not None:
        values["data"]["separator"] = separator
        del values["train"]["label_smoothing"]  # each class is decided on its own: there are no others to spread over
    values["data"] |= {part: tuple(os.path.relpath(path, out.parent) for path in of) for part, of in files.items()}
    values = _begun(values, start, out)
    recipe = recipe_from(values, folder=out.parent)
    told = [f"{' and '.join(of)}: {part}, read as {recipe.data.format}" for part, of in files.items()]
    told += [_sizes(part, of_part, recipe) for part, of_part in examples.items()]
    told += _texts(recipe) if task in TO_TEXT_TASKS else _values(examples["train"], separator)
    told += ["  " + _shown(example) for example in examples["train"][:3]]
    told += duplicates(examples)
    if recipe.data.scheme != "none":
        told.append(f"spans are written as {recipe.data.scheme} and learnt as {recipe.output.scheme}")
    return Reading(recipe, commented_relative(recipe, values, out), told)


def _begun(values: dict[str, dict[str, Any]], start: Path | None, out: Path) -> dict[str, dict[str, Any]]:
    """The settings without those of the body, where that is another run's."""
    if start is None:
        return values
    kept = {
        section: {key: value for key, value in part.items() if key not in BODY.get(section, ())}
        for section, part in values.items()
    }
    return {**kept, "model": {**kept.get("model", {}), "start": os.path.relpath(start, out.parent)}}


def _plain(task: str, paths: Sequence[str], out: Path, start: Path | None, tokens: str | None) -> Reading:
    """Settings for plain text, of which no more is read than lines here and there."""
    texts = {part: read_plain([path], DataSettings(train=("-",)).longest) for part, path in _parts(paths).items()}
    data: dict[str, Any] = {part: (os.path.relpath(text.names[0], out.parent),) for part, text in texts.items()}
    values = {**language_settings(texts["train"], tokens), "data": data, "task": {"kind": task}}
    values = _begun(values, start, out)
    recipe = recipe_from(values, folder=out.parent)
    told = [f"{text.names[0]}: {part}, read as plain text" for part, text in texts.items()]
    told += [told_of(part, text) for part, text in texts.items()]
    told += [f"  {shown(example)}" for example in texts["train"][:3]]
    return Reading(recipe, commented_relative(recipe, values, out), told)


def _of_signals(
    task: str,
    out: Path,
    separator: str | None,
    found: tuple[dict[str, dict[str, Any]], Files, dict[str, list[Example]]],
) -> Reading:
    """A recipe for series or pictures."""
    values, files, examples = found
    values = {**values, "task": {"kind": task}}
    if separator is not None:
        values["data"]["separator"] = separator
        values["train"].pop("label_smoothing", None)
    values["data"] |= {part: tuple(os.path.relpath(path, out.parent) for path in of) for part, of in files.items()}
    recipe = recipe_from(values, folder=out.parent)
    told = [f"{' and '.join(of)}: {part}, read as {recipe.data.format}" for part, of in files.items()]
    told += told_of_signals(values, files, examples)
    told += [] if task in ("forecast", "seq2seq") else _values(examples["train"], separator)
    return Reading(recipe, commented_relative(recipe, values, out), told)


Files = dict[str, tuple[str, ...]]

# Settings, the files of each part, and their examples.
Chosen = tuple[dict[str, dict[str, Any]], Files, dict[str, list[Example]]]


def _parts(paths: Sequence[str]) -> dict[str, str]:
    if not 1 <= len(paths) <= len(PARTS):
        raise RegardError(f"--data takes the files TRAIN [DEV [TEST]], one to three of them; found {len(paths)}")
    return dict(zip(PARTS, paths, strict=False))


def _each(files: dict[str, str]) -> Files:
    return {part: (path,) for part, path in files.items()}


def _labels(paths: Sequence[str], columns: dict[str, tuple[str | int, ...]], format: str) -> Chosen:
    """Settings for a label for each word."""
    files = _parts(paths)
    found = guess_format(files["train"]) if format == "guess" else format
    target = columns["target"] or _targets(found, files["train"])
    source = columns["source"][0] if columns["source"] else None
    examples = {part: read_examples([path], reader_for(path, found, source, target)) for part, path in files.items()}
    data = {"format": found, "target": target, **({"source": columns["source"]} if columns["source"] else {})}
    settings = label_settings(examples["train"])
    return {**settings, "data": {**settings["data"], **data}}, _each(files), examples


def _whole(
    task: str,
    paths: Sequence[str],
    columns: dict[str, tuple[str | int, ...]],
    format: str,
    *,
    separator: str | None = None,
) -> Chosen:
    """Settings for one class or number for the whole."""
    files = _parts(paths)
    given = (format, columns["source"], columns["target"])
    table = look_at_table(files["train"], *given, numbers=task == "regress", separator=separator)
    data: dict[str, Any] = {"format": table.format, "source": table.source, "target": table.target}
    if table.format in ("tsv", "csv"):
        data["header"] = table.header
    examples = {}
    for part, path in files.items():
        reader = table_reader_for(
            path, table.format, table.source, table.target, split=at_punctuation, header=data.get("header")
        )
        examples[part] = read_examples([path], reader)
    settings = whole_settings(task, examples["train"], pairs=len(table.source) == 2)
    return {**settings, "data": data}, _each(files), examples


def _sequences(paths: Sequence[str], columns: dict[str, tuple[str | int, ...]], format: str) -> Chosen:
    """Settings for writing a text."""
    data, files, examples = read_sequences(paths, format, columns["source"], columns["target"])
    return {**sequence_settings(examples["train"]), "data": data}, files, examples


def _spelled(paths: Sequence[str], columns: dict[str, tuple[str | int, ...]], format: str) -> Chosen:
    """The same for a text that the elements of what is read spell between them: there is no decoder to be set."""
    values, files, examples = _sequences(paths, columns, format)
    values["output"] = {name: value for name, value in values["output"].items() if name != "share"}
    values["train"] = {
        name: value for name, value in values["train"].items() if name not in ("label_smoothing", "metric")
    }
    return values, files, examples


_CHOICES: dict[str, Callable[[Sequence[str], dict[str, tuple[str | int, ...]], str], Chosen]] = {
    "label": _labels,
    "classify": partial(_whole, "classify"),
    "regress": partial(_whole, "regress"),
    "seq2seq": _sequences,
    "ctc": _spelled,
}


def _speech(task: str, paths: Sequence[str], columns: dict[str, tuple[str | int, ...]], format: str) -> Chosen:
    """Settings for recordings."""
    files = _parts(paths)
    values, examples = read_speech(task, files, columns["source"], columns["target"], format)
    return values, _each(files), examples


def commented_relative(recipe: Recipe, values: dict[str, dict[str, Any]], out: Path) -> str:
    """The recipe's text, with paths as they are seen from its folder."""
    name = out.stem
    heading = f"A recipe for regard; every setting is explained.\n\nregard train {out}\nregard look runs/{name} INPUT"
    relative = recipe.data.model_copy(update={part: values["data"][part] for part in PARTS if part in values["data"]})
    model = recipe.model.model_copy(update={key: values["model"][key] for key in ("start",) if key in values["model"]})
    return commented(recipe.model_copy(update={"data": relative, "model": model}), heading)


def _column(name: str) -> str | int:
    return int(name) if name.lstrip("-").isdecimal() else name


def _targets(format: str, path: str) -> tuple[str | int, ...]:
    """What is learnt where nothing was said: UPOS, or XPOS where a treebank has no UPOS; else the last column."""
    if format != "conllu":
        return (-1,)
    reader = reader_for(path, format, None, ("upos", "xpos"))
    found = islice(reader.examples(read_lines(path), path), _LOOKED_AT)
    examples = [example for example in found if isinstance(example, Example)]
    filled = {
        column: any(label != "_" for example in examples for label in example.labels[column])
        for column in ("upos", "xpos")
    }
    return ("xpos",) if filled["xpos"] and not filled["upos"] else (COLUMNS[3],)


def _sizes(part: str, examples: Sequence[Example], recipe: Recipe) -> str:
    """How many items there are, and how long they are."""
    if recipe.input.kind == "speech":
        seconds = sorted(lengths_of(examples))
        return (
            f"{part:>5}  {len(examples):,} recordings, {sum(seconds) / 60:.1f} minutes; {seconds[0]:.2f} to "
            f"{seconds[-1]:.2f} seconds, median {seconds[len(seconds) // 2]:.2f}"
        )
    written = recipe.task.kind in TO_TEXT_TASKS
    lengths = sorted(len(" ".join(example.words).split() if written else example.words) for example in examples)
    return (
        f"{part:>5}  {len(examples):,} items, {sum(lengths):,} words; lengths {lengths[0]} to {lengths[-1]}, "
        f"median {lengths[len(lengths) // 2]}"
    )


def _texts(recipe: Recipe) -> list[str]:
    if recipe.input.kind == "speech":
        return [f"at {recipe.input.rate:,} samples a second; texts are written in {recipe.output.tokens}"]
    shared = " (the same ones)" if recipe.output.share == "all" else ""
    return [f"texts are read in {recipe.input.tokens} and written in {recipe.output.tokens}{shared}"]


def _values(train: Sequence[Example], separator: str | None) -> list[str]:
    """What stands in each target column."""
    told = []
    if len(train) == 1 and not train[0].whole:
        told.append("all of train is one sentence: no blank line parts it. For one value a line: classify or regress")
    for column in train[0].labels:
        cells = [label for example in train for label in example.labels[column]]
        parts = [name for cell in cells for name in parted(cell or "", separator)] if separator else cells
        counts = Counter(parts)
        most = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(6))
        kind = f"classes, {len(parts) / len(cells):.1f} in a cell" if separator else "values"
        told.append(f"column {column}: {len(counts)} different {kind}, most often {most}")
    return told


def _shown(example: Example, most: int = 12) -> str:
    """The first words with their labels, or with the one value for the whole."""
    more = " …" if len(example.words) > most else ""
    labels = next(iter(example.labels.values()))
    if example.whole:
        return f"{' '.join(example.words[:most])}{more} → {labels[0]}"
    return " ".join(f"{word}/{label}" for word, label in zip(example.words[:most], labels, strict=False)) + more


def duplicates(examples: dict[str, list[Example]]) -> list[str]:
    """How many items of dev and test stand in train too, word for word."""
    known = {example.words for example in examples["train"]}
    told = []
    for part in PARTS[1:]:
        same = sum(example.words in known for example in examples.get(part, ()))
        if part in examples:
            told.append(f"{same:,} of {len(examples[part]):,} items of {part} stand in train too, word for word")
    return told
