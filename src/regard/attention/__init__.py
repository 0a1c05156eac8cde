"""Attention: tensors in, tensors out."""

from regard.attention.attend import PATHS, attend, attention_weights
from regard.attention.check import NotFiniteError, check
from regard.attention.mask import Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.position import POSITIONS, Position, Sizes
from regard.attention.score import SCORES, Score

__all__ = [
    "NORMALIZERS",
    "PATHS",
    "POSITIONS",
    "SCORES",
    "Mask",
    "Normalizer",
    "NotFiniteError",
    "Position",
    "Score",
    "Sizes",
    "attend",
    "attention_weights",
    "check",
]
