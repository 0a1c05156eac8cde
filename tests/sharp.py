"""Small models with prime sizes that attend sharply: a blurred attention hides mistakes of masks and positions."""

import json
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from pairs import every_pair
from torch import Tensor, nn

from regard.attention import NORMALIZERS, POSITIONS, SCORES, Mask, Position, Score, Sizes
from regard.attention.position import T5
from regard.build import DECODERS, ENCODERS
from regard.layers import (
    AddNorm,
    Decoder,
    DecoderBlock,
    Encoder,
    FeedForward,
    LookBack,
    MultiHeadAttention,
)
from regard.layers.block import NORMS
from regard.recipe.settings import ModelSettings

Module = TypeVar("Module", bound=nn.Module)

# Different primes, so that axes that were mixed up do not fit by chance. A width must be a multiple of the heads.
BATCH, HEADS, QUERIES, KEYS, HEAD_WIDTH, VALUE_WIDTH = 3, 2, 5, 7, 11, 13
WIDTH, INNER, MEMORY_WIDTH, LONGEST = HEADS * HEAD_WIDTH, 29, 17, 31

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy() if tensor.dtype == torch.bool else tensor.detach().double().cpu().numpy()


def weights_of(module: nn.Module) -> dict[str, np.ndarray]:
    """The learned numbers, as the reference takes them."""
    return {name: numpy(tensor) for name, tensor in module.state_dict().items()}


def stir(model: Module, seed: int = 0) -> Module:
    """Move all learned numbers a little, so that no scale is 1 and no bias 0 by chance."""
    random = torch.Generator().manual_seed(seed)

    def noise(tensor: Tensor) -> Tensor:
        return torch.randn(tensor.shape, generator=random, dtype=torch.float64).to(tensor.dtype)

    with torch.no_grad():
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            if name.endswith("running_var"):
                tensor.mul_((0.2 * noise(tensor)).exp())  # a variance stays above 0
            elif tensor.is_floating_point():
                tensor.add_(0.05 * noise(tensor))
    return model


def sharpen(model: Module, factor: float = 5.0) -> Module:
    """Scale queries and keys so that most rows of weights have one that is far above the rest."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                for projection in (module.query, module.key):
                    if isinstance(projection, nn.Linear):
                        projection.weight.mul_(factor)
                for norm in (module.query_norm, module.key_norm):
                    for scale in norm.parameters():
                        scale.mul_(2)
            if isinstance(module, T5):
                module.table.mul_(10 * factor)
    return model


def score_of(name: str, heads: int = HEADS, head_width: int = HEAD_WIDTH) -> Score:
    """A score of the table, with learned numbers that are no longer those it starts from."""
    torch.manual_seed(0)
    return stir(SCORES[name].sized(heads, head_width))


def position_of(name: str, **sizes: Any) -> Position:
    """A position kind of the table, with learned numbers that are no longer those it starts from."""
    torch.manual_seed(0)
    given = {"width": WIDTH, "heads": HEADS, "head_width": HEAD_WIDTH, "depth": 2, "longest": LONGEST, "distance": None}
    if name == "shaw":
        given["distance"] = 3
    return sharpen(stir(POSITIONS[name].sized(Sizes(**{**given, **sizes}))))


def encoder(kind: str = "attention", *, sharp: bool = True, seed: int = 0, **settings: Any) -> nn.Module:
    """An encoder of a kind of the table, in evaluation mode; settings are those of a recipe's [model]."""
    torch.manual_seed(seed)
    sizes = {"width": WIDTH, "depth": 2, "heads": HEADS, "inner": INNER, "longest": LONGEST, "dropout": 0.0}
    model = ENCODERS[kind](ModelSettings(encoder=kind, **{**sizes, **settings}), None, None)
    return sharpen(model, 5.0 if sharp else 1.0).eval()


# Every kind of encoder at every position that means something to it.
ENCODERS_AT = [
    *(("attention", position) for position in POSITIONS),
    *((kind, "none") for kind in ENCODERS if kind != "attention"),
]


def attention_encoder(**settings: Any) -> Encoder:
    model = encoder("attention", **settings)
    assert isinstance(model, Encoder)
    return model


def decoder(
    kind: str = "attention",
    *,
    position: str | None = None,
    norm: str = "layer",
    norm_place: str = "before",
    key_heads: int | None = None,
    residual: bool = True,
    dropout: float = 0.0,
    depth: int = 2,
    seed: int = 0,
    **settings: Any,
) -> Decoder:
    """A decoder of a kind of the table, in evaluation mode, that reads a memory of MEMORY_WIDTH."""
    position = ("sinusoidal" if kind == "attention" else "none") if position is None else position
    torch.manual_seed(seed)

    def attention(memory_width: int) -> MultiHeadAttention:
        return MultiHeadAttention(WIDTH, HEADS, key_heads=key_heads, memory_width=memory_width, dropout=dropout)

    def around() -> AddNorm:
        return AddNorm(WIDTH, norm=norm, place=norm_place, residual=residual, dropout=dropout)

    def look_back(block: int) -> MultiHeadAttention | LookBack:
        given = ModelSettings(width=WIDTH, **settings)
        return attention(WIDTH) if kind == "attention" else DECODERS[kind](given, None, block)

    blocks = [
        DecoderBlock(look_back(block), attention(MEMORY_WIDTH), FeedForward(WIDTH, INNER), around(), around(), around())
        for block in range(depth)
    ]
    last = NORMS[norm if norm_place == "before" else "none"](WIDTH)
    placed = position_of(position, depth=depth)
    return sharpen(Decoder(blocks, position=placed, norm=last, dropout=dropout)).eval()


def assert_close(
    found: Tensor | np.ndarray, wanted: Tensor | np.ndarray, tolerance: float = 1e-4, what: str = ""
) -> None:
    """Assert that two arrays are the same up to the tolerance, and have no NaN."""
    found = numpy(found) if isinstance(found, Tensor) else found
    wanted = numpy(wanted) if isinstance(wanted, Tensor) else wanted
    assert found.shape == wanted.shape, f"{what}: {found.shape} is not {wanted.shape}"
    assert np.isfinite(found).all(), f"{what}: not finite"
    difference = float(np.abs(found - wanted).max(initial=0.0))
    assert difference <= tolerance, f"{what}: differs by {difference:.2g}"


def assert_moved(found: Tensor, other: Tensor, least: float = 1e-3) -> None:
    """Assert that two arrays are not the same."""
    difference = float((found - other).detach().abs().max())
    assert difference > least, f"nothing changed ({difference:.2g})"


def masks(queries: int, keys: int, *, batch: int = BATCH, heads: int = HEADS) -> dict[str, tuple[Mask | None, dict]]:
    """All ways to say who may look at whom, each as a Mask and as what the reference is told."""
    random = np.random.default_rng(0)
    lengths = np.array([keys, 2, keys - 1] * batch)[:batch]
    hidden_item = np.array([keys, 0, 3] * batch)[:batch]
    real = random.random((batch, keys)) < 0.6
    real[:, 0] = True
    ids = random.integers(0, 2, (batch, keys))
    table = random.random((queries, keys)) < 0.5
    table[1] = False  # this query may see nothing
    by_item = random.random((batch, queries, keys)) < 0.5
    by_head = random.random((batch, heads, queries, keys)) < 0.5
    by_head[:, 0] = False  # this head may see nothing
    tensor = torch.from_numpy
    return {
        "none": (None, {}),
        "causal": (Mask.causal(), {"after": 0}),
        "lengths": (Mask.lengths(tensor(lengths)), {"lengths": lengths}),
        "an item that may see nothing": (Mask.lengths(tensor(hidden_item)), {"lengths": hidden_item}),
        "window": (Mask.window(2, 1), {"before": 2, "after": 1}),
        "prefix": (Mask.prefix(3), {"first": [3] * batch}),
        "prefix of each item": (Mask.prefix(tensor(lengths)), {"first": lengths}),
        "blocks": (Mask.blocks(tensor(ids), tensor(ids[:, -queries:])), {"blocks": (ids[:, -queries:], ids)}),
        "keys": (Mask.keys(tensor(real)), {"real": real}),
        "table with a row that may see nothing": (Mask.allowed(tensor(table)), {"table": table}),
        "table by item": (Mask.allowed(tensor(by_item)), {"table": by_item[:, None]}),
        "table with a head that may see nothing": (Mask.allowed(tensor(by_head)), {"table": by_head}),
        "causal & lengths": (Mask.causal() & Mask.lengths(tensor(lengths)), {"after": 0, "lengths": lengths}),
        "causal & an item that may see nothing": (
            Mask.lengths(tensor(hidden_item)) & Mask.causal(),
            {"after": 0, "lengths": hidden_item},
        ),
        "window & keys & table": (
            Mask.window(3, 2) & Mask.keys(tensor(real)) & Mask.allowed(tensor(table)),
            {"before": 3, "after": 2, "real": real, "table": table},
        ),
        "prefix & blocks & lengths": (
            Mask.prefix(2) & Mask.blocks(tensor(ids), tensor(ids[:, -queries:])) & Mask.lengths(tensor(lengths)),
            {"first": [2] * batch, "blocks": (ids[:, -queries:], ids), "lengths": lengths},
        ),
        "all": (
            Mask.window(3, 2)
            & Mask.causal()
            & Mask.lengths(tensor(lengths))
            & Mask.keys(tensor(real))
            & Mask.allowed(tensor(by_head)),
            {"before": 3, "after": 0, "lengths": lengths, "real": real, "table": by_head},
        ),
    }


# Every score with every normaliser, and every pair of these with positions; what has no name in a table is not tested,
# what is added to one is.
KINDS = [(score, normalizer) for score in SCORES for normalizer in NORMALIZERS]
KINDS_AT = [tuple(case.values()) for case in every_pair(score=SCORES, normalizer=NORMALIZERS, position=POSITIONS)]


def case(name: str) -> dict:
    """A case that broke another toolkit; the test is skipped where the folder of cases is not there."""
    path = CASES / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return json.loads(path.read_text(encoding="utf-8"))
