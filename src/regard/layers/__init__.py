"""Layers: modules made from attention."""

from regard.layers.block import ACTIVATIONS, NORMS, QUERY_KEY_NORMS, AddNorm, DecoderBlock, EncoderBlock, FeedForward
from regard.layers.cache import Cache
from regard.layers.multihead import MultiHeadAttention
from regard.layers.pointwise import PointwiseBlock, PointwiseEncoder
from regard.layers.stack import Decoder, Encoder

__all__ = [
    "ACTIVATIONS",
    "NORMS",
    "QUERY_KEY_NORMS",
    "AddNorm",
    "Cache",
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "MultiHeadAttention",
    "PointwiseBlock",
    "PointwiseEncoder",
]
