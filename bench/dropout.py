"""Our dropout against PyTorch's, forward and backward, one thread, interleaved: `python bench/dropout.py`."""

import statistics
import time

import torch
import torch.nn.functional as F

from regard.layers.dropout import dropout

SHAPES = ((1200, 128), (1200, 384), (4096, 512))
SHARE, REPEATS, CALLS = 0.2, 9, 50


def seconds(function, x):
    """CPU seconds of a forward and backward pass."""
    started = time.process_time()
    for _ in range(CALLS):
        x.grad = None
        function(x, SHARE).sum().backward()
    return (time.process_time() - started) / CALLS


def main():
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, medians of {REPEATS} interleaved repeats")
    for shape in SHAPES:
        x = torch.randn(*shape, requires_grad=True)
        ours, theirs = [], []
        for _ in range(REPEATS):
            theirs.append(seconds(F.dropout, x))
            ours.append(seconds(dropout, x))
        one, other = statistics.median(theirs), statistics.median(ours)
        print(f"{shape}: torch {one * 1e3:.2f} ms, regard {other * 1e3:.2f} ms, ratio {one / other:.2f}")


main()
