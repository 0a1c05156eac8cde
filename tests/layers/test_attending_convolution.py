"""A convolution rewritten as attention answers the same everywhere, its borders included."""

import pytest
import torch
from torch import nn

from regard.errors import ShapeError
from regard.layers import attention_from_convolution

CASES = {
    "3 × 3": (nn.Conv2d, (3, 5, 3), {"padding": 1}),
    "3 × 5, padded unevenly": (nn.Conv2d, (2, 3, (3, 5)), {"padding": (0, 2)}),
    "an even kernel": (nn.Conv2d, (3, 2, (2, 4)), {"padding": (1, 2)}),
    "strides": (nn.Conv2d, (3, 5, 3), {"padding": 1, "stride": (2, 3)}),
    "dilation": (nn.Conv2d, (2, 3, 3), {"padding": 2, "dilation": 2}),
    "groups": (nn.Conv2d, (6, 9, 3), {"padding": 1, "groups": 3}),
    "without a bias": (nn.Conv2d, (3, 5, 3), {"padding": "same", "bias": False}),
    "no padding": (nn.Conv2d, (3, 5, 3), {}),
    "replicated": (nn.Conv2d, (3, 5, 3), {"padding": 1, "padding_mode": "replicate"}),
    "replicated further": (nn.Conv2d, (3, 5, 3), {"padding": 2, "padding_mode": "replicate"}),
    "reflected": (nn.Conv2d, (3, 5, 3), {"padding": 1, "padding_mode": "reflect"}),
    "circular": (nn.Conv2d, (3, 5, 3), {"padding": 1, "padding_mode": "circular"}),
    "along a line": (nn.Conv1d, (3, 5, 7), {"padding": 3}),
    "along a line with strides": (nn.Conv1d, (3, 5, 5), {"padding": 1, "stride": 2, "dilation": 2}),
}


def both(case, sharpness=40.0):
    kind, sizes, given = CASES[case]
    torch.manual_seed(3)
    convolution = kind(*sizes, **given)
    x = torch.randn(2, sizes[0], *((11,) if kind is nn.Conv1d else (7, 11)))
    return convolution, attention_from_convolution(convolution, sharpness=sharpness), x


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_convolution_s(case):
    convolution, attention, x = both(case)
    wanted, found = convolution(x), attention(x)
    assert found.shape == wanted.shape
    assert (found - wanted).abs().max() <= 1e-5


def test_untreated_borders_are_replicated_ones():
    """Without a ring, a convolution padded with zeros becomes one padded by replication."""
    convolution, attention, x = both("3 × 3")
    convolution.padding_mode = "replicate"
    untreated = attention_from_convolution(convolution)
    assert untreated.ring == (0, 0) and attention.ring == (1, 1)
    zeros = nn.functional.conv2d(x, convolution.weight, convolution.bias, padding=1)
    assert (untreated(x) - zeros)[..., 1:-1, 1:-1].abs().max() <= 1e-5
    assert (untreated(x) - zeros).abs().max() > 0.1
    assert (untreated(x) - convolution(x)).abs().max() <= 1e-5


def test_a_head_that_is_not_sharp_sees_its_neighbours_too():
    convolution, attention, x = both("3 × 3", sharpness=2.0)
    assert (attention(x) - convolution(x)).abs().max() > 1e-3
    convolution, attention, x = both("3 × 3", sharpness=14.0)
    assert (attention(x) - convolution(x)).abs().max() <= 1e-5


def test_each_head_looks_at_one_place():
    _, attention, x = both("no padding")
    seen = []
    attention.attention.weights.register_forward_hook(lambda point, inputs, weights: seen.append(weights))
    attention(x)
    rows = [weights for weights in seen if weights.dim() == 4]
    assert torch.cat(rows, 2).amax(-1).min() > 1 - 1e-6


def test_gradients_are_the_convolution_s():
    convolution, attention, x = both("strides")
    x.requires_grad_()
    found = [torch.autograd.grad(made(x).square().sum(), x)[0] for made in (convolution, attention)]
    assert (found[0] - found[1]).abs().max() <= 1e-4


def test_what_cannot_be_rewritten_is_refused():
    with pytest.raises(ShapeError, match="a Conv1d or a Conv2d becomes attention, not Conv3d"):
        attention_from_convolution(nn.Conv3d(1, 1, 3))
    with pytest.raises(ShapeError, match="padding = same of an even kernel"):
        attention_from_convolution(nn.Conv2d(1, 1, 2, padding="same"))
    with pytest.raises(ShapeError, match="sharpness is 0"):
        attention_from_convolution(nn.Conv2d(1, 1, 3), sharpness=0)
