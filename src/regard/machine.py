"""What this machine is, for reports and for `regard doctor`."""

from __future__ import annotations

import os
import platform
from importlib import metadata

# What may be installed beside the core, and the packages that show that it is.
EXTRAS: dict[str, tuple[str, ...]] = {}

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


def version(package: str) -> str | None:
    """The installed version; None where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
