"""What does not fit together in settings that are each all right."""

from __future__ import annotations

import math
from collections.abc import Iterator

from regard.recipe.settings import (
    FORMATS,
    NUMBER_TASKS,
    POOLED_TASKS,
    TEXT_TASKS,
    TO_TEXT_TASKS,
    WHOLE_TASKS,
    WRITING_TASKS,
    DecodeSettings,
    Recipe,
)


def faults(recipe: Recipe) -> list[tuple[str, str]]:
    """What does not fit together in settings that are each all right: (setting, sentence)."""
    return [
        *_sizes(recipe),
        *_files(recipe),
        *_input(recipe),
        *_split(recipe),
        *_contradictions(recipe),
        *_language(recipe),
        *_frozen(recipe),
        *unused(recipe),
        *_metric(recipe),
    ]


def _sizes(recipe: Recipe) -> list[tuple[str, str]]:
    found = []
    model, train = recipe.model, recipe.train
    if model.encoder == "recurrent" and model.directions == "both" and model.width < 2:
        found.append(
            (
                "model.directions",
                f"model.width is {model.width}, which two directions cannot share; use width = 2 or more, or "
                "directions = forward",
            )
        )
    if model.window and isinstance(model.window[0], tuple) and len(model.window) != model.depth:
        found.append(
            ("model.window", f"model.window names {len(model.window)} blocks, but model.depth is {model.depth}")
        )
    if _attends(recipe):
        if model.head_width is None and model.width % model.heads:
            fitting = [n for n in range(1, model.width + 1) if model.width % n == 0 and n <= 2 * model.heads]
            below = model.width // model.heads * model.heads
            widths = " or ".join(str(width) for width in (below, below + model.heads) if width)
            found.append(
                (
                    "model.heads",
                    f"model.width is {model.width}, which cannot be split into {model.heads} heads; "
                    f"use heads = {', '.join(map(str, fitting))}, or width = {widths}",
                )
            )
        if model.key_heads is not None and model.heads % model.key_heads:
            found.append(
                (
                    "model.key_heads",
                    f"model.key_heads is {model.key_heads}, which does not divide heads = {model.heads}",
                )
            )
    if recipe.task.kind == "label" and recipe.input.kind == "text" and len(recipe.data.source) > 1:
        found.append(("data.source", "data.source names several columns, but a label for each word reads one"))
    for setting, wanted in (("model.towers", model.towers), ("input.shared_words", recipe.input.shared_words)):
        if wanted and len(recipe.data.source) != 2:
            count = len(recipe.data.source)
            found.append((setting, f"{setting} compares two texts, but data.source names {count} columns; name two"))
    if recipe.task.kind in TO_TEXT_TASKS and len(recipe.data.target) > 1:
        found.append(("data.target", "data.target names several columns, but one text is written"))
    if recipe.task.kind == "seq2seq":
        found += _sequences(recipe)
    if train.epochs is not None and train.minutes is not None:
        found.append(("train.minutes", "train.epochs and train.minutes are both given; give one of them"))
    return found


def _sequences(recipe: Recipe) -> list[tuple[str, str]]:
    found = []
    if recipe.model.encoder == "pointwise":
        found.append(
            (
                "model.encoder",
                f"model.encoder is {recipe.model.encoder}, but a text is written by attention to what was read; "
                "use attention, convolution or recurrent",
            )
        )
    tokens = (recipe.input.tokens, recipe.output.tokens)
    if recipe.output.share == "all" and (tokens[0] != tokens[1] or tokens[0] == "words"):
        found.append(
            (
                "output.share",
                f"output.share = all needs one kind of piece on both sides, characters or subwords; input.tokens is "
                f"{tokens[0]}, output.tokens {tokens[1]}",
            )
        )
    return found


def _input(recipe: Recipe) -> list[tuple[str, str]]:
    """What a kind of input cannot be."""
    kind, format, found = recipe.input.kind, recipe.data.format, []
    if format not in ("guess", *FORMATS[kind]):
        known = ", ".join(FORMATS[kind])
        found.append(("data.format", f"data.format is {format}, but input.kind = {kind} is read from {known}"))
    if kind == "vectors" and recipe.task.kind == "label" and recipe.patch > 1:
        found.append(("input.patch", f"input.patch is {recipe.patch}, but each step has a label; use patch = 1"))
    if kind == "image":
        found += _image(recipe)
    if recipe.task.kind == "forecast":
        found += _forecast(recipe)
    if kind != "text" and recipe.task.kind in TEXT_TASKS:
        task = recipe.task.kind
        found.append(("task.kind", f"task.kind is {task}, which reads text; input.kind is {kind}"))
    if kind == "speech":
        found += _speech(recipe)
    if kind != "text" and recipe.output.share == "all":
        found.append(("output.share", f"output.share = all shares pieces with a source of text; input.kind is {kind}"))
    return found


# Positions that know rows and columns.
GRID_POSITIONS = ("none", "sinusoidal", "learned", "rotary", "t5", "quadratic")


def _image(recipe: Recipe) -> list[tuple[str, str]]:
    """What pictures cannot be."""
    given, model, found = recipe.input, recipe.model, []
    if _attends(recipe) and model.encoder == "attention" and model.position not in GRID_POSITIONS:
        known = ", ".join(GRID_POSITIONS)
        found.append(
            ("model.position", f"model.position is {model.position}, which knows no rows and columns; use {known}")
        )
    if model.window:
        found.append(
            ("model.window", "model.window reaches along a line, but a picture has rows and columns; leave it out")
        )
    if given.stem == "convolution" and recipe.patch & (recipe.patch - 1):
        found.append(
            ("input.patch", f"input.patch is {recipe.patch}, but a convolution halves its sides; use 1, 2, 4, 8 or 16")
        )
    if given.class_token and (recipe.task.kind not in POOLED_TASKS or model.pooling != "first"):
        found.append(
            ("input.class_token", "input.class_token answers for all: use it with pooling = first, and one answer")
        )
    if given.picture_size and recipe.task.kind == "label":
        found.append(
            ("input.picture_size", "input.picture_size draws pictures anew, but each patch has a label; leave it out")
        )
    if recipe.task.kind == "label" and (given.shift or given.flip or given.crop < 1 or given.turn):
        found.append(
            (
                "input.shift",
                "shift, flip, crop and turn move pixels away from the labels of their patches; leave them out",
            )
        )
    return found


def _forecast(recipe: Recipe) -> list[tuple[str, str]]:
    """What a forecast needs."""
    found = []
    if recipe.input.kind != "vectors":
        found.append(
            ("task.kind", f"task.kind is forecast, which reads input.kind = vectors; it is {recipe.input.kind}")
        )
    if recipe.output.horizon is None:
        found.append(("output.horizon", "output.horizon is missing: how many of the next steps are to be answered"))
    return found


def _files(recipe: Recipe) -> list[tuple[str, str]]:
    """Parallel files come in twos."""
    if recipe.data.format != "parallel":
        return []
    return [
        (
            f"data.{part}",
            f"data.{part} names {len(files)} files, but data.format = parallel takes them in twos: source, target, "
            "source, target …",
        )
        for part, files in (("train", recipe.data.train), ("dev", recipe.data.dev), ("test", recipe.data.test))
        if len(files) % 2
    ]


def _split(recipe: Recipe) -> list[tuple[str, str]]:
    """What is set aside must be there to be set aside."""
    data, kind = recipe.data, recipe.task.kind
    found = []
    if not data.dev and data.test and len(data.split) > 1:
        found.append(("data.split", "data.split has a second share, for test, but data.test is given; give one share"))
    if data.split_by == "lines" and max(data.split) > 0.5:
        found.append(
            (
                "data.split",
                f"data.split is {max(data.split)}, but data.split_by = lines sets aside every n-th item, at most 0.5",
            )
        )
    if data.split_by == "column":
        if data.split_column is None:
            found.append(("data.split_by", "data.split_by is column, but data.split_column names none"))
        if kind not in WHOLE_TASKS or data.format == "parallel" or recipe.input.kind != "text":
            reasons = {
                f"input.kind = {recipe.input.kind}": recipe.input.kind != "text",
                f"task.kind = {kind}": kind not in WHOLE_TASKS,
                "data.format = parallel": True,
            }
            what = next(reason for reason, holds in reasons.items() if holds)
            found.append(("data.split_by", f"data.split_by is column, which tables have; with {what} there is none"))
    return found


def _contradictions(recipe: Recipe) -> list[tuple[str, str]]:
    """What no text could fulfil: (setting, sentence)."""
    decode, found = recipe.decode, []
    if decode.max_length is not None and decode.min_length > decode.max_length:
        found.append(
            (
                "decode.min_length",
                f"decode.min_length is {decode.min_length}, but decode.max_length only {decode.max_length}",
            )
        )
    words = recipe.output.tokens == "words"
    for phrase in decode.forbidden:
        for name, text in _wanted(decode):
            if _holds(text, phrase, words):
                found.append(
                    ("decode.forbidden", f"decode.forbidden has {phrase!r}, which is in decode.{name} {text!r}")
                )
    if decode.required and decode.beam == 1 and not decode.sample:
        found.append(
            (
                "decode.required",
                "decode.required needs several beginnings side by side, but decode.beam is 1; use 2 or more",
            )
        )
    if decode.unknown == "copy" and recipe.input.tokens == "characters":
        found.append(
            (
                "decode.unknown",
                "decode.unknown is copy, but input.tokens = characters has no words to copy; use words or subwords",
            )
        )
    return found


def _wanted(decode: DecodeSettings) -> list[tuple[str, str]]:
    prefix = [] if decode.prefix is None else [("prefix", decode.prefix)]
    return [*(("required", text) for text in decode.required), *prefix]


def _holds(text: str, phrase: str, words: bool) -> bool:
    """Whether a phrase is in a text; where words are written, as words."""
    return f" {' '.join(phrase.split())} " in f" {' '.join(text.split())} " if words else phrase in text


def _metric(recipe: Recipe) -> list[tuple[str, str]]:
    kind, metric = recipe.task.kind, recipe.train.metric
    if metric is not None and metric not in recipe.metrics:
        task = f"a task of kind {kind}" + ("" if recipe.data.separator is None else " with data.separator")
        return [("train.metric", f"train.metric is {metric}, but {task} has {', '.join(recipe.metrics)}")]
    if metric == "span_f1" and recipe.output.scheme == "none":
        return [("train.metric", "train.metric is span_f1, which needs output.scheme to say what a span is")]
    return []


# Settings of attention, of where things are in it, of what is written, and of what texts are compared by.
_ATTENTION = (
    "heads head_width key_heads value_width projections query_key_norm score normalizer scale attention_dropout"
)
_POSITION = "position longest distance turned"
_RANKING = "length_penalty length_norm coverage_penalty"
_WRITTEN = "tokens size minimum_count normalize share bleu_tokens"
_OF_A_SOURCE = "coverage_penalty min_length max_ratio required prefix unknown"
_OF_TARGETS = "format source target header split_by split_column on_error"


def _attends(recipe: Recipe) -> bool:
    """Whether there is attention anywhere: what writes attends to what was read, whatever else it does."""
    if recipe.task.kind == "lm":
        return recipe.model.decoder == "attention"
    return recipe.model.encoder == "attention" or recipe.task.kind == "seq2seq"


def _known(recipe: Recipe, section: str, name: str) -> bool:
    """Whether a setting is what it says: where a run is begun with and it is not given, it is that run's."""
    return recipe.model.start is None or name in getattr(recipe, section).model_fields_set


def _frozen(recipe: Recipe) -> list[tuple[str, str]]:
    """What cannot stay as it is."""
    model, kind = recipe.model, recipe.task.kind
    parts = [*([] if kind == "lm" else ["encoder"]), *(["decoder"] if kind in WRITING_TASKS else [])]
    known, depth = ("input", *parts), max(model.depth, model.decoder_depth or 0)
    most = depth if _known(recipe, "model", "depth") else math.inf
    wrong = [
        part for part in recipe.train.freeze if not (part in known or (isinstance(part, int) and 0 <= part <= most))
    ]
    return [
        (
            "train.freeze",
            f"train.freeze has {part!r}, but can have {', '.join(known)}, or a number of blocks from 0 to {depth}",
        )
        for part in wrong
    ]


def _language(recipe: Recipe) -> list[tuple[str, str]]:
    """What plain text cannot be learnt with."""
    kind, tokens, found = recipe.task.kind, recipe.input.tokens, []
    if kind in TEXT_TASKS and recipe.input.kind != "text":
        return [("input.kind", f"input.kind is {recipe.input.kind}, but task.kind = {kind} learns from plain text")]
    if kind == "lm" and tokens in ("words+characters", "library") and _known(recipe, "input", "tokens"):
        found.append(("input.tokens", f"{tokens} can be read but not written; use words, subwords or characters"))
    return found


def unused(recipe: Recipe) -> list[tuple[str, str]]:
    """Settings that were given although nothing would use them: refused, since they would be ignored."""
    found: dict[str, str] = {}
    for section, names, used, reason in (*_by_input(recipe), *_by_task(recipe), *_by_data(recipe), *_by_part(recipe)):
        for name in names.split():
            if not used and name in getattr(recipe, section).model_fields_set:
                found.setdefault(f"{section}.{name}", f"{section}.{name} is not used with {reason}; take it out")
    return list(found.items())


# A section, settings of it, whether they are used, and if not, because of what.
Rule = tuple[str, str, bool, str]


def _speech(recipe: Recipe) -> list[tuple[str, str]]:
    """What frames of speech cannot be."""
    given, found = recipe.input, []
    if recipe.task.kind == "label":
        found.append(
            ("task.kind", "task.kind is label, but speech has no words to label; use classify, ctc or seq2seq")
        )
    if given.rate * given.frame_ms < 8000 or given.rate * given.step_ms < 1000:
        found.append(
            (
                "input.frame_ms",
                f"frames of {given.frame_ms:g} ms, {given.step_ms:g} ms apart, are too short at {given.rate} samples a "
                "second; a frame needs 8 samples, and a step 1",
            )
        )
    return found


# What only some kinds of input use.
_OF_TEXT = (
    "tokens size minimum_count lowercase normalize split shared_words dropout word_width character_width filters "
    "pretrained places segments piece_width"
)
_OF_VECTORS = "standardize kernel jitter scaling warp"
_OF_IMAGES = "stem picture_size class_token shift flip crop turn"
_OF_SPEECH = "rate bands frame_ms step_ms shorten channels level speed pitch noise equalizer hide"


def _by_input(recipe: Recipe) -> Iterator[Rule]:
    """What only some kinds of input use."""
    kind, task = recipe.input.kind, recipe.task.kind
    reason = f"input.kind = {kind}"
    yield "input", _OF_TEXT, kind == "text", reason
    yield "input", _OF_VECTORS, kind == "vectors", reason
    yield "input", _OF_IMAGES, kind == "image", reason
    yield "input", _OF_SPEECH, kind == "speech", reason
    yield "input", "patch mixup", kind in ("vectors", "image"), reason
    yield "input", "mixup", task in POOLED_TASKS, f"task.kind = {task}"
    yield "model", "towers", kind == "text", reason
    yield "data", "item", kind == "vectors", reason
    yield "data", "encoding_errors several_right split_column", kind == "text", reason
    yield "decode", "unknown", kind == "text", reason


def _by_task(recipe: Recipe) -> Iterator[Rule]:
    """What only some tasks use."""
    kind = recipe.task.kind
    written, reason = kind in TO_TEXT_TASKS, f"task.kind = {kind}"
    decoded = kind == "seq2seq"
    yield "task", "masked whole_words", kind == "mlm", reason
    yield "model", "pooling", kind in (*POOLED_TASKS, "forecast"), reason
    yield "model", "towers", kind in POOLED_TASKS, reason
    yield "output", "horizon", kind == "forecast", reason
    yield "input", "context", kind == "forecast", reason
    yield "input", "shared_words", kind in POOLED_TASKS, reason
    pieces = recipe.input.tokens in ("subwords", "characters") or not _known(recipe, "input", "tokens")
    yield "task", "whole_words", pieces, _tokens(recipe)
    yield "model", "decoder", kind in WRITING_TASKS, reason
    yield "model", "decoder_depth", decoded, reason
    yield "model", "encoder window directions", kind != "lm", reason
    yield "output", _WRITTEN, written, reason
    yield "output", "share ctc", decoded, reason
    yield "output", "crf scheme", kind == "label", reason
    others = " ".join(name for name in DecodeSettings.model_fields if name != "beam")
    yield "decode", others, kind in WRITING_TASKS, reason
    yield "decode", "beam", kind in (*WRITING_TASKS, "ctc"), reason
    yield "decode", _OF_A_SOURCE, decoded, reason
    yield "data", "several_right", written, reason
    yield "data", _OF_TARGETS, kind not in TEXT_TASKS, reason
    yield "data", "longest", kind in TEXT_TASKS, reason
    yield "data", "ignore", kind not in (*WRITING_TASKS, *TEXT_TASKS), reason
    yield "data", "scheme", kind == "label", reason
    yield "data", "header", kind in WHOLE_TASKS or recipe.input.kind == "vectors", reason
    yield "data", "split_by", kind != "forecast", f"{reason}, which sets aside the end of each series"
    yield "data", "separator", kind == "classify", reason
    yield "train", "label_smoothing", kind not in (*NUMBER_TASKS, "ctc"), reason
    yield "data", "ignore", kind != "forecast", reason
    yield "train", "class_weights", kind in ("label", "classify"), reason
    yield "train", "certify", kind not in TEXT_TASKS, reason


def _by_data(recipe: Recipe) -> Iterator[Rule]:
    """What only some data use."""
    data = recipe.data
    yield "data", "header", data.format in ("guess", "tsv", "csv"), f"data.format = {data.format}"
    yield "data", "source target", data.format != "parallel", "data.format = parallel"
    yield "data", "split split_by split_column", not data.dev, "data.dev, which is given"
    yield "data", "split_column", data.split_by == "column", f"data.split_by = {data.split_by}"
    yield "data", "scheme", recipe.output.scheme != "none", "output.scheme = none"
    yield "train", "label_smoothing class_weights", data.separator is None, "data.separator"


def _by_part(recipe: Recipe) -> Iterator[Rule]:
    """What only some parts of the network use."""
    tokens, model, output = recipe.input.tokens, recipe.model, recipe.output
    has_words, reason = tokens in ("words", "words+characters"), _tokens(recipe)
    yield "input", "minimum_count lowercase word_width pretrained shared_words", has_words, reason
    yield "input", "places", tokens == "library" or not _known(recipe, "input", "tokens"), reason
    placed = recipe.input.places is not None or not _known(recipe, "input", "places")
    yield "input", "segments piece_width", placed, "no input.places"
    yield "model", "epsilon", model.norm != "none", "model.norm = none"
    yield "model", "shared_blocks", model.encoder == "attention", f"model.encoder = {model.encoder}"
    yield "input", "character_width filters", tokens == "words+characters", reason
    yield from _by_kind(recipe)
    yield "model", "head_width key_heads value_width", model.projections, "model.projections = false"
    position = f"model.position = {model.position}"
    yield "model", "longest", model.position in ("learned", "floater"), position
    yield "model", "distance", model.position in ("shaw", "t5"), position
    yield "model", "turned", model.position == "rotary", position
    yield "output", "minimum_count", output.tokens == "words", f"output.tokens = {output.tokens}"
    yield "output", "size normalize", output.share != "all", "output.share = all"
    decode = recipe.decode
    yield "decode", "beam required", not decode.sample, "decode.sample = true"
    yield "decode", f"{_RANKING} patience", not decode.sample, "decode.sample = true"
    yield "decode", f"{_RANKING} patience", decode.beam > 1, "decode.beam = 1"
    yield "decode", "temperature top_k top_p seed", decode.sample, "decode.sample = false"
    yield "decode", "unknown", output.tokens == "words", f"output.tokens = {output.tokens}"
    yield "train", "label_smoothing class_weights", not output.crf, "output.crf = true"
    yield "train", "freeze layer_decay", model.start is not None, "no model.start"


def _tokens(recipe: Recipe) -> str:
    return f"input.tokens = {recipe.input.tokens}"


def _by_kind(recipe: Recipe) -> Iterator[Rule]:
    """What only some kinds of encoder and decoder use."""
    model = recipe.model
    encoder = f"model.encoder = {model.encoder}"
    kinds, reason = {model.encoder}, encoder
    if recipe.task.kind == "lm":
        kinds, reason = {model.decoder}, f"model.decoder = {model.decoder}"
    elif recipe.task.kind == "seq2seq":
        kinds, reason = {model.encoder, model.decoder}, f"{encoder} and model.decoder = {model.decoder}"
    yield "model", _ATTENTION, _attends(recipe), encoder
    yield "model", _POSITION, "attention" in kinds, reason
    yield "model", "window", model.encoder == "attention", encoder
    yield "model", "kernel dilations", "convolution" in kinds, reason
    yield "model", "cell", "recurrent" in kinds, reason
    yield "model", "directions", model.encoder == "recurrent", encoder
