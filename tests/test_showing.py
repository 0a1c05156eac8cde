"""`regard look` as a stranger starts it: what it prints, what it writes, what it refuses."""

import json

import pytest
import small
import written
from test_cli import regard

import regard as package
from regard.training.progress import Talk


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tagger and a writer, hardly trained."""
    folder = tmp_path_factory.mktemp("showing")
    small.write(folder, epochs=1)
    package.train(folder / "small.toml", run=folder / "tagger", talk=Talk())
    for seed, part in enumerate(("train", "dev")):
        lines = "".join(f"{one}\t{other}\n" for one, other in written.pairs(60, seed))
        (folder / f"{part}.tsv").write_text(lines)
    made = {
        "data": {"train": str(folder / "train.tsv"), "dev": str(folder / "dev.tsv"), "format": "tsv"},
        "task": {"kind": "seq2seq"},
        "input": {"tokens": "characters"},
        "output": {"tokens": "characters"},
        "model": {"width": 16, "heads": 2, "depth": 1, "decoder_depth": 1},
        "train": {"epochs": 1, "certify": False},
        "decode": {"max_length": 5},
    }
    package.train(made, run=folder / "writer", talk=Talk())
    lines = (folder / "dev.tsv").read_text().splitlines(keepends=True)
    (folder / "pairs.tsv").write_text("".join(lines[:5]))
    (folder / "gold.txt").write_text("0-0\n" * 5)
    return folder


def test_a_look_prints_a_picture_and_writes_a_page_into_the_run(folder):
    found = regard("look", "tagger", "the light can light the can", folder=folder)
    assert found.status == 0 and "each row looks at the columns" in found.out
    page = folder / "tagger" / "look" / "the-light-can-light-the-can.html"
    assert f"wrote {page.relative_to(folder)}; it opens in any browser, offline" in found.err
    assert "the light can light the can" in page.read_text(encoding="utf-8")


def test_an_input_in_any_script_has_a_page_with_its_own_name(folder):
    """Case B68."""
    for text in ("שלום עולם 12 abc", "هذا اختبار ٢", "一个戴眼镜的人"):
        assert regard("look", "tagger", text, folder=folder).status == 0
    names = {path.stem for path in (folder / "tagger" / "look").glob("*.html")}
    assert {"שלום-עולם-12-abc", "هذا-اختبار-٢", "一个戴眼镜的人"} <= names


def test_one_head_is_told_with_what_its_map_is_worth(folder):
    found = regard("look", "tagger", "the can", "--head", "1", "--out", "one.html", folder=folder)
    assert found.status == 0
    assert "Cutting the" in found.err and "Switching the whole head off" in found.err


def test_other_inputs_and_other_runs_stand_beside(folder):
    words = ["look", "tagger", "the can", "--beside", "a light", "--with", "tagger/last", "--out", "both.html"]
    assert regard(*words, folder=folder).status == 0
    text = (folder / "both.html").read_text(encoding="utf-8")
    assert "the can (tagger)" in text and "a light" in text and "the can (last)" in text


@pytest.mark.parametrize("ending", [".svg", ".csv"])
def test_one_picture_is_written_as_its_ending_says(folder, ending):
    assert regard("look", "tagger", "the can", "--out", f"one{ending}", folder=folder).status == 0
    assert (folder / f"one{ending}").stat().st_size > 20


def test_steps_neighbours_analogies_places_and_words_left_out(folder):
    steps = regard("look", "tagger", "the can", "--steps", "2", "--out", "walk.html", folder=folder)
    assert steps.status == 0 and "query · key" in steps.out and (folder / "walk.html").exists()
    assert regard("look", "tagger", "--neighbours", "the", folder=folder).out.startswith("word\tcosine\n")
    assert len(regard("look", "tagger", "--analogy", "the,can,a", folder=folder).out.splitlines()) == 6
    assert regard("look", "tagger", "the can", "--space", "space.svg", folder=folder).status == 0
    left = regard("look", "tagger", "the can", "--leave-one-out", folder=folder)
    assert [line.split("\t")[0] for line in left.out.splitlines()] == ["left out", "the", "can"]


def test_a_corpus_is_measured_head_by_head(folder):
    found = regard("look", "tagger", "--corpus", "dev.conllu", folder=folder)
    assert found.status == 0, found.err
    rows = [line.split("\t") for line in found.out.splitlines()]
    assert rows[0][:4] == ["part", "layer", "head", "entropy"] and [row[:3] for row in rows[1:3]] == [
        ["encoder", "1", "1"],
        ["encoder", "1", "2"],
    ]
    assert "60 items" in found.err
    written_ = regard("look", "writer", "--corpus", "pairs.tsv", "--gold", "gold.txt", folder=folder)
    assert written_.status == 0, written_.err
    assert written_.out.splitlines()[0].endswith("alignment errors") and "diagonal" in written_.out


def test_json_has_weights_and_measures(folder):
    found = json.loads(regard("look", "tagger", "the can", "--json", folder=folder).out)
    assert set(found) == {"tokens", "labels", "weights", "measures"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "there is nothing to look at: give an input"),
        ([" "], "there is nothing to look at: the input is empty"),
        (["the can", "--layer", "4"], "there is no layer 4; the layers are 1 to 1"),
        (["the can", "--head", "9"], "there is no head 9; the heads are 1 to 2"),
        (["the can", "--out", "x.pdf"], "x.pdf ends in none of .html, .svg, .png, .csv"),
        (["the can", "--out", "x.svg", "--beside", "a"], "inputs or runs beside each other need a page"),
        (["the can", "--rows", "3-4"], "--rows is '3-4'; it is a part such as 400:600"),
        (["the can", "--steps", "1", "--out", "x.svg"], "steps are written as a page"),
        (["the can", "--steps", "1", "--rows", "1:2"], "--rows would not be used beside --steps"),
        (["the can", "--gold", "x"], "--gold would not be used without --corpus"),
        (["the can", "--json", "--head", "1"], "--json gives all layers and heads as they are"),
        (["the can", "--corpus", "dev.conllu"], "--corpus asks about the model and takes no input"),
        (["--steps", "1", "--leave-one-out"], "are different questions; ask one at a time"),
        (["--neighbours", "zebra"], "'zebra' has no vector of its own"),
        (["--analogy", "the,can"], "it is three words"),
        (["the can", "--space", "x.png"], "vectors are drawn as .svg, or as a page"),
        (["the", "--space", "x.svg"], None),
        (["--corpus", "dev.conllu", "--gold", "gold.txt"], "gold is asked for, but tagger writes no texts"),
        (["--corpus", "none.conllu"], "there is no file none.conllu"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(folder, words, told):
    found = regard("look", "tagger", *words, folder=folder)
    if told is None:  # labels can be drawn also where the input is one word
        assert found.status == 0
        return
    assert found.status == 2 and told in found.err and found.err.count("\n") == 1


def test_links_must_be_as_many_as_items(folder):
    (folder / "short.txt").write_text("0-0\n")
    found = regard("look", "writer", "--corpus", "pairs.tsv", "--gold", "short.txt", folder=folder)
    assert found.status == 2 and "pairs.tsv has 5 items, but short.txt has 1 lines of links" in found.err


def test_an_empty_text_can_be_looked_at_on_every_way(folder, monkeypatch):
    """Case B35: nothing is written, and there is still a picture of its end."""
    run = package.load(folder / "writer")
    written.bias_of(run.predictor)[run.predictor.writes.end] = 1e3
    found = run.look("abc")
    assert found.written == () and found.sides(found.chosen()[1])[0] == ("<end>",)
    assert "<end>" not in found.answered and found.page()
