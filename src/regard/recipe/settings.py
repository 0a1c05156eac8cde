"""Every setting, its default, its allowed names and its one sentence of explanation: the only home of each.

The sentence is also the comment in a recipe that `regard init` writes.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from regard.errors import nearest

# The allowed names of each setting that is chosen by name. Those that stand in a table of the package are held against
# that table by tests/test_structure.py.
NAMES: dict[str, tuple[str, ...]] = {
    "task.kind": ("label", "classify", "regress", "seq2seq", "ctc", "forecast", "mlm", "lm"),
    "data.format": (
        *("guess", "conllu", "columns", "tsv", "csv", "jsonl", "parallel"),
        *("ts", "npz", "npy", "folder", "idx", "sound"),
    ),
    "data.split_by": ("chance", "lines", "column"),
    "data.scheme": ("none", "IOB1", "IOB2", "IOBES", "BMES", "BILOU"),
    "data.on_error": ("stop", "skip"),
    "data.encoding_errors": ("strict", "replace"),
    "input.kind": ("text", "vectors", "image", "speech"),
    "input.stem": ("patches", "convolution"),
    "input.level": ("item", "band", "train"),
    "input.tokens": ("words", "characters", "subwords", "words+characters", "library"),
    "input.normalize": ("none", "NFC", "NFKC"),
    "input.split": ("punctuation", "spaces", "characters"),
    "output.tokens": ("characters", "subwords", "words"),
    "output.share": ("none", "target", "all"),
    "output.bleu_tokens": ("13a", "zh", "char", "intl", "none"),
    "output.scheme": ("none", "IOB2", "IOBES", "BMES", "BILOU"),
    "model.encoder": ("attention", "convolution", "recurrent", "pointwise"),
    "model.decoder": ("attention", "convolution", "recurrent"),
    "model.dilations": ("none", "doubling"),
    "model.cell": ("rnn", "lstm", "gru"),
    "model.directions": ("both", "forward"),
    "model.activation": ("relu", "gelu", "gelu_tanh", "swiglu"),
    "model.score": ("scaled_dot", "dot", "cosine", "bilinear", "additive"),
    "model.normalizer": ("softmax", "relu", "sigmoid", "sparsemax", "entmax15"),
    "model.position": ("none", "sinusoidal", "learned", "floater", "shaw", "t5", "alibi", "rotary", "quadratic"),
    "model.query_key_norm": ("none", "layer", "rms"),
    "model.pooling": ("mean", "first", "last", "attention"),
    "model.norm": ("layer", "rms", "batch", "none"),
    "model.norm_place": ("before", "after"),
    "train.schedule": ("cosine", "linear", "inverse_root", "constant"),
    "train.class_weights": ("none", "balanced"),
    "train.metric": (
        *("accuracy", "exact", "macro_f1", "micro_f1", "span_f1"),
        *("pearson", "spearman", "rmse"),
        *("bleu", "chrf", "word_errors", "character_errors", "perplexity", "character_perplexity"),
    ),
    "train.device": ("auto", "cpu", "cuda", "mps"),
    "decode.length_norm": ("power", "gnmt"),
    "decode.unknown": ("never", "copy"),
}

# Other names by which schemes are known.
ALSO_CALLED = {"BIO": "IOB2", "BIOES": "IOBES"}

# A name of the user's own: a Python file beside the recipe and a class in it.
OWN_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*:[A-Za-z_][A-Za-z0-9_]*$")
EXTENDABLE = ("model.score", "model.normalizer", "model.position")


def _one_of(setting: str) -> AfterValidator:
    """The text must be one of the setting's names."""

    def check(value: str) -> str:
        if ALSO_CALLED.get(value) in NAMES[setting]:
            return ALSO_CALLED[value]
        if value in NAMES[setting] or (setting in EXTENDABLE and OWN_NAME.match(value)):
            return value
        own = ", or file:Class for one of your own" if setting in EXTENDABLE else ""
        raise ValueError(f"must be one of {', '.join(NAMES[setting])}{own}{nearest(value, NAMES[setting])}")

    return AfterValidator(check)


def _as_tuple(value: Any) -> Any:
    """A list, or the one thing that a list of one would hold."""
    return tuple(value) if isinstance(value, list) else (value,) if isinstance(value, str | int) else value


def _both_sides(value: Any) -> Any:
    """One number reaches as far to both sides; two are how far back and how far ahead; of a list of such twos each is
    of a block."""
    if isinstance(value, list):
        return tuple(tuple(each) if isinstance(each, list) else each for each in value)
    return (value, value) if isinstance(value, int) else value


def _two_or_none(value: tuple[Any, ...]) -> tuple[Any, ...]:
    for each in value if value and isinstance(value[0], tuple) else (value,):
        if not isinstance(each, tuple) or len(each) not in (0, 2) or any(reach < 0 for reach in each):
            raise ValueError("must be one number, or two, from 0: how far back and how far ahead")
    return value


def _halvings(value: int) -> int:
    if value not in (1, 2, 4, 8):
        raise ValueError("must be 1, 2, 4 or 8: each convolution that shortens takes two steps at once")
    return value


def _two_sides(value: tuple[int, ...]) -> tuple[int, ...]:
    if len(value) not in (0, 2):
        raise ValueError("must be two numbers, [height, width]")
    return value


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError(f"must be odd, so that as many stand to both sides, as {value - 1} or {value + 1}")
    return value


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple)]
Column = str | int
Columns = Annotated[tuple[Column, ...], BeforeValidator(_as_tuple)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]


def _leave_some(shares: tuple[float, ...]) -> tuple[float, ...]:
    """One share or two, which together are less than all."""
    if not 1 <= len(shares) <= 2 or sum(shares) >= 1:
        raise ValueError("must be one share (for dev) or two (for dev and test), together less than 1")
    return shares


Shares = Annotated[
    tuple[Annotated[float, Field(gt=0.0, lt=1.0)], ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, float) else _as_tuple(value)),
    AfterValidator(_leave_some),
]
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(ge=0.0)]
Positive = Annotated[float, Field(gt=0.0)]
Odd = Annotated[Count, AfterValidator(_odd)]
Window = Annotated[
    tuple[int, ...] | tuple[tuple[int, int], ...], BeforeValidator(_both_sides), AfterValidator(_two_or_none)
]


# The formats of each kind of input.
FORMATS = {
    "text": ("conllu", "columns", "tsv", "csv", "jsonl", "parallel"),
    "vectors": ("ts", "csv", "tsv", "npz", "npy"),
    "image": ("folder", "csv", "tsv", "jsonl", "npz", "idx"),
    "speech": ("tsv", "csv", "jsonl", "folder", "sound"),
}

# Tasks with one answer for the whole item, those of them whose answer is drawn from one vector, those that learn from
# plain text, those that write piece by piece, those that answer another sequence with a text, and the metrics of each
# task, the first being its own; where an item may have several classes (data.separator), the metrics stand apart.
WHOLE_TASKS = ("classify", "regress", "seq2seq", "ctc", "mlm", "lm")
POOLED_TASKS = ("classify", "regress")
NUMBER_TASKS = ("regress", "forecast")
TEXT_TASKS = ("mlm", "lm")
WRITING_TASKS = ("seq2seq", "lm")
TO_TEXT_TASKS = ("seq2seq", "ctc")
TASK_METRICS = {
    "label": ("accuracy", "exact", "span_f1"),
    "classify": ("accuracy", "macro_f1"),
    "regress": ("pearson", "spearman", "rmse"),
    "forecast": ("rmse", "pearson", "spearman"),
    "seq2seq": ("exact", "bleu", "chrf", "word_errors", "character_errors", "perplexity"),
    "mlm": ("perplexity", "accuracy"),
    "lm": ("perplexity", "character_perplexity"),
    "ctc": ("word_errors", "character_errors", "exact", "bleu", "chrf"),
}
SEVERAL_METRICS = ("micro_f1", "macro_f1", "exact")


# The settings that make a body what it is. They are those of the run that is begun with, and need not be said again.
BODY = {
    "input": (
        *("kind", "tokens", "size", "minimum_count", "lowercase", "normalize", "split"),
        *("word_width", "character_width", "filters", "places", "segments", "piece_width"),
    ),
    "model": (
        *("encoder", "decoder", "width", "depth", "decoder_depth", "kernel", "dilations", "cell", "directions"),
        *("heads", "head_width", "key_heads", "value_width", "projections", "query_key_norm", "inner", "activation"),
        *("score", "normalizer", "scale", "position", "longest", "distance", "turned", "window"),
        *("norm", "norm_place", "residual", "epsilon", "shared_blocks"),
    ),
}


class Section(BaseModel):
    """A part of a recipe; it cannot be changed, and knows no setting but its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class TaskSettings(Section):
    """What is to be learnt."""

    kind: Annotated[str, _one_of("task.kind")] = Field(
        "label",
        description="label: one for each word or step; classify, regress: a class or number for the whole; seq2seq: a "
        "text; ctc: a text in the order of what is read and no longer than it; forecast: the next steps; from plain "
        "text mlm: what stands behind masks, lm: what comes next",
    )
    masked: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(
        0.15, description="mlm: the share of each text that is asked for; 8 of 10 are masked, 1 is another, 1 is shown"
    )
    whole_words: bool = Field(False, description="mlm: whether all pieces of a word are asked for together")


class DataSettings(Section):
    """Where the examples are, and how they are read."""

    train: Annotated[Texts, Field(min_length=1)] = Field(
        description="files to learn from; paths are relative to this recipe"
    )
    dev: Texts = Field((), description="files to choose the best model by; without, a share of train is set aside")
    test: Texts = Field((), description="files to report a score on, looked at once, when training has ended")
    format: Annotated[str, _one_of("data.format")] = Field(
        "guess",
        description="guess: by the contents of the file; parallel: files in twos (source, target, …), line by line",
    )
    source: Columns = Field((), description="the column that is read (a name, or a number from 1); several are joined")
    target: Columns = Field((), description="the columns that are learnt; several get an output each")
    item: Column | None = Field(
        None,
        description="vectors in tables: rows with the same value in this column are the steps of one item; without, a "
        "row is an item (for a label per step or a forecast, a file is one)",
    )
    header: bool | None = Field(
        None, description="whether a table's first line names its columns; yes where a column is given by its name"
    )
    separator: Text | None = Field(
        None,
        description="classify: a target cell may hold several classes, parted by this text; each is then decided on "
        "its own",
    )
    ignore: Texts = Field((), description="labels that are neither learnt nor scored")
    split: Shares = Field(
        (0.1,), description="the share of train that is set aside when dev is missing; of two, the second is for test"
    )
    split_by: Annotated[str, _one_of("data.split_by")] = Field(
        "chance",
        description="what is set aside: by chance (drawn from train.seed, of each class its share), every n-th of the "
        "lines, or by a column, all that have the same value there together",
    )
    split_column: Column | None = Field(None, description="split_by = column: the column (a name, or a number from 1)")
    scheme: Annotated[str, _one_of("data.scheme")] = Field(
        "none",
        description="how spans are written in the files, where that differs from output.scheme, to which labels are "
        "converted when read",
    )
    several_right: bool = Field(
        False, description="seq2seq: dev and test items with the same source are one, and each of their texts is right"
    )
    on_error: Annotated[str, _one_of("data.on_error")] = Field(
        "stop", description="at a line that cannot be read: stop, or skip its sentence and say so"
    )
    longest: Count = Field(
        1000,
        description="mlm, lm: longer lines are cut into parts of at most so many letters, at a space if there is one",
    )
    encoding_errors: Annotated[str, _one_of("data.encoding_errors")] = Field(
        "strict", description="at bytes that are not UTF-8: strict refuses them, replace puts a sign in their place"
    )


class InputSettings(Section):
    """How an example becomes vectors."""

    kind: Annotated[str, _one_of("input.kind")] = Field(
        "text",
        description="what is read: text; vectors: measurements, step by step; image: pictures; speech: recordings",
    )
    tokens: Annotated[str, _one_of("input.tokens")] = Field(
        "words+characters",
        description="what gets a vector; words+characters reads the letters of each word too; library: the pieces of "
        "an imported run, between signs for a beginning and an end; learnt, they are BERT's (WordPiece)",
    )
    size: Count = Field(20000, description="the vocabulary's largest size")
    minimum_count: Count = Field(2, description="rarer words share the vector of the unknown")
    lowercase: bool = Field(False, description="whether words are looked up in lower case (letters keep their case)")
    normalize: Annotated[str, _one_of("input.normalize")] = Field(
        "none", description="Unicode normalisation; NFC makes the two spellings of é one"
    )
    split: Annotated[str, _one_of("input.split")] = Field(
        "punctuation", description="how plain text becomes words: at spaces and punctuation, at spaces, or each sign"
    )
    shared_words: bool = Field(
        False, description="two source columns: whether a word is marked that stands in the other text too"
    )
    dropout: Share = Field(0.05, description="the share of words hidden in training, so that context must do")
    word_width: Count = Field(128, description="numbers in a word's own vector")
    character_width: Count = Field(
        32, description="numbers in the vector of a letter, of a word's beginning, end and shape"
    )
    filters: Count = Field(64, description="patterns of letters that are looked for, for each width of 2 to 5 letters")
    places: Count | None = Field(
        None,
        description="library: so many places have a vector, added to that of the piece before both are normed, as in "
        "BERT; model.position is beside it",
    )
    segments: Annotated[int, Field(ge=0)] = Field(
        0, description="places: the first so many of joined texts have a vector, added too; 0: none"
    )
    piece_width: Count | None = Field(
        None,
        description="places: numbers in a piece's own vector, which is then projected; unprojected where not given",
    )
    pretrained: str | None = Field(None, description="word vectors to start from, in the text format .vec")
    standardize: bool = Field(
        True, description="vectors: whether each column is put in units of its spread around its mean, both of train"
    )
    patch: Count | None = Field(
        None,
        description="so many steps (vectors) or pixels on each side (image) become one vector; 1 and 4 where not given",
    )
    stem: Annotated[str, _one_of("input.stem")] = Field(
        "patches",
        description="image: patches are read as they are (of 1 pixel: pixels), or by a small convolutional network, "
        "which halves both sides until there is a vector for each patch",
    )
    picture_size: Annotated[tuple[Count, ...], BeforeValidator(_as_tuple), AfterValidator(_two_sides)] = Field(
        (), description="image: [height, width] to which each picture is drawn; as it is where not given"
    )
    class_token: bool = Field(
        False,
        description="image: whether a vector of its own stands before the patches, to answer for all (pooling = first)",
    )
    kernel: Odd = Field(5, description="vectors: how many steps are seen at once when they are read; odd")
    context: Count | None = Field(
        None, description="forecast: how many steps are looked back at; 4 * horizon where not given"
    )
    jitter: Amount = Field(0.0, description="vectors: spread of the noise that training adds, in units of the columns'")
    scaling: Amount = Field(0.0, description="vectors: spread around 1 of the factor of each column in training")
    shift: Annotated[int, Field(ge=0)] = Field(
        0, description="image: so many pixels a picture is moved at most in training, up, down and sideways"
    )
    flip: bool = Field(False, description="image: whether half of the pictures are mirrored in training")
    crop: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0, description="image: the smallest share of a picture that is cut out in training, and drawn as large as all"
    )
    turn: Annotated[float, Field(ge=0.0, le=90.0)] = Field(
        0.0,
        description="image: degrees by which a picture is turned at most in training, and scaled by a hundredth each",
    )
    warp: Share = Field(
        0.0, description="vectors: the share of its length by which a step is moved at most in training"
    )
    mixup: Amount = Field(
        0.0,
        description="classify, regress: how strongly items are mixed in training: the beta distribution's parameter",
    )
    rate: Count = Field(
        16000, description="speech: samples in a second; recordings at another rate are resampled, channels averaged"
    )
    bands: Count = Field(80, description="speech: bands of frequencies in a frame")
    frame_ms: Positive = Field(25.0, description="speech: milliseconds in a frame")
    step_ms: Positive = Field(10.0, description="speech: milliseconds from one frame to the next")
    shorten: Annotated[int, AfterValidator(_halvings)] = Field(
        4, description="speech: so many frames become one vector: 1, 2, 4 or 8"
    )
    channels: Count = Field(24, description="speech: patterns that are looked for in frames when they are shortened")
    level: Annotated[str, _one_of("input.level")] = Field(
        "item",
        description="speech: what frames are measured by: item: its own mean and spread; band: its own mean of each "
        "band; train: mean and spread of each band in train, so that --stream need not know what is to come",
    )
    speed: Share = Field(0.0, description="speech: by which share recordings are faster or slower at most in training")
    pitch: Share = Field(0.0, description="speech: by which share voices are higher or lower at most in training")
    noise: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        0.0, description="speech: which share of recordings gets noise in training, 5 to 30 decibels below them"
    )
    equalizer: Amount = Field(
        0.0, description="speech: how strongly frequencies are lifted and lowered in training, in decibels"
    )
    hide: Share = Field(
        0.0, description="speech: the share of frames, and of bands, that each of two masks hides at most in training"
    )


class OutputSettings(Section):
    """What the answer looks like."""

    scheme: Annotated[str, _one_of("output.scheme")] = Field(
        "none",
        description="how spans are written into labels (BIO is IOB2, BIOES is IOBES): they are scored strictly, and "
        "crf rules out what breaks it",
    )
    horizon: Count | None = Field(None, description="forecast: how many of the next steps are answered")
    crf: bool = Field(False, description="whether neighbouring labels are chosen together (conditional random field)")
    tokens: Annotated[str, _one_of("output.tokens")] = Field(
        "characters", description="seq2seq, ctc: what a text is written in; words are what stands between spaces"
    )
    size: Count = Field(8000, description="the largest size of the vocabulary that is written in")
    minimum_count: Count = Field(1, description="rarer words are never written")
    normalize: Annotated[str, _one_of("input.normalize")] = Field(
        "none", description="Unicode normalisation of what is written, and of what it is scored against"
    )
    share: Annotated[str, _one_of("output.share")] = Field(
        "target",
        description="which vectors are the same: of what is written and its scores (target), of the source too",
    )
    ctc: Share = Field(
        0.0,
        description="seq2seq: the share of the loss by which the elements of what is read spell the text too, as with "
        "task.kind = ctc",
    )
    bleu_tokens: Annotated[str, _one_of("output.bleu_tokens")] = Field(
        "13a", description="how BLEU splits texts into words (sacrebleu's name); zh or char where no spaces part words"
    )


class ModelSettings(Section):
    """The network."""

    start: Text | None = Field(
        None,
        description="a run to begin with: what reads and encodes is taken from it, with its settings; heads are new",
    )

    encoder: Annotated[str, _one_of("model.encoder")] = Field(
        "attention",
        description="what lets elements see each other: attention, convolution, recurrent; pointwise sees each alone",
    )
    decoder: Annotated[str, _one_of("model.decoder")] = Field(
        "attention",
        description="seq2seq, lm: what looks back at what was written; what was read is attended to in any case",
    )
    width: Count = Field(128, description="numbers in the vector of each element")
    depth: Count = Field(2, description="blocks one after the other")
    decoder_depth: Count | None = Field(None, description="seq2seq: blocks of the decoder; depth where not given")
    kernel: Odd = Field(3, description="convolution: how many neighbours are seen at once, oneself among them; odd")
    dilations: Annotated[str, _one_of("model.dilations")] = Field(
        "none",
        description="convolution: doubling: neighbours stand 1, 2, 4 … elements apart in one block after the other",
    )
    cell: Annotated[str, _one_of("model.cell")] = Field(
        "lstm", description="recurrent: how the memory takes in what comes"
    )
    directions: Annotated[str, _one_of("model.directions")] = Field(
        "both", description="recurrent encoder: from both ends, each with half of the width, or forward only"
    )
    heads: Count = Field(4, description="attention heads side by side; they must divide width")
    head_width: Count | None = Field(None, description="numbers in a head's vectors; width / heads where not given")
    key_heads: Count | None = Field(None, description="fewer heads for keys and values, shared; heads where not given")
    value_width: Count | None = Field(None, description="numbers in a head's values; head_width where not given")
    projections: bool = Field(
        True, description="whether heads see learned projections; without, each takes its share of the numbers as it is"
    )
    query_key_norm: Annotated[str, _one_of("model.query_key_norm")] = Field(
        "none", description="what keeps each head's queries and keys in bounds"
    )
    inner: Count | None = Field(None, description="width inside the feed-forward part; 4 * width where not given")
    activation: Annotated[str, _one_of("model.activation")] = Field(
        "gelu", description="the bend inside the feed-forward part"
    )
    score: Annotated[str, _one_of("model.score")] = Field("scaled_dot", description="how well a query fits a key")
    normalizer: Annotated[str, _one_of("model.normalizer")] = Field("softmax", description="from scores to weights")
    scale: float | None = Field(None, description="the factor for the scores; the score's own where not given")
    position: Annotated[str, _one_of("model.position")] = Field(
        "rotary", description="how an element knows where it stands"
    )
    longest: Count = Field(
        512, description="learned: how many positions there are; floater: how many an exported model knows"
    )
    distance: Count | None = Field(
        None, description="shaw, t5: what is further counts as this far; 16 and 128 where not given"
    )
    turned: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="rotary: the share of each head's numbers that is turned"
    )
    window: Window = Field(
        (),
        description="how far each element sees, or how far back and ahead: [back, ahead]; also one for each block, in "
        "a list",
    )
    norm: Annotated[str, _one_of("model.norm")] = Field("layer", description="what keeps the vectors in bounds")
    norm_place: Annotated[str, _one_of("model.norm_place")] = Field(
        "before", description="before each part, or after adding it"
    )
    pooling: Annotated[str, _one_of("model.pooling")] = Field(
        "mean", description="classify, regress, forecast: how all elements become one"
    )
    towers: bool = Field(
        False,
        description="classify, regress: whether the texts of two source columns are read apart, by one network, and "
        "then compared; else they are read as one",
    )
    epsilon: Annotated[float, Field(gt=0)] | None = Field(
        None, description="what norms add to the variance; their own (layer and batch 1e-5, rms 1e-6) where not given"
    )
    shared_blocks: bool = Field(False, description="attention: whether all blocks of the encoder are one, as in ALBERT")
    residual: bool = Field(True, description="whether each part adds to what was there or replaces it")
    dropout: Share = Field(0.1, description="the share of numbers dropped in training, against learning by heart")
    attention_dropout: Share = Field(0.0, description="the share of attention weights dropped in training")


class TrainSettings(Section):
    """How the network learns."""

    epochs: Annotated[float, Field(gt=0)] | None = Field(
        None, description="passes over the training data; 10 where neither epochs nor minutes is given"
    )
    minutes: Annotated[float, Field(gt=0)] | None = Field(
        None, description="instead of epochs: the time to use; the learning rate falls with its used share"
    )
    batch_tokens: Count = Field(2048, description="a batch's items times the length of its longest is at most this")
    accumulate: Count = Field(1, description="batches that make one update")
    lr: Annotated[float, Field(gt=0)] = Field(2e-3, description="the highest learning rate")
    schedule: Annotated[str, _one_of("train.schedule")] = Field(
        "cosine", description="how the learning rate falls after warm-up"
    )
    warmup_steps: Annotated[int, Field(ge=0)] = Field(50, description="updates in which the learning rate rises")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.01, description="how much unused weights shrink")
    label_smoothing: Share = Field(0.0, description="the share of belief that is spread over all labels")
    class_weights: Annotated[str, _one_of("train.class_weights")] = Field(
        "none", description="balanced: rare labels weigh more in the loss, so that all labels weigh the same together"
    )
    freeze: Columns = Field(
        (),
        description="model.start: what stays as it is: input, encoder, decoder, or a number: the input and so many "
        "first blocks",
    )
    layer_decay: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="model.start: each block learns slower than the one above it, by this factor"
    )
    clip: Annotated[float, Field(gt=0, allow_inf_nan=True)] = Field(
        1.0, description="longest gradient; longer ones are shortened (inf: none are)"
    )
    seed: Annotated[int, Field(ge=0)] = Field(1, description="another seed, another first weights and order")
    evaluate_every: Count | None = Field(
        None, description="updates between evaluations on dev; where not given an epoch, but at least 10 in all"
    )
    metric: Annotated[str, _one_of("train.metric")] | None = Field(
        None,
        description="what the best model is chosen by; where not given accuracy of labels, micro_f1 of several "
        "classes, pearson of numbers, exact of texts, word_errors of ctc",
    )
    patience: Count | None = Field(None, description="stop after so many evaluations without a better score")
    average: Count = Field(1, description="the model is the mean of its weights at the last so many evaluations")
    threads: Count | None = Field(
        None, description="threads that compute; 1 is best for small networks, or where the machine does other things"
    )
    keep_memory: bool = Field(
        False,
        description="whether memory that was used once is kept for the rest of the process: faster where tensors have "
        "many megabytes, on a CPU under Linux; it does nothing elsewhere, and says so",
    )
    certify: bool = Field(
        True, description="whether it is shown at the end that every way of running the model gives the same answers"
    )
    tensorboard: bool = Field(
        False, description="whether curves for TensorBoard are written into the run's folder, too"
    )
    device: Annotated[str, _one_of("train.device")] = Field(
        "auto", description="auto takes an accelerator where there is one"
    )

    @model_validator(mode="before")
    @classmethod
    def _one_length(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("epochs") is None and values.get("minutes") is None:
            return {**values, "epochs": 10.0}
        return values


class DecodeSettings(Section):
    """How a text is written."""

    beam: Count = Field(
        4, description="beginnings that are followed side by side; 1 takes the best next piece each time"
    )
    patience: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="a search ends after this times beam ended texts; where not given only when none can be better",
    )
    at_once: Count = Field(
        64, description="texts that are written side by side; each that ends makes room for the next"
    )
    length_penalty: Annotated[float, Field(ge=0)] = Field(
        1.0, description="log-probabilities are divided by the length to this power; 0 favours short texts"
    )
    length_norm: Annotated[str, _one_of("decode.length_norm")] = Field(
        "power", description="what has that power: the length, or with gnmt (5 + length) / 6"
    )
    coverage_penalty: Annotated[float, Field(ge=0)] = Field(
        0.0, description="how much it counts against a text that parts of the source were hardly looked at"
    )
    min_length: Annotated[int, Field(ge=0)] = Field(0, description="pieces before which a text does not end")
    max_length: Count | None = Field(
        None, description="pieces after which a text is cut, and marked so; 3 * source + 50 where not given"
    )
    max_ratio: Annotated[float, Field(gt=0)] | None = Field(
        None, description="the same for each piece of the source: a text has at most so many times its length"
    )
    no_repeat: Count | None = Field(None, description="no run of so many pieces is written twice")
    forbidden: Texts = Field((), description="texts that are written nowhere, inside of words neither")
    required: Texts = Field((), description="texts that are written somewhere in each text")
    prefix: Text | None = Field(None, description="what each text begins with")
    sample: bool = Field(False, description="draw each piece by chance, as probable as it is, instead of searching")
    temperature: Annotated[float, Field(gt=0)] = Field(
        1.0, description="sample: below 1 probable pieces are drawn more often still, above 1 less"
    )
    top_k: Count | None = Field(None, description="sample: only so many of the most probable pieces are drawn")
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="sample: only the most probable pieces that together have this probability are drawn"
    )
    seed: Annotated[int, Field(ge=0)] = Field(1, description="sample: another seed, another text")
    unknown: Annotated[str, _one_of("decode.unknown")] = Field(
        "never",
        description="the sign for an unknown word is never written, or it is, and a word is copied from where the "
        "model looks in the source",
    )


class Recipe(Section):
    """All settings of one experiment."""

    task: TaskSettings = TaskSettings()
    data: DataSettings
    input: InputSettings = InputSettings()
    output: OutputSettings = OutputSettings()
    model: ModelSettings = ModelSettings()
    train: TrainSettings = TrainSettings()
    decode: DecodeSettings = DecodeSettings()

    @property
    def patch(self) -> int:
        """How many steps, or pixels on each side, become one vector."""
        return self.input.patch or (4 if self.input.kind == "image" else 1)

    @property
    def context(self) -> int:
        """Forecast: how many steps are looked back at."""
        return self.input.context or 4 * (self.output.horizon or 1)

    @property
    def metric(self) -> str:
        """What the best model is chosen by."""
        return self.train.metric or self.metrics[0]

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it can be chosen by."""
        return TASK_METRICS[self.task.kind] if self.data.separator is None else SEVERAL_METRICS
