"""What can be asked of texts, on the command line."""

import json

import pytest
import small
import written
from sharp import CASES
from test_cli import regard

import regard as package
from regard.errors import RegardError
from regard.folder import save_model
from regard.run import load

SIDES = {"run": "letters, a table of what is written", "words": "words to words", "pieces": "sub-words, nothing shared"}
LINES = ["abc", "fed ab", "", "c", "abcdef", "  "]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs with random weights, files of lines, and a run that writes no texts."""
    folder = tmp_path_factory.mktemp("decoding")
    for name, sides in SIDES.items():
        (folder / name).mkdir()
        made_by = written.recipe(sides, decode={"max_length": 11})
        save_model(folder / name, written.predictor(sides, decode={"max_length": 11}), made_by, code=None, card="")
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in LINES))
    package.train(small.recipe(train={"epochs": 0.1}), run=folder / "labels", data=small.parts())
    return folder


def predict(folder, *words, run="run", file="lines.txt"):
    found = regard("predict", run, file, *words, folder=folder)
    assert found.status == 0, found.err
    return found


def lines(found):
    return found.out.split("\n")[:-1]


def test_the_best_texts_are_lines_with_item_and_score(folder):
    found = predict(folder, "--best", 3)
    rows = [line.split("\t") for line in lines(found)]
    numbers = [row[0] for row in rows]
    assert numbers == sorted(numbers) and set(numbers) == set("123456") and numbers.count("1") == 3
    fewer = sum(numbers.count(number) < 3 for number in "123456")
    assert f"fewer than 3 different texts: {fewer}" in found.err
    for number in "1245":
        scores = [float(score) for n, score, _ in rows if n == number]
        assert scores == sorted(scores, reverse=True)
    told = [json.loads(line) for line in lines(predict(folder, "--best", 3, "--json"))]
    assert [[one["text"] for one in item["texts"]] for item in told] == [
        [text for n, _, text in rows if n == str(number)] for number in range(1, 7)
    ]
    answers = load(folder / "run").predict(LINES, best=3)
    assert [[one.text for one in answer.texts] for answer in answers] == [
        [one["text"] for one in item["texts"]] for item in told
    ]


def test_given_texts_have_the_probability_that_the_search_gives_them(folder):
    told = [json.loads(line) for line in lines(predict(folder, "--best", 2, "--json"))]
    for place in (0, 1):
        texts = [item["texts"][min(place, len(item["texts"]) - 1)] for item in told]
        (folder / "given.txt").write_text("".join(one["text"] + "\n" for one in texts))
        rows = [line.split("\t") for line in lines(predict(folder, "--score-targets", "given.txt"))]
        for one, (total, pieces, mean) in zip(texts, rows, strict=True):
            if not one.get("cut"):
                assert float(total) == pytest.approx(one["log_probability"], abs=2e-4)
                assert int(pieces) == one["pieces"]
                assert float(mean) == pytest.approx(one["log_probability"] / max(1, one["pieces"]), abs=2e-4)


def test_given_texts_are_one_for_each_item(folder):
    (folder / "few.txt").write_text("a\nb\n")
    found = regard("predict", "run", "lines.txt", "--score-targets", "few.txt", folder=folder)
    assert found.status == 2 and "there are 6 items, but 2 texts to be scored" in found.err and found.out == ""
    (folder / "nothing.txt").write_text("a\n" * 6)
    rows = lines(predict(folder, "--score-targets", "nothing.txt", "--json"))
    assert json.loads(rows[2])["log_probability"] is None  # of nothing, nothing is written


@pytest.mark.parametrize("run", SIDES)
def test_alignments_stand_beside_the_text(run, folder):
    rows = [line.split("\t") for line in lines(predict(folder, "--align", run=run))]
    assert len(rows) == 6 and rows[2] == rows[5] == ["", ""]
    assert [text for text, _ in rows] == lines(predict(folder, run=run))
    for text, pairs in rows:
        units = text if run == "run" else text.split()
        assert sorted(int(pair.split("-")[1]) for pair in pairs.split()) == list(range(len(units)))


@pytest.mark.parametrize("run", SIDES)
def test_a_stream_is_what_a_beam_of_1_writes(run, folder):
    assert predict(folder, "--stream", run=run).out == predict(folder, "decode.beam=1", run=run).out


def test_settings_behind_the_file_change_how_texts_are_written(folder):
    plain, forced = lines(predict(folder)), lines(predict(folder, "decode.prefix=fed", "decode.beam=2"))
    assert all(text.startswith("fed") for text, line in zip(forced, LINES, strict=True) if line.strip())
    assert plain != forced and forced[2] == forced[5] == ""
    few = predict(folder, "decode.max_length=2", "decode.min_length=2")
    assert all(len(text) == 2 for text, line in zip(lines(few), LINES, strict=True) if line.strip())


def test_evaluate_takes_settings_too(folder):
    (folder / "right.txt").write_text("".join(f"{line[::-1]}\n" for line in LINES))
    found = regard("evaluate", "run", "lines.txt", "right.txt", "decode.max_length=1", "decode.beam=1", folder=folder)
    assert found.status == 0, found.err
    assert "texts that were cut" in found.err
    bad = regard("evaluate", "run", "lines.txt", "right.txt", "decode.beam=0", folder=folder)
    assert bad.status == 2 and "decode.beam is 0" in bad.err


def test_all_that_is_wrong_with_settings_is_said_at_once(folder):
    found = regard(
        "predict", "run", "lines.txt", "decode.beam=0", "decode.min_length=-1", "decode.bem=2", folder=folder
    )
    assert found.status == 2 and found.out == ""
    for words in ("decode.beam is 0", "decode.min_length is -1", "unknown setting decode.bem; did you mean beam?"):
        assert words in found.err


REFUSED = {
    "another section": (["model.depth=3"], "model.depth cannot be changed in a trained run"),
    "an unknown symbol": (["decode.prefix=axe"], "decode.prefix is 'axe', but 'x' is not among the 7 characters"),
    "what goes against itself": (["decode.forbidden=b", "decode.prefix=ab"], "which is in decode.prefix 'ab'"),
    "what goes unused": (["decode.beam=1", "decode.length_penalty=2.0"], "decode.length_penalty is not used with"),
    "no texts": (["--best", 0], "best is 0, but at least one text is asked for"),
    "a layer that is not there": (["--align", "--layer", 2], "there is no layer 2 of the decoder"),
    "a layer for nothing": (["--layer", 1], "layer says by what texts are aligned; ask for align too"),
    "two ways at once": (["--stream", "--align"], "--align and --stream do not go together"),
    "another file": (["more.txt"], "cannot read 'more.txt'; a setting is decode.key=value"),
    "a stream of several beginnings": (["--stream", "decode.required=fed"], "decode.required needs several beginnings"),
}


@pytest.mark.parametrize(("words", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_asked_is_one_sentence(words, sentence, folder):
    found = regard("predict", "run", "lines.txt", *words, folder=folder)
    assert found.status == 2 and sentence in found.err and "Traceback" not in found.err and found.out == ""


@pytest.mark.parametrize("words", [["--best", 2], ["--align"], ["--stream"], ["--score-targets", "lines.txt"]], ids=str)
def test_a_run_that_writes_no_texts_is_asked_for_none(words, folder):
    found = regard("predict", "labels", "lines.txt", *words, folder=folder)
    assert found.status == 2 and "writes no texts (task.kind = label)" in found.err and found.out == ""
    found = regard("predict", "labels", "lines.txt", "decode.beam=2", folder=folder)
    assert found.status == 2 and "decode.beam is not used with task.kind = label" in found.err


def test_a_run_knows_the_same_in_python(folder):
    run = load(folder / "run")
    wide = run.decoding({"decode.beam": 7})
    assert wide.recipe.decode.beam == 7 and run.recipe.decode.beam == 4 and run.decoding({}) is run
    assert "".join(run.stream("fed ab")) == run.decoding({"decode.beam": 1}).predict(["fed ab"])[0].text
    assert run.predict(["fed ab"], align=True)[0].texts[0].alignment
    with pytest.raises(RegardError, match=r"stream is asked for, but .*labels writes no texts"):
        load(folder / "labels").stream("a")


def test_blank_lines_are_answered_in_place(folder):
    """Case B38."""
    path = CASES / "b38_blank_src.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    for words in ([], ["--align"], ["--stream"], ["decode.min_length=3"]):
        found = lines(predict(folder, *words, file=path))
        assert len(found) == 6 and [text.strip("\t") for text in found[1:4]] == ["", "", ""]


def test_lines_are_the_same_however_many_are_answered_at_a_time(folder, monkeypatch):
    """Case B36."""
    (folder / "many.txt").write_text("".join(f"{'abcdef'[n % 6] * (1 + n % 7)}\n" for n in range(30)))
    wanted = predict(folder, file="many.txt").out
    assert wanted.count("\n") == 30
    for size in (1, 5, 30):
        monkeypatch.setattr("regard.predict._AT_A_TIME", size)
        assert predict(folder, file="many.txt").out == wanted
