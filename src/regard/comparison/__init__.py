"""Comparisons that can be believed: of two runs on the same items, and of encoders over sizes and seeds.

The name is not `compare`, since `regard.compare` is a function: importing a module of that name would put the module in
the function's place.
"""

# So many resamples and so many swaps are drawn, and what their draws begin from.
TRIALS = 1000
SEED = 1

# So many seeds a study has; long-range has fewer, since its networks are told to differ by far.
SEEDS, FAR_SEEDS = 3, 1
