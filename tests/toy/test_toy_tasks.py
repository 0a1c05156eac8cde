"""Tasks that only attention can do, learnt from nothing in seconds: what the laws say must also be of use."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention import POSITIONS, Mask, Sizes
from regard.attention.position import Sinusoidal
from regard.layers import (
    NORMS,
    AddNorm,
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForward,
    MultiHeadAttention,
    PointwiseBlock,
    PointwiseEncoder,
)

SYMBOLS, WIDTH, HEADS, LONGEST = 7, 32, 4, 17


def feed_forward() -> tuple[FeedForward, AddNorm]:
    return FeedForward(WIDTH, 2 * WIDTH), AddNorm(WIDTH)


def attention_encoder(position: str, depth: int) -> nn.Module:
    def block() -> EncoderBlock:
        think, around = feed_forward()
        return EncoderBlock(MultiHeadAttention(WIDTH, HEADS), think, AddNorm(WIDTH), around)

    sizes = Sizes(width=WIDTH, heads=HEADS, head_width=WIDTH // HEADS, depth=depth, longest=LONGEST)
    made = POSITIONS[position].sized(sizes)
    return Encoder([block() for _ in range(depth)], position=made, norm=NORMS["layer"](WIDTH))


class Tagger(nn.Module):
    """Symbols in, a symbol for each out."""

    def __init__(self, encoder: nn.Module, inputs: int = SYMBOLS + 2) -> None:
        super().__init__()
        self.table = nn.Embedding(inputs, WIDTH)
        self.encoder = encoder
        self.answer = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, symbols: Tensor, mask: Mask | None = None) -> Tensor:
        return self.answer(self.encoder(self.table(symbols), mask))


def learn(model: nn.Module, draw, steps: int, good_enough: float = 0.995, lr: float = 3e-3) -> float:
    """Train on batches that are drawn anew; the accuracy on ones that were not seen.

    draw: random -> (what the model is called with, wanted (batch, time), which of these count)
    """
    random = torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 30))

    def accuracy() -> float:
        fresh = torch.Generator().manual_seed(2)
        model.eval()
        with torch.no_grad():
            given, wanted, count = draw(fresh, 256)
            found = float((model(*given).argmax(-1) == wanted)[count].float().mean())
        model.train()
        return found

    for step in range(steps):
        given, wanted, count = draw(random, 48)
        loss = F.cross_entropy(model(*given)[count], wanted[count])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 49 and accuracy() > good_enough:
            break
    return accuracy()


def previous_symbol(random: torch.Generator, items: int):
    """The answer at each place is the symbol one place before it."""
    symbols = torch.randint(0, SYMBOLS, (items, 11), generator=random)
    lengths = torch.randint(2, 12, (items,), generator=random)
    count = (torch.arange(11) < lengths[:, None]) & (torch.arange(11) > 0)
    return (symbols, Mask.lengths(lengths)), symbols.roll(1, 1), count


# ALiBi is the same to both sides: what stands before is as far as what stands behind.
DIRECTED = [position for position in POSITIONS if position not in ("none", "alibi")]


@pytest.mark.parametrize("position", DIRECTED)
def test_attention_with_positions_learns_to_copy_the_symbol_before(position):
    torch.manual_seed(0)
    assert learn(Tagger(attention_encoder(position, 1)), previous_symbol, 800) >= 0.99


def test_seeing_each_element_alone_cannot_copy_the_symbol_before():
    """Nor can attention that does not know where things are, or not on which side: chance is 1 of 7."""
    torch.manual_seed(0)
    alone = PointwiseEncoder([PointwiseBlock(*feed_forward()) for _ in range(2)], norm=NORMS["layer"](WIDTH))
    assert learn(Tagger(alone), previous_symbol, 150) < 0.3
    for position in ("none", "alibi"):
        assert learn(Tagger(attention_encoder(position, 1)), previous_symbol, 150) < 0.7


class Colours(nn.Module):
    """Items of a shape and a colour, and at the end a shape without one: of which colour was it?"""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.shapes, self.colours = nn.Embedding(5, WIDTH), nn.Embedding(SYMBOLS + 1, WIDTH)
        self.encoder = encoder
        self.answer = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, shapes: Tensor, colours: Tensor) -> Tensor:
        return self.answer(self.encoder(self.shapes(shapes) + self.colours(colours))[:, -1:])


def matching_item(random: torch.Generator, items: int):
    """Each shape once, in any order, each with a colour; then one of them asked for."""
    shapes = torch.rand(items, 5, generator=random).argsort(-1)
    colours = torch.randint(0, SYMBOLS, (items, 5), generator=random)
    asked = torch.randint(0, 5, (items, 1), generator=random)
    given = torch.cat((shapes, shapes.gather(1, asked)), 1), torch.cat((colours, torch.full_like(asked, SYMBOLS)), 1)
    return given, colours.gather(1, asked), torch.ones(items, 1, dtype=torch.bool)


def test_attention_learns_to_find_the_item_that_matches():
    """By what it is and not by where it stands: no positions at all."""
    torch.manual_seed(0)
    assert learn(Colours(attention_encoder("none", 2)), matching_item, 900) >= 0.99


class Writer(nn.Module):
    """Reads symbols, and writes symbols from left to right."""

    BEGIN = SYMBOLS

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(SYMBOLS + 1, WIDTH)
        self.encoder = attention_encoder("sinusoidal", 1)
        think, around = feed_forward()
        block = DecoderBlock(
            MultiHeadAttention(WIDTH, HEADS),
            MultiHeadAttention(WIDTH, HEADS),
            think,
            AddNorm(WIDTH),
            AddNorm(WIDTH),
            around,
        )
        self.decoder = Decoder([block], position=Sinusoidal(WIDTH), norm=NORMS["layer"](WIDTH))
        self.answer = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, source: Tensor, written: Tensor, lengths: Tensor) -> Tensor:
        memory = self.encoder(self.table(source), Mask.lengths(lengths))
        return self.answer(self.decoder(self.table(written), memory, memory_mask=Mask.lengths(lengths)))

    def write(self, source: Tensor, lengths: Tensor) -> Tensor:
        """The most likely symbol, one after the other, with a cache."""
        memory = self.encoder(self.table(source), Mask.lengths(lengths))
        cache, written = self.decoder.cache(), [torch.full((len(source), 1), self.BEGIN)]
        for _ in range(source.shape[1]):
            x = self.decoder(self.table(written[-1]), memory, memory_mask=Mask.lengths(lengths), cache=cache)
            written.append(self.answer(x).argmax(-1))
        return torch.cat(written[1:], 1)


def reversed_sequence(random: torch.Generator, items: int):
    """What is read is to be written backwards."""
    source = torch.randint(0, SYMBOLS, (items, 4), generator=random)
    wanted = source.flip(1)
    written = torch.cat((torch.full((items, 1), Writer.BEGIN), wanted[:, :-1]), 1)
    return (source, written, torch.full((items,), 4)), wanted, torch.ones(items, 4, dtype=torch.bool)


def test_a_decoder_learns_to_write_backwards_what_was_read():
    torch.manual_seed(0)
    writer = Writer()
    assert learn(writer, reversed_sequence, 700, lr=6e-3) >= 0.99
    writer.eval()
    (source, _, lengths), wanted, count = reversed_sequence(torch.Generator().manual_seed(3), 101)
    with torch.no_grad():
        found = writer.write(source, lengths)
    assert (found == wanted)[count].float().mean() >= 0.99
