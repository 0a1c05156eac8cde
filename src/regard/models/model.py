"""Models: short forwards from input to answer."""

from __future__ import annotations

from torch import Tensor, nn

from regard.models.inputs import InputPart, Inputs
from regard.models.outputs import Heads


class EncoderModel(nn.Module):
    """Read, let everything look at everything, gather what answers, answer."""

    def __init__(self, input: InputPart, encoder: nn.Module, gather: nn.Module, output: Heads) -> None:
        super().__init__()
        self.input = input
        self.encoder = encoder
        self.gather = gather
        self.output = output

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """inputs: what the input part reads; output: for each target column (batch, answers, scores)"""
        x = self.input(inputs)
        x = self.encoder(x, self.input.mask(inputs))
        return self.output(self.gather(x, inputs))
