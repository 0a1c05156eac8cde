"""The command line: results on stdout, talk on stderr, one sentence and status 2 for what the user can mend."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import small

from regard.cli import main


class Result:
    def __init__(self, out, err, status):
        self.out, self.err, self.status = out, err, status


def regard(*words, stdin=None, folder=None):
    """Run the command line in this process (torch is loaded once), as if typed in a folder."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    before, arguments = Path.cwd(), sys.argv
    os.chdir(folder or before)
    sys.argv = ["regard", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        status = ended.code or 0
    finally:
        sys.argv = arguments
        os.chdir(before)
    return Result(out.getvalue(), err.getvalue(), status)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files, a recipe made by init, and a trained run."""
    folder = tmp_path_factory.mktemp("cli")
    small.write(folder, train=300)
    made = regard(
        "init", "label", "--data", "train.conllu", "dev.conllu", "test.conllu", "--out", "pos.toml", folder=folder
    )
    assert made.status == 0, made.err
    quick = ["train.epochs=3", "model.width=16", "model.depth=1", "input.filters=4", "input.word_width=8"]
    trained = regard("train", "pos.toml", *quick, folder=folder)
    assert trained.status == 0, trained.err
    (folder / "init.err").write_text(made.err)
    (folder / "train.err").write_text(trained.err)
    return folder


def test_init_says_what_it_read(folder):
    told = (folder / "init.err").read_text()
    assert "train.conllu: train, read as conllu" in told
    assert "300 items" in told and "lengths" in told and "column upos:" in told
    assert "0 of 60 items of dev stand in train too" in told
    assert told.count("/PRON") + told.count("/DET") >= 3  # examples are shown


def test_init_does_not_overwrite(folder):
    found = regard("init", "label", "--data", "train.conllu", "--out", "pos.toml", folder=folder)
    assert found.status == 2 and "pos.toml exists already" in found.err


def test_the_run_folder_is_complete(folder):
    run = folder / "runs" / "pos"
    assert {path.name for path in run.iterdir()} == {
        "recipe.toml", "resolved.toml", "metrics.jsonl", "report.html", "env.json", "best", "last",
    }  # fmt: skip
    best = {"model.safetensors", "recipe.toml", "tokenizer.json", "labels.json", "card.md"}
    assert {path.name for path in (run / "best").iterdir()} == best | {"certificate.json"}
    assert {path.name for path in (run / "last").iterdir()} == best | {"state"}


def test_training_tells_scores_and_floors(folder):
    told = (folder / "train.err").read_text()
    assert "dev accuracy" in told and "most frequent label" in told and "each word alone" in told
    for part in ("  dev", " test"):
        assert re.search(rf"^{part}  accuracy [\d.]+% \([\d.]+% to [\d.]+%\)  exact", told, re.MULTILINE), told
    assert "report.html" in told and "next   regard look" in told


def test_report_and_card_tell_each_score_with_its_interval(folder):
    run = folder / "runs" / "pos"
    told = re.findall(r"accuracy ([\d.]+%) \(([\d.]+% to [\d.]+%)\)", (folder / "train.err").read_text())
    card, report = ((run / name).read_text() for name in ("best/card.md", "report.html"))
    assert len(told) == 2 and "95 % of resamples" in card and "95 % of resamples" in report
    for score, interval in told:
        assert f"accuracy {score} ({interval})" in card and f"{score} ({interval})" in report


def test_conllu_in_gives_conllu_out_with_only_the_learnt_column_changed(folder):
    text = (folder / "test.conllu").read_text()
    found = regard("predict", "runs/pos", "test.conllu", folder=folder)
    assert found.status == 0, found.err
    given, answered = text.strip().split("\n"), found.out.strip().split("\n")
    assert len(given) == len(answered)
    for before, after in zip(given, answered, strict=True):
        one, other = before.split("\t"), after.split("\t")
        assert one[:3] == other[:3] and one[4:] == other[4:]


def test_one_line_in_is_one_line_out(folder):
    (folder / "lines.txt").write_text("I saw a saw\n\nthe light can light\n \nthey can fish\n")
    found = regard("predict", "runs/pos", "lines.txt", folder=folder)
    lines = found.out.split("\n")
    assert len(lines) == 6 and lines[5] == ""
    assert lines[0].startswith("I/") and lines[1] == "" and lines[3] == "" and lines[4].startswith("they/")


def test_json_is_a_line_for_each_item(folder):
    found = regard("predict", "runs/pos", "test.conllu", "--json", "--probabilities", folder=folder)
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert len(rows) == 40
    for row in rows:
        assert len(row["words"]) == len(row["upos"]) == len(row["probabilities"]["upos"])
        assert all(0 < share <= 1 for share in row["probabilities"]["upos"])


def test_probabilities_stand_beside_the_labels(folder):
    found = regard("predict", "runs/pos", "lines.txt", "--probabilities", folder=folder)
    word, answer = found.out.splitlines()[0].split("\t")
    label, share = answer.split(" ")
    assert word == "I" and label.isupper() and 0 < float(share) <= 1


def test_the_standard_input_is_read(folder):
    code = [sys.executable, "-m", "regard", "predict", str(folder / "runs" / "pos"), "-"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(code, input="I saw a saw\n\n", capture_output=True, text=True, env=environment, check=True)
    assert found.stdout.split("\n")[0].startswith("I/") and found.stdout.count("\n") == 2


def test_evaluate_prints_scores_and_keeps_the_answers(folder):
    found = regard("evaluate", "runs/pos", "test.conllu", folder=folder)
    assert found.status == 0 and found.out.startswith("score\tvalue\tlow\thigh\naccuracy\t0.")
    kept = (folder / "runs" / "pos" / "evaluate" / "test.tsv").read_text().splitlines()
    assert kept[0] == "word\tupos\tupos answered" and len(kept[1].split("\t")) == 3
    as_json = json.loads(regard("evaluate", "runs/pos", "test.conllu", "--json", folder=folder).out)
    assert as_json["items"] == 40
    for name, value in as_json["scores"].items():
        low, high = as_json["intervals"][name]
        assert low <= value <= high and f"{name}\t{value:.4f}\t{low:.4f}\t{high:.4f}\n" in found.out


def test_look_draws_the_input_on_both_axes(folder):
    found = regard("look", "runs/pos", "I saw a saw", "--layer", "1", "--head", "2", folder=folder)
    assert found.status == 0, found.err
    assert found.out.splitlines()[0].startswith("I/") and "layer 1 of 1, head 2 of 4" in found.out
    rows = [line.split()[0] for line in found.out.splitlines() if line.strip()]
    assert [row for row in rows if row in ("I", "saw", "a")][-4:] == ["I", "saw", "a", "saw"]
    weights = json.loads(regard("look", "runs/pos", "I saw a saw", "--json", folder=folder).out)["weights"]
    for layer in weights.values():
        for head in layer:
            for row in head:
                assert sum(row) == pytest.approx(1, abs=1e-5)


def test_runs_lists_the_runs(folder):
    found = regard("runs", folder=folder)
    assert "runs/pos" in found.out and "dev accuracy" in found.out
    row = json.loads(regard("runs", "runs/pos", "--json", folder=folder).out)
    assert row["finished"] and 0 < row["scores"]["accuracy"] <= 1


def test_doctor_knows_the_machine_and_the_data(folder):
    assert "torch" in regard("doctor").out
    found = regard("doctor", "train.conllu", "dev.conllu", folder=folder)
    assert "looks like conllu" in found.out and "300 items" in found.out
    assert "0 sentences stand in more than one of the files" in found.out


# fmt: off
BAD = {
    "a run that is not there": (["predict", "runs/posh", "lines.txt"], "there is no run runs/posh"),
    "a folder that is no run": (["predict", "runs", "lines.txt"], "runs is not a run"),
    "a file that is not there": (["predict", "runs/pos", "nothing.txt"], "there is no file nothing.txt"),
    "an unknown task": (["init", "lable", "--data", "train.conllu", "--out", "x.toml"], "unknown task lable"),
    "no recipe": (["train", "nothing.toml"], "there is no recipe nothing.toml"),
    "an unknown override": (["train", "pos.toml", "model.widht=3"], "unknown setting model.widht; did you mean width"),
    "an override that is none": (["train", "pos.toml", "width"], "an override is section.key=value"),
    "another recipe for the run": (["train", "pos.toml", "model.depth=3"], "was made with another recipe"),
    "a layer that is not there": (["look", "runs/pos", "a", "--layer", "4"], "no layer 4; the layers are 1 to 1"),
    "a head that is not there": (["look", "runs/pos", "a", "--head", "9"], "there is no head 9; the heads are 1 to 4"),
    "nothing to look at": (["look", "runs/pos", " "], "the input is empty"),
    "labels in plain text": (["evaluate", "runs/pos", "lines.txt"], "lines.txt"),
    "an empty file": (["train", "empty.toml"], "data.train is missing"),
}
# fmt: on


@pytest.mark.parametrize("name", BAD)
def test_what_the_user_can_mend_is_one_sentence_and_status_2(name, folder):
    words, sentence = BAD[name]
    (folder / "empty.toml").write_text("[data]\n")
    (folder / "lines.txt").touch()
    found = regard(*words, folder=folder)
    assert found.status == 2
    assert sentence in found.err
    assert "Traceback" not in found.err and found.out == ""


def test_a_damaged_model_is_refused_and_named(folder):
    weights = folder / "runs" / "pos" / "best" / "model.safetensors"
    whole = weights.read_bytes()
    try:
        weights.write_bytes(whole[: len(whole) // 2])
        found = regard("predict", "runs/pos", "lines.txt", folder=folder)
    finally:
        weights.write_bytes(whole)
    assert found.status == 2 and "model.safetensors is incomplete" in found.err


def test_a_model_without_attention_says_so(folder):
    (folder / "alone.toml").write_text(
        (folder / "pos.toml").read_text().replace('encoder = "attention"', 'encoder = "pointwise"')
    )
    text = "\n".join(
        line
        for line in (folder / "alone.toml").read_text().splitlines()
        if not line.startswith(("heads =", "score =", "normalizer =", "position =", "attention_dropout ="))
        and not line.startswith(("projections =", "query_key_norm =", "turned =", "shared_blocks ="))
    )
    (folder / "alone.toml").write_text(text)
    trained = regard("train", "alone.toml", "train.epochs=1", folder=folder)
    assert trained.status == 0, trained.err
    found = regard("look", "runs/alone", "I saw a saw", folder=folder)
    assert found.status == 2 and "this model has no attention to look at" in found.err


def test_whoever_stops_reading_gets_no_traceback(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run, data = folder / "runs" / "pos", folder / "train.conllu"
    line = f'"{sys.executable}" -m regard predict "{run}" "{data}" --json | head -1'
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(found.stdout)["words"] and "Traceback" not in found.stderr
