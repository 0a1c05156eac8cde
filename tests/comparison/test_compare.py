"""Two runs held against each other, from files to a page."""

import json
from xml.etree import ElementTree

import pytest
import small
from test_cli import regard

import regard as package
from regard.comparison import told
from regard.comparison.compare import compare
from regard.errors import RegardError

SOURCES = [f"{word} {number}" for number in range(31) for word in ("left", "right", "left on")]
TEXTS = {"input": {"tokens": "characters"}, "output": {"tokens": "characters"}}

# For each task a recipe, and what is to be answered of a text.
TASKS = {
    "label": ({}, None),
    "classify": ({"task": {"kind": "classify"}}, lambda text: text.split()[0]),
    "several": (
        {"task": {"kind": "classify"}, "data": {"train": "-", "separator": "|"}},
        lambda text: "|".join(text.split()),
    ),
    "regress": ({"task": {"kind": "regress"}}, lambda text: text.split()[-1].replace("on", "-1")),
    "seq2seq": ({"task": {"kind": "seq2seq"}, **TEXTS}, lambda text: text[::-1]),
}


@pytest.fixture(scope="module", params=TASKS)
def two(request, tmp_path_factory):
    """Two runs of a task that learnt from other seeds, and data to compare them on."""
    changes, answer = TASKS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    pairs = [(text, answer(text)) for text in SOURCES] if answer else []
    data = {"train": pairs[:67], "dev": pairs[67:]} if answer else small.parts(67, 26, 0)
    runs = []
    for seed in (1, 2):
        values = small.recipe(**changes, train={"epochs": 1.0, "seed": seed})
        if request.param == "seq2seq":
            del values["input"]["word_width"]
            values["decode"] = {"beam": 1, "max_length": 13}
        runs.append(package.train(values, run=folder / f"seed {seed}", data=data))
    return (*runs, data["dev"])


def test_runs_of_every_task_are_compared(two):
    one, other, data = two
    found = compare(one, other, data, trials=53)
    values = [run.evaluate(data).values for run in (one, other)]
    assert set(found.scores) == set(values[0]) and found.items == 26
    for name, of in found.scores.items():
        assert (of.one, of.other) == pytest.approx((values[0][name], values[1][name]))
        assert of.low <= of.high and 1 / 54 <= of.p <= 1 and 1 / 54 <= of.p_resampled <= 1
    assert found.cases.won + found.cases.lost + found.cases.same == 26
    assert next(iter(found.scores)) == found.metric == one.recipe.metric
    assert [note for note in found.notes if "was chosen by this data" in note] == []  # no file was named


def test_changing_places_changes_the_sign(two):
    one, other, data = two
    first, second = compare(one, other, data, trials=53), compare(other, one, data, trials=53)
    for name, of in first.scores.items():
        assert second.scores[name].difference == pytest.approx(-of.difference)
        assert second.scores[name].p == of.p
    assert (first.cases.won, first.cases.lost) == (second.cases.lost, second.cases.won)


def test_a_run_and_itself_are_the_same(two):
    one, _, data = two
    found = compare(one, one, data, trials=53)
    for of in found.scores.values():
        assert (of.difference, of.low, of.high, of.p, of.p_resampled) == (0, 0, 0, 1, 1)
    for part in found.parts:
        assert all(row.difference.p == 1 for row in part.rows)
    assert (found.cases.won, found.cases.lost, found.cases.answered) == (0, 0, 0)
    assert told.sentence(found) == (
        f"{found.names[0]} and {found.names[1]} answer all 26 items the same: there is no difference (p = 1)."
    )


def test_the_page_is_whole_and_names_both(two):
    one, other, data = two
    found = compare(one, other, data, trials=53)
    html = told.html(found)
    for name in found.names:
        assert name in html
    assert told.sentence(found).split(";")[0].split(" by ")[0] in html
    tree = ElementTree.fromstring(f"<main>{html.partition('<main>')[2].partition('</main>')[0]}</main>")
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}svg"))) == 2
    json.dumps(told.as_data(found), allow_nan=False)


def test_the_metric_that_is_asked_for_comes_first(two):
    one, other, data = two
    last = list(compare(one, other, data, trials=53).scores)[-1]
    found = compare(one, other, data, metric=last, trials=53)
    assert next(iter(found.scores)) == found.metric == last
    with pytest.raises(RegardError, match="unknown metric accurracy; known: "):
        compare(one, other, data, metric="accurracy", trials=53)


def test_one_item_alone_is_refused(two):
    one, other, data = two
    with pytest.raises(
        RegardError, match="has one item with an answer; whether runs differ can be told of two or more"
    ):
        compare(one, other, data[:1], trials=53)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of files, a longer and a shorter one, and one that learnt from other files."""
    folder = tmp_path_factory.mktemp("compare")
    recipe = small.write(folder, train=101, epochs=1)
    package.train(recipe, {"train.epochs": 7.0, "train.lr": 2e-2}, run=folder / "runs" / "long")
    package.train(recipe, {"train.epochs": 0.1}, run=folder / "runs" / "short")
    text = (folder / "train.conllu").read_text()
    (folder / "train.conllu").write_text(text + text)
    package.train(recipe, {"train.epochs": 0.1}, run=folder / "runs" / "twice")
    (folder / "train.conllu").write_text(text)
    return folder


def test_the_better_run_is_called_better_with_how_sure_that_is(folder):
    found = regard(
        "compare", "runs/short", "runs/long", "--data", "test.conllu", "--out", "x/compare.html", folder=folder
    )
    assert found.status == 0, found.err
    first, second = found.out.split("\n\n")[:2]
    head, accuracy = (line.split("\t") for line in first.splitlines()[:2])
    assert head == ["score", "short", "long", "difference", "low", "high", "p", "p by resampling"]
    low, high = (100 * float(edge) for edge in accuracy[4:6])
    points = 100 * float(accuracy[3])
    assert high < 0
    assert second.startswith(f"long is better than short by {-points:.2f} points of accuracy (95 %: {-high:.2f} to ")
    assert f"{-low:.2f}, p < 0.001); long answers " in second
    assert "wrote x/compare.html" in found.err and (folder / "x" / "compare.html").read_text().startswith("<!DOCTYPE")


def test_each_label_each_length_and_known_words_stand_apart(folder):
    found = compare(folder / "runs" / "short", folder / "runs" / "long", folder / "test.conllu", trials=53)
    by = {part.name: part for part in found.parts}
    label, length, word = (
        by["Each label of upos"],
        by["By length"],
        by["Words that training saw often enough, and others"],
    )
    counts = package.load(folder / "runs" / "long").evaluate(folder / "test.conllu").scores.columns["upos"]
    assert [(row.name, row.count) for row in label.rows if row.count] == [
        (name, n) for name, n, *_ in counts.table() if n
    ]
    f1 = {name: both for name, *_, both in counts.table()}
    assert all(row.difference.other == pytest.approx(f1[row.name]) for row in label.rows)
    assert sum(row.count for row in length.rows) == 40 and len(length.rows) > 2
    assert sum(row.count for row in word.rows) == counts.labels.gold.total()


def test_json_holds_what_the_table_says(folder):
    words = ("compare", "runs/short", "runs/long", "--data", "test.conllu", "--trials", "53", "--seed", "7")
    plain, as_json = regard(*words, folder=folder), regard(*words, "--json", folder=folder)
    told = json.loads(as_json.out)
    assert told["runs"] == ["short", "long"] and told["items"] == 40 and told["sentence"] in plain.out
    for name, of in told["scores"].items():
        cells = (of[key] for key in ("one", "other", "difference", "low", "high", "p", "p_resampled"))
        assert "\t".join([name, *(f"{value:.4f}" for value in cells)]) in plain.out


def test_data_that_a_run_has_met_and_other_training_data_are_said(folder):
    met = regard("compare", "runs/short", "runs/long", "--data", "train.conllu", "--trials", "53", folder=folder)
    assert "short was trained on this data: its scores here flatter it" in met.err
    dev = regard("compare", "runs/short/best", "runs/long", "--data", "dev.conllu", "--trials", "53", folder=folder)
    assert "long was chosen by this data" in dev.err and "short/best was chosen by this data" in dev.err
    other = regard("compare", "runs/twice", "runs/long", "--data", "test.conllu", "--trials", "53", folder=folder)
    assert "twice and long were trained on different data: what is compared is model and data together" in other.err


def test_too_few_trials_are_refused(folder):
    found = regard("compare", "runs/short", "runs/long", "--data", "test.conllu", "--trials", "19", folder=folder)
    assert found.status == 2 and found.out == ""
    assert "trials is 19; no p can be below 1 / (trials + 1), so use 20 or more (1000 are usual)" in found.err


def test_both_files_of_parallel_text_are_given(folder):
    found = regard("compare", "runs/short", "runs/long", "test.conllu", "--data", "test.conllu", folder=folder)
    assert found.status == 2 and "holds one target a line, but this run answers upos for each word" in found.err


def test_lines_of_text_have_their_answers_in_a_second_file(tmp_path):
    pairs = [(text, text.split()[0]) for text in SOURCES]
    (tmp_path / "dev.txt").write_text("".join(f"{text}\n" for text, _ in pairs[67:]))
    (tmp_path / "dev.class").write_text("".join(f"{side}\n" for _, side in pairs[67:]))
    for seed in (1, 2):
        values = small.recipe(task={"kind": "classify"}, train={"epochs": 0.1, "seed": seed})
        package.train(values, run=tmp_path / f"seed {seed}", data={"train": pairs[:67], "dev": pairs[67:]})
    words = ("compare", "seed 1", "seed 2", "dev.class", "--data", "dev.txt", "--trials", "53", "--json")
    found = regard(*words, folder=tmp_path)
    assert found.status == 0, found.err
    told = json.loads(found.out)
    assert told["data"] == "dev.txt and dev.class" and told["items"] == 26
    runs = [package.load(tmp_path / f"seed {seed}") for seed in (1, 2)]
    given = package.compare(*runs, pairs[67:], trials=53)
    assert {name: of.difference for name, of in given.scores.items()} == pytest.approx(
        {name: of["difference"] for name, of in told["scores"].items()}
    )
