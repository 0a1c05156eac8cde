"""Attention: tensors in, tensors out."""

from regard.attention.attend import PATHS, attend
from regard.attention.mask import Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.position import POSITIONS, Position
from regard.attention.score import SCORES, Score

__all__ = ["NORMALIZERS", "PATHS", "POSITIONS", "SCORES", "Mask", "Normalizer", "Position", "Score", "attend"]
