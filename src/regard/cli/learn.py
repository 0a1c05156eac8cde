"""Verbs on the way to a model: demo, init, train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.shared import app, console, names_in, refuse_together, say
from regard.errors import RegardError, nearest
from regard.machine import processes


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
            tell(folder, console(stderr=False))


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
    columns = {"target": names_in(target), "source": names_in(source)}
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
    say("\n".join(reading.told))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(reading.text, encoding="utf-8")
    say(f"\nwrote {out}; next: regard train {out}")


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
        refuse_together(rank, size, "--dry-run" if dry else "--verify-resume")
    if dry:
        from regard.dry_run import dry_run
        from regard.recipe import parse_overrides

        for sentence in dry_run(recipe, parse_overrides(overrides or []), say):
            print(sentence)
        return
    if verify:
        from regard.recipe import parse_overrides
        from regard.verifying import verify_resume

        print(verify_resume(recipe, parse_overrides(overrides or []), say))
        return
    from regard.experiment import train as train_run
    from regard.recipe import parse_overrides
    from regard.training.progress import talk_to

    trained = train_run(recipe, parse_overrides(overrides or []), run=run, talk=talk_to(console()))
    if rank == 0:
        say(f'next   regard look {trained.folder} "…"   or   regard predict {trained.folder} FILE')
