"""The command line: one short function per verb. Results go to stdout, talk to stderr; heavy imports stay inside."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.comparison import FAR_SEEDS, SEED, SEEDS, TRIALS
from regard.errors import RegardError, ToldError, nearest
from regard.machine import processes

if TYPE_CHECKING:
    from rich.console import Console

    from regard.predict import Answer
    from regard.run import Run

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# So many seconds a process leaves to another one to say why all of them stop.
_SAYING = 3.0

Json = Annotated[bool, typer.Option("--json", help="Results as JSON, a line each.")]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Let code that came with the run be run.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[key=value …]", help="Other settings of decode, as in decode.beam=8.")
]
With = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="RUN", help="Another run that answers too: the mean of all; may be given again."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or its best/ or last/.")]


def main() -> None:
    """The command line's entry: what a user can mend is one sentence and status 2."""
    try:
        app()
    except ToldError:  # another process says it; torchrun stops all as soon as one of them has ended
        time.sleep(_SAYING)
        sys.exit(2)
    except RegardError as error:
        print(f"regard: {error}", file=sys.stderr)
        sys.exit(2)
    except PermissionError as error:
        print(f"regard: {error.filename} may not be read or written by you", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output has gone; there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("regard: stopped", file=sys.stderr)
        sys.exit(130)


@app.callback()
def check_alone(context: typer.Context) -> None:
    """The whole Transformer as a tool: train it, look inside it, ship it."""
    rank, size, _ = processes()
    if size > 1 and context.invoked_subcommand != "train":
        _refuse_together(rank, size, f"regard {context.invoked_subcommand}", "; predict has --processes")


def _refuse_together(rank: int, size: int, what: str, instead: str = "") -> None:
    """Each of torchrun's processes would do all of it again."""
    sentence = f"{what} is done by one process, and torchrun started {size}; start it without torchrun{instead}"
    raise RegardError(sentence) if rank == 0 else ToldError(sentence)


@app.command()
def demo(
    story: Annotated[str, typer.Argument(metavar="[label|value|sequence]", help="One; all if not given.")] = "all",
    folder: Annotated[Path, typer.Option("--out", help="Where its files and runs are put.")] = Path("regard-demo"),
) -> None:
    """Stories told in three minutes, offline: a label for each word, one value for the whole, another sequence."""
    from regard.demo import names, numbers
    from regard.demo import story as words

    tellers = {"label": words.tell, "value": names.tell, "sequence": numbers.tell}
    if story not in (*tellers, "all"):
        raise RegardError(f"there is no story {story}; there are {', '.join(tellers)}{nearest(story, tellers)}")
    for name, tell in tellers.items():
        if story in (name, "all"):
            tell(folder, _console(stderr=False))


@app.command()
def init(
    task: Annotated[
        str,
        typer.Argument(
            help="label (each word or step), classify, regress (the whole), seq2seq, ctc (a text), mlm, lm, forecast."
        ),
    ],
    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            metavar="TRAIN [DEV [TEST]]",
            help="Files; for seq2seq also in twos, line by line; of speech lists or folders.",
        ),
    ],
    more: Annotated[list[str] | None, typer.Argument(metavar="[DEV [TEST]]", help="The other files.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The recipe to write.")] = Path("recipe.toml"),
    target: Annotated[str, typer.Option("--target", help="Columns to learn, as in upos,feats or 4.")] = "",
    source: Annotated[str, typer.Option("--source", help="The column to read; several are joined.")] = "",
    format: Annotated[str, typer.Option("--format", help="As in data.format; guessed by the contents.")] = "guess",
    tokens: Annotated[str | None, typer.Option("--tokens", help="mlm, lm: as in input.tokens.")] = None,
    start: Annotated[Path | None, typer.Option("--start", metavar="RUN", help="A run to begin with.")] = None,
    separator: Annotated[str, typer.Option("--separator", help="What parts several classes in a cell.")] = "",
    kind: Annotated[str, typer.Option("--input", help="text, vectors, image or speech: what is read.")] = "text",
    item: Annotated[
        str | None, typer.Option("--item", help="vectors: rows with one value in this column are an item's steps.")
    ] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", min=1, help="forecast: so many steps to come.")] = None,
) -> None:
    """Look at your data and write a complete, commented recipe for it."""
    from regard.init import read_data

    if out.exists():
        raise RegardError(f"{out} exists already; name another file with --out")
    columns = {"target": _names(target), "source": _names(source)}
    reading = read_data(
        task,
        [*data, *(more or [])],
        out,
        **columns,
        format=format,
        separator=separator or None,
        kind=kind,
        item=item,
        horizon=horizon,
        start=start,
        tokens=tokens,
    )
    _say("\n".join(reading.told))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(reading.text, encoding="utf-8")
    _say(f"\nwrote {out}; next: regard train {out}")


@app.command()
def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe, as `regard init` writes it.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[key=value …]", help="As in model.depth=3.")] = None,
    run: Annotated[Path | None, typer.Option("--run", help="The run's folder; runs/RECIPE if not given.")] = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Instead: sizes, the first batch, memory and minutes to expect.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify-resume", help="Instead: show that stopping and going on changes nothing.")
    ] = False,
) -> None:
    """Train; the same command continues an unfinished run exactly."""
    rank, size, _ = processes()
    if size > 1 and (dry or verify):
        _refuse_together(rank, size, "--dry-run" if dry else "--verify-resume")
    if dry:
        from regard.dry_run import dry_run
        from regard.recipe import parse_overrides

        for sentence in dry_run(recipe, parse_overrides(overrides or []), _say):
            print(sentence)
        return
    if verify:
        from regard.recipe import parse_overrides
        from regard.verifying import verify_resume

        print(verify_resume(recipe, parse_overrides(overrides or []), _say))
        return
    from regard.experiment import train as train_run
    from regard.recipe import parse_overrides
    from regard.training.progress import talk_to

    trained = train_run(recipe, parse_overrides(overrides or []), run=run, talk=talk_to(_console()))
    if rank == 0:
        _say(f'next   regard look {trained.folder} "…"   or   regard predict {trained.folder} FILE')


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

    files, changes = _parted([file, *(overrides or [])])
    file = files[0] if files else "-"
    loaded = load([run, *(others or [])], trust_code=trust_code).decoding(changes)
    ways = {"--best": best != 1, "--align": align, "--stream": stream, "--score-targets": targets is not None}
    ways |= {"--probabilities": probabilities, "--top": top is not None, "--timestamps": timestamps}
    printing.check_together([name for name, asked in ways.items() if asked])
    long_file.check_together(ways, processes, resume_from)
    reader = loaded.reader(file, format)
    _say(f"{'the standard input' if file == '-' else file} is read as {reader.name}; --format says otherwise")
    if targets is not None:
        printing.print_given(loaded, loaded.read(file, reader, on_error="stop"), targets, as_json)
        return
    if top is not None:
        printing.print_masks(_progressing(loaded.filling(top).answers_in(file, reader)), as_json)
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
        loaded, asked, file, reader, on_error=on_error, processes=processes, resume_from=resume_from, say=_say
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

    files, changes = _parted([*([] if reference is None else [reference]), *(overrides or [])])
    loaded = load([run, *(others or [])], trust_code=trust_code).decoding(changes)
    found = loaded.evaluate(data, files[0] if files else None, say=_say)
    kept = _keep_answers(loaded, data, found.answers) if found.answers else None
    if found.unseen:
        _say(f"labels that training never saw, counted as missed: {', '.join(found.unseen)}")
    printing.say_cut(found.cut)
    _print_json(printing.scores_as_json(found, data)) if as_json else printing.print_scores(found)
    if kept is not None:
        _say(f"answers beside the data: {kept}")


@app.command()
def certify(
    run: RunFolder,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="A file as predict reads it; the run's dev if not given.")
    ] = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Show that every way of running the model gives the same answers; status 1 where one does not."""
    from regard.certificate import HEAD, STATED
    from regard.ship import certify_with_exports

    found = certify_with_exports(run, data, trust_code=trust_code, say=_say)
    if as_json:
        _print_json(found.as_data())
    else:
        print("\n".join("\t".join(row) for row in (HEAD, *found.rows())))
    _say(f"{found.sentence}\n{STATED}")
    if found.failed:
        raise typer.Exit(1)


@app.command()
def export(
    run: RunFolder,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="onnx, or torch (.pt2).")],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="What both are asked; the run's dev if not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write; RUN/export/FORMAT if not given.")
    ] = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Write the model in another format; refused where it would not give the same answers there."""
    from regard.certificate import HEAD
    from regard.ship import export_run

    found = export_run(run, to, data, out=out, trust_code=trust_code, say=_say)
    if as_json:
        _print_json({"folder": str(found.folder), **found.line.as_data()})
    else:
        print("\n".join("\t".join(row) for row in (HEAD, found.line.cells())))
    _say(f"wrote {found.folder}")


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A folder as Hugging Face's libraries save it.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The run's folder to make.")],
    as_json: Json = False,
) -> None:
    """Make a run of a model that was trained elsewhere: BERT, RoBERTa, DistilBERT, ALBERT."""
    from regard.ship.importers import import_run

    found = import_run(path, out, say=_say)
    if as_json:
        kept = {"folder": str(found.folder), "family": found.family, "numbers": found.numbers, "head": found.head}
        _print_json({**kept, "left out": dict(found.unused)})
    else:
        print(found.told())
    _say(f'wrote {out}; next: echo "… [MASK] …" | regard predict {out} --top 3')


@app.command()
def look(
    run: RunFolder,
    text: Annotated[
        str | None, typer.Argument(metavar="[INPUT]", help="A sentence; of signals FILE or FILE:NUMBER.")
    ] = None,
    layer: Annotated[int | None, typer.Option("--layer", help="Counted from 1; the last if not given.")] = None,
    head: Annotated[int | None, typer.Option("--head", help="Counted from 1; the mean if not given.")] = None,
    part: Annotated[str | None, typer.Option("--part", help="encoder, decoder or cross (cross if there).")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A page (.html), a picture (.svg, .png) or numbers (.csv); RUN/look/.")
    ] = None,
    beside: Annotated[list[str] | None, typer.Option("--beside", help="Another input beside it, on the page.")] = None,
    other: Annotated[
        list[Path] | None, typer.Option("--with", metavar="RUN", help="Another run beside it, on the page.")
    ] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="Of a long input: who looks, as in 400:600.")] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="Of a long input: at what, as in 400:600.")] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="One head's steps for element N, from 1, in numbers.")
    ] = None,
    left_out: Annotated[
        bool, typer.Option("--leave-one-out", help="What each word is worth to the answer; any encoder.")
    ] = False,
    neighbours: Annotated[str | None, typer.Option("--neighbours", help="Words with vectors like this one's.")] = None,
    analogy: Annotated[
        str | None, typer.Option("--analogy", metavar="A,B,C", help="B is to A as what is to C.")
    ] = None,
    space: Annotated[
        Path | None, typer.Option("--space", metavar="FILE", help="Vectors as places (.svg, .html): INPUT's, labels'.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", metavar="DATA", help="What each head does over a file, measured.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option("--reference", help="Where --corpus is lines of text: their answers, line by line.")
    ] = None,
    gold: Annotated[
        str | None, typer.Option("--gold", help="--corpus: links between words, 0-0 sure and 1p2 possible.")
    ] = None,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """What attention does with an input: a picture here, a page that opens offline, and what both are worth."""
    from regard import showing
    from regard.run import load

    ways = {
        "--steps": steps is not None, "--leave-one-out": left_out, "--neighbours": neighbours is not None,
        "--analogy": analogy is not None, "--space": space is not None, "--corpus": corpus is not None,
    }  # fmt: skip
    given = {
        "--layer": layer is not None, "--head": head is not None, "--part": part is not None, "--out": out is not None,
        "--beside": bool(beside), "--with": bool(other), "--rows": rows is not None, "--columns": columns is not None,
        "--reference": reference is not None, "--gold": gold is not None, "--json": as_json,
    }  # fmt: skip
    showing.check_together(ways, given, has_input=text is not None)
    loaded = load(run, trust_code=trust_code)
    chosen = showing.Chosen(layer, head, part)
    if corpus is not None:
        showing.print_corpus(showing.corpus_look(loaded, corpus, reference, gold, _say), _say)
    elif neighbours is not None:
        showing.show_neighbours(loaded, neighbours)
    elif analogy is not None:
        showing.show_analogy(loaded, analogy)
    elif space is not None:
        showing.show_space(loaded, text or "", space, _say)
    elif left_out:
        showing.show_left_out(loaded, text or "")
    elif steps is not None:
        showing.show_steps(loaded, text or "", steps, chosen, out, _say)
    elif as_json:
        _print_json(showing.look_as_data(loaded.look(showing.item_of(loaded, text or ""))))
    else:
        asked = showing.part_of_text(rows, "--rows"), showing.part_of_text(columns, "--columns")
        others = showing.others_beside(loaded, text or "", beside or [], other or [], trust_code)
        showing.show(
            loaded, text or "", chosen, console=_console(stderr=False), say=_say, out=out, beside=others,
            rows=asked[0], columns=asked[1],
        )  # fmt: skip


@app.command()
def compare(
    one: RunFolder,
    other: Annotated[Path, typer.Argument(metavar="RUN", help="The run to hold it against.")],
    data: Annotated[str, typer.Option("--data", help="A file with what is to be answered, and its labels.")],
    reference: Annotated[
        str | None,
        typer.Argument(metavar="[REFERENCE]", help="Where DATA is lines of text: their answers, line by line."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="What is looked at most closely; as the first run was chosen.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A page to write, as in compare.html.")] = None,
    trials: Annotated[int, typer.Option("--trials", help="Resamples and swaps that are drawn.")] = TRIALS,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed, other draws.")] = SEED,
    as_json: Json = False,
    trust_code: TrustCode = False,
) -> None:
    """Which of two runs is better, by how much, whether it may be chance, and on which items."""
    from regard.comparison.compare import compare as compare_runs
    from regard.comparison.told import as_data, html, told
    from regard.folder import write_file

    found = compare_runs(
        one,
        other,
        data,
        reference,
        metric=metric,
        trials=trials,
        seed=seed,
        trust_code=trust_code,
        say=_say,
        watch=_progressing,
    )
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, html(found))
    _print_json(as_data(found)) if as_json else print(told(found))
    for note in found.notes:
        _say(note)
    if out is not None:
        _say(f"wrote {out}")


@app.command()
def study(
    recipe: Annotated[Path | None, typer.Argument(help="A recipe; --long-range needs none.")] = None,
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[key=value …]", help="As in model.depth=3.")] = None,
    encoder: Annotated[
        str, typer.Option("--encoder", help="As in model.encoder; --long-range also rnn, lstm, gru, truncated.")
    ] = "",
    sizes: Annotated[str, typer.Option("--sizes", help="Numbers of examples, as in 100,300,all.")] = "",
    match: Annotated[
        str | None,
        typer.Option("--match", help="What encoders have alike: parameters or time; their width if not given."),
    ] = None,
    without: Annotated[
        str, typer.Option("--without", help="Parts to take out: residual,norm,positions,scale,heads.")
    ] = "",
    depths: Annotated[str, typer.Option("--depths", help="--without: numbers of blocks; as the recipe.")] = "",
    long_range: Annotated[bool, typer.Option("--long-range", help="Find an item that is ever further away.")] = False,
    distances: Annotated[str, typer.Option("--distances", help="--long-range: steps back, as in 16,64,256.")] = "",
    seeds: Annotated[
        int | None, typer.Option("--seeds", help=f"How many; {SEEDS}, and {FAR_SEEDS} with --long-range.")
    ] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", help="What all may take; the rest is left out.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where the runs lie; studies/RECIPE if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A page to write, as in study.html.")] = None,
    as_json: Json = False,
) -> None:
    """Encoders over sizes of data, what each part buys, or how far encoders look; goes on where it was left."""
    from regard.comparison.asked import Asked, answer
    from regard.folder import write_file
    from regard.training.progress import talk_to

    lists = {"encoders": encoder, "sizes": sizes, "without": without, "depths": depths, "distances": distances}
    asked = Asked(
        recipe=recipe,
        overrides=overrides or (),
        long_range=long_range,
        match=match,
        seeds=seeds,
        minutes=minutes,
        folder=folder,
        **{name: _names(listed) for name, listed in lists.items()},
    )
    found = answer(asked, talk_to(_console()))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, found.page)
        _say(f"wrote {out}")
    _print_json(found.data) if as_json else print(found.text)


@app.command()
def runs(
    folders: Annotated[list[Path] | None, typer.Argument(metavar="[RUN …]", help="All in runs/ if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Runs with their scores, minutes and sizes."""
    from regard.runs import summaries, table

    found = summaries(folders)
    if as_json:
        for row in found:
            _print_json(row)
        return
    # A file or a pipe is as wide as the table needs.
    _console(stderr=False, width=None if sys.stdout.isatty() else 200).print(table(found))


@app.command()
def doctor(
    data: Annotated[list[str] | None, typer.Argument(metavar="[DATA …]", help="Files to look at.")] = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="They are source, target, source … line by line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """What this machine has; or what is odd about files of data."""
    if data:
        from regard.doctor import examine, examine_pairs

        told = examine_pairs(data) if parallel else examine(data)
        print("\n".join(told)) if not as_json else _print_json(told)
        return
    from regard.machine import environment, extras

    found = {**environment(), **extras()}
    print("\n".join(f"{name:<12} {value}" for name, value in found.items())) if not as_json else _print_json(found)


def _parted(words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Files, of which there may be one, and settings among them."""
    from regard.recipe import parse_overrides

    settings = [word for word in words if "=" in word and not os.path.exists(word)]
    files = [word for word in words if word not in settings]
    if len(files) > 1:
        raise RegardError(f"cannot read {files[1]!r}; a setting is decode.key=value, as in decode.beam=8")
    return files, parse_overrides(settings)


def _names(listed: str) -> list[str]:
    return [name for name in listed.split(",") if name]


def _console(stderr: bool = True, width: int | None = None) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, width=width)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def _progressing(answers: Iterator[Any]) -> Iterator[Any]:
    """The same answers; whoever waits longer than two seconds is told how many there are."""
    from regard.long_file import Progress

    progress = Progress()
    for answer in answers:
        yield answer
        progress(1)
    progress.end()


def _keep_answers(loaded: Run, data: str, answers: Sequence[Answer]) -> Path:
    """A table of words, true labels and answers in the run's evaluate/."""
    from regard.folder import write_file
    from regard.printing import beside_the_data

    folder = loaded.folder / "evaluate"
    folder.mkdir(exist_ok=True)
    path = folder / f"{Path(data).name.split('.')[0]}.tsv"
    write_file(path, beside_the_data(answers, list(loaded.predictor.targets), loaded.predictor.whole))
    return path
