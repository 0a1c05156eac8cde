"""Long files: what is printed is whole, in order, and can be gone on with; several processes answer as one does."""

import sys
from itertools import islice

import pytest
import small
import written
from test_cli import regard

import regard as package
from regard.data.conllu import Conllu
from regard.data.text import Text
from regard.errors import RegardError
from regard.folder import save_model
from regard.long_file import Progress, going_on, items_of, whole_lines
from regard.predict import Predictor

LINES = ["abc", "fed ab", "", "c", "abcdef", "  ", "fa"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with random weights that writes texts, one that labels words, and a file of lines."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "run").mkdir()
    made_by = written.recipe(decode={"max_length": 11})
    save_model(folder / "run", written.predictor(decode={"max_length": 11}), made_by, code=None, card="")
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in LINES))
    package.train(small.recipe(train={"epochs": 0.1}), run=folder / "labels", data=small.parts())
    small.write(folder, train=5)
    return folder


def predict(folder, *words, run="run", file="lines.txt", status=0):
    found = regard("predict", run, file, *words, folder=folder)
    assert found.status == status, found.err
    return found


def test_what_was_stopped_goes_on_after_its_last_whole_line(folder):
    whole = predict(folder).out
    for there in (0, 3, len(LINES)):
        lines = whole.split("\n")[:there]
        (folder / "out.txt").write_text("".join(f"{line}\n" for line in lines) + "half a li")
        found = predict(folder, "--resume-from", "out.txt")
        assert found.out == "" and f"out.txt has {there} whole lines" in found.err
        assert (folder / "out.txt").read_text() == whole
    (folder / "out.txt").unlink()
    predict(folder, "--resume-from", "out.txt")
    assert (folder / "out.txt").read_text() == whole
    as_json = predict(folder, "--json").out
    (folder / "out.json").write_text(as_json[: len(as_json) // 2])
    predict(folder, "--json", "--resume-from", "out.json")
    assert (folder / "out.json").read_text() == as_json


def test_whoever_stops_it_leaves_whole_lines(folder, monkeypatch):
    whole, answers = predict(folder).out, Predictor.predict_in_place

    def stopped(made, items):
        yield from islice(answers(made, items), 3)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Predictor, "predict_in_place", stopped)
        found = predict(folder, "--resume-from", "stopped.txt", status=130)
    assert "stopped" in found.err
    assert (folder / "stopped.txt").read_text() == "".join(f"{line}\n" for line in whole.split("\n")[:3])
    predict(folder, "--resume-from", "stopped.txt")
    assert (folder / "stopped.txt").read_text() == whole


def test_the_output_of_another_file_is_refused(folder):
    (folder / "longer.txt").write_text("a\n" * 8)
    found = predict(folder, "--resume-from", "longer.txt", status=2)
    assert "longer.txt has 8 whole lines, but lines.txt only 7 items; is it another's output?" in found.err


def test_items_of_several_lines_are_not_gone_on_with(folder):
    told = going_on(folder / "out", Conllu(None, ("upos",), predicting=True), whole=False)
    with pytest.raises(RegardError, match="counts lines, but an item that is read as conllu has several"), told:
        pass
    assert not (folder / "out").exists()
    for words, other in (
        (("--best", 2, "--resume-from", "out"), "--resume-from"),
        (("--stream", "--processes", 2), "--processes"),
    ):
        found = predict(folder, *words, status=2)
        assert f"{words[0]} and {other} do not go together" in found.err
    (folder / "there").mkdir(exist_ok=True)
    assert "there is a folder" in predict(folder, "--resume-from", "there", status=2).err


def test_several_processes_answer_as_one_does(folder, monkeypatch):
    monkeypatch.setattr("regard.long_file._BLOCK", 3)
    for words in (("decode.beam=2",), ("--best", 2, "--align")):
        assert predict(folder, *words, "--processes", 2).out == predict(folder, *words).out


def test_lines_of_text_are_counted_before_they_are_read(folder):
    assert items_of(str(folder / "lines.txt"), Text()) == len(LINES)
    assert items_of("-", Text()) is None


def test_a_file_s_whole_lines_are_those_that_end(tmp_path):
    for text, count in (("", 0), ("a", 0), ("a\n", 1), ("a\n\nb", 2), ("ä\r\n", 1)):
        (tmp_path / "f").write_bytes(text.encode())
        assert whole_lines(tmp_path / "f") == count
        assert (tmp_path / "f").read_bytes() == text[: text.rfind("\n") + 1].encode()


def test_whoever_waits_is_told_the_rate_and_how_long_it_will_take(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress(1200)
    for seconds in (1.0, 2.5, 3.0):
        now[0] = 100 + seconds
        progress(100)
    progress.end()
    told = capsys.readouterr().err
    assert told.count("\r") == 1  # nothing before two seconds, nor again within two
    assert "200 of 1,200 items, 80 a second, 0:12 left" in told
    assert Progress().sentence(1.0) == "0 items, 0 a second"


def test_what_was_answered_is_told_item_by_item_and_all_in_all(folder):
    for run in ("run", "labels"):
        told = []
        made = package.load(folder / run).predictor
        made.told = told.append
        list(made.predict([made_of(line, made) for line in LINES]))
        assert sum(told) == pytest.approx(len(LINES))


def made_of(line, made):
    return written.Example((line,) if line.strip() else (), whole=made.whole)
