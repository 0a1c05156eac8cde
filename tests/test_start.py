"""Fine-tuning: what another run's body gives, what stays as it is, and how fast each part learns."""

import json
import shutil

import pytest
import small
import torch
from test_cli import regard as command
from test_plain_text import PARTS as TEXTS
from test_plain_text import values as text_recipe
from training.test_resume import StopAfter, assert_same, final

import regard
from regard.build import build
from regard.errors import FolderError, RecipeError
from regard.folder import load_model, model_folder
from regard.recipe import recipe_from
from regard.start import Start, placed
from regard.training import trainer
from regard.training.parts import freeze, rate_share
from regard.training.progress import Talk

LABELLED = small.parts(train=97, dev=13, test=11)
WRITTEN = {
    "train": [(f"the dog number {n % 7}", str(n % 7)) for n in range(83)],
    "dev": [("the dog number 3", "3")] * 5,
}

QUICK = {"epochs": 0.3, "batch_tokens": 256, "certify": False}
SUBWORDS = {"tokens": "subwords", "size": 300}


def quick(**changes):
    given = small.recipe(**changes)
    given["train"] |= QUICK
    return given


def fine(start, **changes):
    """A recipe that begins with a run and says nothing of its body."""
    return {"model": {"start": str(start)}, "train": {**QUICK, **changes.pop("train", {})}, **changes}


class Said(Talk):
    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of each task, with a body of words or of pieces."""
    folder = tmp_path_factory.mktemp("start")
    for name in ("mlm of words", "mlm of words and letters", "mlm of whole words in pieces", "lm of pieces"):
        recipe = text_recipe(name)
        recipe["train"]["epochs"] = 0.3
        regard.train(recipe, run=folder / name.replace(" ", "-"), data=TEXTS)
    regard.train(quick(), run=folder / "label", data=LABELLED)
    written = {**quick(), "task": {"kind": "seq2seq"}, "input": SUBWORDS}
    regard.train(written, run=folder / "seq2seq", data=WRITTEN)
    return folder


CLASSES = {"train": [("a dog", "x"), ("a cat", "y")] * 5, "dev": [("a dog", "x")]}

TASKS = {
    "label": ({}, LABELLED),
    "classify": ({"task": {"kind": "classify"}}, CLASSES),
    "mlm": ({"task": {"kind": "mlm"}}, TEXTS),
    "lm": ({"task": {"kind": "lm"}}, TEXTS),
    "seq2seq": ({"task": {"kind": "seq2seq"}}, WRITTEN),
}  # fmt: skip

PAIRS = [
    ("mlm-of-words", "label"),
    ("mlm-of-words-and-letters", "label"),
    ("mlm-of-words-and-letters", "seq2seq"),
    ("mlm-of-whole-words-in-pieces", "classify"),
    ("mlm-of-whole-words-in-pieces", "lm"),
    ("mlm-of-whole-words-in-pieces", "seq2seq"),
    ("lm-of-pieces", "mlm"),
    ("lm-of-pieces", "classify"),
    ("lm-of-pieces", "lm"),
    ("label", "mlm"),
    ("label", "classify"),
    ("seq2seq", "seq2seq"),
    ("seq2seq", "classify"),
]


def begun(runs, name, task, **more):
    given, _ = TASKS[task]
    train = {key: value for key, value in QUICK.items() if key != "certify" or task not in ("mlm", "lm")}
    return {**given, "model": {"start": str(runs / name)}, "train": {**train, **more}}


@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_the_body_is_that_of_the_run(name, task, runs, tmp_path):
    """Next to nothing is learnt with such a learning rate."""
    recipe = recipe_from({**begun(runs, name, task), "data": {"train": "x"}})
    start = Start.of(recipe)
    assert start is not None
    recipe = start.inherited(recipe)
    _, data = TASKS[task]
    talk = Said()
    run = regard.train(begun(runs, name, task, lr=1e-30, average=1), run=tmp_path / "run", data=data, talk=talk)
    old, new = placed(load_model(model_folder(runs / name)).predictor.model), placed(run.predictor.model)
    body = [place for place in new if place.startswith(("input.", "encoder."))]
    assert body
    for place in body:
        rows = min(len(old[place]), len(new[place]))
        assert torch.allclose(new[place][:rows], old[place][:rows], rtol=0, atol=1e-25), place
    assert type(run.predictor.tokenizer) is type(start.tokenizer)
    assert run.predictor.tokenizer.saved() == start.tokenizer.saved()
    (told,) = [sentence for sentence in talk.said if sentence.startswith("start")]
    kept = task == name.split("-")[0] and task != "label"
    assert "input (" in told and "encoder (" in told and (("new: nothing" in told) == kept)
    assert told.removeprefix("start  ") in (tmp_path / "run" / "report.html").read_text()


def test_what_was_learnt_before_helps(tmp_path):
    """The same labels, seen again for one update: a new run knows nothing of them yet."""
    whole = {**small.recipe(), "train": {**small.recipe()["train"], "epochs": 12}}
    regard.train(whole, run=tmp_path / "first", data=LABELLED)
    again = fine(tmp_path / "first", train={"epochs": 2, "lr": 5e-3, "warmup_steps": 2})
    fresh = {**small.recipe(), "train": again["train"]}
    scores = [
        regard.train(recipe, run=tmp_path / name, data=LABELLED).evaluate(LABELLED["dev"]).values["accuracy"]
        for name, recipe in (("again", again), ("fresh", fresh))
    ]
    assert scores[0] > scores[1] + 0.1


def test_a_run_that_began_with_another_does_not_need_it_any_more(runs, tmp_path):
    shutil.copytree(runs / "mlm-of-words", tmp_path / "first")
    regard.train(fine(tmp_path / "first"), run=tmp_path / "second", data=LABELLED)
    shutil.rmtree(tmp_path / "first")
    assert regard.load(tmp_path / "second").predict(["the dog saw it"])[0].labels


def test_a_fine_tuning_that_broke_off_goes_on_bit_for_bit(runs, tmp_path, monkeypatch):
    recipe = fine(runs / "mlm-of-words", train={"epochs": 2, "freeze": [0], "layer_decay": 0.5})
    regard.train(recipe, run=tmp_path / "whole", data=LABELLED)
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    with pytest.raises(ConnectionAbortedError):
        regard.train(recipe, run=tmp_path / "broken", data=LABELLED, talk=StopAfter(3))
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 60.0)
    regard.train(recipe, run=tmp_path / "broken", data=LABELLED)
    assert_same(final(tmp_path / "broken"), final(tmp_path / "whole"))
    assert json.loads((tmp_path / "broken" / "env.json").read_text())["began with"]


@pytest.mark.parametrize(
    ("frozen", "still"),
    [(["input"], ("input.",)), (["encoder"], ("encoder.",)), ([0], ("input.",)),
     ([1], ("input.", "encoder.blocks.0.")), (["input", "encoder"], ("input.", "encoder."))],
)  # fmt: skip
def test_what_is_frozen_stays_as_it_is_and_all_else_learns(frozen, still, runs, tmp_path):
    recipe = fine(runs / "mlm-of-words", train={"freeze": frozen, "epochs": 1, "average": 1})
    run = regard.train(recipe, run=tmp_path / "run", data=LABELLED)
    old, new = placed(load_model(model_folder(runs / "mlm-of-words")).predictor.model), placed(run.predictor.model)
    for place in new:
        if place in old and not place.startswith("output."):
            assert torch.equal(old[place], new[place]) == place.startswith(still), place


def test_each_block_learns_slower_than_the_one_above_it(runs):
    recipe = recipe_from({**fine(runs / "mlm-of-words"), "data": {"train": "x"}})
    model = build(
        recipe_from({**small.recipe(model={"depth": 3}), "data": {"train": "x"}}),
        load_model(model_folder(runs / "label")).predictor.tokenizer,
        load_model(model_folder(runs / "label")).predictor.targets,
    ).model
    shares = {name: rate_share(name, model, 0.5) for name, _ in model.named_parameters()}
    for name, share in shares.items():
        below = {"input": 4, "output": 0}.get(name.split(".")[0], 0)
        if name.startswith("encoder.blocks."):
            below = 3 - int(name.split(".")[2])
        assert share == 0.5**below, name
    assert set(shares.values()) == {0.5**below for below in range(5)}
    assert {rate_share(name, model, 1.0) for name in shares} == {1.0}
    assert recipe.train.layer_decay == 1.0


def test_the_learning_rate_of_each_group_is_its_share_of_the_schedule_s():
    from training.test_trainer import trainer_for

    made = trainer_for(small.examples(20), train={"warmup_steps": 0, "schedule": "constant", "lr": 0.01})
    made.optimizer.param_groups[0]["share"] = 0.25
    made._update([made.items.batch(range(10), 0)])
    assert [group["lr"] for group in made.optimizer.param_groups] == [0.0025, 0.01]


def test_freezing_counts_blocks_from_below(runs):
    model = load_model(model_folder(runs / "mlm-of-words")).predictor.model
    freeze(model, [1])
    still = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert still == {name for name, _ in model.named_parameters() if name.startswith(("input.", "encoder.blocks.0."))}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": {"width": 32}}, r"model.width is 32, but .* has 16; take it out, or begin anew"),
        ({"input": {"tokens": "subwords"}}, r"input.tokens is subwords, but .* has words"),
        ({"input": {"lowercase": True}}, r"input.lowercase is True, but .* has False"),
        ({"model": {"depth": 3}}, r"model.depth is 3, but .* has 1"),
        ({"train": {"freeze": ["head"]}}, r"train.freeze has 'head', but can have input, encoder, or a number"),
        ({"train": {"freeze": [7]}}, r"train.freeze has 7, but can have"),
    ],
)
def test_another_body_is_refused_by_name(changes, sentence, runs, tmp_path):
    recipe = fine(runs / "mlm-of-words")
    for section, part in changes.items():
        recipe[section] = {**recipe.get(section, {}), **part}
    with pytest.raises(RecipeError, match=sentence):
        regard.train(recipe, run=tmp_path / "run", data=LABELLED)
    assert not (tmp_path / "run").exists()


def test_weights_of_another_shape_are_named_with_both(runs):
    """Where settings say the same, as in a file that was changed by hand."""
    recipe = recipe_from({**fine(runs / "mlm-of-words"), "data": {"train": "x"}})
    start = Start.of(recipe)
    label = load_model(model_folder(runs / "label"))
    wide = build(
        recipe_from({**small.recipe(model={"width": 32}), "data": {"train": "x"}}),
        start.tokenizer,
        label.predictor.targets,
    )
    with pytest.raises(FolderError, match=r"input.project.weight is \(32, 16\) here, but \(16, 16\) in .*mlm-of-words"):
        start.put_into(wide, recipe)


def test_a_run_that_is_not_there_or_carries_code_is_refused(runs, tmp_path):
    with pytest.raises(FolderError, match=r"model.start: there is no run .*nowhere"):
        regard.train(fine(tmp_path / "nowhere"), run=tmp_path / "run", data=LABELLED)
    shutil.copytree(runs / "label", tmp_path / "own")
    path = tmp_path / "own" / "best" / "recipe.toml"
    path.write_text(path.read_text().replace('score = "scaled_dot"', 'score = "mine:Score"'))
    with pytest.raises(FolderError, match=r"model.start: .* carries code of its own"):
        regard.train(fine(tmp_path / "own"), run=tmp_path / "run", data=LABELLED)


def test_freezing_and_slowing_need_a_run_to_begin_with():
    for train in ({"freeze": ["input"]}, {"layer_decay": 0.5}):
        with pytest.raises(RecipeError, match=r"is not used with no model\.start"):
            recipe_from({"data": {"train": "x"}, "train": train})


def test_init_leaves_out_what_is_the_other_run_s(runs, tmp_path):
    small.write(tmp_path, train=61, dev=11, test=7)
    given = ["--data", "train.conllu", "dev.conllu", "--start", str(runs / "mlm-of-words"), "--out", "fine.toml"]
    made = command("init", "label", *given, folder=tmp_path)
    assert made.status == 0, made.err
    text = (tmp_path / "fine.toml").read_text()
    assert "start = " in text and "\nwidth = " not in text and "\ntokens = " not in text
    trained = command("train", "fine.toml", "train.epochs=0.3", "train.certify=false", folder=tmp_path)
    assert trained.status == 0 and "taken from" in trained.err, trained.err
    refused = command("init", "label", *given[:3], "--tokens", "words", "--out", "other.toml", folder=tmp_path)
    assert refused.status == 2 and "--tokens is for mlm and lm" in refused.err
