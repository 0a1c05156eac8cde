"""Every way of running a model gives the same answers, and where one does not, its line fails and names the layer."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import small
import torch
import written
from sharp import sharpen
from test_independence import predictor_for

from regard.attention import PATHS
from regard.attention.attend import Path as Way
from regard.build import build, learn
from regard.certificate import HEAD, Certificate, Line, certify
from regard.certificate.asking import THRESHOLD, Distance, Found, distance
from regard.certificate.certify import ELEMENTS, ITEMS
from regard.certificate.ways import PAIRS
from regard.data.example import Example
from regard.errors import DataError
from regard.folder import load_tensors, save_model, save_tensors
from regard.layers.block import BatchNorm, FeedForward
from regard.layers.cache import Cache, Lineage
from regard.layers.dropout import Dropout, dropout
from regard.models.inputs import InputPart
from regard.models.outputs import CrfHead, SoftmaxHead
from regard.recipe import recipe_from

COLUMN = "label"
WORDS = small.examples(37)


def whole(targets):
    return [Example(example.words, {COLUMN: (targets(example),)}, example.place, whole=True) for example in WORDS]


def classes(example):
    return ";".join(word for word in ("the", "a", "saw", "can") if word in example.words)


# For each task of whole texts: its recipe's changes, and the target of an example.
WHOLE = {
    "classify": ({"model": {"pooling": "attention"}}, lambda example: str(len(example.words) % 3)),
    "regress": ({"model": {"pooling": "mean"}}, lambda example: str(len(example.words) / 7)),
    "several classes": ({"data": {"separator": ";"}, "model": {"pooling": "first"}}, classes),
}


def whole_predictor(name):
    changes, targets = WHOLE[name]
    examples = whole(targets)
    kind = "regress" if name == "regress" else "classify"
    given = {**small.recipe(task={"kind": kind}, **changes)}
    given["data"] = {"train": "x.tsv", **given.get("data", {})}
    made_by = recipe_from(given)
    torch.manual_seed(3)
    made = build(made_by, *learn(made_by, examples, (COLUMN,)))
    for parameter in made.model.output.parameters():
        parameter.data.add_(0.3 * torch.randn(parameter.shape))
    sharpen(made.model).eval()
    return made, examples


def text_predictor(**model):
    made = written.predictor(model=model or {"position": "rotary"}, decode={"beam": 3, "max_length": 7})
    return made, written.given_to(made)


MODELS = {
    "label": lambda: (predictor_for("words+characters", {"position": "rotary", "window": 3}), WORDS),
    "label of sub-words": lambda: (predictor_for("subwords", {"position": "shaw", "normalizer": "entmax15"}), WORDS),
    "label, batch norm": lambda: (predictor_for("words", {"norm": "batch"}), WORDS),
    "label, a recurrence": lambda: (predictor_for("words", {"encoder": "recurrent"}), WORDS),
    "crf": lambda: (predictor_for("words", {}, {"crf": True}), WORDS),
    **{name: (lambda name=name: whole_predictor(name)) for name in WHOLE},
    "seq2seq": text_predictor,
    "seq2seq, a recurrence": lambda: text_predictor(encoder="recurrent", decoder="recurrent"),
}

# What each has not, and so is not compared.
HAVE_NOT = {
    "label": {"cache"},
    "label of sub-words": {"windowed", "fused", "cache"},
    "label, a recurrence": {"watched", "windowed", "fused", "chunked", "tiled", "cache"},
    "seq2seq": {"windowed"},
    "seq2seq, a recurrence": {"windowed"},
}


def lines(certificate):
    return {line.name: line for line in certificate.lines}


def failed(certificate):
    """The lines that fail, each with the layer that it names."""
    return {line.name: line.layer for line in certificate.failed}


@pytest.mark.parametrize("name", MODELS)
def test_every_way_gives_the_same_answers(name):
    made, examples = MODELS[name]()
    found = certify(made, examples)
    assert failed(found) == {}, found.sentence
    assert {line.name for line in found.lines} == {*PAIRS, "process"}
    not_compared = {line.name for line in found.lines if line.distance is None}
    assert not_compared == HAVE_NOT.get(name, {"windowed", "cache"}) | {"process", "stream"}
    assert all(line.reason for line in found.lines if line.distance is None)
    assert all(len(row) == len(HEAD) for row in found.rows())


@pytest.mark.parametrize("name", ["label", "seq2seq", "crf", "several classes"])
def test_a_model_stays_as_it_was(name):
    made, examples = MODELS[name]()
    made.model.train()
    before = {key: tensor.clone() for key, tensor in made.model.state_dict().items()}
    attributes = [dict(vars(module)) for module in made.model.modules()]
    certify(made, examples)
    assert made.model.training and all(torch.equal(before[k], v) for k, v in made.model.state_dict().items())
    assert [dict(vars(module)).keys() for module in made.model.modules()] == [one.keys() for one in attributes]
    shares = [one.get("share", one.get("dropout")) for one in attributes]
    assert [vars(module).get("share", vars(module).get("dropout")) for module in made.model.modules()] == shares


# Faults: each makes exactly the lines fail that it should.


def test_a_mask_that_is_dropped_is_found(monkeypatch):
    made, examples = predictor_for("words", {"depth": 2}), WORDS
    monkeypatch.setattr(InputPart, "mask", lambda part, inputs: None)
    found = failed(certify(made, examples))
    assert found.keys() == {"alone", "padding", "sizes", "order"}
    assert set(found.values()) == {"encoder.blocks.0.attention"}


def test_dropout_that_is_left_on_is_found_and_then_nothing_else_can_be_told(monkeypatch):
    made = predictor_for("words", {"depth": 2, "dropout": 0.1})
    monkeypatch.setattr(Dropout, "forward", lambda part, x: dropout(x, part.share))
    found = certify(made, WORDS)
    assert failed(found) == {"again": "input.dropout"}
    others = [line for line in found.lines if line.name != "again"]
    assert all(line.reason == "asked again, the model says something else" for line in others)


def test_a_position_off_by_one_in_the_cache_is_found(monkeypatch):
    made, examples = text_predictor()

    def moved(cache, length):
        vars(cache)["real"] = length - (vars(cache).get("real", 0) > 0)

    off = property(lambda cache: vars(cache)["real"] + (vars(cache)["real"] > 0), moved)
    monkeypatch.setattr(Cache, "length", off, raising=False)
    assert failed(certify(made, examples)) == {"cache": "decoder.blocks.0.attention"}


def test_a_cache_that_takes_the_wrong_beams_is_found(monkeypatch):
    """No layer errs by itself: the search does."""
    made, examples = text_predictor()
    select = Lineage.select
    monkeypatch.setattr(Lineage, "select", lambda lineage, rows: select(lineage, _as_they_were(rows, lineage.beam)))
    found = certify(made, examples)
    assert failed(found) == {"cache": None}
    assert "in the search" in lines(found)["cache"].verdict


def _as_they_were(rows, beam):
    return rows // beam * beam + torch.arange(len(rows)) % beam


@pytest.mark.parametrize(
    ("path", "wrong", "named"),
    [
        ("windowed", lambda x: x.bfloat16().float(), {"windowed"}),
        ("tiled", lambda x: x.bfloat16().float(), {"tiled", "watched"}),
        # The path that is taken as always: what rounds would also tell batches apart, by what is rounded up or down.
        ("fused", lambda x: x * (1 + 2**-8), {"fused", "watched"}),
    ],
)
def test_a_path_that_rounds_is_found(path, wrong, named, monkeypatch):
    made = predictor_for("words", {"depth": 2, "window": 3})
    right = PATHS[path]
    monkeypatch.setitem(PATHS, path, Way(lambda question: wrong(right.take(question)), right.refuse, right.pays))
    found = failed(certify(made, WORDS))
    assert found == dict.fromkeys(named, "encoder.blocks.0.attention")


def test_batch_norm_that_is_left_in_training_is_found(monkeypatch):
    made = predictor_for("words", {"norm": "batch", "depth": 2})
    forward = BatchNorm.forward

    def left(norm, x, real=None):
        norm.train()
        return forward(norm, x, real)

    monkeypatch.setattr(BatchNorm, "forward", left)
    found = failed(certify(made, WORDS))
    assert found == dict.fromkeys(("alone", "sizes", "order"), "encoder.blocks.0.around_attention.norm_before")


# When a layer does something else -> the one line that fails.
NOTICES = {
    "gradients": lambda layer, x: torch.is_grad_enabled(),
    "training": lambda layer, x: layer.training,
    "threads": lambda layer, x: torch.get_num_threads() == 2,
    "alone": lambda layer, x: len(x) == 1,
    "sizes": lambda layer, x: len(x) == 3,
    "order": lambda layer, x: len(x) == 7,
}


@pytest.mark.parametrize("line", NOTICES)
def test_a_layer_that_notices_how_it_is_run_is_found(line, monkeypatch):
    made = predictor_for("words", {"depth": 2})
    layer, forward = made.model.encoder.blocks[1].feed_forward, FeedForward.forward

    def notices(part, x):
        return forward(part, x) + (0.1 if part is layer and NOTICES[line](part, x) else 0.0) * x

    monkeypatch.setattr(FeedForward, "forward", notices)
    assert failed(certify(made, WORDS)) == {line: "encoder.blocks.1.feed_forward"}


def saved(made, folder, **changes):
    given = {**small.recipe(input={"word_width": 128}, **changes), "data": {"train": "x"}}
    given["input"] = {"tokens": "words"}
    folder.mkdir()
    save_model(folder, made, recipe_from({**given, "train": {"seed": 4}}), code=None, card="")
    return folder


def test_a_weight_that_changed_on_the_disk_is_found(tmp_path):
    made = predictor_for("words", {"depth": 2})
    folder = saved(made, tmp_path / "model", model={"depth": 2})
    found = certify(made, WORDS, folder=folder)
    assert failed(found) == {} and lines(found)["process"].distance == Distance(0.0, 0, 0)
    assert set(found.files) == {"model.safetensors", "recipe.toml", "tokenizer.json", "labels.json"}
    tensors = load_tensors(folder / "model.safetensors")
    tensors["encoder.blocks.1.feed_forward.enter.weight"][3, 0] += 5
    save_tensors(folder / "model.safetensors", tensors)
    changed = certify(made, WORDS, folder=folder)
    assert failed(changed) == {"process": "encoder.blocks.1.feed_forward.enter"}
    assert {name for name in found.files if found.files[name] != changed.files[name]} == {"model.safetensors"}
    (folder / "labels.json").unlink()
    broken = lines(certify(made, WORDS, folder=folder))["process"]
    assert broken.failed and "could not be asked in a new process" in broken.verdict
    assert "labels.json is missing" in broken.verdict


def test_a_model_that_writes_says_the_same_in_a_new_process(tmp_path):
    made, examples = text_predictor()
    given = written.recipe(model={"position": "rotary"}, decode={"beam": 3, "max_length": 7})
    (tmp_path / "model").mkdir()
    save_model(tmp_path / "model", made, given, code=None, card="")
    found = lines(certify(made, examples, folder=tmp_path / "model"))["process"]
    assert found.distance == Distance(0.0, 0, 0)


def test_numbers_that_are_not_finite_are_no_proof():
    made = predictor_for("words")
    made.model.encoder.norm.scale.data[0] = torch.nan
    found = certify(made, WORDS)
    assert lines(found)["again"].failed and lines(found)["again"].distance.scores is None
    assert lines(found)["again"].cells()[2] == "not finite"


def test_a_way_that_cannot_be_run_is_a_line_that_fails(monkeypatch):
    made = predictor_for("words")
    forward = FeedForward.forward

    def breaks(part, x):
        if torch.is_grad_enabled():
            raise RuntimeError("no gradient for me")
        return forward(part, x)

    monkeypatch.setattr(FeedForward, "forward", breaks)
    found = certify(made, WORDS)
    assert failed(found) == {"gradients": None}
    assert found.failed[0].verdict == "DIFFERS, RuntimeError: no gradient for me"


# What counts as the same


def labels(raw, answers):
    return Found({COLUMN: raw.softmax(-1)}, {COLUMN: raw}, {COLUMN: answers})


@pytest.mark.parametrize("head", [SoftmaxHead, CrfHead])
def test_an_answer_may_differ_only_where_the_two_best_are_as_good_as_each_other(head):
    made = head(5, 3)
    model = SimpleNamespace(output=SimpleNamespace(head=lambda column: made))
    asked = SimpleNamespace(model=model, targets={COLUMN: None}, device=torch.device("cpu"))
    for gap, tie in ((THRESHOLD / 2, 1), (THRESHOLD * 2, 0)):
        raw = torch.tensor([[0.0, 2.0, 2.0 + gap], [5.0, 0.0, 0.0]])
        found = distance(asked, [labels(raw, (2, 0))], [labels(raw, (1, 0))])
        assert found == Distance(0.0, 1, tie) and found.near == bool(tie)


def test_answers_that_differ_are_counted_by_item_and_column():
    asked = SimpleNamespace(targets={"a": None}, model=SimpleNamespace(output=SimpleNamespace(head=lambda c: None)))
    one = Found({}, {}, {"a": (3, 5)}, score=-1.0)
    found = distance(asked, [one, one, one], [one, replace(one, answers={"a": (3, 4)}, score=-1.1), one])
    assert found == Distance(0.0, 1, 0) and not found.near


# The slice, and what is told


def test_the_slice_is_of_all_of_the_data_and_small():
    many = [Example((f"w{number}",) * 11, place=WORDS[0].place) for number in range(4 * ITEMS)]
    asked = []
    made = predictor_for("words")
    item = made.item
    made.item = lambda example: asked.append(example) or item(example)
    assert certify(made, many).items == ITEMS
    long = [Example(("a",) * ELEMENTS), *many[:ITEMS]]
    assert certify(made, long).items == 1


def test_data_without_anything_in_it_is_refused():
    with pytest.raises(DataError, match="nothing to ask the model; give other data"):
        certify(predictor_for("words"), [Example(())])


def test_the_certificate_says_in_a_sentence_what_came_of_it():
    same = Line("alone", ("as always", "alone"), Distance(2e-7, 1, 1))
    not_there = Line("cache", ("at once", "by steps"), reason="no text is written")
    other = Line("sizes", ("as always", "3 at a time"), Distance(0.25, 3, 0), "encoder.blocks.0", failed=True)
    assert Certificate((same, not_there), 5, {}).sentence == "all 1 pairs of ways give the same answers to 5 items"
    found = Certificate((same, not_there, other), 5, {})
    assert found.sentence == (
        "1 of 2 pairs of ways do not give the same answers: sizes DIFFERS, first at encoder.blocks.0"
    )
    assert found.rows() == [
        ("alone", "as always / alone", "2.0e-07", "1 (1 of two as good as each other)", "same"),
        ("cache", "at once / by steps", "", "", "not compared: no text is written"),
        ("sizes", "as always / 3 at a time", "2.5e-01", "3", "DIFFERS, first at encoder.blocks.0"),
    ]
    told = found.as_data()
    assert not told["passed"] and told["thresholds"] == {"scores": THRESHOLD, "answers": THRESHOLD}
    assert [line["verdict"] for line in told["lines"]] == ["same", "not compared", "differs"]
