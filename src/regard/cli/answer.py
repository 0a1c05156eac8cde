"""Verbs that answer: predict, evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.shared import Json, Overrides, RunFolder, TrustCode, With, app, parted, print_json, progressing, say

if TYPE_CHECKING:
    from regard.predict import Answer
    from regard.run import Run


@app.command()
def predict(
    run: RunFolder,
    file: Annotated[str, typer.Argument(help="A file, or - for the standard input.")] = "-",
    overrides: Overrides = None,
    format: Annotated[str, typer.Option("--format", help="conllu, columns or text; guessed if not given.")] = "guess",
    on_error: Annotated[
        str | None,
        typer.Option(
            "--on-error", help="At an item that cannot be read: stop, or skip (an empty line); as the recipe."
        ),
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="How sure the model is of each.")] = False,
    best: Annotated[int, typer.Option("--best", help="So many texts an item: item, score, text; best first.")] = 1,
    top: Annotated[int | None, typer.Option("--top", help="So many pieces a [MASK]: item, mask, share, piece.")] = None,
    align: Annotated[bool, typer.Option("--align", help="Which source word stands behind which: 0-0 2-1.")] = False,
    layer: Annotated[int | None, typer.Option("--layer", help="align: by this layer, from 1; the last.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Each text as it is decided, with a beam of 1.")] = False,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", help="Of speech: item, begin and end in seconds, word; a line for each.")
    ] = False,
    targets: Annotated[
        str | None, typer.Option("--score-targets", metavar="FILE", help="How probable its lines are.")
    ] = None,
    others: With = None,
    processes: Annotated[int, typer.Option("--processes", min=1, help="Split over so many, a core each.")] = 1,
    resume_from: Annotated[
        Path | None, typer.Option("--resume-from", metavar="OUTPUT", help="Add to OUTPUT what is not in it yet.")
    ] = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Answers for each item of a file, in the same order; CoNLL-U in, CoNLL-U out; spans in output.scheme."""
    from regard import long_file, printing
    from regard.run import load

    files, changes = parted([file, *(overrides or [])])
    file = files[0] if files else "-"
    loaded = load([run, *(others or [])], trust_code=trust_code).decoding(changes)
    ways = {"--best": best != 1, "--align": align, "--stream": stream, "--score-targets": targets is not None}
    ways |= {"--probabilities": probabilities, "--top": top is not None, "--timestamps": timestamps}
    printing.check_together([name for name, asked in ways.items() if asked])
    long_file.check_together(ways, processes, resume_from)
    reader = loaded.reader(file, format)
    say(f"{'the standard input' if file == '-' else file} is read as {reader.name}; --format says otherwise")
    if targets is not None:
        printing.print_given(loaded, loaded.read(file, reader, on_error="stop"), targets, as_json)
        return
    if top is not None:
        printing.print_masks(progressing(loaded.filling(top).answers_in(file, reader)), as_json)
        return
    if stream:
        printing.print_stream(loaded, loaded.read(file, reader, on_error=on_error), as_json)
        return
    if timestamps:
        printing.print_times(loaded, loaded.answers_in(file, reader, on_error=on_error), as_json)
        return
    texts = (best, align, layer) if best != 1 or align or layer is not None else None
    asked = long_file.Asked((run, *(others or [])), trust_code, tuple(changes.items()), texts)
    with long_file.answering(
        loaded, asked, file, reader, on_error=on_error, processes=processes, resume_from=resume_from, say=say
    ) as found:
        if texts is not None:
            printing.print_texts(found, best, align, as_json)
        else:
            printing.print_answers(found, reader, probabilities=probabilities, as_json=as_json)


@app.command()
def evaluate(
    run: RunFolder,
    data: Annotated[str, typer.Argument(help="A file with what is to be answered, and its labels.")],
    reference: Annotated[
        str | None,
        typer.Argument(metavar="[REFERENCE]", help="Where DATA is lines of text: their answers, line by line."),
    ] = None,
    overrides: Overrides = None,
    others: With = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Scores on data with labels, each with the interval that holds 95 % of resamples; the answers are kept too."""
    from regard import printing
    from regard.run import load

    files, changes = parted([*([] if reference is None else [reference]), *(overrides or [])])
    loaded = load([run, *(others or [])], trust_code=trust_code).decoding(changes)
    found = loaded.evaluate(data, files[0] if files else None, say=say)
    kept = _keep_answers(loaded, data, found.answers) if found.answers else None
    if found.unseen:
        say(f"labels that training never saw, counted as missed: {', '.join(found.unseen)}")
    printing.say_cut(found.cut)
    print_json(printing.scores_as_json(found, data)) if as_json else printing.print_scores(found)
    if kept is not None:
        say(f"answers beside the data: {kept}")


def _keep_answers(loaded: Run, data: str, answers: Sequence[Answer]) -> Path:
    """A table of words, true labels and answers in the run's evaluate/."""
    from regard.folder import write_file
    from regard.printing import beside_the_data

    folder = loaded.folder / "evaluate"
    folder.mkdir(exist_ok=True)
    path = folder / f"{Path(data).name.split('.')[0]}.tsv"
    write_file(path, beside_the_data(answers, list(loaded.predictor.targets), loaded.predictor.whole))
    return path
