"""Verbs that hold runs against each other: compare, study, runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.shared import Json, RunFolder, TrustCode, app, console, names_in, print_json, progressing, say
from regard.comparison import FAR_SEEDS, SEED, SEEDS, TRIALS


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
        say=say,
        watch=progressing,
    )
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, html(found))
    print_json(as_data(found)) if as_json else print(told(found))
    for note in found.notes:
        say(note)
    if out is not None:
        say(f"wrote {out}")


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
        **{name: names_in(listed) for name, listed in lists.items()},
    )
    found = answer(asked, talk_to(console()))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, found.page)
        say(f"wrote {out}")
    print_json(found.data) if as_json else print(found.text)


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
            print_json(row)
        return
    # A file or a pipe is as wide as the table needs.
    console(stderr=False, width=None if sys.stdout.isatty() else 200).print(table(found))
