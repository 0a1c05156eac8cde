"""The experiment with and without learning from plain text first runs from end to end, on small sentences."""

import re
import subprocess
import sys
from pathlib import Path

import small

SCRIPT = Path(__file__).resolve().parents[1] / "recipes" / "pretrain_upos.py"


def test_both_ways_are_trained_and_held_against_each_other(tmp_path):
    small.write(tmp_path, train=67, dev=13, test=17)
    files = [str(tmp_path / f"{part}.conllu") for part in ("train", "dev", "test")]
    asked = ["--minutes", "0.02", "--samples", "1", "--epochs", "0.5", "--labelled", "11"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *files, str(tmp_path / "out"), *asked], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"p [=<] \d", done.stdout), done.stdout
