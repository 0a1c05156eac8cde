"""Another sequence, through the whole road: files, training, saving, answers, scores, pictures."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
import written
from sharp import CASES, assert_close
from test_cli import regard

import regard as package
from regard.corpus import given_corpus
from regard.data.batching import IGNORED, collate
from regard.data.example import Example
from regard.errors import DataError, FolderError
from regard.folder import load_model, load_tensors, save_model, save_tensors
from regard.look.look import look
from regard.recipe.read import recipe_from
from regard.recipe.write import values
from regard.training import trainer
from regard.training.objective import known_labels, summed_loss
from regard.training.progress import Talk

RECIPE = """[task]
kind = "seq2seq"

[data]
train = "train.tsv"
dev = "dev.tsv"
test = "test.tsv"
format = "tsv"

[input]
tokens = "characters"
dropout = 0.0

[model]
width = 32
heads = 2
depth = 1
dropout = 0.0
position = "sinusoidal"

[train]
epochs = 42
batch_tokens = 300
lr = 8e-3
warmup_steps = 30
evaluate_every = 300

[decode]
beam = 2
"""


def table(pairs):
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def unseen(count, seed, known):
    return [pair for pair in written.pairs(7 * count, seed, 4) if pair not in known][:count]


def write(folder):
    """Files of letters and the same letters backwards; dev and test hold none of train."""
    train = written.pairs(1500, 1, 4)
    parts = {"train": train, "dev": unseen(40, 2, train), "test": unseen(60, 3, train)}
    for part, pairs in parts.items():
        (folder / f"{part}.tsv").write_text(table(pairs))
    (folder / "recipe.toml").write_text(RECIPE)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequences")
    write(folder)
    found = regard("train", "recipe.toml", folder=folder)
    assert found.status == 0, found.err
    (folder / "train.err").write_text(found.err)
    return folder


# Learning


def test_letters_never_seen_before_are_written_backwards(trained):
    found = json.loads(regard("evaluate", "runs/recipe", "test.tsv", "--json", folder=trained).out)
    assert found["items"] == 60 and found["scores"]["exact"] >= 0.95
    assert set(found["scores"]) == set(found["intervals"]) == {"exact", "character_errors", "perplexity"}
    assert found["scores"]["perplexity"] < 1.2


def test_training_tells_scores_and_floors(trained):
    told = (trained / "train.err").read_text()
    assert "texts of" in told and "dev  exact" in told and "the source, copied" in told
    assert "target of the most similar source of train" in told
    page = (trained / "runs" / "recipe" / "report.html").read_text()
    assert "the source, copied" in page and "Scores on test" in page


class StopAfter(Talk):
    """Breaks off in the middle of training: nothing more is saved."""

    def __init__(self, update):
        self.update = update

    def stepped(self, at, loss, norm, rate, left):
        if at.update == self.update:
            raise ConnectionAbortedError


def small_recipe(sides="letters, one table", **changes):
    quick = {"epochs": 1, "batch_tokens": 90, "lr": 5e-3, "evaluate_every": 5, "label_smoothing": 0.1}
    train = {**quick, **changes.pop("train", {})}
    return values(written.recipe(sides, train=train, decode={"max_length": 9}, **changes))


def data(train=97, dev=11):
    return {"train": written.pairs(train, 1), "dev": written.pairs(dev, 2)}


@pytest.mark.parametrize("sides", ["letters, one table", "words to words"])
def test_a_run_that_broke_off_goes_on_bit_for_bit(sides, tmp_path, monkeypatch):
    recipe = small_recipe(sides, model={"dropout": 0.1}, train={"average": 2})
    package.train(recipe, run=tmp_path / "whole", data=data())
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    for update in (2, 3):
        with pytest.raises(ConnectionAbortedError):
            package.train(recipe, run=tmp_path / "broken", data=data(), talk=StopAfter(update))
    package.train(recipe, run=tmp_path / "broken", data=data())
    for part in ("best", "last"):
        one, other = (load_tensors(tmp_path / run / part / "model.safetensors") for run in ("whole", "broken"))
        assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_items_whose_text_is_not_known_are_answered_and_neither_learnt_nor_scored(tmp_path):
    """Even if a batch has no other."""
    given = data()
    one, other = 41 * [("ab", None)], [("fed", "def")]
    run = package.train(small_recipe(), run=tmp_path / "run", data={**given, "train": one + other})
    found = run.evaluate([*given["dev"], ("abc", None)])
    assert found.scores.items == 11 and len(found.answers) == 12


@pytest.mark.parametrize("metric", ["bleu", "chrf", "word_errors", "character_errors", "perplexity"])
def test_any_score_of_texts_can_choose_the_best_model(metric, tmp_path):
    """Of single words too, where some of them tell little."""
    given = {part: [("ab", "ba"), ("c", "c"), ("abc", "cba")] * 3 for part in ("train", "dev")}
    run = package.train(small_recipe(train={"metric": metric}), run=tmp_path / "run", data=given)
    assert metric in run.evaluate(given["dev"]).values


# Saving and loading


@pytest.mark.parametrize("sides", written.SIDES)
def test_shared_vectors_are_one_tensor_and_scores_the_same_bit_for_bit_after_loading(sides, tmp_path):
    """Case B28."""
    made, recipe = written.predictor(sides), written.recipe(sides)
    (tmp_path / "run").mkdir()
    save_model(tmp_path / "run", made, recipe, code=None, card="")
    loaded = load_model(tmp_path / "run").predictor
    (head,) = loaded.model.output.heads
    share = recipe.output.share
    assert (share != "none") == (getattr(head.project, "table", None) is loaded.model.written.table)
    if share == "all":
        assert loaded.model.input.pieces.table is loaded.model.written.table
    inputs = collate([made.item(example) for example in written.given_to(made, 5)], range(5)).inputs
    with torch.no_grad():
        one, other = (predictor.model(inputs)[written.COLUMN] for predictor in (made, loaded))
    assert torch.equal(one, other)
    # A step of learning moves both sides of what is shared.
    if share == "all":
        loaded.model.written.table.weight.data.add_(1)
        assert torch.equal(loaded.model.input.pieces.table.weight, head.project.table.weight)


def test_a_tensor_that_is_missing_or_too_many_is_named(tmp_path):
    made, recipe = written.predictor(), written.recipe()
    (tmp_path / "run").mkdir()
    save_model(tmp_path / "run", made, recipe, code=None, card="")
    path = tmp_path / "run" / "model.safetensors"
    tensors = load_tensors(path)
    tensors["written.other"] = tensors.pop("written.table.weight")
    save_tensors(path, tensors)
    with pytest.raises(FolderError, match=r"written\.table\.weight is missing.*; written\.other is not known"):
        load_model(tmp_path / "run")


# The loss


@pytest.mark.parametrize("sides", written.SIDES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_as_by_hand_and_padding_changes_nothing(sides, smoothing):
    """-(1 - s) log p(right) - s · mean of log p, over every piece and the end, counted in NumPy."""
    made = written.predictor(sides)
    made.model.double()
    items = [made.item(example) for example in written.given_to(made, 7)]
    each = 0.0
    with torch.no_grad():
        for item in items:
            batch = collate([item], [0])
            scores = made.model(batch.inputs)[written.COLUMN][0].numpy()
            logs = scores - scores.max(-1, keepdims=True)
            logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
            right = list(item.labels[written.COLUMN])
            assert len(scores) == len(right) == known_labels([batch]) and right[-1] == made.writes.end
            for row, piece in zip(logs, right, strict=True):
                each -= (1 - smoothing) * row[piece] + smoothing * row.mean()
        together = collate(items, range(len(items)))
        found = summed_loss(made.model.output, made.model(together.inputs), together, smoothing)
    assert float(found) == pytest.approx(each, abs=1e-6)
    assert known_labels([together]) == sum(item.answers for item in items)


def test_what_follows_a_text_in_its_row_changes_nothing():
    made = written.predictor()
    batch = collate([made.item(example) for example in written.examples(5)], range(5))
    real = torch.arange(batch.inputs["written"].shape[1]) < batch.inputs["answers"][:, None]
    assert not real.all()
    with torch.no_grad():
        wanted = made.model(batch.inputs)[written.COLUMN]
        other = {**batch.inputs, "written": batch.inputs["written"].masked_fill(~real, 3)}
        found = made.model(other)[written.COLUMN]
    assert_close(found[real], wanted[real])
    assert (batch.labels[written.COLUMN] == IGNORED).equal(~real)


# The command line


def test_predict_answers_each_line_in_its_place(trained):
    (trained / "lines.txt").write_text("abc\n\n   \n\u00a0\nbad\n")
    found = regard("predict", "runs/recipe", "lines.txt", folder=trained)
    assert found.status == 0 and found.out == "cba\n\n\n\ndab\n" and "cut" not in found.err


def test_blank_lines_give_empty_lines(trained):
    """Case B38."""
    path = CASES / "b38_blank_src.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    found = regard("predict", "runs/recipe", path, folder=trained)
    lines = found.out.split("\n")[:-1]
    assert len(lines) == 6 and lines[1:4] == ["", "", ""] and lines[0] and lines[5]


def test_json_has_the_text_and_how_sure_the_model_is(trained):
    (trained / "lines.txt").write_text("abc\n\n")
    found = regard("predict", "runs/recipe", "lines.txt", "--json", "--probabilities", folder=trained)
    first, empty = map(json.loads, found.out.splitlines())
    assert first["words"] == ["abc"] and first["2"] == "cba" and 0.5 < first["probabilities"]["2"] <= 1
    assert empty == {"words": [], "2": "", "probabilities": {"2": 1.0}} and "cut" not in first


def test_a_text_that_is_cut_is_said_and_marked(trained):
    """Case B34."""
    run = trained / "runs" / "short"
    shutil.copytree(trained / "runs" / "recipe" / "best", run)
    text = (run / "recipe.toml").read_text()
    (run / "recipe.toml").write_text(text.replace("beam = 2", "beam = 2\nmax_length = 2"))
    (trained / "lines.txt").write_text("abc\na\nabc\n")
    found = regard("predict", "runs/short", "lines.txt", folder=trained)
    assert found.out == "cb\na\ncb\n"
    assert "texts that were cut at their longest length (decode.max_length): 2" in found.err
    rows = [json.loads(line) for line in regard("predict", run, trained / "lines.txt", "--json").out.splitlines()]
    assert [row.get("cut") for row in rows] == [True, None, True]
    told = regard("evaluate", "runs/short", "test.tsv", folder=trained)
    assert "texts that were cut" in told.err
    answers = package.load(run).predict(["abc", "a"])
    assert [(answer.text, answer.cut) for answer in answers] == [("cb", True), ("a", False)]


def test_evaluate_keeps_answers_beside_the_data_and_reads_two_files(trained):
    pairs = written.pairs(7, 3, 4)
    (trained / "some.src").write_text("".join(f"{source}\n" for source, _ in pairs))
    (trained / "some.tgt").write_text("".join(f"{target}\n" for _, target in pairs))
    (trained / "some.tsv").write_text(table(pairs))
    one = regard("evaluate", "runs/recipe", "some.tsv", "--json", folder=trained)
    other = regard("evaluate", "runs/recipe", "some.src", "some.tgt", "--json", folder=trained)
    assert json.loads(one.out)["scores"] == json.loads(other.out)["scores"]
    rows = (trained / "runs" / "recipe" / "evaluate" / "some.tsv").read_text().splitlines()
    assert rows[0].split("\t") == ["text", "2", "2 answered"] and len(rows) == 8
    (trained / "some.tgt").write_text("".join(f"{target}\n" for _, target in pairs) + "one more\n")
    found = regard("evaluate", "runs/recipe", "some.src", "some.tgt", folder=trained)
    assert found.status == 2 and "some.src has 7 lines and some.tgt has 8" in found.err


def test_no_score_depends_on_how_many_are_answered_at_a_time(trained):
    run = package.load(trained / "runs" / "recipe")
    wanted = run.evaluate(trained / "test.tsv").values
    for budget in (1, 41):
        run.predictor.batch_tokens = budget
        assert run.evaluate(trained / "test.tsv").values == pytest.approx(wanted, abs=1e-5)


def test_an_answer_is_one_line_even_if_the_text_has_several(tmp_path):
    """JSON lines may hold line ends, which are learnt as any other sign."""
    given = {part: [("ab", "a\nb\r\nc\td")] * 60 for part in ("train", "dev")}
    recipe = small_recipe(train={"epochs": 12, "lr": 1e-2, "batch_tokens": 60})
    recipe["decode"] = {"max_length": 20}
    run = package.train(recipe, run=tmp_path / "run", data=given)
    assert run.predict(["ab"])[0].text == "a\nb\r\nc\td"
    (tmp_path / "lines.txt").write_text("ab\nab\n")
    assert regard("predict", tmp_path / "run", tmp_path / "lines.txt").out == "a b c\td\n" * 2
    rows = regard("predict", tmp_path / "run", tmp_path / "lines.txt", "--json").out.splitlines()
    assert [json.loads(row)["label"] for row in rows] == ["a\nb\r\nc\td"] * 2


def test_look_shows_what_each_written_piece_looks_at(trained):
    found = regard("look", "runs/recipe", "abcd", folder=trained)
    assert found.status == 0, found.err
    assert found.out.startswith("abcd → 2: dcba") and "cross layer 1 of 1" in found.out
    for part in ("encoder", "decoder"):
        assert f"{part} layer 1 of 1" in regard("look", "runs/recipe", "abcd", "--part", part, folder=trained).out
    told = json.loads(regard("look", "runs/recipe", "abcd", "--json", folder=trained).out)
    assert told["tokens"] == list("abcd") and told["written"] == list("dcba")
    weights = {path.split(".")[0] + path.split(".")[-1]: layer for path, layer in told["weights"].items()}
    for layer in weights.values():
        assert all(sum(row) == pytest.approx(1, abs=1e-4) for head in layer for row in head)
    # (heads, what is written and the end, what is read)
    assert torch.tensor(weights["decodercross_attention"]).shape == (2, 5, 4)
    assert torch.tensor(weights["decoderattention"]).shape == (2, 5, 5)
    assert torch.tensor(weights["encoderattention"]).shape == (2, 4, 4)
    assert torch.tensor(weights["decoderattention"]).triu(1).abs().max() == 0
    wrong = regard("look", "runs/recipe", "abcd", "--part", "middle", folder=trained)
    assert wrong.status == 2 and "no part middle to look at; there are cross, encoder, decoder" in wrong.err
    assert regard("look", "runs/recipe", " ", folder=trained).status == 2


def test_a_text_that_is_empty_can_be_looked_at():
    """Case B35: its end is written first."""
    made = written.predictor()
    written.bias_of(made)[made.writes.end] = 1e3
    (example,) = written.examples(1)
    found = look(made, example)
    assert found.written == () and found.answer.text == "" and not found.answer.cut
    assert found.picture() is not None and found.sharpest("cross") == (1, found.sharpest("cross")[1])
    texts = [answer.text for answer in made.predict([*written.examples(3), Example((), whole=True)])]
    assert texts == ["", "", "", ""]


# Data


def test_parallel_files_are_learnt_from(tmp_path):
    for part, pairs in data().items():
        (tmp_path / f"{part}.src").write_text("".join(f"{source}\n" for source, _ in pairs))
        (tmp_path / f"{part}.tgt").write_text("".join(f"{target}\n" for _, target in pairs))
    recipe = small_recipe()
    recipe["data"] = {
        "format": "parallel",
        **{part: [str(tmp_path / f"{part}.{x}") for x in ("src", "tgt")] for part in data()},
    }
    run = package.train(recipe, run=tmp_path / "run")
    given = package.train(small_recipe(), run=tmp_path / "given", data=data())
    sources = [source for source, _ in written.pairs(7, 3)]
    assert [a.text for a in run.predict(sources)] == [a.text for a in given.predict(sources)]
    with pytest.raises(DataError, match="alone has no targets"):
        run.evaluate(tmp_path / "dev.src")


def test_parallel_files_of_other_lengths_are_refused(tmp_path):
    """Case B41."""
    recipe = small_recipe()
    files = [str(CASES / "b41_src.txt"), str(CASES / "b41_tgt.txt")]
    if not (CASES / "b41_src.txt").is_file():
        pytest.skip(f"{CASES / 'b41_src.txt'} is not there")
    recipe["data"] = {"format": "parallel", "train": files}
    with pytest.raises(DataError, match=r"b41_src\.txt has 3 lines and .*b41_tgt\.txt has 4"):
        package.train(recipe, run=tmp_path / "run")


def test_where_several_texts_are_right_each_source_is_asked_once_and_any_of_them_is_right(tmp_path):
    twice = [("ab", "ba"), ("c", "c"), ("ab", "xy"), ("ab", "ba"), ("d", None), ("d", "e")]
    recipe = small_recipe()
    recipe["data"] = {**recipe["data"], "several_right": True}
    run = package.train(recipe, run=tmp_path / "run", data={"train": data()["train"], "dev": twice})
    found = run.evaluate(twice)
    assert len(found.answers) == 3 and found.scores.items == 3
    assert list(found.scores.right) == [("ba", "xy"), ("c",), ("e",)]
    said = replace(found.scores, answered=["xy", "c", "f"])
    assert said.values()["exact"] == 2 / 3
    plain = package.train(small_recipe(), run=tmp_path / "plain", data=data())
    assert plain.evaluate(twice).scores.items == 5


def test_a_number_or_a_single_value_of_a_task_that_writes_is_its_text(trained):
    (answer,) = package.load(trained / "runs" / "recipe").predict(["ab"])
    assert answer.text == answer.label == answer.labels[0] == "ba"


def test_a_text_is_scored_in_the_form_in_which_it_is_written(tmp_path):
    """é may be one sign or two; with a normalisation the two are one text, on both sides."""
    recipe = recipe_from({"task": {"kind": "seq2seq"}, "data": {"train": "x"}, "output": {"normalize": "NFC"}})
    given = {"train": [("cafe", "cafe\u0301")] * 2, "dev": [("cafe", "caf\u00e9")]}
    corpus = given_corpus(recipe, given, lambda sentence: None)
    assert {example.labels["label"] for example in (*corpus.train, *corpus.dev)} == {("caf\u00e9",)}
