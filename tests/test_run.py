"""A run that is asked: what it reads, and in which order it answers."""

import json
import random

import pytest
import small
from test_cli import regard

import regard as package
from regard import predict
from regard.errors import DataError
from regard.training.progress import Talk

SOURCES = [f"{word} {number}" for number in range(31) for word in ("left", "right", "left on")]
CLASSES = [line.split()[0][0].upper() for line in SOURCES]


def lines(texts):
    return "".join(f"{text}\n" for text in texts)


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    """A run that learnt classes from two files, line by line."""
    folder = tmp_path_factory.mktemp("parallel")
    (folder / "train.txt").write_text(lines(SOURCES))
    (folder / "train.class").write_text(lines(CLASSES))
    (folder / "dev.txt").write_text(lines(SOURCES[:7]))
    (folder / "dev.class").write_text(lines(CLASSES[:7]))
    values = small.recipe(
        task={"kind": "classify"},
        data={
            "format": "parallel",
            "train": [str(folder / name) for name in ("train.txt", "train.class", "dev.txt", "dev.class")],
            "dev": [str(folder / name) for name in ("dev.txt", "dev.class")],
        },
        train={"epochs": 3},
    )
    return folder, package.train(values, run=folder / "run")


def test_a_run_learns_from_two_files_line_by_line(parallel):
    folder, run = parallel
    assert run.recipe.data.train[1].endswith("train.class")
    assert run.predict(["left 3", "right 5"])[0].columns.keys() == {"target"}
    known = json.loads((folder / "run" / "last" / "state" / "data.json").read_text())
    assert [path.rpartition("/")[2] for path in known] == ["train.txt", "train.class", "dev.txt", "dev.class"]


def test_what_is_asked_of_it_is_a_file_of_texts(parallel):
    folder, _ = parallel
    found = regard("predict", "run", "dev.txt", folder=folder)
    assert found.status == 0 and len(found.out.splitlines()) == 7


def test_texts_are_scored_against_a_second_file(parallel):
    folder, run = parallel
    scored = run.evaluate(folder / "dev.txt", folder / "dev.class")
    assert scored.scores.items == 7 and scored.scores.columns["target"].labels.gold.total() == 7
    found = regard("evaluate", "run", "dev.txt", "dev.class", folder=folder)
    assert found.status == 0 and found.out.startswith(
        f"score\tvalue\tlow\thigh\naccuracy\t{scored.values['accuracy']:.4f}"
    )
    kept = (folder / "run" / "evaluate" / "dev.tsv").read_text().splitlines()
    assert kept[0] == "text\ttarget\ttarget answered" and len(kept) == 8


def test_pairs_that_are_not_scored_are_said(parallel):
    folder, _ = parallel
    (folder / "blank.class").write_text(lines(["", *CLASSES[1:7]]))
    found = regard("evaluate", "run", "dev.txt", "blank.class", folder=folder)
    assert found.status == 0 and "left out: 1 of 7 pairs of dev.txt and blank.class" in found.err


def test_one_file_alone_is_refused(parallel):
    folder, _ = parallel
    found = regard("evaluate", "run", "dev.txt", folder=folder)
    assert found.status == 2
    assert "dev.txt alone has no targets: this run reads parallel files; give the second one too" in found.err


def test_a_reference_of_another_length_is_refused_with_both_counts(parallel, cases):
    folder, _ = parallel
    found = regard("evaluate", "run", cases / "b41_src.txt", cases / "b41_tgt.txt", folder=folder)
    assert found.status == 2 and found.out == ""
    assert f"{cases / 'b41_src.txt'} has 3 lines and {cases / 'b41_tgt.txt'} has 4;" in found.err


def test_a_run_that_learnt_from_a_table_is_scored_on_two_files_too(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tside\n" + lines(map("\t".join, zip(SOURCES, CLASSES, strict=True))))
    (tmp_path / "a.txt").write_text(lines(SOURCES[:11]))
    (tmp_path / "a.class").write_text(lines(CLASSES[:11]))
    values = small.recipe(
        task={"kind": "classify"},
        data={"train": str(tmp_path / "a.tsv"), "source": "text", "target": "side"},
        train={"epochs": 0.1},
    )
    run = package.train(values, run=tmp_path / "run")
    assert run.evaluate(tmp_path / "a.txt", tmp_path / "a.class").scores.columns["side"].labels.gold.total() == 11


def test_a_label_for_each_word_has_no_reference_beside_it(tmp_path):
    run = package.train(small.recipe(train={"epochs": 0.1}), run=tmp_path / "run", data=small.parts())
    with pytest.raises(DataError) as raised:
        run.evaluate(tmp_path / "a", tmp_path / "b")
    assert str(raised.value) == (
        f"{tmp_path / 'b'} holds one target a line, but this run answers label for each word; give one file with all"
    )
    with pytest.raises(DataError, match="a reference is a file beside a file of texts"):
        run.evaluate(small.examples(3), tmp_path / "b")


def test_training_goes_on_only_with_the_files_in_their_order(tmp_path):
    """Source and target changed places: the same files, and another task."""
    for name, texts in (("a", SOURCES), ("b", CLASSES)):
        (tmp_path / name).write_text(lines(texts))
    files = [str(tmp_path / "a"), str(tmp_path / "b")]

    def train(paths):
        data = {"format": "parallel", "train": paths, "dev": paths}
        return package.train(
            small.recipe(task={"kind": "classify"}, data=data, train={"epochs": 0.1}), run=tmp_path / "run"
        )

    train(files)
    train(files)
    with pytest.raises(package.RegardError, match=r"the data of .* were other files"):
        train(files[::-1])


def test_what_was_set_aside_is_set_aside_again_when_training_goes_on(tmp_path):
    rows = [f"{text}\t{name}\tspeaker {n % 17}" for n, (text, name) in enumerate(zip(SOURCES, CLASSES, strict=True))]
    (tmp_path / "a.tsv").write_text(lines(["text\tside\twho", *rows]))
    columns = {"source": "text", "target": "side", "split": [0.2, 0.3], "split_by": "column", "split_column": "who"}
    values = small.recipe(
        task={"kind": "classify"}, data={"train": str(tmp_path / "a.tsv"), **columns}, train={"epochs": 0.1}
    )
    told = [[], []]
    for said in told:
        talk = Talk()
        talk.say = said.append
        package.train(values, run=tmp_path / "run", talk=talk)
    kept = [[sentence for sentence in said if "set aside" in sentence or "items," in sentence] for said in told]
    assert kept[0] == kept[1] and len(kept[0]) == 4 and "by the column who" in kept[0][0]
    assert any(sentence.strip().startswith("test  accuracy") for sentence in told[0])
    with pytest.raises(package.RegardError, match=r"data\.split was \[0\.2, 0\.3\] and is now 0\.2"):
        package.train(values, {"data.split": 0.2}, run=tmp_path / "run")


# What cannot be read


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A run that learnt a label for each word."""
    folder = tmp_path_factory.mktemp("labelled")
    small.write(folder, train=60)
    return folder, package.train(folder / "small.toml", {"train.epochs": 0.1}, run=folder / "run")


@pytest.mark.parametrize("at_a_time", [1, 2, 3, 7, 100])
def test_what_cannot_be_read_keeps_its_place_among_the_answers(at_a_time, labelled, monkeypatch):
    _, run = labelled
    monkeypatch.setattr(predict, "_AT_A_TIME", at_a_time)
    draw = random.Random(at_a_time)
    for examples in (small.examples(23), small.examples(2), []):
        found = [one for example in examples for one in ([DataError("bad")] * draw.choice((0, 0, 1, 3)) + [example])]
        found += [DataError("last")] * draw.randrange(3)
        answers = list(run.predictor.predict_in_place(iter(found)))
        assert [answer.error or answer.words for answer in answers] == [
            one if isinstance(one, DataError) else one.words for one in found
        ]


def test_in_a_file_of_sentences_an_empty_line_stands_for_what_cannot_be_read(labelled):
    folder, _ = labelled
    good = "1\tI\t_\t_\t_\t_\t_\t_\t_\t_\n"
    (folder / "bad.conllu").write_text(f"{good}\n1\tbad\n\n{good}\n\n")
    stopped = regard("predict", "run", "bad.conllu", folder=folder)
    assert stopped.status == 2 and stopped.out == ""
    assert "bad.conllu, line 3: 2 columns where CoNLL-U has 10, parted by tabs (--on-error skip" in stopped.err
    found = regard("predict", "run", "bad.conllu", "--on-error", "skip", folder=folder)
    blocks = found.out.split("\n")
    assert found.status == 0 and [line[:4] for line in blocks] == ["1\tI\t", "", "", "1\tI\t", "", ""]
    assert "left out: bad.conllu, line 3: 2 columns" in found.err
    as_json = regard("predict", "run", "bad.conllu", "--on-error", "skip", "--json", folder=folder)
    rows = [json.loads(line) for line in as_json.out.splitlines()]
    assert [list(row) for row in rows] == [["words", "upos"], ["error"], ["words", "upos"]]
    assert rows[1]["error"].startswith("bad.conllu, line 3: 2 columns where CoNLL-U has 10")


ROWS = {
    "tsv": "text\tid\none\t1\ntwo\nthree\t3\n",
    "csv": 'text,id\none,1\n"two"x,2\nthree,3\n',
    "jsonl": '{"text": "one"}\n{"text": ["two"]}\n{"text": "three"}\n',
}


@pytest.mark.parametrize("format", ROWS)
def test_of_a_table_n_rows_in_are_n_lines_out_whatever_the_rows(format, tmp_path):
    rows = {"tsv": "{}\t{}\n", "csv": "{},{}\n", "jsonl": '{{"text": "{}", "side": "{}"}}\n'}[format]
    text = "".join(rows.format(*pair) for pair in zip(SOURCES, CLASSES, strict=True))
    (tmp_path / "a").write_text(("" if format == "jsonl" else rows.format("text", "side")) + text)
    (tmp_path / "b").write_text(ROWS[format])
    values = small.recipe(
        task={"kind": "classify"},
        data={"train": str(tmp_path / "a"), "source": "text", "target": "side", "on_error": "skip"},
        train={"epochs": 0.1},
    )
    run = package.train(values, run=tmp_path / "run")
    found = regard("predict", "run", "b", folder=tmp_path)
    lines = found.out.split("\n")
    assert found.status == 0 and len(lines) == 4 and lines[0] and not lines[1] and lines[2] and not lines[3]
    assert found.err.count("left out: b") == 1
    assert ("b:2: text is" if format == "jsonl" else "b, line 3:") in found.err
    answers = run.predict(tmp_path / "b")
    assert [answer.error is None for answer in answers] == [True, False, True]
    with pytest.raises(DataError):
        _ = answers[1].label
    with pytest.raises(DataError, match="leaves its place empty"):
        run.predict(tmp_path / "b", on_error="stop")
    stopped = regard("predict", "run", "b", "--on-error", "stop", folder=tmp_path)
    assert stopped.status == 2
    wrong = regard("predict", "run", "b", "--on-error", "skp", folder=tmp_path)
    assert wrong.status == 2 and "unknown data.on_error skp; known: stop, skip; did you mean skip?" in wrong.err
