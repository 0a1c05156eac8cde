"""Models: short forwards from input to answer."""

from __future__ import annotations

from torch import Tensor, nn

from regard.models.inputs import InputPart, Inputs
from regard.models.outputs import PerPosition


class EncoderModel(nn.Module):
    """Read, let everything look at everything, answer."""

    def __init__(self, input: InputPart, encoder: nn.Module, output: PerPosition) -> None:
        super().__init__()
        self.input = input
        self.encoder = encoder
        self.output = output

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """inputs: what the input part reads; output: for each target column (batch, words, labels)"""
        x = self.input(inputs)
        x = self.encoder(x, self.input.mask(inputs))
        return self.output(self.input.answering(x, inputs))
