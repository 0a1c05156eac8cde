"""What a training will be, before it begins."""

import re

import pytest
import small
from test_cli import regard

import regard as package


@pytest.fixture
def folder(tmp_path):
    small.write(tmp_path, train=61, dev=11, test=7)
    return tmp_path


def numbers_of(lines, name):
    return int(re.search(rf"{name}\s+([\d,]+) parameters", lines)[1].replace(",", ""))


def test_a_dry_run_tells_sizes_the_first_batch_memory_and_time_and_writes_nothing(folder):
    found = regard("train", "small.toml", "--dry-run", folder=folder)
    assert found.status == 0, found.err
    assert not (folder / "runs").exists()
    trained = package.train(folder / "small.toml", run=folder / "run")
    model = trained.predictor.model
    for part in ("input", "encoder", "output"):
        assert numbers_of(found.out, part) == sum(p.numel() for p in getattr(model, part).parameters())
    places = re.findall(r"  \S*train\.conllu:\d+: (.*) → upos: (.*)", found.out)
    assert places and all(len(words.split()) == len(tags.split()) for words, tags in places)
    assert re.search(r"memory  [\d,]+ MB at most", found.out)
    updates = int(re.search(r"time    about [\d.]+ minutes: (\d+) updates", found.out)[1])
    rows = (folder / "run" / "metrics.jsonl").read_text().splitlines()
    assert f'"update": {updates},' in rows[-1]


def test_what_is_frozen_is_told(folder):
    package.train(folder / "small.toml", {"train.epochs": 0.1}, run=folder / "run")
    found = regard("train", "small.toml", "--dry-run", "model.start=run", "train.freeze=encoder", folder=folder)
    assert found.status == 0, found.err
    encoder = re.search(r"encoder  ([\d,]+) parameters, of which ([\d,]+) stay as they are", found.out)
    assert encoder[1] == encoder[2]
