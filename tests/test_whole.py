"""One class or one number for the whole, through the whole road: files, training, answers, scores."""

import json
import os
import random
import shutil
import subprocess
import sys

import pytest
import small
import torch
from sharp import sharpen
from test_cli import regard

import regard as package
from regard.build import build, learn_targets
from regard.data.example import Example
from regard.errors import DataError
from regard.inputs import learn_tokenizer
from regard.models.gather import POOLINGS
from regard.models.inputs import InputPart
from regard.recipe import recipe_from

FILLERS = ["on", "at", "of", "by", "in"]
VALUES = {"awful": -2.0, "bad": -1.0, "so": 0.0, "good": 1.0, "great": 2.0}


def ordered(count, seed=1):
    """Which of two words comes first decides the class; all else is the same in both."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        words = [*draw.choices(FILLERS, k=3), "left", "right"]
        draw.shuffle(words)
        found.append((" ".join(words), "L" if words.index("left") < words.index("right") else "R"))
    return found


def summed(count, seed=1):
    """A number: 10 and the sum of what its words are worth."""
    draw = random.Random(seed)
    texts = [draw.choices(list(VALUES), k=5) for _ in range(count)]
    return [(" ".join(words), 10 + sum(VALUES[word] for word in words)) for words in texts]


def recipe(kind, **changes):
    """A quick recipe, whose model learns either task in a second or two."""
    quick = {"epochs": 6, "batch_tokens": 96, "lr": 1e-2, "warmup_steps": 10, "evaluate_every": 40}
    values = small.recipe(
        task={"kind": kind}, model={"dropout": 0.0, "heads": 2}, train=quick, input={"dropout": 0.0, "minimum_count": 1}
    )
    return {
        section: {**values.get(section, {}), **changes.get(section, {})}
        for section in dict.fromkeys((*values, *changes))
    }


def data(make, train=300, dev=60):
    return {"train": make(train), "dev": make(dev, seed=2)}


def table(pairs, header="text\tclass"):
    return "".join(f"{line}\n" for line in [header, *(f"{text}\t{value}" for text, value in pairs)])


def toml(kind, target, **train):
    values = recipe(kind, train=train)
    columns = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv", "source": "text", "target": target}
    lines = []
    for section, part in {**values, "data": columns}.items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in part.items())]
    return "\n".join(lines) + "\n"


def written(folder, kind, target, make, **train):
    for part, count, seed in (("train", 300, 1), ("dev", 60, 2), ("test", 41, 3)):
        (folder / f"{part}.tsv").write_text(table(make(count, seed), f"text\t{target}"), encoding="utf-8")
    (folder / "recipe.toml").write_text(toml(kind, target, **train), encoding="utf-8")
    (folder / "lines.txt").write_text("left on right\n\nright, on left!\n \nso good\n", encoding="utf-8")
    found = regard("train", "recipe.toml", folder=folder)
    (folder / "train.err").write_text(found.err)
    assert found.status == 0, found.err
    return folder


@pytest.fixture(scope="module")
def classified(tmp_path_factory):
    """Files, a recipe and a trained run of the classes."""
    return written(tmp_path_factory.mktemp("classify"), "classify", "class", ordered)


@pytest.fixture(scope="module")
def regressed(tmp_path_factory):
    """The same of the numbers."""
    return written(tmp_path_factory.mktemp("regress"), "regress", "worth", summed)


def scores(folder):
    return json.loads(regard("evaluate", "runs/recipe", "test.tsv", "--json", folder=folder).out)


# Classes


def test_attention_with_positions_learns_which_word_comes_first(classified):
    found = scores(classified)
    assert found["items"] == 41 and found["scores"].keys() == {"accuracy", "macro_f1"}
    assert found["scores"]["accuracy"] > 0.95 and found["scores"]["macro_f1"] > 0.95


@pytest.mark.parametrize("pooling", [name for name in POOLINGS if name != "mean"])
def test_so_do_the_other_poolings(pooling, tmp_path):
    run = package.train(recipe("classify", model={"pooling": pooling}), run=tmp_path / "run", data=data(ordered))
    assert run.evaluate(ordered(41, seed=3)).values["accuracy"] > 0.95


def test_seeing_each_element_alone_cannot_learn_it(tmp_path):
    given = recipe("classify", model={"encoder": "pointwise"}, train={"epochs": 3})
    del given["model"]["heads"]
    run = package.train(given, run=tmp_path / "run", data=data(ordered))
    assert run.evaluate(ordered(97, seed=3)).values["accuracy"] < 0.7


def test_training_tells_scores_and_floors_of_the_whole(classified):
    told = (classified / "train.err").read_text()
    assert "dev accuracy" in told and "macro_f1" in told and "2 labels of class" in told
    assert "most frequent label" in told and "each word alone" not in told


def test_the_report_says_what_is_taken_for_what(classified):
    page = (classified / "runs" / "recipe" / "report.html").read_text()
    assert "What is taken for what, on test" in page and "Scores on dev" in page and "macro_f1" in page


def test_a_run_answers_with_a_label_as_it_was_saved(classified):
    run = package.load(classified / "runs" / "recipe")
    left, right = run.predict(["left on right", ["right", "on", "left"]])
    assert (left.label, right.label) == ("L", "R") and left.columns == {"class": ("L",)}
    assert all(0.5 <= answer.probabilities["class"][0] <= 1 for answer in (left, right))
    assert run.look("left on right").answered == "left on right → class: L"


def test_one_line_in_is_one_class_out(classified):
    found = regard("predict", "runs/recipe", "lines.txt", folder=classified)
    assert found.status == 0, found.err
    lines = found.out.split("\n")
    assert (lines[0], lines[2]) == ("L", "R") and set(lines[:5]) == {"L", "R"} and lines[5:] == [""]
    assert lines[1] == lines[3], "both are blank"


def test_one_row_of_a_table_in_is_one_class_out(classified):
    found = regard("predict", "runs/recipe", "test.tsv", folder=classified)
    wanted = [line.split("\t")[1] for line in (classified / "test.tsv").read_text().splitlines()[1:]]
    answered = found.out.splitlines()
    assert len(answered) == 41 and sum(a == w for a, w in zip(answered, wanted, strict=True)) > 38
    texts = [line.split("\t")[0] for line in (classified / "test.tsv").read_text().splitlines()[1:]]
    (classified / "text.txt").write_text("\n".join(texts) + "\n")
    assert regard("predict", "runs/recipe", "text.txt", folder=classified).out == found.out
    (classified / "more.tsv").write_text("id\ttext\n" + "".join(f"7\t{text}\n" for text in texts))
    assert regard("predict", "runs/recipe", "more.tsv", folder=classified).out == found.out


def test_the_standard_input_is_read_as_lines(classified):
    code = [sys.executable, "-m", "regard", "predict", str(classified / "runs" / "recipe"), "-"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    text = (classified / "lines.txt").read_text()
    found = subprocess.run(code, input=text, capture_output=True, text=True, env=environment, check=True)
    assert found.stdout == regard("predict", "runs/recipe", "lines.txt", folder=classified).out


def test_json_has_one_class_and_how_sure_the_model_is(classified):
    found = regard("predict", "runs/recipe", "lines.txt", "--json", "--probabilities", folder=classified)
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert len(rows) == 5 and rows[0]["words"] == ["left", "on", "right"] and rows[0]["class"] == "L"
    assert rows[1]["words"] == [] and rows[1]["class"] in ("L", "R")
    assert all(0.5 <= row["probabilities"]["class"] <= 1 for row in rows)
    shown = regard("predict", "runs/recipe", "lines.txt", "--probabilities", folder=classified).out.split("\n")
    assert len(shown) == 6 and shown[5] == ""
    for line, row in zip(shown, rows, strict=False):
        label, share = line.split(" ")
        assert label == row["class"] and float(share) == pytest.approx(row["probabilities"]["class"], abs=1e-4)


def test_evaluate_prints_each_class_and_keeps_the_answers(classified):
    found = regard("evaluate", "runs/recipe", "test.tsv", folder=classified)
    assert (
        found.status == 0
        and found.out.startswith("score\tvalue\tlow\thigh\naccuracy\t")
        and "class\tcount\tprecision" in found.out
    )
    kept = (classified / "runs" / "recipe" / "evaluate" / "test.tsv").read_text().splitlines()
    assert kept[0] == "text\tclass\tclass answered" and len(kept) == 42
    for line, row in zip(kept[1:], (classified / "test.tsv").read_text().splitlines()[1:], strict=True):
        assert line.rpartition("\t")[0] == row


def test_a_run_remembers_the_format_that_was_guessed(classified):
    assert "format" not in (classified / "recipe.toml").read_text()
    for name in ("resolved.toml", "best/recipe.toml", "last/recipe.toml"):
        assert '\nformat = "tsv"' in (classified / "runs" / "recipe" / name).read_text()


def test_what_was_trained_on_a_table_still_reads_tables_when_its_data_are_elsewhere(classified, tmp_path):
    shutil.copytree(classified / "runs" / "recipe" / "best", tmp_path / "model")
    text = (tmp_path / "model" / "recipe.toml").read_text()
    (tmp_path / "model" / "recipe.toml").write_text(text.replace("train.tsv", "gone.tsv"))
    found = regard("predict", tmp_path / "model", classified / "test.tsv")
    assert found.out == regard("predict", "runs/recipe", "test.tsv", folder=classified).out


@pytest.mark.parametrize("format", ["guess", "tsv"])
def test_of_a_table_without_a_header_no_line_is_lost(format, tmp_path):
    (tmp_path / "train.tsv").write_text(table(ordered(60)).partition("\n")[2])
    columns = {"train": str(tmp_path / "train.tsv"), "format": format}
    run = package.train(recipe("classify", data=columns, train={"epochs": 1}), run=tmp_path / "run")
    assert len(run.evaluate(tmp_path / "train.tsv").answers) == 60
    assert len(run.predict(tmp_path / "train.tsv")) == 60


@pytest.mark.parametrize("kind", ["classify", "regress"])
def test_an_empty_text_is_scored_too(kind, tmp_path):
    make, value = (ordered, "L") if kind == "classify" else (summed, 10)
    run = package.train(recipe(kind, train={"epochs": 1}), run=tmp_path / "run", data=data(make, train=60, dev=9))
    found = run.evaluate([("", value), *make(9, seed=2)])
    assert found.scores.items == 10


def test_an_empty_text_in_dev_is_no_fault(tmp_path):
    parts = data(ordered, train=60, dev=9)
    parts["dev"] = [("", "L"), *parts["dev"]]
    run = package.train(recipe("classify", train={"epochs": 1}), run=tmp_path / "run", data=parts)
    assert "Where it is wrong" in (run.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("tokens", ["words", "characters"])
def test_what_an_empty_text_means_is_learnt(tokens, tmp_path):
    parts = data(ordered, train=60, dev=9)
    parts["train"] += [("", "nothing"), ([], "nothing")] * 15
    given = recipe("classify")
    given["input"] = {"tokens": tokens}
    run = package.train(given, run=tmp_path / "run", data=parts)
    assert [answer.label for answer in run.predict(["", [], parts["train"][0][0]])[:2]] == ["nothing", "nothing"]
    assert run.predict(["left on right"])[0].label in ("L", "R")
    assert run.evaluate([("", "nothing")]).values["accuracy"] == 1


@pytest.mark.parametrize("kind", ["classify", "regress"])
def test_a_text_without_words_is_one_unknown_word(kind, tmp_path):
    make = ordered if kind == "classify" else summed
    run = package.train(recipe(kind, train={"epochs": 1}), run=tmp_path / "run", data=data(make, train=60, dev=9))
    blank, spaces, unknown = run.predict(["", " \t", "unheard-of".replace("-", "")])
    assert blank.columns == spaces.columns == unknown.columns
    assert blank.words == spaces.words == () and len(blank.labels) == 1


def test_a_target_that_is_not_known_is_neither_learnt_nor_scored(tmp_path):
    for kind, make in (("classify", ordered), ("regress", summed)):
        parts = data(make, train=60, dev=9)
        parts["train"][3:3] = parts["dev"][3:3] = [("so good", None)]
        run = package.train(recipe(kind, train={"epochs": 1}), run=tmp_path / kind, data=parts)
        assert kind == "regress" or run.predictor.targets["label"].names == ("L", "R")
        assert run.evaluate([*make(9), ("so", None)]).values == run.evaluate(make(9)).values


def test_a_class_with_one_example_is_learnt_and_one_that_is_new_is_missed_and_named(tmp_path):
    parts = data(ordered, train=60, dev=9)
    parts["train"] += [("so good", "rare")]
    run = package.train(recipe("classify", train={"epochs": 1}), run=tmp_path / "run", data=parts)
    assert run.predictor.targets["label"].names == ("L", "R", "rare")
    found = run.evaluate([*parts["dev"], ("so good", "rare"), ("so", "new")])
    assert found.unseen == ["new"] and found.scores.columns["label"].labels.gold.counts()["new"] == 1


def test_one_class_alone_is_answered_to_everything(tmp_path):
    pairs = [(text, "A") for text, _ in ordered(20)]
    given = recipe("classify", train={"epochs": 1})
    run = package.train(given, run=tmp_path / "run", data={"train": pairs, "dev": pairs})
    assert {answer.label for answer in run.predict(["left", "anything else"])} == {"A"}
    assert run.evaluate(pairs).values == {"accuracy": 1.0, "macro_f1": 1.0}


FORMATS = {
    "csv": lambda pairs: "text,class\n" + "".join(f'"{text},\n{text}",{label}\n' for text, label in pairs),
    "jsonl": lambda pairs: "".join(json.dumps({"text": text, "class": label}) + "\n" for text, label in pairs),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("tokens", ["words", "characters"])
def test_csv_and_json_lines_go_the_same_road(format, tokens, tmp_path):
    path = tmp_path / f"train.{format}"
    path.write_text(FORMATS[format](ordered(30)))
    given = recipe("classify", train={"epochs": 1}, data={"train": str(path), "source": "text", "target": "class"})
    given["input"] = {"tokens": tokens}
    run = package.train(given, run=tmp_path / "run")
    answers = run.predict(path)
    assert len(answers) == 30 and {answer.label for answer in answers} <= {"L", "R"}
    assert len(regard("predict", tmp_path / "run", path).out.splitlines()) == 30
    assert regard("evaluate", tmp_path / "run", path).status == 0


def test_a_text_of_two_lines_is_one_row_of_the_answers_that_are_kept(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(FORMATS["csv"](ordered(30)))
    given = recipe("classify", train={"epochs": 1}, data={"train": str(path), "source": "text", "target": "class"})
    given["input"] = {"tokens": "characters"}
    package.train(given, run=tmp_path / "run")
    assert regard("evaluate", tmp_path / "run", path).status == 0
    kept = (tmp_path / "run" / "evaluate" / "train.tsv").read_text().splitlines()
    assert len(kept) == 31 and all(line.count("\t") == 2 for line in kept)


def test_two_texts_are_told_apart_by_the_separator(tmp_path):
    """The class is whether the first of two texts says left; without knowing which is which nobody could tell."""
    draw = random.Random(1)

    def rows(count):
        firsts = [draw.choice(["left", "right"]) for _ in range(count)]
        return "a\tb\ty\n" + "".join(f"{a}\t{'right' if a == 'left' else 'left'}\t{a[0]}\n" for a in firsts)

    (tmp_path / "train.tsv").write_text(rows(200))
    columns = {"train": str(tmp_path / "train.tsv"), "source": ["a", "b"], "target": "y"}
    run = package.train(recipe("classify", data=columns, train={"epochs": 4}), run=tmp_path / "run")
    assert run.evaluate(tmp_path / "train.tsv").values["accuracy"] > 0.95
    (tmp_path / "ask.tsv").write_text("b\ta\nleft\tright\nright\tleft\n")
    assert [answer.label for answer in run.predict(tmp_path / "ask.tsv")] == ["r", "l"]


# Numbers


def test_the_sum_of_what_words_are_worth_is_learnt(regressed):
    found = scores(regressed)
    assert found["items"] == 41 and found["scores"].keys() == {"pearson", "spearman", "rmse"}
    assert found["scores"]["pearson"] > 0.95 and found["scores"]["spearman"] > 0.95 and found["scores"]["rmse"] < 1


@pytest.mark.parametrize("pooling", [name for name in POOLINGS if name != "mean"])
def test_so_it_is_by_the_other_poolings(pooling, tmp_path):
    run = package.train(recipe("regress", model={"pooling": pooling}), run=tmp_path / "run", data=data(summed))
    assert run.evaluate(summed(41, seed=3)).values["pearson"] > 0.9


def test_training_tells_the_numbers_and_their_floor(regressed):
    told = (regressed / "train.err").read_text()
    assert "numbers around 1" in told and "of worth" in told and "dev pearson 0." in told
    assert "0.0000: mean of train" in told and "%" not in told
    page = (regressed / "runs" / "recipe" / "report.html").read_text()
    assert "mean of train" in page and "rmse" in page and "What is taken for what" not in page


def test_a_run_answers_with_a_number_as_it_was_saved(regressed):
    run = package.load(regressed / "runs" / "recipe")
    good, bad = run.predict(["great great good great good", "bad awful bad bad bad"])
    assert good.number > 14 and bad.number < 7 and good.probabilities == {}
    assert float(good.label) == good.number
    assert run.look("great good").answered.startswith("great good → worth: ")


def test_one_line_in_is_one_number_out(regressed):
    for options in ([], ["--probabilities"]):
        lines = regard("predict", "runs/recipe", "lines.txt", *options, folder=regressed).out.split("\n")
        assert len(lines) == 6 and all(float(line) for line in lines[:5]) and lines[5] == ""
        assert lines[1] == lines[3], "both are blank"
    found = regard("predict", "runs/recipe", "test.tsv", folder=regressed)
    assert len(found.out.splitlines()) == 41
    rows = regard("predict", "runs/recipe", "lines.txt", "--json", folder=regressed).out.splitlines()
    assert [json.loads(row)["worth"] for row in rows] == lines[:5]


def test_evaluate_keeps_the_numbers_beside_the_data(regressed):
    found = regard("evaluate", "runs/recipe", "test.tsv", folder=regressed)
    assert [line.split("\t")[0] for line in found.out.splitlines()] == ["score", "pearson", "spearman", "rmse"]
    kept = (regressed / "runs" / "recipe" / "evaluate" / "test.tsv").read_text().splitlines()
    assert kept[0] == "text\tworth\tworth answered" and len(kept) == 42
    assert all(abs(float(line.split("\t")[1]) - float(line.split("\t")[2])) < 5 for line in kept[1:])


def test_an_error_is_no_share_in_the_list_of_runs(regressed):
    told = regard("runs", folder=regressed).out
    rows = [json.loads(line) for line in (regressed / "runs" / "recipe" / "metrics.jsonl").read_text().splitlines()]
    best = [row for row in rows if row["best"]][-1]
    assert "%" not in told and all(f"{value:.4f}" in told for value in best["scores"].values())


def test_less_error_is_better(tmp_path):
    given = recipe("regress", train={"metric": "rmse", "evaluate_every": 20})
    package.train(given, run=tmp_path / "run", data=data(summed))
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    errors = [row["scores"]["rmse"] for row in rows]
    best = [row["best"] for row in rows]
    assert best == [error < min(errors[:place], default=1e9) for place, error in enumerate(errors)]
    assert f"rmse: {min(errors):.4f}, at update" in (tmp_path / "run" / "best" / "card.md").read_text()


def test_a_correlation_below_0_is_told_as_it_is(tmp_path):
    given = recipe("regress", train={"epochs": 2})
    parts = {"train": summed(200), "dev": [(text, -value) for text, value in summed(40, seed=2)]}
    package.train(given, run=tmp_path / "run", data=parts)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    best = max(row["scores"]["pearson"] for row in rows)
    assert best < -0.1, "else this tests nothing"
    assert f"pearson: {best:.4f}, at update" in (tmp_path / "run" / "best" / "card.md").read_text()


def test_where_all_numbers_are_equal_that_number_is_answered(tmp_path):
    pairs = [(text, 2.5) for text, _ in ordered(20)]
    given = recipe("regress", train={"epochs": 1})
    run = package.train(given, run=tmp_path / "run", data={"train": pairs, "dev": pairs})
    found = run.evaluate(pairs)
    assert all(answer.number == pytest.approx(2.5, abs=0.5) for answer in found.answers)
    assert found.values["pearson"] == pytest.approx(0, abs=1)


@pytest.fixture
def faulty(tmp_path):
    """A recipe of numbers, and files in which a fault is put."""
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.tsv").write_text(table(summed(20), "text\tworth"))
    (tmp_path / "recipe.toml").write_text(toml("regress", "worth", epochs=1))
    return tmp_path


def spoil(path, line, value):
    lines = path.read_text().splitlines()
    lines[line - 1] = f"{lines[line - 1].split(chr(9))[0]}\t{value}"
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("value", ["much", "", "nan", "inf", "NA"])
def test_a_target_that_is_no_number_is_named_with_file_and_line(value, faulty):
    spoil(faulty / "train.tsv", 8, value)
    found = regard("train", "recipe.toml", folder=faulty)
    assert found.status == 2 and f"train.tsv:8: the target {value!r} is not a number" in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize("part", ["dev", "test"])
def test_so_it_is_in_dev_and_test(part, faulty):
    spoil(faulty / f"{part}.tsv", 8, "much")
    found = regard("train", "recipe.toml", folder=faulty)
    assert found.status == 2 and f"{part}.tsv:8: the target 'much' is not a number" in found.err


def test_a_number_may_be_left_out_by_name(faulty):
    spoil(faulty / "train.tsv", 8, "NA")
    spoil(faulty / "dev.tsv", 9, "NA")
    found = regard("train", "recipe.toml", 'data.ignore="NA"', folder=faulty)
    assert found.status == 0, found.err


# Faults

FAULTS = {
    "a metric of another task": (["train.metric=accuracy"], "train.metric is accuracy, but a task of kind regress has"),
    "a field of labels": (["output.crf=true"], "output.crf is not used with task.kind = regress"),
    "a pooling that is not there": (["model.pooling=max"], "must be one of mean, first, last, attention"),
    "a column that is not there": (["data.target=wort"], "there is no column wort; the columns are text, worth; did"),
    "a format of labels": (
        ["data.format=conllu"],
        "unknown data.format of one target for the whole conllu; known: tsv",
    ),
    "a task that is not there": (
        ["task.kind=regres"],
        "must be one of label, classify, regress, seq2seq, ctc, forecast, mlm, lm; did you mean regress",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_the_user_can_mend_is_one_sentence_and_status_2(name, faulty):
    overrides, sentence = FAULTS[name]
    found = regard("train", "recipe.toml", *overrides, folder=faulty)
    assert found.status == 2 and sentence in found.err and "Traceback" not in found.err


def test_plain_text_cannot_be_evaluated(regressed):
    found = regard("evaluate", "runs/recipe", "lines.txt", folder=regressed)
    assert (
        found.status == 2 and "lines.txt, line 1: there is no column text; the columns are left on right" in found.err
    )


def test_a_table_without_the_target_cannot_be_evaluated(regressed):
    (regressed / "half.tsv").write_text("text\tid\nso good\t7\n")
    found = regard("evaluate", "runs/recipe", "half.tsv", folder=regressed)
    assert found.status == 2 and "half.tsv, line 1: there is no column worth; the columns are text, id" in found.err


def test_a_blank_line_in_a_table_is_named(regressed):
    (regressed / "blank.tsv").write_text("text\tid\nso good\t7\n\nbad\t8\n")
    found = regard("predict", "runs/recipe", "blank.tsv", folder=regressed)
    assert found.status == 2 and "blank.tsv, line 3: 1 columns where the file begins with 2" in found.err


def test_a_pair_of_one_s_own_is_a_text_or_words_and_a_target(tmp_path):
    words = [(text.split(), value) for text, value in summed(40)]
    found = []
    for name, pairs in (("words", words), ("text", summed(40))):
        given = recipe("regress", train={"epochs": 1})
        run = package.train(given, run=tmp_path / name, data={"train": pairs, "dev": pairs[:9]})
        found.append([answer.number for answer in run.predict(["so good", ["so", "bad"]])])
    assert found[0] == found[1]
    with pytest.raises(DataError, match=r"train:2: the target 'two' is not a number"):
        package.train(recipe("regress"), run=tmp_path / "x", data={"train": [("a", 1), ("b", "two")]})


# The answer for one item depends on nothing but the item

TOKENS = {
    "words": {"tokens": "words", "minimum_count": 1},
    "words+characters": {"tokens": "words+characters", "filters": 7, "minimum_count": 1},
    "characters": {"tokens": "characters"},
    "subwords": {"tokens": "subwords", "size": 300},
}
WORDS = [word for example in small.examples(7) for word in example.words]


def items(kind, count=23):
    """Texts of very different lengths, each as the reader of its kind would cut it."""
    draw = random.Random(5)
    texts = [" ".join(draw.choices(WORDS, k=draw.choice((1, 2, 3, 5, 7, 19)))) for _ in range(count)]
    targets = [str(number % 5) if kind == "classify" else str(number**1.5) for number in range(count)]
    return texts, targets


def predictor_for(kind, tokens, pooling, position="rotary"):
    """A model with random weights that attends sharply, and items for it."""
    given = recipe(kind, model={"pooling": pooling, "position": position}, data={"train": "x"})
    given["input"] = {**TOKENS[tokens], "dropout": 0.0}
    settings = recipe_from(given)
    texts, targets = items(kind)
    whole = tokens in ("characters", "subwords")
    examples = [
        Example((text,) if whole else tuple(text.split()), {"y": (target,)}, whole=True)
        for text, target in zip(texts, targets, strict=True)
    ]
    predictor = build(settings, learn_tokenizer(settings, examples), learn_targets(settings, examples, ["y"]))
    for number, part in enumerate((*predictor.model.output.heads, predictor.model.input, predictor.model.gather)):
        for parameter in part.parameters():
            parameter.data.add_(noise(parameter.shape, number)).mul_(3)
    sharpen(predictor.model)
    predictor.model.eval()
    return predictor, examples


def noise(shape, seed):
    return 0.3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def answers(predictor, examples):
    """Classes with their probabilities, or numbers."""
    return [(answer.labels, answer.probabilities.get("y")) for answer in predictor.predict(examples)]


def same(one, other):
    (labels, shares), (other_labels, other_shares) = one, other
    if shares is None or other_shares is None:
        # In the target's unit, whose spread is about 31: three digits after the point are shown.
        return shares is other_shares and float(labels[0]) == pytest.approx(float(other_labels[0]), rel=1e-4, abs=2e-3)
    close = shares == pytest.approx(other_shares, abs=1e-4)
    return close and (labels == other_labels or shares[0] < 0.5 + 1e-4)


everything = pytest.mark.parametrize("tokens", TOKENS)
by_pooling = pytest.mark.parametrize("pooling", POOLINGS)
by_kind = pytest.mark.parametrize("kind", ["classify", "regress"])


@by_kind
@by_pooling
@everything
def test_the_answer_depends_on_nothing_but_the_item(tokens, pooling, kind):
    predictor, examples = predictor_for(kind, tokens, pooling)
    examples = [*examples, Example((), whole=True)]
    alone = [answers(predictor, [example])[0] for example in examples]
    assert len({labels for labels, _ in alone}) > 1, "all alike"
    assert len(alone[-1][0]) == 1, "without words there is an answer too"
    order = list(range(len(examples)))
    random.Random(1).shuffle(order)
    long = Example(tuple(word for example in examples for word in example.words), whole=True)
    for budget in (1, 31, 10_000):
        predictor.batch_tokens = budget
        together = answers(predictor, [*(examples[number] for number in order), long])
        for found, number in zip(together, order, strict=False):
            assert same(found, alone[number]), f"item {number} with a budget of {budget}"


@by_kind
@by_pooling
def test_the_law_finds_padding_that_counts(pooling, kind, monkeypatch):
    predictor, examples = predictor_for(kind, "words", pooling)
    alone = [answers(predictor, [example])[0] for example in examples]
    monkeypatch.setattr(InputPart, "mask", lambda self, inputs: None)
    predictor.batch_tokens = 10_000
    assert not all(map(same, answers(predictor, examples), alone))


@by_kind
@pytest.mark.parametrize("pooling", [name for name in POOLINGS if name != "first"])
def test_the_law_finds_a_pooling_that_counts_padding(pooling, kind, monkeypatch):
    predictor, examples = predictor_for(kind, "words", pooling)
    alone = [answers(predictor, [example])[0] for example in examples]
    monkeypatch.setattr("regard.models.gather.real", lambda x, inputs: x[..., 0] == x[..., 0])
    predictor.batch_tokens = 10_000
    assert not all(map(same, answers(predictor, examples), alone))
