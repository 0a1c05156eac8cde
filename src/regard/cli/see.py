"""The verb that looks inside: look."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.shared import Json, RunFolder, TrustCode, app, console, print_json, say


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
        showing.print_corpus(showing.corpus_look(loaded, corpus, reference, gold, say), say)
    elif neighbours is not None:
        showing.show_neighbours(loaded, neighbours)
    elif analogy is not None:
        showing.show_analogy(loaded, analogy)
    elif space is not None:
        showing.show_space(loaded, text or "", space, say)
    elif left_out:
        showing.show_left_out(loaded, text or "")
    elif steps is not None:
        showing.show_steps(loaded, text or "", steps, chosen, out, say)
    elif as_json:
        print_json(showing.look_as_data(loaded.look(showing.item_of(loaded, text or ""))))
    else:
        asked = showing.part_of_text(rows, "--rows"), showing.part_of_text(columns, "--columns")
        others = showing.others_beside(loaded, text or "", beside or [], other or [], trust_code)
        showing.show(
            loaded, text or "", chosen, console=console(stderr=False), say=say, out=out, beside=others,
            rows=asked[0], columns=asked[1],
        )  # fmt: skip
