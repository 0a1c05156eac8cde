"""Inputs that broke other toolkits, through the whole road: train, save, predict, score."""

import hashlib
import shutil

import pytest
import small
from test_cli import regard

import regard as package
from regard.errors import DataError
from regard.training.progress import Talk


class Told(Talk):
    def __init__(self):
        self.sentences = []

    def say(self, sentence):
        self.sentences.append(sentence)


def recipe_for(train_file, dev_file, **changes):
    values = small.recipe(**changes)
    values["input"] = {"tokens": "words+characters", "filters": 4, "word_width": 8, "minimum_count": 1}
    values["data"] = {"train": str(train_file), "dev": str(dev_file)}
    values["train"] = {**values["train"], "epochs": 3, **changes.get("train", {})}
    return values


def test_a_label_that_only_dev_has_counts_as_missed_and_is_named_once(cases, tmp_path):
    told = Told()
    recipe = recipe_for(cases / "b24_train.conll", cases / "b24_dev.conll")
    run = package.train(recipe, run=tmp_path / "run", talk=told)
    named = [sentence for sentence in told.sentences if "never saw" in sentence]
    assert named == ["labels in dev that training never saw, counted as missed: B-LOC"]
    found = run.evaluate(cases / "b24_dev.conll")
    assert found.unseen == ["B-LOC"]
    counts = found.scores.columns["-1"].labels
    assert counts.gold.counts()["B-LOC"] == 1 and counts.right.counts()["B-LOC"] == 0
    assert found.values["accuracy"] <= 0.5


def test_data_without_an_outside_label_trains(cases, tmp_path):
    train = cases / "b24_no_o_train.conll"
    run = package.train(recipe_for(train, train), run=tmp_path / "run")
    assert len(run.predict([["Survey", "Report"]])[0].labels) == 2


@pytest.mark.parametrize("position", ["rotary", "sinusoidal", "none"])
def test_a_sentence_longer_than_any_seen_gets_a_label_for_each_word(position, cases, tmp_path):
    train = cases / "b16_two_lengths.conll"
    recipe = recipe_for(train, train, model={"position": position}, train={"batch_tokens": 20})
    run = package.train(recipe, run=tmp_path / "run")
    found = run.evaluate(cases / "b47_long.conll")
    assert found.scores.columns["-1"].labels.gold.total() == 603
    (answer,) = run.predict(cases / "b47_long.conll")
    assert len(answer.words) == len(answer.labels) == 603
    rows = (cases / "b47_chinese.conll").read_text(encoding="utf-8").split("\n")
    (answer,) = run.predict([[row.split("\t")[0] for row in rows if row]])
    assert len(answer.labels) == 602


def test_a_training_item_longer_than_the_budget_runs_alone_and_is_named(cases, tmp_path):
    told = Told()
    recipe = recipe_for(cases / "b47_long.conll", cases / "b24_train.conll", train={"batch_tokens": 100})
    package.train(recipe, run=tmp_path / "run", talk=told)
    assert any("longer than train.batch_tokens = 100" in s and "b47_long.conll:1 with 603" in s for s in told.sentences)


def test_more_elements_than_learned_positions_is_one_sentence(cases, tmp_path):
    train = cases / "b16_two_lengths.conll"
    recipe = recipe_for(train, train, model={"position": "learned", "longest": 30})
    package.train(recipe, run=tmp_path / "run")
    found = regard("predict", tmp_path / "run", cases / "b47_long.conll")
    assert found.status == 2 and "an input of 603 elements is longer than the 30 learned positions" in found.err
    assert "b47_long.conll:1" in found.err


def test_line_ends_and_marks_change_no_answer(cases, tmp_path):
    train = cases / "b50_lf.conll"
    run = package.train(recipe_for(train, train), run=tmp_path / "run")
    found = [run.predict(cases / f"b50_{kind}.conll") for kind in ("lf", "crlf_bom_noeol", "old_mac")]
    assert [answer.words for answer in found[0]] == [("EU", "says"), ("last", "one")]
    assert found[0] == found[1] == found[2]


def test_ranges_and_empty_nodes_come_back_where_they_were(cases, tmp_path):
    small.write(tmp_path)
    trained = regard("train", "small.toml", folder=tmp_path)
    assert trained.status == 0, trained.err
    path = cases / "b49_mwt_empty.conllu"
    found = regard("predict", tmp_path / "runs" / "small", path)
    given, answered = path.read_text(encoding="utf-8").splitlines(), found.out.splitlines()
    assert len(given) == len(answered)
    for one, other in zip(given, answered, strict=True):
        assert one.split("\t")[:3] == other.split("\t")[:3] and one.split("\t")[4:] == other.split("\t")[4:]
    bad = regard("predict", tmp_path / "runs" / "small", cases / "b49_bad_range.conllu")
    assert bad.status == 2 and "b49_bad_range.conllu, line 2: the range 2-2" in bad.err


def test_no_pickle_is_executed_whatever_it_is_called(cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small.write(tmp_path)
    regard("train", "small.toml")
    shutil.copy(cases / "b27_pickle_marker.pt", tmp_path / "runs" / "small" / "best" / "model.safetensors")
    shutil.copy(cases / "b27_pickle_marker.pt", tmp_path / "runs" / "small" / "last" / "model.safetensors")
    for words in (
        ["predict", "runs/small", "test.conllu"],
        ["predict", "runs/small/last", "test.conllu"],
        ["predict", cases / "b27_pickle_marker.pt", "test.conllu"],
        ["evaluate", "runs/small", "test.conllu"],
        ["look", "runs/small", "I saw"],
        ["train", "small.toml"],
    ):
        found = regard(*words)
        assert found.status == 2, words
        assert "Traceback" not in found.err
    assert not list(tmp_path.rglob("PICKLE_WAS_EXECUTED"))


def test_an_ignored_label_is_neither_learnt_nor_scored(tmp_path):
    small.write(tmp_path)
    values = small.recipe()
    values["data"] = {"train": str(tmp_path / "train.conllu"), "ignore": ["DET", "PRON"], "format": "conllu"}
    run = package.train(values, run=tmp_path / "run")
    assert not {"DET", "PRON"} & set(run.predictor.targets["upos"].names)
    found = run.evaluate(tmp_path / "test.conllu")
    assert not {"DET", "PRON"} & set(found.scores.columns["upos"].labels.gold.counts())


def test_several_columns_are_learnt_at_once(tmp_path):
    small.write(tmp_path)
    text = (tmp_path / "train.conllu").read_text()
    lines = [line.split("\t") for line in text.splitlines()]
    for cells in lines:
        if len(cells) == 10:
            cells[5] = "Letter=" + cells[1][0].lower()
    (tmp_path / "both.conllu").write_text("\n".join("\t".join(cells) for cells in lines) + "\n\n")
    values = small.recipe(model={"width": 32}, train={"epochs": 8, "batch_tokens": 100, "lr": 1e-2})
    values["data"] = {"train": str(tmp_path / "both.conllu"), "target": ["upos", "feats"]}
    run = package.train(values, run=tmp_path / "run")
    (answer,) = run.predict(["the saw"])
    assert set(answer.columns) == {"upos", "feats"} and answer.labels == answer.columns["upos"]
    found = run.evaluate(tmp_path / "both.conllu").values
    assert found["accuracy"] == pytest.approx((found["accuracy upos"] + found["accuracy feats"]) / 2)
    assert found["accuracy feats"] > 0.8


def test_labels_against_the_scheme_are_named(tmp_path):
    (tmp_path / "iob1.conll").write_text("Ann I-PER\nsleeps O\n\n" * 3)
    values = recipe_for(tmp_path / "iob1.conll", tmp_path / "iob1.conll", output={"crf": True, "scheme": "IOB2"})
    with pytest.raises(
        DataError, match=r"iob1\.conll:1, word 1: I-PER at the beginning does not follow the scheme IOB2"
    ):
        package.train(values, run=tmp_path / "run")


def test_vectors_to_start_from_are_taken(tmp_path):
    words = small.parts()["train"][0][0]
    (tmp_path / "words.vec").write_text("2 16\n" + "".join(f"{word} {' '.join(['0.5'] * 16)}\n" for word in words[:2]))
    told = Told()
    values = small.recipe(input={"pretrained": str(tmp_path / "words.vec")}, train={"epochs": 0.1, "lr": 1e-9})
    run = package.train(values, run=tmp_path / "run", data=small.parts(), talk=told)
    assert any("2 of" in sentence and "words.vec" in sentence for sentence in told.sentences)
    table = run.predictor.model.input.words.table.weight
    number = run.predictor.tokenizer.words.number(words[0])
    assert table[number].tolist() == pytest.approx([0.5] * 16, abs=1e-3)


def test_code_of_ones_own_trains_and_is_loaded_only_when_trusted(tmp_path):
    small.write(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from regard.attention import Score\n\n\nclass Halved(Score):\n"
        "    def as_dot_product(self, queries, keys, scale):\n        return queries, keys, 0.5\n"
    )
    trained = regard("train", "small.toml", 'model.score="mine:Halved"', folder=tmp_path)
    assert trained.status == 0, trained.err
    refused = regard("predict", "runs/small", "test.conllu", folder=tmp_path)
    assert refused.status == 2 and "--trust-code" in refused.err and refused.out == ""
    trusted = regard("predict", "runs/small", "test.conllu", "--trust-code", folder=tmp_path)
    assert trusted.status == 0 and trusted.out


def test_the_report_is_one_offline_page_with_everything(tmp_path):
    run = package.train(small.recipe(), run=tmp_path / "run", data=small.parts())
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    for wanted in ("most frequent label", "each word alone", "Scores on dev", "Scores on test", "Each label", "<svg"):
        assert wanted in page
    for wanted in ("Where it is wrong", "torch", "sha256", "evaluate_every = 10", "precision"):
        assert wanted in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


def test_training_on_never_runs_code_that_lies_in_the_run(tmp_path, monkeypatch):
    """The recipe names no code of its own; somebody has put some into the run's last/ and best/."""
    monkeypatch.chdir(tmp_path)
    small.write(tmp_path)
    assert regard("train", "small.toml").status == 0
    evil = f"open({str(tmp_path / 'EXECUTED')!r}, 'w')\nfrom regard.attention.score import Dot as Score\n"
    for part in ("last", "best"):
        folder = tmp_path / "runs" / "small" / part
        (folder / "code").mkdir()
        (folder / "code" / "evil.py").write_text(evil)
        known = hashlib.sha256(evil.encode()).hexdigest()
        text = (folder / "recipe.toml").read_text()
        text = text.replace('score = "scaled_dot"', 'score = "evil:Score"')
        code = f'"evil.py" = "{known}"'
        assert "[regard.code]" in text and "evil:Score" in text
        (folder / "recipe.toml").write_text(text.replace("[regard.code]", f"[regard.code]\n{code}"))
        found = regard("train", "small.toml")
        assert found.status == 2 and "evil.py" in found.err
    assert not (tmp_path / "EXECUTED").exists()


def test_code_of_ones_own_that_changed_is_not_gone_on_with(tmp_path):
    small.write(tmp_path)
    own = "from regard.attention import Score\n\n\nclass Half(Score):\n    def as_dot_product(self, q, k, scale):\n"
    (tmp_path / "mine.py").write_text(own + "        return q, k, 0.5\n")
    words = ["train", "small.toml", 'model.score="mine:Half"']
    assert regard(*words, folder=tmp_path).status == 0
    assert regard(*words, folder=tmp_path).status == 0
    (tmp_path / "mine.py").write_text(own + "        return q, k, 0.7\n")
    found = regard(*words, folder=tmp_path)
    assert found.status == 2 and "was made with another mine.py" in found.err


def test_what_is_scored_is_not_chosen_by_its_labels(tmp_path):
    """Items that break the scheme are left out of training when so told, but never of an evaluation."""
    right, wrong = (["a", "b"], ["B-X", "I-X"]), (["c", "a"], ["I-X", "O"])
    values = small.recipe(output={"crf": True, "scheme": "IOB2"})
    values["data"] = {"train": "given", "on_error": "skip"}
    run = package.train(values, run=tmp_path / "run", data={"train": [right, wrong] * 9, "dev": [right, wrong]})
    assert run.evaluate([right, wrong]).scores.items == 2


def test_the_run_keeps_the_recipe_as_it_was_given(tmp_path):
    path = small.write(tmp_path)
    run = package.train(path, run=tmp_path / "run")
    assert (run.folder / "recipe.toml").read_text() == path.read_text()
