"""What this machine is, for reports and for `regard doctor`."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

# What may be installed beside the core, and the packages that show that it is.
EXTRAS: dict[str, tuple[str, ...]] = {
    "speech": ("soundfile", "soxr"),
    "vision": ("pillow",),
    "serve": ("fastapi", "uvicorn", "prometheus-client"),
    "onnx": ("onnx", "onnxscript", "onnxruntime"),
    "ctranslate2": ("ctranslate2",),
    "tensorboard": ("tensorboard",),
}

# Numbers of glibc's options, from its malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4

_CORE = ("torch", "numpy", "safetensors", "tokenizers", "pydantic", "typer", "rich", "tomlkit")


def environment() -> dict[str, str]:
    """Versions and sizes, without a name or a path."""
    import torch

    return {
        "regard": version("regard") or "not installed",
        "python": platform.python_version(),
        **{name: version(name) or "missing" for name in _CORE},
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "threads": str(torch.get_num_threads()),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def processes() -> tuple[int, int, int]:
    """Which of how many processes that train together this is, and which on its machine, as torchrun tells them."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
    if not all(name in os.environ for name in names):
        return 0, 1, 0
    rank, size, seat = (int(os.environ[name]) for name in names[:3])
    return rank, size, seat


def megabytes() -> float:
    """The most memory that this process has had; on an accelerator the most that its tensors have had."""
    import torch

    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """For a while, so many threads compute; None leaves it at torch's choice."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(before if count is None else count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def keep_memory() -> bool:
    """Keep memory that was used once, instead of giving it back and asking for it again; whether that can be done here.

    A large tensor is otherwise new memory each time, and the system writes zeros into every page of it before it can be
    used. The price: the process stays as large as it ever was. It holds for the rest of the process, on Linux with
    glibc, for tensors in the main memory; elsewhere nothing is done.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    set_option = ctypes.CDLL(None).mallopt
    # Never a mapping of its own for a large tensor, and nothing given back at the heap's end (mallopt(3)).
    return bool(set_option(_M_MMAP_MAX, 0) and set_option(_M_TRIM_THRESHOLD, -1))


def extras() -> dict[str, str]:
    """For each extra whether all of its packages are installed, and what installs it."""
    return {
        name: "installed" if all(version(package) for package in packages) else f"pip install regard[{name}]"
        for name, packages in EXTRAS.items()
    }


def version(package: str) -> str | None:
    """The installed version; None where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
