"""Every part can be exported, for any batch and any length."""

import pytest
import torch
from mixes import CONVOLUTIONS, RECURRENCES
from sharp import KEYS, LONGEST, WIDTH, assert_close, draw, encoder
from torch import Tensor, nn

from regard.attention import NORMALIZERS, POSITIONS, SCORES, Mask


class Padded(nn.Module):
    """An encoder and its padding, as tensors alone."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.encoder(x, Mask.lengths(lengths))


CASES = [
    *({"score": score} for score in SCORES),
    *({"normalizer": normalizer} for normalizer in NORMALIZERS),
    *({"position": position} for position in POSITIONS),
    {"window": [2, 1]},
    {"projections": False},
    {"query_key_norm": "layer"},
    {"value_width": 5, "key_heads": 1},
    *({"kind": "convolution", **settings} for settings in CONVOLUTIONS),
    {"kind": "pointwise"},
]


@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*", "ignore::FutureWarning:torch.*")
def test_every_part_can_be_exported_for_any_batch_and_length(settings):
    model = Padded(encoder(**{"kind": "attention", "depth": 1, **settings}))
    batch, time = torch.export.Dim("batch", min=1), torch.export.Dim("time", min=2, max=LONGEST)
    exported = torch.export.export(
        model,
        (draw(3, KEYS, WIDTH), torch.tensor([KEYS, 2, 5])),
        dynamic_shapes={"x": {0: batch, 1: time}, "lengths": {0: batch}},
    ).module()
    for items, length in ((3, KEYS), (2, 13), (5, 2), (1, LONGEST)):
        x, lengths = draw(items, length, WIDTH, seed=1), torch.arange(items) + 1
        assert_close(exported(x, lengths), model(x, lengths), 1e-5, f"{items} of {length}")


@pytest.mark.parametrize("settings", RECURRENCES, ids=str)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*", "ignore::FutureWarning:torch.*")
def test_a_recurrence_can_be_exported_for_one_batch_and_length(settings):
    """PyTorch writes the steps of its recurrences out one by one, so that their number is fixed."""
    model, x = Padded(encoder("recurrent", depth=1, **settings)), draw(3, KEYS, WIDTH)
    exported = torch.export.export(model, (x, torch.tensor([KEYS, 2, 5]))).module()
    for lengths in (torch.tensor([KEYS, 2, 5]), torch.tensor([1, KEYS, 3])):
        assert_close(exported(x, lengths), model(x, lengths), 1e-5)
