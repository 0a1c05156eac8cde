"""`regard certify`, and the certificate that is made when training ends."""

import json
import shutil

import pytest
import small
from test_cli import regard

import regard as package
from regard.attention import PATHS
from regard.certificate.ways import PAIRS
from regard.data.lines import digest
from regard.layers.block import FeedForward


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run whose dev is a file, certified when its training ended."""
    folder = tmp_path_factory.mktemp("certify")
    small.write(folder, epochs=1, train=97, dev=29)
    done = regard("train", "small.toml", "train.certify=true", "model.window=3", folder=folder)
    assert done.status == 0, done.err
    (folder / "train.err").write_text(done.err)
    return folder


def kept(folder):
    return json.loads((folder / "best" / "certificate.json").read_text(encoding="utf-8"))


def test_training_ends_with_a_certificate_and_its_table_in_the_report(folder):
    run = folder / "runs" / "small"
    found = kept(run)
    assert found["passed"] and found["items"] == 23
    assert [line["line"] for line in found["lines"]] == [*PAIRS, "process"]
    verdicts = {line["line"]: line["verdict"] for line in found["lines"]}
    assert {name for name in verdicts if verdicts[name] != "same"} == {"cache", "stream"}
    assert found["files"]["model.safetensors"] == digest(run / "best" / "model.safetensors")
    assert found["data"][str(folder / "dev.conllu")] == digest(folder / "dev.conllu")
    assert {"torch", "python", "regard"} <= set(found["versions"])
    report = (run / "report.html").read_text(encoding="utf-8")
    assert "Every way of running it gives the same answers" in report
    assert all(f"the {path} path" in report for path in PATHS)
    assert "proof  all 14 pairs of ways give the same answers to 23 items" in (folder / "train.err").read_text()


def test_certify_prints_a_table_and_keeps_it(folder):
    path = folder / "runs" / "small" / "best" / "certificate.json"
    before = json.loads(path.read_text())
    path.unlink()
    assert package.load(folder / "runs" / "small").predict(["I saw a saw"])  # loading asks for none
    found = regard("certify", "runs/small", folder=folder)
    assert found.status == 0, found.err
    rows = [line.split("\t") for line in found.out.splitlines()]
    assert [row[0] for row in rows] == ["line", *PAIRS, "process"]
    assert all(len(row) == 5 for row in rows) and "0.0001" in found.err
    after = json.loads(path.read_text())
    assert after["lines"] == before["lines"] and after["files"] == {**before["files"], **after["files"]}


def test_certify_on_other_data_ends_with_status_1_if_a_line_fails(folder, monkeypatch):
    (folder / "lines.txt").write_text("I saw a saw\n\nthe light can light the can\nthey can fish\n")
    forward = FeedForward.forward
    monkeypatch.setattr(FeedForward, "forward", lambda part, x: forward(part, x) + (len(x) == 1) * x)
    found = regard("certify", "runs/small/last", "lines.txt", "--json", folder=folder)
    assert found.status == 1
    told = json.loads(found.out)
    assert not told["passed"] and told["items"] == 3 and list(told["data"]) == ["lines.txt"]
    (line,) = [line for line in told["lines"] if line["verdict"] == "differs"]
    assert (line["line"], line["layer"]) == ("alone", "encoder.blocks.0.feed_forward")
    assert line["difference"] > told["thresholds"]["scores"]
    assert "1 of 14 pairs of ways do not give the same answers: alone DIFFERS" in found.err
    assert told == json.loads((folder / "runs" / "small" / "last" / "certificate.json").read_text())


def test_data_that_is_gone_changed_or_not_known_is_refused_by_name(folder, tmp_path):
    run, dev = folder / "runs" / "small", folder / "dev.conllu"
    shutil.copytree(run / "best", tmp_path / "copied")
    found = regard("certify", tmp_path / "copied")
    assert found.status == 2
    assert f"{tmp_path / 'copied'} lies in no run" in found.err
    assert f"give data to ask: regard certify {tmp_path / 'copied'} DATA" in found.err
    text = dev.read_text()
    try:
        dev.write_text(text + "\n")
        found = regard("certify", run)
        assert found.status == 2 and f"{dev} has changed since the run was chosen by it; give data" in found.err
        dev.unlink()
        found = regard("certify", run)
        assert found.status == 2 and f"{dev}, which the run was chosen by, is not there any more" in found.err
    finally:
        dev.write_text(text)


def test_data_given_in_python_is_no_file_to_ask_again(tmp_path):
    data = small.parts(train=97, dev=29, test=0)
    run = package.train(small.recipe(train={"epochs": 1}), run=tmp_path / "run", data=data)
    assert not (run.folder / "best" / "certificate.json").exists()  # train.certify is false
    found = regard("certify", run.folder)
    assert found.status == 2 and "data given to regard.train is no file that the run was chosen by" in found.err


def test_what_was_set_aside_is_asked_again(tmp_path):
    path = small.write(tmp_path, epochs=1, train=97)
    text = path.read_text().replace('dev = "dev.conllu"\n', "")
    path.write_text(text)
    assert regard("train", path, "--run", tmp_path / "run").status == 0
    (tmp_path / "dev.conllu").unlink()
    found = regard("certify", tmp_path / "run")
    assert found.status == 0, found.err
    assert list(kept(tmp_path / "run")["data"]) == [str(tmp_path / "train.conllu")]


def test_code_of_ones_own_is_certified_when_trained_and_where_it_is_trusted(tmp_path):
    small.write(tmp_path, epochs=0.1, train=97, dev=11, test=5)
    (tmp_path / "mine.py").write_text(
        "from regard.attention import Score\n\n\nclass Halved(Score):\n"
        "    def as_dot_product(self, queries, keys, scale):\n        return queries, keys, 0.5\n"
    )
    words = ["train", "small.toml", 'model.score="mine:Halved"', "train.certify=true"]
    assert regard(*words, folder=tmp_path).status == 0
    run = tmp_path / "runs" / "small"
    assert kept(run)["passed"] and kept(run)["lines"][-1]["verdict"] == "same"
    assert "code/mine.py" in kept(run)["files"]
    refused = regard("certify", "runs/small", folder=tmp_path)
    assert refused.status == 2 and "--trust-code" in refused.err
    trusted = regard("certify", "runs/small", "--trust-code", folder=tmp_path)
    assert trusted.status == 0 and kept(run)["lines"][-1]["verdict"] == "same"
