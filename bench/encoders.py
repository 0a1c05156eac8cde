"""Convolution and recurrence against other ways to compute the same, forward and backward, one thread, interleaved:
`python bench/encoders.py`."""

import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

from regard.layers import CELLS, Convolution, Recurrence

BATCH, TIME, WIDTH = 48, 25, 128
REPEATS, CALLS = 9, 5


def seconds(function):
    """CPU seconds of a forward and backward pass."""
    started = time.process_time()
    for _ in range(CALLS):
        function().sum().backward()
    return (time.process_time() - started) / CALLS


def compare(what, theirs, ours):
    one, other = [], []
    for _ in range(REPEATS):
        one.append(seconds(theirs))
        other.append(seconds(ours))
    one, other = statistics.median(one), statistics.median(other)
    print(f"{what}: torch {one * 1e3:.1f} ms, regard {other * 1e3:.1f} ms, ratio {one / other:.2f}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(
        f"torch {torch.__version__}, one thread, medians of {REPEATS} interleaved repeats, {BATCH} x {TIME} x {WIDTH}"
    )
    x = torch.randn(BATCH, TIME, WIDTH, requires_grad=True)
    lengths = torch.randint(TIME // 2, TIME + 1, (BATCH,))
    real = torch.arange(TIME) < lengths[:, None]
    conv, ours = nn.Conv1d(WIDTH, 2 * WIDTH, 3, padding=1), Convolution(WIDTH, 3)
    compare(
        "convolution, F.conv1d",
        lambda: F.glu(conv(x.masked_fill(~real[..., None], 0).transpose(1, 2)).transpose(1, 2)),
        lambda: ours(x, real),
    )
    for name, make in CELLS.items():
        both, part = make(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True), Recurrence(WIDTH, cell=name)

        def packed(both=both):
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(both(rows)[0], batch_first=True, total_length=TIME)[0]

        compare(f"{name}, packed", packed, lambda part=part: part(x, real))


main()
