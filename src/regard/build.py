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
from regard.data.labels import SCHEMES, Labels, check_scheme
from regard.data.target import Numbers, Target
from regard.data.tokenizer import SHAPES, TOKENIZERS, Tokenizer, TokenizerSettings
from regard.errors import FolderError
from regard.layers import (
    NORMS,
    QUERY_KEY_NORMS,
    AddNorm,
    Encoder,
    EncoderBlock,
    FeedForward,
    MultiHeadAttention,
    PointwiseBlock,
    PointwiseEncoder,
)
from regard.models.gather import POOLINGS, EachWord
from regard.models.inputs import (
    Affixes,
    Embedding,
    InputPart,
    LetterPatterns,
    PieceInput,
    WordCharacterInput,
    WordInput,
)
from regard.models.model import EncoderModel
from regard.models.outputs import CrfHead, Head, Heads, NumberHead, SoftmaxHead
from regard.predict import Predictor
from regard.recipe.settings import WHOLE_TASKS, ModelSettings, Recipe


def learn_tokenizer(recipe: Recipe, examples: Sequence[Example]) -> Tokenizer:
    """The vocabulary of the training examples."""
    given = recipe.input
    settings = TokenizerSettings(given.size, given.minimum_count, given.lowercase, given.normalize)
    tokenizer: Tokenizer = TOKENIZERS[given.tokens].learn([example.words for example in examples], settings)
    return tokenizer


def learn_targets(recipe: Recipe, examples: Sequence[Example], columns: Sequence[str]) -> dict[str, Target]:
    """What each target column holds in the training examples: labels, or numbers."""
    kind: type[Labels] | type[Numbers] = Numbers if recipe.task.kind == "regress" else Labels
    targets: dict[str, Target] = {column: kind.of(examples, column, recipe.data.ignore) for column in columns}
    if recipe.output.crf:
        for column in columns:
            check_scheme(examples, column, recipe.output.scheme, recipe.data.ignore)
    return targets


def build(
    recipe: Recipe, tokenizer: Tokenizer, targets: Mapping[str, Target], *, code: Path | None = None
) -> Predictor:
    """The model that the recipe describes, with first weights drawn from the recipe's seed.

    code: the folder of the user's own files that the recipe names
    """
    whole = recipe.task.kind in WHOLE_TASKS
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        model = EncoderModel(
            input=_input(recipe, tokenizer),
            encoder=ENCODERS[recipe.model.encoder](recipe.model, code),
            gather=POOLINGS[recipe.model.pooling](recipe.model.width) if whole else EachWord(),
            output=Heads(
                list(targets), [_head(recipe, target) for target in targets.values()], dropout=recipe.model.dropout
            ),
        )
    return Predictor(model, tokenizer, targets, batch_tokens=max(recipe.train.batch_tokens, 4096), whole=whole)


def _input(recipe: Recipe, tokenizer: Tokenizer) -> InputPart:
    given, width, sizes = recipe.input, recipe.model.width, tokenizer.sizes()
    if "pieces" in sizes:
        return PieceInput(Embedding(sizes["pieces"], width, dropout=given.dropout))
    words = Embedding(sizes["words"], given.word_width, dropout=given.dropout)
    if "characters" not in sizes:
        return WordInput(words, given.word_width, width, dropout=recipe.model.dropout)
    letters = LetterPatterns(sizes["characters"], given.character_width, given.filters)
    affixes = Affixes(sizes["affixes"], len(SHAPES) + 1, given.character_width)
    return WordCharacterInput(words, letters, affixes, given.word_width, width, dropout=recipe.model.dropout)


def _attention_encoder(model: ModelSettings, code: Path | None) -> nn.Module:
    return Encoder(
        [
            EncoderBlock(_attention(model, code), _feed_forward(model), _add_norm(model), _add_norm(model))
            for _ in range(model.depth)
        ],
        position=_position(model, code),
        norm=_last_norm(model),
        dropout=model.dropout,
        window=(model.window[0], model.window[1]) if model.window else None,
    )


def _pointwise_encoder(model: ModelSettings, code: Path | None) -> nn.Module:
    blocks = [PointwiseBlock(_feed_forward(model), _add_norm(model)) for _ in range(model.depth)]
    return PointwiseEncoder(blocks, norm=_last_norm(model), dropout=model.dropout)


ENCODERS: dict[str, Callable[[ModelSettings, Path | None], nn.Module]] = {
    "attention": _attention_encoder,
    "pointwise": _pointwise_encoder,
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


def _position(model: ModelSettings, code: Path | None) -> Position:
    sizes = Sizes(
        width=model.width,
        heads=model.heads,
        head_width=_head_width(model),
        value_width=model.value_width,
        depth=model.depth,
        longest=model.longest,
        distance=model.distance,
        turned=model.turned,
    )
    position: Position = _kind(model.position, POSITIONS, Position, code).sized(sizes)
    return position


def _head_width(model: ModelSettings) -> int:
    return model.width // model.heads if model.head_width is None else model.head_width


def _feed_forward(model: ModelSettings) -> FeedForward:
    inner = 4 * model.width if model.inner is None else model.inner
    return FeedForward(model.width, inner, activation=model.activation)


def _add_norm(model: ModelSettings) -> AddNorm:
    return AddNorm(model.width, norm=model.norm, place=model.norm_place, residual=model.residual, dropout=model.dropout)


def _last_norm(model: ModelSettings) -> nn.Module:
    return NORMS[model.norm if model.norm_place == "before" else "none"](model.width)


def _head(recipe: Recipe, target: Target) -> Head:
    if isinstance(target, Numbers):
        return NumberHead(recipe.model.width)
    assert isinstance(target, Labels)
    labels = target
    if not recipe.output.crf:
        return SoftmaxHead(recipe.model.width, len(labels))
    follows, names = SCHEMES[recipe.output.scheme], labels.names
    return CrfHead(
        recipe.model.width,
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
    assert isinstance(tokenizer, WordTokenizer) and isinstance(input, WordInput)
    table = input.words.table
    assert isinstance(table, nn.Embedding)
    found = read_vectors(path, set(tokenizer.words.symbols), table.embedding_dim, encoding_errors)
    with torch.no_grad():
        for word, vector in found.items():
            table.weight[tokenizer.words.number(word)] = torch.tensor(vector)
    return len(found), len(tokenizer.words) - 2
