"""A recipe -> its parts. Model settings stop here: layers take plain arguments and finished parts."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.position import POSITIONS, Position, Sizes
from regard.attention.score import SCORES, Score
from regard.data.example import Example
from regard.data.kind import InputKind
from regard.data.labels import SCHEMES, Labels, check_scheme
from regard.data.masking import Masking
from regard.data.plain import evenly
from regard.data.signal.vectors import Vectors
from regard.data.target import Classes, Numbers, Pieces, Target, Texts
from regard.data.tokenizer import TOKENIZERS, Tokenizer, TokenizerSettings
from regard.errors import FolderError
from regard.inputs import input_part, learn_input, written_texts
from regard.layers import (
    ACTIVATIONS,
    DILATIONS,
    QUERY_KEY_NORMS,
    AddNorm,
    Convolution,
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForward,
    LookBack,
    LookBackBlock,
    MixBlock,
    MixEncoder,
    MultiHeadAttention,
    PointwiseBlock,
    PointwiseEncoder,
    Recurrence,
    make_norm,
)
from regard.models.answering import best_at_masks, best_of_each
from regard.models.gather import POOLINGS, Ahead, Asked, Compared, EachElement, EachWord, Together
from regard.models.inputs import Embedding, InputPart, MarkedInput, PieceInput, PlacedInput, ScaledEmbedding, WordInput
from regard.models.model import DecoderModel, EncoderDecoderModel, EncoderModel
from regard.models.outputs import (
    ClassesHead,
    CrfHead,
    CtcHead,
    Head,
    Heads,
    NumberHead,
    ReadOut,
    SoftmaxHead,
    TiedProjection,
)
from regard.models.spelling import Speller
from regard.plain_text import LEARNT_FROM
from regard.predict import Predictor
from regard.recipe.settings import (
    NUMBER_TASKS,
    POOLED_TASKS,
    TEXT_TASKS,
    TO_TEXT_TASKS,
    WHOLE_TASKS,
    ModelSettings,
    Recipe,
)
from regard.writing import writer

# How many rows and columns the largest picture has; None where what is read stands along a line.
Grid = tuple[int, int] | None


def learn(recipe: Recipe, examples: Sequence[Example], columns: Sequence[str]) -> tuple[InputKind, dict[str, Target]]:
    """What the training examples teach before training: the vocabulary, and what each target column holds."""
    some = evenly(examples, LEARNT_FROM) if recipe.task.kind in TEXT_TASKS else examples
    input = learn_input(recipe, some)
    return input, learn_answers(recipe, examples, columns, input)


def learn_answers(
    recipe: Recipe, examples: Sequence[Example], columns: Sequence[str], input: InputKind
) -> dict[str, Target]:
    """What each target column holds in the training examples."""
    if recipe.task.kind in TEXT_TASKS:
        assert isinstance(input, Tokenizer)
        return {column: _TEXT_TARGETS[recipe.task.kind](input) for column in columns}
    if recipe.task.kind in TO_TEXT_TASKS:
        return {column: learn_texts(recipe, examples, input) for column in columns}
    return learn_targets(recipe, examples, columns)


# What plain text teaches, by the task.
_TEXT_TARGETS: dict[str, Callable[[Tokenizer], Target]] = {"mlm": Pieces, "lm": Texts}


def learn_texts(recipe: Recipe, examples: Sequence[Example], source: InputKind) -> Texts:
    """What texts are written in: pieces of their own, or those of the source where all are shared."""
    given = recipe.output
    if given.share == "all":
        assert isinstance(source, Tokenizer)
        return Texts(source)
    settings = TokenizerSettings(given.size, given.minimum_count, False, given.normalize)
    return Texts(TOKENIZERS[given.tokens].learn(written_texts(recipe, examples), settings))


def learn_targets(recipe: Recipe, examples: Sequence[Example], columns: Sequence[str]) -> dict[str, Target]:
    """What each target column holds in the training examples: labels, classes, or numbers."""
    if recipe.data.separator is not None:
        return {column: Classes.of(examples, column, recipe.data.separator) for column in columns}
    kind: type[Labels] | type[Numbers] = Numbers if recipe.task.kind in NUMBER_TASKS else Labels
    targets: dict[str, Target] = {column: kind.of(examples, column, recipe.data.ignore) for column in columns}
    if recipe.output.crf:
        for column in columns:
            check_scheme(examples, column, recipe.output.scheme, recipe.data.ignore)
    return targets


def build(
    recipe: Recipe, tokenizer: InputKind, targets: Mapping[str, Target], *, code: Path | None = None
) -> Predictor:
    """The model that the recipe describes, with first weights drawn from the recipe's seed.

    code: the folder of the user's own files that the recipe names
    """
    whole = recipe.task.kind in WHOLE_TASKS
    budget = max(recipe.train.batch_tokens, 4096)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        if recipe.task.kind == "seq2seq":
            ((column, texts),) = targets.items()
            assert isinstance(texts, Texts)
            writing = _encoder_decoder(recipe, tokenizer, column, texts, code)
            answering = writer(recipe.decode, writing, column, texts)
            return Predictor(
                writing, tokenizer, targets, answering, budget, whole, copying=recipe.decode.unknown == "copy"
            )
        if recipe.task.kind == "lm":
            ((column, texts),) = targets.items()
            assert isinstance(texts, Texts)
            continuing = _language_model(recipe, column, texts, code)
            answering = writer(recipe.decode, continuing, column, texts)
            return Predictor(continuing, tokenizer, targets, answering, budget, whole)
        input, encoder = (
            input_part(recipe, tokenizer),
            ENCODERS[recipe.model.encoder](recipe.model, code, tokenizer.grid),
        )
        if recipe.task.kind == "mlm":
            assert isinstance(tokenizer, Tokenizer)
            masking = Masking(tokenizer, recipe.task.masked, recipe.task.whole_words)
            masked = _masked_model(recipe, input, encoder, list(targets))
            return Predictor(
                masked,
                tokenizer,
                targets,
                best_at_masks(masked, never=tokenizer.special),
                budget,
                whole,
                masking=masking,
            )
        gather = _gather(recipe, tokenizer)
        heads = [_head(recipe, target, gather.width) for target in targets.values()]
        if isinstance(gather, Ahead):
            for column, head in zip(targets, heads, strict=True):
                gather.begin(head, _numbered(tokenizer, column))
        # A forecast begins with the values known last, which must not be dropped.
        output = Heads(list(targets), heads, dropout=0.0 if isinstance(gather, Ahead) else recipe.model.dropout)
        model = EncoderModel(input, encoder, gather, output)
    if recipe.task.kind == "ctc":
        ((column, texts),) = targets.items()
        assert isinstance(texts, Texts)
        return Predictor(
            model, tokenizer, targets, Speller(model, column, texts.end, recipe.decode.beam), budget, whole
        )
    apart, marked = recipe.model.towers, recipe.input.shared_words
    return Predictor(model, tokenizer, targets, best_of_each(model), budget, whole, apart, marked)


def _gather(recipe: Recipe, tokenizer: InputKind) -> EachWord | EachElement | Together | Compared | Ahead:
    model = recipe.model
    if recipe.task.kind == "ctc":
        return EachElement(model.width)
    if recipe.task.kind == "forecast":
        assert recipe.output.horizon is not None
        pool, columns = POOLINGS[model.pooling](model.width), tokenizer.sizes()["columns"]
        return Ahead(pool, model.width, horizon=recipe.output.horizon, context=recipe.context, columns=columns)
    if recipe.task.kind not in POOLED_TASKS:
        return EachWord(model.width)
    pool = POOLINGS[model.pooling](model.width)
    return Compared(pool, model.width) if model.towers else Together(pool, model.width)


def _numbered(tokenizer: InputKind, column: str) -> int:
    """Which of the columns that are read it is, counted from 0."""
    assert isinstance(tokenizer, Vectors)
    return tokenizer.columns.index(column)


def _encoder_decoder(
    recipe: Recipe, tokenizer: InputKind, column: str, texts: Texts, code: Path | None
) -> EncoderDecoderModel:
    settings, share = recipe.model, recipe.output.share
    written = ScaledEmbedding(texts.start + 1, settings.width)
    table = written.table if share == "all" else None
    tied = None if share == "none" else TiedProjection(written.table, texts.end + 1)
    return EncoderDecoderModel(
        input=input_part(recipe, tokenizer, table),
        encoder=ENCODERS[settings.encoder](settings, code, tokenizer.grid),
        written=written,
        decoder=_decoder(settings, code),
        output=Heads([column], [SoftmaxHead(settings.width, texts.end + 1, tied)]),
        spelled=CtcHead(settings.width, texts.end + 1) if recipe.output.ctc else None,
    )


def _language_model(recipe: Recipe, column: str, texts: Texts, code: Path | None) -> DecoderModel:
    settings = recipe.model
    written = ScaledEmbedding(texts.start + 1, settings.width, dropout=recipe.input.dropout)
    blocks = [
        LookBackBlock(
            DECODERS[settings.decoder](settings, code, block),
            _feed_forward(settings),
            _add_norm(settings),
            _add_norm(settings),
        )
        for block in range(settings.depth)
    ]
    decoder = Decoder(
        blocks,
        position=_position(settings, code, settings.depth, causal=True) if settings.decoder == "attention" else None,
        norm=_last_norm(settings),
        dropout=settings.dropout,
    )
    tied = TiedProjection(written.table, texts.end + 1)
    return DecoderModel(written, decoder, Heads([column], [SoftmaxHead(settings.width, texts.end + 1, tied)]))


def _masked_model(recipe: Recipe, input: InputPart, encoder: nn.Module, columns: Sequence[str]) -> EncoderModel:
    """What is behind a mask is scored by how much it is like each piece's own vector."""
    width = recipe.model.width
    embedding = input.pieces if isinstance(input, PieceInput | PlacedInput) else input.words
    assert isinstance(embedding, Embedding)
    table = embedding.table
    tied = TiedProjection(table, table.num_embeddings)
    epsilon, activation = recipe.model.epsilon, "gelu_tanh" if recipe.model.activation == "gelu_tanh" else "gelu"
    read_out = ReadOut(width, table.embedding_dim, tied, ACTIVATIONS[activation][1], epsilon)
    head = SoftmaxHead(width, table.num_embeddings, read_out)
    return EncoderModel(input, encoder, Asked(width), Heads(columns, [head]))


def _decoder(model: ModelSettings, code: Path | None) -> Decoder:
    depth = model.depth if model.decoder_depth is None else model.decoder_depth
    return Decoder(
        [
            DecoderBlock(
                DECODERS[model.decoder](model, code, block),
                _attention(model, code),
                _feed_forward(model),
                *(_add_norm(model) for _ in range(3)),
            )
            for block in range(depth)
        ],
        position=_position(model, code, depth, causal=True) if model.decoder == "attention" else None,
        norm=_last_norm(model),
        dropout=model.dropout,
    )


def _attention_encoder(model: ModelSettings, code: Path | None, grid: Grid) -> nn.Module:
    made = [
        EncoderBlock(_attention(model, code), _feed_forward(model), _add_norm(model), _add_norm(model))
        for _ in range(1 if model.shared_blocks else model.depth)
    ]
    return Encoder(
        made * model.depth if model.shared_blocks else made,
        position=_position(model, code, model.depth, causal=False, grid=grid),
        norm=_last_norm(model),
        dropout=model.dropout,
        window=model.window or None,
    )


def _pointwise_encoder(model: ModelSettings, code: Path | None, grid: Grid) -> nn.Module:
    blocks = [PointwiseBlock(_feed_forward(model), _add_norm(model)) for _ in range(model.depth)]
    return PointwiseEncoder(blocks, norm=_last_norm(model), dropout=model.dropout)


def _convolution_encoder(model: ModelSettings, code: Path | None, grid: Grid) -> nn.Module:
    return _mix_encoder(model, [_convolution(model, block) for block in range(model.depth)])


def _recurrent_encoder(model: ModelSettings, code: Path | None, grid: Grid) -> nn.Module:
    parts = [Recurrence(model.width, cell=model.cell, directions=model.directions) for _ in range(model.depth)]
    return _mix_encoder(model, parts)


def _mix_encoder(model: ModelSettings, parts: Sequence[Convolution | Recurrence]) -> nn.Module:
    blocks = [MixBlock(part, _feed_forward(model), _add_norm(model), _add_norm(model)) for part in parts]
    return MixEncoder(blocks, norm=_last_norm(model), dropout=model.dropout)


def _convolution(model: ModelSettings, block: int, causal: bool = False) -> Convolution:
    return Convolution(model.width, model.kernel, dilation=DILATIONS[model.dilations](block), causal=causal)


ENCODERS: dict[str, Callable[[ModelSettings, Path | None, Grid], nn.Module]] = {
    "attention": _attention_encoder,
    "convolution": _convolution_encoder,
    "recurrent": _recurrent_encoder,
    "pointwise": _pointwise_encoder,
}


# What looks back at what was written, in the decoder's block of that number.
DECODERS: dict[str, Callable[[ModelSettings, Path | None, int], MultiHeadAttention | LookBack]] = {
    "attention": lambda model, code, block: _attention(model, code),
    "convolution": lambda model, code, block: LookBack(_convolution(model, block, causal=True)),
    "recurrent": lambda model, code, block: LookBack(Recurrence(model.width, cell=model.cell, directions="forward")),
}


def _attention(model: ModelSettings, code: Path | None) -> MultiHeadAttention:
    return MultiHeadAttention(
        model.width,
        model.heads,
        head_width=model.head_width,
        key_heads=model.key_heads,
        value_width=model.value_width,
        project=model.projections,
        query_norm=QUERY_KEY_NORMS[model.query_key_norm](_head_width(model)),
        key_norm=QUERY_KEY_NORMS[model.query_key_norm](_head_width(model)),
        score=_kind(model.score, SCORES, Score, code).sized(model.heads, _head_width(model), model.scale),
        normalizer=_kind(model.normalizer, NORMALIZERS, Normalizer, code)(),
        scale=model.scale,
        dropout=model.attention_dropout,
    )


def _position(model: ModelSettings, code: Path | None, depth: int, *, causal: bool, grid: Grid = None) -> Position:
    sizes = Sizes(
        width=model.width,
        heads=model.heads,
        head_width=_head_width(model),
        value_width=model.value_width,
        depth=depth,
        causal=causal,
        longest=model.longest,
        distance=model.distance,
        turned=model.turned,
        grid=grid,
    )
    position: Position = _kind(model.position, POSITIONS, Position, code).sized(sizes)
    return position


def _head_width(model: ModelSettings) -> int:
    return model.width // model.heads if model.head_width is None else model.head_width


def _feed_forward(model: ModelSettings) -> FeedForward:
    inner = 4 * model.width if model.inner is None else model.inner
    return FeedForward(model.width, inner, activation=model.activation)


def _add_norm(model: ModelSettings) -> AddNorm:
    return AddNorm(
        model.width,
        norm=model.norm,
        place=model.norm_place,
        residual=model.residual,
        dropout=model.dropout,
        epsilon=model.epsilon,
    )


def _last_norm(model: ModelSettings) -> nn.Module:
    return make_norm(model.norm if model.norm_place == "before" else "none", model.width, model.epsilon)


def _head(recipe: Recipe, target: Target, width: int) -> Head:
    if isinstance(target, Numbers):
        return NumberHead(width)
    if isinstance(target, Classes):
        return ClassesHead(width, len(target.names))
    if isinstance(target, Texts):
        return CtcHead(width, target.end + 1)
    assert isinstance(target, Labels)
    labels = target
    if not recipe.output.crf:
        head = SoftmaxHead(width, len(labels))
        head.temperature = labels.temperature
        return head
    follows, names = SCHEMES[recipe.output.scheme], labels.names
    return CrfHead(
        width,
        len(labels),
        allowed=torch.tensor([[follows(before, label) for label in names] for before in names]),
        begins=torch.tensor([follows(None, label) for label in names]),
        ends=torch.tensor([follows(label, None) for label in names]),
    )


def _named(name: str, table: Mapping[str, Any], code: Path | None) -> Any:
    """What a table has under that name, or file:Class of the user's own."""
    file, colon, attribute = name.partition(":")
    return _own(file, attribute, code) if colon else table[name]


def _kind(name: str, table: Mapping[str, Any], base: type, code: Path | None) -> Any:
    """The same, where it must be of a kind."""
    kind = _named(name, table, code)
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise FolderError(f"{name} is no {base.__name__}; derive it from regard.attention.{base.__name__}")
    return kind


def _own(file: str, attribute: str, code: Path | None) -> Any:
    if code is None:
        raise FolderError(
            f"{file}:{attribute} is code that came with the run; --trust-code (trust_code=True) lets it be run"
        )
    path = code / f"{file}.py"
    if not path.is_file():
        raise FolderError(f"{file}:{attribute} names the file {path}, which does not exist")
    spec = importlib.util.spec_from_file_location(f"regard_own_{file}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code may raise anything; he is told what and where
        raise FolderError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    if not hasattr(module, attribute):
        raise FolderError(f"{path} has no {attribute}")
    return getattr(module, attribute)


def load_pretrained(predictor: Predictor, path: str | Path, encoding_errors: str = "strict") -> tuple[int, int]:
    """Put word vectors from a text file (.vec) into the model: (words found, words in the vocabulary)."""
    from regard.data.tokenizer import WordTokenizer
    from regard.data.vectors import read_vectors

    tokenizer, input = predictor.tokenizer, predictor.model.input
    input = input.read if isinstance(input, MarkedInput) else input
    assert isinstance(tokenizer, WordTokenizer) and isinstance(input, WordInput)
    table = input.words.table
    assert isinstance(table, nn.Embedding)
    found = read_vectors(path, set(tokenizer.words.symbols), table.embedding_dim, encoding_errors)
    with torch.no_grad():
        for word, vector in found.items():
            table.weight[tokenizer.words.number(word)] = torch.tensor(vector)
    return len(found), len(tokenizer.words) - 2
