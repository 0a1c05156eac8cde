"""What a head measurably does: numbers of its rows of weights, for one input or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

# A head's chip names what it does where one share is at least this large.
TELLING = 0.4


@dataclass(frozen=True)
class Measure:
    """One number for each row of weights; a head's is the mean over the rows to which it applies.

    of_rows: (heads, rows, keys) and (rows,), where these rows stand -> (heads, rows); NaN where it says nothing
    what:    what it says, in a sentence
    own:     whether it asks that rows and columns are places of the same sequence
    """

    of_rows: Callable[[Tensor, Tensor], Tensor]
    what: str
    own: bool = False


def entropy(weights: Tensor, rows: Tensor) -> Tensor:
    """How spread out a row is, in bits: 0 where it looks at one element, log2(n) where at n alike."""
    total = weights.sum(-1, keepdim=True)
    shares = weights / total.where(total > 0, total.new_ones(()))
    bits = -(shares * shares.clamp(min=1e-38).log2()).sum(-1)
    return bits.where(total[..., 0] > 0, bits.new_full((), torch.nan))


def distance(weights: Tensor, rows: Tensor) -> Tensor:
    """How many places away a row looks, as the mean over its weights."""
    keys = torch.arange(weights.shape[-1], device=weights.device)
    away = (rows[:, None] - keys).abs().to(weights.dtype)
    return (weights * away).sum(-1) / weights.sum(-1).clamp(min=1e-38)


def share_on(offset: int) -> Callable[[Tensor, Tensor], Tensor]:
    """How much of a row is on the element so many places after its own."""

    def of_rows(weights: Tensor, rows: Tensor) -> Tensor:
        key = rows + offset
        inside = (key >= 0) & (key < weights.shape[-1])
        at = key.clamp(0, weights.shape[-1] - 1).expand(*weights.shape[:2])[..., None]
        shares = weights.gather(-1, at)[..., 0]
        return shares.where(inside, shares.new_full((), torch.nan))

    return of_rows


def share_on_first(weights: Tensor, rows: Tensor) -> Tensor:
    """How much of a row is on the first element."""
    return weights[..., 0]


def centre(weights: Tensor, rows: Tensor) -> Tensor:
    """Where a row looks on average."""
    keys = torch.arange(weights.shape[-1], device=weights.device, dtype=weights.dtype)
    return (weights * keys).sum(-1) / weights.sum(-1).clamp(min=1e-38)


def agreement(weights: Tensor, rows: Tensor) -> Tensor:
    """How much of a row is where the layer's other heads look too: 1 less half the summed differences."""
    heads = len(weights)
    if heads < 2:
        return weights.new_full(weights.shape[:2], torch.nan)
    each = [1 - (weights - weights[head]).abs().sum(-1) / 2 for head in range(heads)]
    return torch.stack([(of_head.sum(0) - of_head[head]) / (heads - 1) for head, of_head in enumerate(each)])


@dataclass
class Totals:
    """Measures of one layer, summed over rows of as many inputs as there were.

    sums, counts: for each measure (heads,)
    """

    own: bool
    sums: dict[str, Tensor] = field(default_factory=dict)
    counts: dict[str, Tensor] = field(default_factory=dict)
    _before: Tensor | None = None

    def add(self, weights: Tensor, rows: Tensor) -> None:
        """Some rows of one input, in order. weights: (heads, rows, keys); rows: (rows,), the first begins an input."""
        if not weights.shape[1]:
            return
        for name, measure in MEASURES.items():
            if self.own or not measure.own:
                self._count(name, measure.of_rows(weights, rows).double())
        self._count("ordered", self._rising(centre(weights, rows).double(), anew=not rows[0]))

    def add_padding(self, shares: Tensor) -> None:
        """shares: (heads, rows), how much of each row is on padding."""
        self._count("padding", shares.double())

    def _rising(self, centres: Tensor, *, anew: bool) -> Tensor:
        """(heads, rows): whether each row looks no further back than the one before it; NaN for the first."""
        before = centres.new_full((len(centres), 1), torch.nan) if anew or self._before is None else self._before
        self._before = centres[:, -1:]
        steps = centres.diff(dim=1, prepend=before)
        # As far as single precision can tell: a centre is a sum of many weights.
        return (steps >= -1e-4).double().where(~steps.isnan(), torch.nan)

    def _count(self, name: str, values: Tensor) -> None:
        known = ~values.isnan()
        total, count = values.nan_to_num(0.0).sum(1).cpu(), known.sum(1).cpu()
        self.sums[name] = self.sums[name] + total if name in self.sums else total
        self.counts[name] = self.counts[name] + count if name in self.counts else count

    def means(self) -> list[dict[str, float]]:
        """For each head its measures; those that apply to no row are left out."""
        heads = len(next(iter(self.sums.values()), ()))
        return [
            {
                name: float(total[head] / self.counts[name][head])
                for name, total in self.sums.items()
                if self.counts[name][head]
            }
            for head in range(heads)
        ]


def measured(weights: Tensor, *, own: bool) -> list[dict[str, float]]:
    """The measures of each head of one layer. weights: (heads, queries, keys)"""
    totals = Totals(own)
    totals.add(weights, torch.arange(weights.shape[1], device=weights.device))
    return totals.means()


def chip(measures: Mapping[str, float]) -> str:
    """What a head measurably is, in a word and a number: the share that is on one place, how often it goes in order, or
    over how many elements it is spread (2 to the power of its entropy)."""
    places = ("same", "previous", "next", "first")
    shifted = [name for name in measures if name.startswith("shift ")]
    # In a picture the element before and after say less than a shift does.
    shares = {name: measures[name] for name in shifted or places if name in measures}
    name = max(shares, key=lambda each: shares[each], default="")
    if name and shares[name] >= TELLING:
        return f"{name} {shares[name]:.2f}"
    if not measures:
        return "sees nothing"
    if "previous" not in measures and measures.get("ordered", 0.0) >= 0.9:
        return f"ordered {measures['ordered']:.2f}"
    return f"spread {2 ** measures['entropy']:.1f}"


def shifts(weights: Tensor, rows: int, columns: int) -> list[tuple[int, int, float]]:
    """Which shift of a picture each head is nearest to: so many rows down and columns to the right, and how much of its
    weight is there, as the mean over the patches that have one there.

    That heads may become the taps of a convolution: Cordonnier, Loukas & Jaggi 2020, arXiv:1911.03584, section 4.

    weights: (heads, patches, patches), row after row
    """
    grid = weights.unflatten(2, (rows, columns)).unflatten(1, (rows, columns))
    best = [(0, 0, -1.0)] * len(weights)
    for down in range(1 - rows, rows):
        for right in range(1 - columns, columns):
            row = torch.arange(max(0, -down), min(rows, rows - down))[:, None]
            column = torch.arange(max(0, -right), min(columns, columns - right))
            shares = grid[:, row, column, row + down, column + right].mean((1, 2)).tolist()
            # A shift that few patches have is no shift of the picture.
            if 2 * row.numel() * column.numel() >= rows * columns:
                best = [
                    max(one, (down, right, share), key=lambda each: each[2])
                    for one, share in zip(best, shares, strict=True)
                ]
    return best


def merged(weights: Tensor, rows: Sequence[int], columns: Sequence[int]) -> Tensor:
    """Pieces become words: a word is looked at as much as its pieces together, and looks as the mean of its pieces.

    Source: Clark et al. 2019, arXiv:1906.04341, section 4.1.

    weights: (…, queries, keys); rows, columns: which word each piece belongs to, counted from 0
    output:  (…, words, words)
    """
    one = _belonging(rows).to(weights)
    return (one / one.sum(-1, keepdim=True).clamp(min=1)) @ weights @ _belonging(columns).to(weights).T


def _belonging(words: Sequence[int]) -> Tensor:
    """(words, pieces): whether a piece is of a word."""
    return torch.tensor(words)[None] == torch.arange(max(words, default=-1) + 1)[:, None]


MEASURES: dict[str, Measure] = {
    "entropy": Measure(entropy, "how spread out its rows are, in bits"),
    "distance": Measure(distance, "how many places away it looks", own=True),
    "previous": Measure(share_on(-1), "its share on the element before", own=True),
    "next": Measure(share_on(1), "its share on the element after", own=True),
    "same": Measure(share_on(0), "its share on the element itself", own=True),
    "first": Measure(share_on_first, "its share on the first element"),
    "agreement": Measure(agreement, "how much of it is where the layer's other heads look"),
}

# Those that are counted otherwise than row by row.
ALL_MEASURES: dict[str, str] = {
    **{name: measure.what for name, measure in MEASURES.items()},
    "ordered": "how often a row looks no further back than the row before it",
    "padding": "its share on padding, which must be 0",
}
