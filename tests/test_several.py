"""Several independent classes for a whole, through the whole road: files, training, answers, scores."""

import json
import random

import pytest
import small
from test_cli import regard

import regard as package
from regard.data.target import Classes, parted
from regard.training.threshold import CANDIDATES, choose_thresholds

WORDS = {"red": "colour", "blue": "colour", "big": "size", "round": "shape", "flat": "shape"}
FILLERS = ["a", "the", "is", "of"]


def tagged(count, seed=1):
    """Which kinds of words stand in a text; about one text in six has none. Cells in whatever order."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        words = draw.choices(FILLERS, k=3) + draw.sample(list(WORDS), k=draw.choice([0, 1, 1, 2, 2, 3]))
        draw.shuffle(words)
        classes = list({WORDS[word]: None for word in words if word in WORDS})
        found.append((" ".join(words), "; ".join(classes)))
    return found


def recipe(**changes):
    quick = {"epochs": 6, "batch_tokens": 96, "lr": 1e-2, "warmup_steps": 10, "evaluate_every": 40}
    values = small.recipe(
        task={"kind": "classify"},
        data={"train": "train.tsv", "separator": ";"},
        model={"dropout": 0.0, "heads": 2},
        train=quick,
        input={"dropout": 0.0, "minimum_count": 1},
    )
    return {
        section: {**values.get(section, {}), **changes.get(section, {})}
        for section in dict.fromkeys((*values, *changes))
    }


def lines(pairs):
    return "".join(f"{text}\t{cell}\n" for text, cell in [("text", "kinds"), *pairs])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files, a recipe that init wrote, and a run trained with it."""
    folder = tmp_path_factory.mktemp("several")
    for part, count, seed in (("train", 300, 1), ("dev", 61, 2), ("test", 41, 3)):
        (folder / f"{part}.tsv").write_text(lines(tagged(count, seed)))
    files = [f"{part}.tsv" for part in ("train", "dev", "test")]
    asked = ["--target", "kinds", "--source", "text", "--separator", ";", "--out", "kinds.toml"]
    made = regard("init", "classify", "--data", *files, *asked, folder=folder)
    assert made.status == 0, made.err
    (folder / "init.err").write_text(made.err)
    quick = ["model.width=16", "input.word_width=16", "model.dropout=0", "input.dropout=0", "train.lr=0.01"]
    length = ["train.epochs=8", "train.batch_tokens=96", "train.average=1"]
    trained = regard("train", "kinds.toml", *quick, *length, "train.evaluate_every=40", folder=folder)
    assert trained.status == 0, trained.err
    (folder / "train.err").write_text(trained.err)
    return folder


def test_it_is_learnt(folder):
    found = json.loads(regard("evaluate", "runs/kinds", "test.tsv", "--json", folder=folder).out)
    assert found["items"] == 41 and list(found["scores"]) == ["micro_f1", "macro_f1", "exact"]
    assert all(score > 0.9 for score in found["scores"].values()), found
    assert found["intervals"].keys() == found["scores"].keys()


def test_init_tells_of_classes_and_not_of_cells(folder):
    told = (folder / "init.err").read_text()
    assert "column kinds: 3 different classes, " in told and " in a cell, most often " in told
    written = (folder / "kinds.toml").read_text()
    assert 'separator = ";"' in written and "label_smoothing" not in written


def test_init_refuses_a_separator_where_nothing_is_parted(folder):
    found = regard("init", "regress", "--data", "train.tsv", "--separator", ";", "--out", "no.toml", folder=folder)
    assert found.status == 2
    assert "--separator parts the classes of a cell, but a task of kind regress has none; take it out" in found.err


def test_init_finds_the_columns_and_the_header_of_cells_that_hardly_come_twice(folder):
    cells = [
        f"{text}\t{'|'.join(random.Random(n).sample('abcdefghij', k=4))}" for n, (text, _) in enumerate(tagged(97))
    ]
    (folder / "cells.tsv").write_text("\n".join(["words\tgroups", *cells]) + "\n")
    found = regard(
        "init", "classify", "--data", "cells.tsv", "--separator", "|", "--target", "2", "--out", "c.toml", folder=folder
    )
    assert found.status == 0 and "column 2: 10 different classes, 4.0 in a cell" in found.err
    assert "header = true" in (folder / "c.toml").read_text()


def test_training_tells_floors_beside_the_scores(folder):
    told = (folder / "train.err").read_text()
    assert "3 classes of kinds" in told and "micro_f1" in told
    assert "most frequent set of classes" in told and "linear model" in told


def test_a_text_may_have_no_class_one_or_several(folder):
    (folder / "lines.txt").write_text("the a is\na red of\na big the red round\n\n")
    found = regard("predict", "runs/kinds", "lines.txt", folder=folder)
    assert found.out.splitlines() == ["", "colour", "colour;shape;size", found.out.splitlines()[3]]


def test_how_probable_each_class_is_stands_beside_the_classes(folder):
    found = regard("predict", "runs/kinds", "lines.txt", "--probabilities", folder=folder)
    answer, shares = found.out.splitlines()[2].split("\t")
    assert answer == "colour;shape;size"
    names, values = shares.split(" ")[::2], [float(value) for value in shares.split(" ")[1::2]]
    assert sorted(names) == ["colour", "shape", "size"] and values == sorted(values, reverse=True)
    row = json.loads(
        regard("predict", "runs/kinds", "lines.txt", "--json", "--probabilities", folder=folder).out.split("\n")[1]
    )
    assert row["kinds"] == "colour" and row["probabilities"]["kinds"].keys() == {"colour", "shape", "size"}


def test_evaluate_tells_of_each_class_and_keeps_cells_in_one_order(folder):
    found = regard("evaluate", "runs/kinds", "test.tsv", folder=folder)
    rows = [line.split("\t")[0] for line in found.out.split("\n\n")[1].splitlines()]
    assert rows[0] == "kinds" and set(rows[1:]) == {"colour", "shape", "size"}
    kept = (folder / "runs" / "kinds" / "evaluate" / "test.tsv").read_text().splitlines()
    for line in kept[1:]:
        _, true, answered = line.split("\t")
        assert ";".join(sorted(true.split(";"))) == true and ";".join(sorted(answered.split(";"))) == answered


def test_the_report_has_each_class_and_no_table_of_confusions(folder):
    page = (folder / "runs" / "kinds" / "report.html").read_text()
    assert "Each label" in page and "micro_f1" in page and "What is taken for what" not in page


def test_a_run_answers_with_the_threshold_that_was_saved_with_it(folder):
    path = folder / "runs" / "kinds" / "best" / "labels.json"
    saved = json.loads(path.read_text())
    assert saved["kinds"]["separator"] == ";" and saved["kinds"]["threshold"] in CANDIDATES
    before = path.read_text()
    (shares,) = package.load(folder / "runs" / "kinds").predict("a big the red of")[0].probabilities["kinds"]
    try:
        for threshold in (0.001, sorted(shares.values())[1] + 1e-6, 0.9999999):
            saved["kinds"]["threshold"] = threshold
            path.write_text(json.dumps(saved))
            answer = package.load(folder / "runs" / "kinds").predict("a big the red of")[0]
            assert answer.label == ";".join(name for name, share in sorted(shares.items()) if share > threshold)
    finally:
        path.write_text(before)


def test_the_scores_on_dev_are_those_of_the_best_model_with_its_threshold(folder):
    rows = [json.loads(row) for row in (folder / "runs" / "kinds" / "metrics.jsonl").read_text().splitlines()]
    best = max(row["scores"]["micro_f1"] for row in rows)
    found = package.load(folder / "runs" / "kinds").evaluate(folder / "dev.tsv")
    assert found.values["micro_f1"] == pytest.approx(best)


def test_no_other_threshold_is_better_on_dev(folder):
    """A planted threshold is found again; and none of the candidates would have scored more."""
    run = package.load(folder / "runs" / "kinds")
    target = run.predictor.targets["kinds"]
    assert isinstance(target, Classes)
    chosen, answers = target.threshold, run.evaluate(folder / "dev.tsv").answers
    best = run.evaluate(folder / "dev.tsv").values["micro_f1"]
    for threshold in CANDIDATES[::7]:
        target.threshold = threshold
        assert run.evaluate(folder / "dev.tsv").values["micro_f1"] <= best
    target.threshold = 0.999
    again = choose_thresholds(run.predictor.targets, answers, "micro_f1")
    assert target.threshold == chosen and [a.columns for a in again] == [a.columns for a in answers]


def test_classes_may_be_given_as_a_list_and_an_ignored_one_is_left_out(tmp_path):
    pairs = [(text, [*parted(cell, ";"), "NA"]) for text, cell in tagged(120)]
    pairs += [("red", None), ("big", "NA"), ("blue", [])]
    run = package.train(
        recipe(data={"ignore": ["NA"]}, train={"epochs": 1}), run=tmp_path / "run", data={"train": pairs, "dev": pairs}
    )
    target = run.predictor.targets["label"]
    assert isinstance(target, Classes) and target.names == ("colour", "shape", "size")
    found = run.evaluate([("red", ["new", "colour"]), ("the", None)])
    assert list(found.unseen) == ["new"] and found.values["exact"] == 0


def test_items_whose_classes_are_all_unknown_are_answered_and_not_learnt(tmp_path):
    pairs = [*tagged(60), *((text, None) for text, _ in tagged(60, seed=5))]
    run = package.train(recipe(train={"epochs": 1}), run=tmp_path / "run", data={"train": pairs, "dev": pairs[:31]})
    assert len(run.predict([text for text, _ in pairs])) == 120
