"""Where things are: attention alone does not know the order of its input.

`POSITIONS` names the kinds; each is made for a stack by `sized`.
"""

from __future__ import annotations

from regard.attention.position.floater import Floater
from regard.attention.position.grid import GridLearned, grid_positions
from regard.attention.position.kind import NOWHERE, Position, Sizes
from regard.attention.position.learned import Learned
from regard.attention.position.relative import T5, Alibi, Quadratic, Shaw
from regard.attention.position.rotary import Rotary
from regard.attention.position.sinusoidal import Sinusoidal, sinusoids

POSITIONS: dict[str, type[Position]] = {
    "none": Position,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "floater": Floater,
    "shaw": Shaw,
    "t5": T5,
    "alibi": Alibi,
    "rotary": Rotary,
    "quadratic": Quadratic,
}

__all__ = [
    "NOWHERE",
    "POSITIONS",
    "T5",
    "Alibi",
    "Floater",
    "GridLearned",
    "Learned",
    "Position",
    "Quadratic",
    "Rotary",
    "Shaw",
    "Sinusoidal",
    "Sizes",
    "grid_positions",
    "sinusoids",
]
