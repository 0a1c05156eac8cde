"""Files that live beside the repository, where they are there; and one thread, since the tests' tensors are small."""

import os

# Before torch is imported, and for the processes that tests start: threads that wait for work on tiny tensors cost more
# than they give.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def _beside(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip("needs ../shared")
    return folder


@pytest.fixture(scope="session")
def cases() -> Path:
    """Inputs that broke other toolkits; the right values are in their README."""
    return _beside("cases")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data sets."""
    return _beside("data")
