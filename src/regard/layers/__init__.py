"""Layers: modules made from attention."""

from regard.layers.block import (
    ACTIVATIONS,
    NORMS,
    QUERY_KEY_NORMS,
    AddNorm,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LookBackBlock,
    make_norm,
)
from regard.layers.cache import Cache
from regard.layers.convolution import DILATIONS, Convolution, attention_from_convolution
from regard.layers.look_back import LookBack
from regard.layers.mix import MixBlock, MixEncoder
from regard.layers.multihead import MultiHeadAttention
from regard.layers.pointwise import PointwiseBlock, PointwiseEncoder
from regard.layers.recurrent import CELLS, DIRECTIONS, Recurrence
from regard.layers.stack import Decoder, Encoder

__all__ = [
    "ACTIVATIONS",
    "CELLS",
    "DILATIONS",
    "DIRECTIONS",
    "NORMS",
    "QUERY_KEY_NORMS",
    "AddNorm",
    "Cache",
    "Convolution",
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "LookBack",
    "LookBackBlock",
    "MixBlock",
    "MixEncoder",
    "MultiHeadAttention",
    "PointwiseBlock",
    "PointwiseEncoder",
    "Recurrence",
    "attention_from_convolution",
    "make_norm",
]
