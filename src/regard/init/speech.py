"""Looking at recordings: how long they are, at which rate, and settings that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from regard.data.example import Example
from regard.data.reading import read_examples
from regard.data.signal.reader import Column, Wanted
from regard.data.signal.recording import Recording
from regard.data.signal.sound_files import SOUND_READERS, SoundReader, guess_sound
from regard.errors import RegardError, choose
from regard.init.sequences import look_at_side

# No more samples a second are needed for speech, whatever the files have.
_MOST = 16000

# Recordings shorter than this, as of single words, keep more vectors a second.
_SHORT = 1.5


@dataclass(frozen=True)
class SpeechSize:
    """A network for so many seconds of recordings."""

    up_to_seconds: float
    width: int
    depth: int
    minutes: float


# From trials on the recipes of docs/results.md; the larger ones are only longer.
SIZES = (
    SpeechSize(7_200, width=64, depth=3, minutes=6),
    SpeechSize(72_000, width=144, depth=4, minutes=60),
    SpeechSize(float("inf"), width=256, depth=6, minutes=600),
)

# What training changes: a little, since a network that meets too much noise learns less of the speech.
_CHANGES = {"speed": 0.1, "pitch": 0.08, "noise": 0.3, "equalizer": 2.0, "hide": 0.05}


def read_speech(
    task: str, files: dict[str, str], source: Sequence[Column], target: Sequence[Column], format: str
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Example]]]:
    """Settings for recordings in lists or folders, and the examples of each part."""
    if task not in _TASKS:
        raise RegardError(f"a task of kind {task} does not read speech; those that do are {', '.join(_TASKS)}")
    examples, rates, format = {}, dict[int, int](), guess_sound(files["train"]) if format == "guess" else format
    for part, path in files.items():
        made = choose(SOUND_READERS, format, "data.format of speech")
        reader = made(Wanted(source=source, target=target, rate=_MOST))
        assert isinstance(reader, SoundReader)
        examples[part] = read_examples([path], reader)
        for rate, paths in reader.rates.items():
            rates[rate] = rates.get(rate, 0) + len(paths)
    rate = min(_MOST, max(rates, key=lambda rate: rates[rate]))
    values = speech_settings(task, examples["train"], rate)
    columns = {name: tuple(given) for name, given in (("source", source), ("target", target)) if given}
    return {**values, "data": {"format": format, **columns}}, examples


def speech_settings(task: str, train: Sequence[Example], rate: int) -> dict[str, dict[str, Any]]:
    """Settings for recordings of these lengths."""
    seconds = lengths(train)
    size = next(size for size in SIZES if sum(seconds) <= size.up_to_seconds)
    shorten = 2 if median(seconds) < _SHORT else 4
    given: dict[str, Any] = {"kind": "speech", "rate": rate, "bands": 40 if rate <= 8000 else 80, "shorten": shorten}
    model: dict[str, Any] = {"width": size.width, "heads": 4, "depth": size.depth}
    training: dict[str, Any] = {"minutes": size.minutes, "lr": 3e-3, "average": 4}
    chosen: dict[str, dict[str, Any]] = {
        "input": {**given, **_CHANGES},
        "model": model,
        # About 24 recordings in a batch.
        "train": {**training, "batch_tokens": max(600, round(24 * median(seconds) * 100 / shorten))},
    }
    for section, more in _TASKS[task](train).items():
        chosen[section] = {**chosen.get(section, {}), **more}
    return chosen


def lengths(examples: Sequence[Example]) -> list[float]:
    """The seconds of each recording."""
    signals = [example.signal for example in examples]
    return [signal.count / signal.rate for signal in signals if isinstance(signal, Recording)]


def _classify(train: Sequence[Example]) -> dict[str, dict[str, Any]]:
    return {
        "input": {"level": "band"},
        "model": {"position": "sinusoidal", "pooling": "attention"},
        "train": {"label_smoothing": 0.1},
    }


def _regress(train: Sequence[Example]) -> dict[str, dict[str, Any]]:
    return {"input": {"level": "band"}, "model": {"position": "sinusoidal", "pooling": "attention"}}


def _written(train: Sequence[Example]) -> dict[str, Any]:
    """What texts are written in: letters, few words, or sub-words."""
    side = look_at_side([text for example in train for (text,) in example.labels.values() if text is not None])
    return {"tokens": side.tokens, **({"size": max(100, side.pieces // 50)} if side.tokens == "subwords" else {})}


def _ctc(train: Sequence[Example]) -> dict[str, dict[str, Any]]:
    # A window and the level of train let it write while somebody speaks (regard predict --stream).
    return {"input": {"level": "train"}, "output": _written(train), "model": {"window": (8, 8)}, "decode": {"beam": 1}}


def _seq2seq(train: Sequence[Example]) -> dict[str, dict[str, Any]]:
    return {"input": {"level": "band"}, "output": {**_written(train), "ctc": 0.3}, "train": {"metric": "word_errors"}}


_TASKS = {"classify": _classify, "regress": _regress, "ctc": _ctc, "seq2seq": _seq2seq}
