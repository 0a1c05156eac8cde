"""The kinds of input, each on a line of INPUTS: what it learns of the training examples, and which part reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from regard.data.drawing import Draws
from regard.data.example import Example
from regard.data.kind import InputKind
from regard.data.signal.images import ImageDraws, Images
from regard.data.signal.speech import VOICES, Frames, Speech, SpeechDraws, spread_out
from regard.data.signal.vectors import VectorDraws, Vectors
from regard.data.target import written_words
from regard.data.tokenizer import SHAPES, TOKENIZERS, Tokenizer, TokenizerSettings
from regard.models.inputs import (
    Affixes,
    Embedding,
    InputPart,
    LetterPatterns,
    MarkedInput,
    PieceInput,
    PlacedInput,
    ScaledEmbedding,
    WordCharacterInput,
    WordInput,
)
from regard.models.logmel import LogMel, mean_and_deviation
from regard.models.signal_inputs import STEMS, ImageInput, VectorInput
from regard.models.speech_input import LEVELS, FrameInput, Shorten
from regard.recipe.settings import Recipe


@dataclass(frozen=True)
class Input:
    """A kind of input.

    learn: what the training examples teach of it: a vocabulary, means and spreads
    part:  the part of the network that reads it; vectors that are shared with what is written are given to it
    draws: what training draws anew each time
    """

    learn: Callable[[Recipe, Sequence[Example]], InputKind]
    part: Callable[[Recipe, InputKind, nn.Embedding | None], InputPart]
    draws: Callable[[Recipe], Draws] = lambda recipe: Draws()


def learn_input(recipe: Recipe, examples: Sequence[Example]) -> InputKind:
    """What the training examples teach of the input."""
    return INPUTS[recipe.input.kind].learn(recipe, examples)


def input_part(recipe: Recipe, kind: InputKind, table: nn.Embedding | None = None) -> InputPart:
    """The part of the network that reads. table: vectors of pieces that are shared with what is written"""
    return INPUTS[recipe.input.kind].part(recipe, kind, table)


def draws_of(recipe: Recipe) -> Draws:
    """What training draws anew each time."""
    return INPUTS[recipe.input.kind].draws(recipe)


def learn_tokenizer(recipe: Recipe, examples: Sequence[Example]) -> Tokenizer:
    """The vocabulary of the training examples."""
    given = recipe.input
    settings = TokenizerSettings(given.size, given.minimum_count, given.lowercase, given.normalize)
    texts = [example.words for example in examples]
    if recipe.task.kind == "seq2seq" and recipe.output.share == "all":
        texts += written_texts(recipe, examples)
    tokenizer: Tokenizer = TOKENIZERS[given.tokens].learn(texts, settings)
    return tokenizer


def written_texts(recipe: Recipe, examples: Sequence[Example]) -> list[tuple[str, ...]]:
    """The texts that are to be written, as a tokenizer learns from them."""
    texts = (text for example in examples for (text,) in example.labels.values() if text is not None)
    return [written_words(recipe.output.tokens, text) for text in texts]


def _text(recipe: Recipe, kind: InputKind, table: nn.Embedding | None) -> InputPart:
    read = _read(recipe, kind, table)
    return MarkedInput(read, recipe.model.width) if recipe.input.shared_words else read


def _read(recipe: Recipe, kind: InputKind, table: nn.Embedding | None) -> InputPart:
    given, width, sizes = recipe.input, recipe.model.width, kind.sizes()
    if given.places is not None:
        pieces = Embedding(sizes["pieces"], given.piece_width or width, dropout=given.dropout)
        projected = None if given.piece_width is None else width
        epsilon = recipe.model.epsilon
        return PlacedInput(pieces, given.places, segments=given.segments, width=projected, epsilon=epsilon)
    if "pieces" in sizes:
        return PieceInput(ScaledEmbedding(sizes["pieces"], width, dropout=given.dropout, table=table))
    words = Embedding(sizes["words"], given.word_width, dropout=given.dropout)
    if "characters" not in sizes:
        return WordInput(words, given.word_width, width, dropout=recipe.model.dropout)
    letters = LetterPatterns(sizes["characters"], given.character_width, given.filters)
    affixes = Affixes(sizes["affixes"], len(SHAPES) + 1, given.character_width)
    return WordCharacterInput(words, letters, affixes, given.word_width, width, dropout=recipe.model.dropout)


def _learn_vectors(recipe: Recipe, examples: Sequence[Example]) -> InputKind:
    return Vectors.learn(examples, standardize=recipe.input.standardize, patch=recipe.patch)


def _vectors(recipe: Recipe, kind: InputKind, table: nn.Embedding | None) -> InputPart:
    given = recipe.input
    return VectorInput(kind.sizes()["columns"], recipe.model.width, kernel=given.kernel, patch=recipe.patch)


def _vector_draws(recipe: Recipe) -> Draws:
    given = recipe.input
    return VectorDraws(given.mixup, jitter=given.jitter, scaling=given.scaling, warp=given.warp)


def _learn_images(recipe: Recipe, examples: Sequence[Example]) -> InputKind:
    given = recipe.input
    size = (given.picture_size[0], given.picture_size[1]) if given.picture_size else None
    return Images.learn(examples, patch=recipe.patch, size=size, token=given.class_token)


def _images(recipe: Recipe, kind: InputKind, table: nn.Embedding | None) -> InputPart:
    assert isinstance(kind, Images)
    stem = STEMS[recipe.input.stem](kind.channels, recipe.model.width, recipe.patch)
    return ImageInput(stem, recipe.model.width, kind.mean, kind.deviation, token=kind.token)


def _image_draws(recipe: Recipe) -> Draws:
    given = recipe.input
    return ImageDraws(given.mixup, shift=given.shift, flip=given.flip, crop=given.crop, turn=given.turn)


def _learn_speech(recipe: Recipe, examples: Sequence[Example]) -> InputKind:
    given = recipe.input
    found = Speech(Frames.of(given.rate, given.bands, given.frame_ms, given.step_ms, given.shorten))
    for example in examples:
        found.of(example)  # what cannot be read is refused here, with its place
    if given.level != "train":
        return found
    mel = _log_mel(recipe)
    return Speech(
        found.cut, *mean_and_deviation(mel, (found.of(example).samples() for example in spread_out(examples)))
    )


def _log_mel(recipe: Recipe) -> LogMel:
    given = recipe.input
    return LogMel(given.rate, given.bands, frame_ms=given.frame_ms, step_ms=given.step_ms)


def _speech(recipe: Recipe, kind: InputKind, table: nn.Embedding | None) -> InputPart:
    given = recipe.input
    assert isinstance(kind, Speech)
    shorten = Shorten(given.bands, recipe.model.width, shorten=given.shorten, channels=given.channels)
    level = LEVELS[given.level](kind.mean, kind.deviation)
    return FrameInput(_log_mel(recipe), level, shorten, pitch=given.pitch, voices=VOICES)


def _speech_draws(recipe: Recipe) -> Draws:
    given = recipe.input
    return SpeechDraws(
        speed=given.speed, pitch=given.pitch, noise=given.noise, equalizer=given.equalizer, hide=given.hide
    )


INPUTS: dict[str, Input] = {
    "text": Input(learn_tokenizer, _text),
    "speech": Input(_learn_speech, _speech, _speech_draws),
    "vectors": Input(_learn_vectors, _vectors, _vector_draws),
    "image": Input(_learn_images, _images, _image_draws),
}
