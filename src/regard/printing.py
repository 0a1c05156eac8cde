"""What `regard predict` prints of texts: several for an item, alignments, texts as they grow, given ones."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from regard.data.alignment import pharaoh
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.text import one_line
from regard.errors import DataError, RegardError
from regard.predict import Answer
from regard.run import Run
from regard.written import Written


def check_together(asked: Sequence[str]) -> None:
    """Some ways to answer exclude one another."""
    if len(asked) > 1 and set(asked) != {"--best", "--align"}:
        raise RegardError(f"{' and '.join(asked)} do not go together; give one of them")


def print_texts(answers: Iterable[Answer], best: int, align: bool, as_json: bool) -> None:
    """A line for each text: where several are wanted item (counted from 1), score, text; then its alignment."""
    fewer = cut = 0
    for number, answer in enumerate(answers, 1):
        if answer.error is not None:
            _say(f"left out: {answer.error}")
        fewer += answer.error is None and len(answer.texts) < best
        cut += any(one.cut for one in answer.texts)
        if as_json:
            print(json.dumps(_of_texts(answer, align), ensure_ascii=False))
        elif answer.error is not None:
            print(number if best > 1 else "")
        for one in () if as_json else answer.texts:
            cells = [str(number), f"{one.score:.4f}"] if best > 1 else []
            print("\t".join([*cells, _cell(one.text), *([pharaoh(one.alignment or ())] if align else [])]))
    if fewer:
        _say(f"items of which there are fewer than {best} different texts: {fewer:,}")
    if cut:
        _say(f"items with texts that were cut at their longest length (decode.max_length): {cut:,}")


def _of_texts(answer: Answer, align: bool) -> dict[str, Any]:
    if answer.error is not None:
        return {"error": str(answer.error)}
    return {"words": answer.words, "texts": [_of_text(one, align) for one in answer.texts]}


def _of_text(one: Written, align: bool) -> dict[str, Any]:
    aligned = {"alignment": one.alignment or ()} if align else {}
    marked = {"cut": True} if one.cut else {}
    numbers = {"score": _finite(one.score), "log_probability": _finite(one.log_probability), "pieces": one.pieces}
    return {"text": one.text, **numbers, **aligned, **marked}


def print_stream(run: Run, found: Iterator[Example | DataError], as_json: bool) -> None:
    """Each text as it grows, and a line's end after it."""
    if as_json:
        raise RegardError("--stream and --json do not go together; give one of them")
    run.must_write("--stream")
    for one in found:
        if isinstance(one, DataError):
            _say(f"left out: {one}")
        for part in () if isinstance(one, DataError) else run.stream(one):
            print(one_line(part), end="", flush=True)
        print(flush=True)


def print_given(run: Run, found: Iterator[Example | DataError], targets: str, as_json: bool) -> None:
    """A line for each given text: its log-probability, its pieces (its end is one), and the mean of each."""
    run.must_write("--score-targets")
    examples = [one for one in found if isinstance(one, Example)]
    texts = [line for _, line in read_lines(targets, run.recipe.data.encoding_errors)]
    for one, text in zip(run.given(examples, texts), texts, strict=True):
        mean = one.log_probability / max(1, one.pieces)
        if as_json:
            numbers = {"log_probability": _finite(one.log_probability), "pieces": one.pieces, "mean": _finite(mean)}
            print(json.dumps({"text": text, **numbers}, ensure_ascii=False))
        else:
            print(f"{one.log_probability:.4f}\t{one.pieces}\t{mean:.4f}")


def _cell(text: str) -> str:
    return one_line(text).replace("\t", " ")


def _finite(number: float) -> float | None:
    """JSON knows no infinity."""
    return number if math.isfinite(number) else None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
