"""Building: parts of the user's own."""

import pytest
import torch
from sharp import KEYS, WIDTH, draw

from regard.build import ENCODERS
from regard.errors import FolderError
from regard.recipe.settings import ModelSettings

OWN = """
from regard.attention import Normalizer, Position, Score

class Half(Score):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    @classmethod
    def sized(cls, heads, head_width, scale=None):
        return cls(heads)

    def as_dot_product(self, queries, keys, scale):
        return queries, keys, 0.5

class Even(Normalizer):
    def forward(self, scores, allowed=None):
        weights = scores * 0 + 1 / scores.shape[-1]
        return weights if allowed is None else weights.masked_fill(~allowed, 0.0)

class Later(Position):
    def __init__(self, width):
        super().__init__()
        self.width = width

    @classmethod
    def sized(cls, sizes):
        return cls(sizes.width)

    def embed(self, x, positions):
        return x + positions[..., None]

class Nothing:
    pass
"""


def built(folder, **settings):
    (folder / "mine.py").write_text(OWN)
    torch.manual_seed(0)
    return ENCODERS["attention"](ModelSettings(width=WIDTH, heads=2, depth=1, **settings), folder, None)


def test_parts_of_ones_own_are_told_the_sizes(tmp_path):
    encoder = built(tmp_path, score="mine:Half", normalizer="mine:Even", position="mine:Later")
    assert encoder.blocks[0].attention.score.heads == 2 and encoder.position.width == WIDTH
    assert encoder(draw(2, KEYS, WIDTH)).isfinite().all()


@pytest.mark.parametrize(
    ("setting", "base"), [("score", "Score"), ("normalizer", "Normalizer"), ("position", "Position")]
)
def test_a_part_of_ones_own_that_is_none_is_refused_in_words(setting, base, tmp_path):
    with pytest.raises(FolderError, match=rf"mine:Nothing is no {base}; derive it from regard.attention.{base}"):
        built(tmp_path, **{setting: "mine:Nothing"})
