"""Models: short forwards from input to answer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.layers.cache import Cache
from regard.layers.stack import Decoder
from regard.models.inputs import Embedding, InputPart, Inputs
from regard.models.outputs import CtcHead, Heads


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
        return self.output(self.vectors(inputs))

    def vectors(self, inputs: Inputs) -> Tensor:
        """What answers, before it is scored: (batch, answers, width)."""
        x = self.input(inputs)
        x = self.encoder(x, self.input.mask(inputs), self.input.positions(inputs))
        return self.gather(x, inputs)


class EncoderDecoderModel(nn.Module):
    """Read a sequence, then write another one, looking back at what was read.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3 and figure 1.
    """

    def __init__(
        self,
        input: InputPart,
        encoder: nn.Module,
        written: Embedding,
        decoder: Decoder,
        output: Heads,
        *,
        spelled: CtcHead | None = None,
    ) -> None:
        """spelled: the elements of what was read spell the text too, which helps them to be learnt, and tells when each
        part of the text is said. Source: Kim, Hori & Watanabe 2017, arXiv:1609.06773, section 3"""
        super().__init__()
        self.spelled = spelled
        self.input = input
        self.encoder = encoder
        self.written = written
        self.decoder = decoder
        self.output = output

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Scores of each next piece, all places at once, given what should be written (teacher forcing).

        inputs: what the input part reads, and written: (batch, length), the beginning sign and all pieces but the end
        output: for the target column (batch, length, pieces)
        """
        return self.output(self.vectors(inputs))

    def vectors(self, inputs: Inputs) -> Tensor:
        """What each next piece is scored by: (batch, length, width)."""
        return self.told(*self.read(inputs), inputs)

    def told(self, memory: Tensor, mask: Mask, inputs: Inputs) -> Tensor:
        """The same of what was read already."""
        real = torch.arange(inputs["written"].shape[1], device=memory.device) < inputs["answers"][:, None]
        return self.decoder(self.written(inputs["written"]), memory, memory_mask=mask, real=real)

    def mask(self, lengths: Tensor) -> Mask:
        """Which of what was read is real. lengths: (rows,)"""
        return self.input.mask({"lengths": lengths})

    def read(self, inputs: Inputs) -> tuple[Tensor, Mask]:
        """What was read, (batch, time, width), and which of it is real."""
        mask = self.input.mask(inputs)
        return self.encoder(self.input(inputs), mask, self.input.positions(inputs)), mask

    def remember(self, inputs: Inputs) -> list[tuple[Tensor, Tensor]]:
        """What was read as each block of the decoder attends to it: keys and values."""
        return self.decoder.remember(self.read(inputs)[0])

    def write(self, numbers: Tensor, memory: Tensor, mask: Mask, cache: Cache) -> dict[str, Tensor]:
        """Scores of the piece that follows what the cache remembers and these.

        numbers: (rows, 1), each row's latest piece; rows of one item follow one another
        memory:  (batch, time, width); anything once the cache has its keys and values
        output:  for the target column (rows, 1, pieces)
        """
        return self.output(self.decoder(self.written(numbers), memory, memory_mask=mask, cache=cache))


class DecoderModel(nn.Module):
    """Write a sequence, looking back at what was written; nothing is read but its beginning.

    Source: Radford et al. 2018, "Improving language understanding by generative pre-training", section 3.1.
    """

    def __init__(self, written: Embedding, decoder: Decoder, output: Heads) -> None:
        super().__init__()
        self.written = written
        self.decoder = decoder
        self.output = output

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Scores of each next piece, all places at once, given what is written.

        inputs: written: (batch, length), the beginning sign and all pieces but the end
        output: for the target column (batch, length, pieces)
        """
        return self.output(self.vectors(inputs))

    def vectors(self, inputs: Inputs) -> Tensor:
        """What each next piece is scored by: (batch, length, width)."""
        x = self.written(inputs["written"])
        real = torch.arange(x.shape[1], device=x.device) < inputs["answers"][:, None]
        return self.decoder(x, x, real=real)

    def mask(self, lengths: Tensor) -> Mask:
        """Nothing is read, and nothing of it is hidden."""
        return Mask()

    def read(self, inputs: Inputs) -> tuple[Tensor, Mask]:
        """What was read is nothing: (batch, 0, width)."""
        lengths = inputs["lengths"]
        width = self.written.table.embedding_dim
        return torch.zeros(len(lengths), 0, width, device=lengths.device), Mask()

    def remember(self, inputs: Inputs) -> list[tuple[Tensor, Tensor]]:
        """Nothing is read, so there is nothing to attend to."""
        return []

    def write(self, numbers: Tensor, memory: Tensor, mask: Mask, cache: Cache) -> dict[str, Tensor]:
        """Scores of the piece that follows what the cache remembers and these.

        numbers: (rows, 1), each row's latest piece
        output:  for the target column (rows, 1, pieces)
        """
        return self.output(self.decoder(self.written(numbers), memory, cache=cache))


# What is trained, and of these what writes texts.
Model = EncoderModel | EncoderDecoderModel | DecoderModel
WritingModel = EncoderDecoderModel | DecoderModel
