"""How the learning rate rises and falls."""

from __future__ import annotations

import math
from collections.abc import Callable

# (update, warm-up updates, used share of what comes after warm-up) -> a factor for the highest learning rate.
SCHEDULES: dict[str, Callable[[int, int, float], float]] = {
    # Loshchilov & Hutter 2017, arXiv:1608.03983, equation 5, one cycle down to zero.
    "cosine": lambda update, warmup, share: (1 + math.cos(math.pi * share)) / 2,
    "linear": lambda update, warmup, share: 1 - share,
    # Vaswani et al. 2017, arXiv:1706.03762, equation 3, scaled so that the highest rate is reached after warm-up.
    "inverse_root": lambda update, warmup, share: math.sqrt(max(warmup, 1) / max(update, 1)),
    "constant": lambda update, warmup, share: 1.0,
}


def factor(schedule: str, update: int, warmup: int, total: int | None) -> float:
    """The share of the highest learning rate for this update (counted from 1).

    total: how many updates there will be; None while that is not known yet, which counts as the beginning
    """
    if update <= warmup:
        return update / warmup
    share = 0.0 if total is None else min(1.0, (update - warmup) / max(1, total - warmup))
    return SCHEDULES[schedule](update, warmup, share)
