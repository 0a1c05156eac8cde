"""The whole Transformer as a tool: train it, look inside it, ship it.

import regard

run = regard.train("recipe.toml")
model = regard.load("runs/recipe")
model.predict(["I saw a saw"])[0].labels
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.comparison.compare import compare as compare
    from regard.errors import RegardError as RegardError
    from regard.experiment import train as train
    from regard.machine import keep_memory as keep_memory
    from regard.run import Run as Run
    from regard.run import load as load

# The public names and where they live; each is imported when it is first asked for, so that `import regard` is quick.
_PUBLIC = {
    "compare": "regard.comparison.compare",
    "train": "regard.experiment",
    "load": "regard.run",
    "Run": "regard.run",
    "keep_memory": "regard.machine",
    "RegardError": "regard.errors",
}

__all__ = ["RegardError", "Run", "compare", "keep_memory", "load", "train"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
