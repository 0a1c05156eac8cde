"""The most memory that a piece of work needs."""

import numpy as np
import pytest
import torch

from regard.comparison import memory
from regard.comparison.memory import watched

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="the accelerator's memory is watched here")
linux = pytest.mark.skipif(not memory._RESET.exists(), reason="only Linux tells a process's memory")


def megabytes(size):
    with watched() as peak:
        np.ones(size * 2**17)  # 8 bytes each
    return peak.megabytes


@linux
def test_what_was_needed_for_a_moment_counts_and_is_then_forgotten():
    before, during, after = megabytes(1), megabytes(211), megabytes(1)
    assert during - before > 150 and during - after > 150


def test_where_the_system_does_not_tell_nothing_is_told(monkeypatch, tmp_path):
    for name in ("_STATUS", "_RESET"):
        monkeypatch.setattr(memory, name, tmp_path / "nowhere" / name)
    assert megabytes(1) is None
