"""Which word of the source stands behind which word that was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

# (word of the source, word written), both counted from 0.
Pairs = tuple[tuple[int, int], ...]


def aligned(weights: np.ndarray, source: Sequence[int], written: Sequence[int]) -> Pairs:
    """The word of the source that each written word looked at most, its pieces together.

    A hint and no truth: what attention looks at need not be what a word means. Source: Bahdanau, Cho & Bengio 2015,
    arXiv:1409.0473, section 5.2.1, who read their pictures so.

    weights: (written pieces, source pieces), how much each looked at each
    source, written: which word each piece belongs to
    """
    sums = np.zeros((max(written, default=-1) + 1, max(source, default=-1) + 1))
    np.add.at(sums, (np.asarray(written, int)[:, None], np.asarray(source, int)[None]), weights)
    return tuple((int(row.argmax()), word) for word, row in enumerate(sums) if row.size)


def pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """0-0 2-1: pairs in the order of the source, as Moses and others write them."""
    return " ".join(f"{source}-{written}" for source, written in sorted(pairs))
