"""What `regard predict` and `evaluate` print of answers: in the data's own format, as JSON, how sure the model is; of
texts several for an item, alignments, texts as they grow, given ones."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from regard.data.alignment import pharaoh
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.data.reading import Reader
from regard.data.signal.reader import SignalReader
from regard.data.text import one_line
from regard.errors import DataError, RegardError
from regard.predict import Answer
from regard.run import Run
from regard.scoring import Scored
from regard.training.metric import LabelScores
from regard.training.report import edits, signatures
from regard.written import Written


def check_together(asked: Sequence[str]) -> None:
    """Some ways to answer exclude one another."""
    if len(asked) > 1 and set(asked) != {"--best", "--align"}:
        raise RegardError(f"{' and '.join(asked)} do not go together; give one of them")


def print_answers(
    answers: Iterable[Answer], reader: Reader | SignalReader, *, probabilities: bool, as_json: bool
) -> None:
    """Each answer in the format of what was read, as JSON, or with how sure the model is."""
    cut = 0
    for answer in answers:
        cut += answer.cut
        if answer.error is not None:
            _say(f"left out: {answer.error}")
            _print_json({"error": str(answer.error)}) if as_json else _put("")
        elif as_json:
            _print_json(_as_json(answer, probabilities))
        elif probabilities:
            _put(_with_probabilities(answer))
        else:
            _put(reader.write(answer.example, answer.columns))
    say_cut(cut)


def say_cut(texts: int) -> None:
    """How many texts were cut, where any were."""
    if texts:
        _say(f"texts that were cut at their longest length (decode.max_length): {texts:,}")


def _as_json(answer: Answer, probabilities: bool) -> dict[str, Any]:
    """An answer's words, and its columns: a list for each word, or one for the whole."""

    def values(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        whole = answer.example.whole
        return {name: (found[0] if found else None) if whole else found for name, found in columns.items()}

    named = {"probabilities": values(answer.probabilities)} if probabilities else {}
    marked = {"cut": True} if answer.cut else {}
    return {"words": answer.words, **values(answer.columns), **named, **marked}


def _with_probabilities(answer: Answer) -> str:
    """A line for each word (or one for the whole): its answers, each with how sure the model is."""
    columns = [
        [_sure(one_line(label), share) for label, share in zip(found, answer.probabilities.get(name, ()), strict=False)]
        or found
        for name, found in answer.columns.items()
    ]
    if answer.example.whole:
        return "\t".join(cell for column in columns for cell in column)
    return "".join("\t".join(row) + "\n" for row in zip(answer.words, *columns, strict=True))


def _sure(label: str, share: float | Mapping[str, float]) -> str:
    """A label with how sure the model is of it; or the several classes, then how sure it is of each there is."""
    if isinstance(share, Mapping):
        ordered = sorted(share.items(), key=lambda pair: -pair[1])
        return f"{label}\t" + " ".join(f"{name} {value:.4f}" for name, value in ordered)
    return f"{label} {share:.4f}"


def beside_the_data(answers: Sequence[Answer], columns: Sequence[str], whole: bool) -> str:
    """A table of words, true labels and answers."""
    lines = ["\t".join(["text" if whole else "word", *(f"{column}\t{column} answered" for column in columns)])]
    for answer in answers:
        words = (" ".join(" ".join(answer.words).split()),) if whole else answer.words
        cells = [words, *(part for c in columns for part in (answer.example.labels[c], answer.columns[c]))]
        lines += ["\t".join(_cell(str(cell)) for cell in row) for row in zip(*cells, strict=False)]
        lines += [] if whole else [""]
    return "\n".join(lines) + "\n"


def print_scores(found: Scored) -> None:
    """Each score with its interval, how it was computed, and each label's own."""
    print("score\tvalue\tlow\thigh")
    for name, (low, high) in found.intervals().items():
        print(f"{name}\t{found.values[name]:.4f}\t{low:.4f}\t{high:.4f}")
    for name, how in (*signatures(found.scores).items(), *edits(found.scores).items()):
        print(f"{name}: {how}")
    if isinstance(found.scores, LabelScores):
        if found.scores.scheme != "none":
            print(f"spans are read strictly as {found.scores.scheme}")
        for column, counts in found.scores.columns.items():
            print(f"\n{column}\tcount\tprecision\trecall\tF1")
            for label, count, precision, recall, both in counts.table():
                print(f"{label}\t{count}\t{precision:.4f}\t{recall:.4f}\t{both:.4f}")


def scores_as_json(found: Scored, data: str) -> dict[str, Any]:
    """Scores, their intervals, and how BLEU and chrF were computed."""
    told = {"data": data, "items": found.scores.items, "scores": found.values, "intervals": found.intervals()}
    more = {"signatures": signatures(found.scores), "edits": edits(found.scores)}
    return {**told, **{name: how for name, how in more.items() if how}}


def print_texts(answers: Iterable[Answer], best: int, align: bool, as_json: bool) -> None:
    """A line for each text: where several are wanted item (counted from 1), score, text; then its alignment."""
    fewer = cut = 0
    for number, answer in enumerate(answers, 1):
        if answer.error is not None:
            _say(f"left out: {answer.error}")
        fewer += answer.error is None and len(answer.texts) < best
        cut += any(one.cut for one in answer.texts)
        if as_json:
            _print_json(_of_texts(answer, align))
        elif answer.error is not None:
            _put(str(number) if best > 1 else "")
        for one in () if as_json else answer.texts:
            cells = [str(number), f"{one.score:.4f}"] if best > 1 else []
            _put("\t".join([*cells, _cell(one.text), *([pharaoh(one.alignment or ())] if align else [])]))
    if fewer:
        _say(f"items of which there are fewer than {best} different texts: {fewer:,}")
    if cut:
        _say(f"items with texts that were cut at their longest length (decode.max_length): {cut:,}")


def print_masks(answers: Iterable[Answer], as_json: bool) -> None:
    """A line for each piece that may stand behind a mask: item and mask (counted from 1), how probable, the piece."""
    for number, answer in enumerate(answers, 1):
        if as_json:
            masks = [[{"piece": piece, "probability": share} for piece, share in mask] for mask in answer.masks]
            _print_json({"text": answer.text if answer.labels else "", "masks": masks})
            continue
        for place, mask in enumerate(answer.masks, 1):
            for piece, share in mask:
                print(f"{number}\t{place}\t{share:.4f}\t{_cell(piece)}")


def _of_texts(answer: Answer, align: bool) -> dict[str, Any]:
    if answer.error is not None:
        return {"error": str(answer.error)}
    return {"words": answer.words, "texts": [_of_text(one, align) for one in answer.texts]}


def _of_text(one: Written, align: bool) -> dict[str, Any]:
    aligned = {"alignment": one.alignment or ()} if align else {}
    marked = {"cut": True} if one.cut else {}
    numbers = {"score": _finite(one.score), "log_probability": _finite(one.log_probability), "pieces": one.pieces}
    return {"text": one.text, **numbers, **aligned, **marked}


def print_times(run: Run, answers: Iterable[Answer], as_json: bool) -> None:
    """A line for each word: item (counted from 1), begin and end in seconds, word."""
    for number, answer in enumerate(answers, 1):
        if answer.error is not None:
            _say(f"left out: {answer.error}")
            if as_json:
                _print_json({"error": str(answer.error)})
            continue
        times = run.timed(answer.example, answer.text)
        if as_json:
            rows = [{"word": one.word, "begin": round(one.begin, 3), "end": round(one.end, 3)} for one in times]
            _print_json({"words": answer.words, "text": answer.text, "times": rows})
        else:
            for one in times:
                print(f"{number}\t{one.begin:.2f}\t{one.end:.2f}\t{one.word}")


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
            _print_json({"text": text, **numbers})
        else:
            print(f"{one.log_probability:.4f}\t{one.pieces}\t{mean:.4f}")


def _cell(text: str) -> str:
    return one_line(text).replace("\t", " ")


def _finite(number: float) -> float | None:
    """JSON knows no infinity."""
    return number if math.isfinite(number) else None


def _print_json(value: Any) -> None:
    _put(json.dumps(value, ensure_ascii=False))


def _put(line: str) -> None:
    """A line in one piece: whoever is stopped between two leaves whole lines."""
    sys.stdout.write(f"{line}\n")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
