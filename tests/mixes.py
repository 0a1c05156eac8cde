"""Convolutions and recurrences in their shapes, and what the reference has in their place."""

import reference

from regard.layers import CELLS, DIRECTIONS

CONVOLUTIONS = [{"kernel": 3}, {"kernel": 5}, {"kernel": 3, "dilations": "doubling"}, {"kernel": 1}]
RECURRENCES = [{"cell": cell, "directions": directions} for cell in CELLS for directions in DIRECTIONS]
MIXED = [
    *(("convolution", settings) for settings in CONVOLUTIONS),
    *(("recurrent", settings) for settings in RECURRENCES),
]

# What may look back at what was written, beside attention.
LOOK_BACKS = [
    *(("convolution", settings) for settings in CONVOLUTIONS),
    *(("recurrent", {"cell": cell}) for cell in CELLS),
]


def convolved(settings, *, causal=False):
    """For each block what the reference does there."""
    kernel, dilations = settings["kernel"], settings.get("dilations", "none")

    def of_block(block):
        dilation = 2**block if dilations == "doubling" else 1
        return lambda x, weights: reference.gated_convolution(
            x, weights, kernel=kernel, dilation=dilation, causal=causal
        )

    return of_block


def recurred(settings):
    return lambda block: lambda x, weights: reference.recurrence(x, weights, settings["cell"])


REFERENCES = {"convolution": convolved, "recurrent": recurred}
