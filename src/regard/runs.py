"""`regard runs`: what there is in the runs' folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from regard.errors import FolderError
from regard.training.metric import shown


def summaries(folders: Sequence[Path] | None) -> list[dict[str, Any]]:
    """A row for each run: its name, best score, at which update, minutes, megabytes, and whether it has ended."""
    if not folders:
        folders = sorted(path.parent for path in Path("runs").glob("*/metrics.jsonl"))
    return [_summary(folder) for folder in folders]


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "metrics.jsonl"
    if not path.exists():
        raise FolderError(f"{folder} is not a run: there is no {path.name} in it")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    best = next((row for row in reversed(rows) if row["best"]), None)
    state = folder / "last" / "state" / "progress.json"
    weights = folder / "best" / "model.safetensors"
    return {
        "run": str(folder),
        "scores": best["scores"] if best else {},
        "update": best["update"] if best else None,
        "minutes": round(rows[-1]["seconds"] / 60, 1) if rows else 0.0,
        "megabytes": round(weights.stat().st_size / 1e6, 1) if weights.exists() else None,
        "finished": state.exists() and json.loads(state.read_text(encoding="utf-8"))["finished"],
    }


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows as a table for the terminal."""
    names = sorted({name for row in rows for name in row["scores"]})
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", *(f"dev {name}" for name in names), "update", "minutes", "MB", ""):
        drawn.add_column(name, justify="left" if name in ("run", "") else "right", no_wrap=True)
    for row in rows:
        scores = [shown(name, row["scores"][name]) if name in row["scores"] else "–" for name in names]
        ended = "" if row["finished"] else "unfinished"
        drawn.add_row(row["run"], *scores, str(row["update"]), str(row["minutes"]), str(row["megabytes"]), ended)
    return drawn
