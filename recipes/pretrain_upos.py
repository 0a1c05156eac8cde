"""What pretraining on a treebank's own text, without its labels, adds to parts of speech learnt from few sentences.

    python recipes/pretrain_upos.py TRAIN.conllu DEV.conllu TEST.conllu FOLDER
        [--labelled 500] [--samples 3] [--minutes 60] [--epochs 60]

The words of TRAIN are learnt from as plain text (mlm). Then, for each of several samples of so many labelled sentences,
a tagger is trained twice, from nothing and from that run, both with the same settings and as many updates; both are
asked for TEST. Trainings lie in FOLDER as runs: what is there is not trained again, what was stopped goes on. The
difference is tested over all samples together: of TEST a sentence is drawn, or its answers swapped, with those of all.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from regard import train
from regard.comparison.grid import Cell
from regard.comparison.study import Trained, pooled
from regard.data.conllu import Conllu
from regard.data.example import Example
from regard.data.reading import read_examples
from regard.scoring import score
from regard.training.progress import Plain

INPUT = {"tokens": "words+characters", "split": "spaces"}
MODEL = {"width": 128, "depth": 2, "heads": 4}

METRIC = "accuracy"


def sentences(path: str) -> list[Example]:
    """All sentences with their parts of speech."""
    return read_examples([path], Conllu(None, ("upos",)))


def pretrained(folder: Path, texts: dict[str, list[str]], minutes: float) -> Path:
    """A run that has learnt what stands behind masks."""
    recipe = {
        "task": {"kind": "mlm"},
        "input": {**INPUT, "dropout": 0.0},
        "model": {**MODEL, "dropout": 0.1},
        "train": {"minutes": minutes, "batch_tokens": 1500, "average": 3, "threads": 1},
    }
    train(recipe, run=folder / "mlm", data=texts, talk=Plain(Console(stderr=True)))
    return folder / "mlm"


def tagger(folder: Path, cell: Cell, parts: dict[str, list[Example]], epochs: float, start: Path | None) -> Trained:
    """A tagger, and what it answers to test."""
    body = {"input": INPUT, "model": MODEL} if start is None else {"model": {"start": str(start)}}
    recipe = {
        **body,
        "model": {**body["model"], "dropout": 0.3},
        "train": {"epochs": epochs, "batch_tokens": 1200, "label_smoothing": 0.05, "average": 5, "threads": 1}
        | {"seed": cell.seed, "certify": False},
    }
    run = train(recipe, run=folder / cell.name, data=parts)
    scored = score(run.predictor, parts["test"], run.recipe)
    print(f"{cell.name}\t{scored.values[METRIC]:.4f}", flush=True)
    return Trained(cell, run, scored, sum(p.numel() for p in run.predictor.model.parameters()), 0.0, None)


def main() -> None:
    """Train, and tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("train", "dev", "test"):
        parser.add_argument(name)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labelled", type=int, default=500)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--epochs", type=float, default=60)
    given = parser.parse_args()
    parts = {name: sentences(getattr(given, name)) for name in ("train", "dev", "test")}
    texts = {name: [" ".join(example.words) for example in parts[name]] for name in ("train", "dev")}
    start = pretrained(given.folder, texts, given.minutes)
    found: dict[str, list[Trained]] = {"nothing": [], "pretrained": []}
    for seed in range(1, given.samples + 1):
        chosen = np.random.default_rng(seed).permutation(len(parts["train"]))[: given.labelled]
        sample = {**parts, "train": [parts["train"][number] for number in chosen]}
        for name, begun in (("nothing", None), ("pretrained", start)):
            found[name].append(tagger(given.folder, Cell(name, given.labelled, seed), sample, given.epochs, begun))
    apart = pooled(found["pretrained"], found["nothing"], METRIC)
    print(
        f"pretrained {apart.one:.2%}, from nothing {apart.other:.2%}: {100 * apart.difference:+.2f} points "
        f"({100 * apart.low:+.2f} to {100 * apart.high:+.2f}), p = {apart.p:.4f}"
    )


if __name__ == "__main__":
    sys.exit(main())
