"""Learning from plain text: what stands behind masks (mlm), and what comes next (lm)."""

import json
import math

import numpy as np
import pytest
import small
import torch
from test_cli import regard

import regard as package
from regard import plain_text
from regard.build import build, learn
from regard.corpus import given_corpus, read_corpus
from regard.data.example import Example
from regard.data.masking import MASK
from regard.errors import DataError, RecipeError, RegardError
from regard.folder import load_tensors
from regard.plain_text import FLOOR, Drawn, score_texts
from regard.recipe import recipe_from
from regard.scoring import floors
from regard.training import trainer
from regard.training.progress import Talk

LINES = [" ".join(words) for words, _ in small.sentences(307, 5)]
PARTS = {"train": LINES[:240], "dev": LINES[240:]}
SUBWORDS = {"tokens": "subwords", "size": 300}

LM = {"task": {"kind": "lm"}, "input": {"tokens": "words"}}

KINDS = {
    "mlm of words": {"task": {"kind": "mlm"}},
    "mlm of words and letters": {"task": {"kind": "mlm"}, "input": {"tokens": "words+characters", "filters": 5}},
    "mlm of whole words in pieces": {"task": {"kind": "mlm", "whole_words": True}, "input": SUBWORDS},
    "lm of words": {"task": {"kind": "lm"}},
    "lm of pieces": {"task": {"kind": "lm"}, "input": SUBWORDS},
    "lm of letters, recurrent": {
        "task": {"kind": "lm"},
        "input": {"tokens": "characters"},
        "model": {"decoder": "recurrent"},
    },
}


def values(name, **changes):
    given = small.recipe()
    del given["train"]["certify"]
    parts = KINDS[name]
    if "tokens" in parts.get("input", {}) and not parts["input"]["tokens"].startswith("words"):
        del given["input"]
    if parts.get("model", {}).get("decoder") == "recurrent":
        del given["model"]["heads"]
    for source in (parts, changes):
        for section, part in source.items():
            given[section] = {**given.get(section, {}), **part}
    return given


def predictor_for(name, scale=3.0):
    """An untrained model that attends sharply, and its dev examples."""
    recipe = recipe_from({**values(name), "data": {"train": "x"}})
    corpus = given_corpus(recipe, PARTS, lambda sentence: None)
    predictor = build(recipe, *learn(recipe, corpus.train, corpus.columns))
    with torch.no_grad():
        for parameter in predictor.model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(scale)
    predictor.model.eval()
    return predictor, corpus


class StopAfter(Talk):
    def __init__(self, update):
        self.update = update

    def stepped(self, at, loss, norm, rate, left):
        if at.update == self.update:
            raise ConnectionAbortedError


def final(folder):
    return load_tensors(folder / "last" / "model.safetensors")


def broken_and_whole(recipe, folder, monkeypatch):
    few = {"train": LINES[:97], "dev": LINES[97:101]}
    package.train(recipe, run=folder / "whole", data=few)
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 0.0)
    with pytest.raises(ConnectionAbortedError):
        package.train(recipe, run=folder / "broken", data=few, talk=StopAfter(5))
    monkeypatch.setattr(trainer, "SAVE_SECONDS", 60.0)
    package.train(recipe, run=folder / "broken", data=few)
    one, other = final(folder / "broken"), final(folder / "whole")
    return all(torch.equal(one[name], other[name]) for name in other)


@pytest.mark.parametrize("name", ["mlm of words and letters", "lm of pieces"])
def test_a_run_that_broke_off_goes_on_bit_for_bit(name, tmp_path, monkeypatch):
    assert broken_and_whole(values(name), tmp_path, monkeypatch)


def test_masks_from_a_running_state_would_be_noticed(tmp_path, monkeypatch):
    running = np.random.default_rng(1)
    monkeypatch.setattr(plain_text, "anew", lambda seed, epoch, number: running)
    assert not broken_and_whole(values("mlm of words"), tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["mlm of words", "lm of words"])
def test_learning_beats_knowing_how_often_each_piece_stands_in_train(name, tmp_path):
    """In lines that count, each word follows from any other; all words are equally frequent."""
    lines = [" ".join(f"w{(first + step) % 13}" for step in range(9)) for first in [*range(13)] * 13]
    parts = {"train": lines, "dev": lines[:26]}
    quick = {"epochs": 8, "lr": 1e-2, "evaluate_every": 1000, "batch_tokens": 128}
    run = package.train(values(name, train=quick), run=tmp_path / "run", data=parts)
    corpus = given_corpus(run.recipe, parts, lambda sentence: None)
    found = run.evaluate(parts["dev"]).values["perplexity"]
    floor = floors(run.predictor, corpus, corpus.dev, run.recipe)[FLOOR].values()["perplexity"]
    assert found < 0.7 * floor
    assert "floors beside it" in (tmp_path / "run" / "report.html").read_text()
    again = package.load(tmp_path / "run")
    assert again.evaluate(parts["dev"]).values["perplexity"] == pytest.approx(found)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_held_of_a_text_does_not_depend_on_its_neighbours(name):
    predictor, corpus = predictor_for(name)
    together = score_texts(predictor, corpus.dev).told
    alone = np.concatenate([score_texts(predictor, [example]).told for example in reversed(corpus.dev)])[::-1]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-4)
    assert len(set(together[:, 0].tolist())) > 10


@pytest.mark.parametrize("name", [name for name in KINDS if name.startswith("mlm")])
def test_what_stands_behind_a_mask_does_not_depend_on_neighbours_nor_on_what_stood_there(name):
    predictor, _ = predictor_for(name)
    spaced = name.endswith("pieces")
    texts = [("the", MASK, " saw " if spaced else "saw", "it"), (MASK,), ("no mask here",), (), (MASK, MASK, "it")]
    examples = [Example(words, whole=True) for words in texts]
    answers = list(predictor.filling(3).predict(examples))
    assert [len(answer.masks) for answer in answers] == [1, 1, 0, 0, 2]
    for answer, example in zip(answers, examples, strict=True):
        (alone,) = predictor.filling(3).predict([example])
        assert [[piece for piece, _ in mask] for mask in alone.masks] == [
            [piece for piece, _ in mask] for mask in answer.masks
        ]
        for mask in answer.masks:
            shares = [share for _, share in mask]
            assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 1
    assert MASK not in answers[0].text and answers[2].text == "no mask here" and answers[3].text == ""


@pytest.mark.parametrize("name", [name for name in KINDS if name.startswith("lm")])
def test_a_text_goes_on_step_by_step_as_it_is_scored_all_at_once(name):
    """The search goes with a cache; given, all is computed at once. What is asked is a text's share after its
    beginning: that of the whole less that of the beginning without its end."""
    predictor, corpus = predictor_for(name)
    beginnings = [Example(example.words[:2], whole=True) for example in corpus.dev[:7]]
    if not name.endswith("words"):
        beginnings = [Example((example.words[0][:9],), whole=True) for example in corpus.dev[:7]]
    for example, answer in zip(beginnings, predictor.predict(beginnings), strict=True):
        (text,) = answer.texts[:1]
        joined = predictor.tokenizer.joined(example.words)
        assert text.text.startswith(joined) and len(text.text) > len(joined)
        item = predictor.item(example)
        assert item.written[1:] == item.encoded.pieces + item.encoded.words
        words = tuple(text.text.split()) if name.endswith("words") else (text.text,)
        if text.cut or predictor.tokenizer.text(predictor.tokenizer.numbers(words)) != text.text:
            continue
        scores = predictor.model(_inputs(predictor, Example(words, whole=True)))["text"].log_softmax(-1)[0]
        pieces = predictor.item(Example(words, whole=True)).labels["text"]
        each = [float(scores[place, piece]) for place, piece in enumerate(pieces)]
        begun = len(item.written) - 1
        if predictor.tokenizer.numbers(words)[:begun] == item.written[1:]:
            assert text.log_probability == pytest.approx(sum(each[begun:]), abs=1e-3)


def _inputs(predictor, example):
    from regard.data.batching import collate

    return collate([predictor.item(example)], [0]).inputs


def test_no_piece_that_is_forbidden_or_repeated_is_written_but_a_beginning_may_hold_both():
    predictor, _ = predictor_for("lm of words")
    run = package.run.Run("x", recipe_from({**values("lm of words"), "data": {"train": "x"}}), predictor)
    asked = run.decoding({"decode.no_repeat": 1, "decode.max_length": 5})
    (answer,) = asked.predict(["the the the"])
    added = answer.text.split()[3:]
    assert answer.text.startswith("the the the") and len(added) == len(set(added)) > 0
    assert "the" not in added


def test_masks_are_drawn_anew_in_each_epoch_and_an_evaluation_always_asks_the_same():
    predictor, corpus = predictor_for("mlm of words")
    items = Drawn(predictor, corpus.train, 1)
    assert items.item(3, 0) == items.item(3, 0) != items.item(3, 1)
    assert [predictor.item(example) for example in corpus.dev] == [predictor.item(example) for example in corpus.dev]
    assert items.sizes.tolist() == [items.item(number, 0).size for number in range(len(corpus.train))]
    sizes = Drawn(*_drawn("lm of pieces"), 1)
    assert sizes.sizes.tolist() == [sizes.item(number, 0).size for number in range(len(corpus.train))]


def _drawn(name):
    predictor, corpus = predictor_for(name)
    return predictor, corpus.train


def test_a_file_teaches_what_its_lines_teach(tmp_path):
    for part, lines in PARTS.items():
        (tmp_path / f"{part}.txt").write_text("\n\n".join(lines))
    files = {part: str(tmp_path / f"{part}.txt") for part in PARTS}
    package.train(values("mlm of words", data=files), run=tmp_path / "files")
    package.train(values("mlm of words"), run=tmp_path / "lines", data=PARTS)
    one, other = final(tmp_path / "files"), final(tmp_path / "lines")
    assert all(torch.equal(one[name], other[name]) for name in other)


def test_dev_is_set_aside_where_it_is_missing(tmp_path):
    (tmp_path / "train.txt").write_text("\n".join(LINES))
    recipe = recipe_from(
        {**values("mlm of words"), "data": {"train": str(tmp_path / "train.txt"), "split": [0.1, 0.2]}}
    )
    told = []
    corpus = read_corpus(recipe, told.append)
    parts = [[example.words for example in part] for part in (corpus.train, corpus.dev, corpus.test)]
    assert sorted(words for part in parts for words in part) == sorted(tuple(line.split()) for line in LINES)
    assert [len(part) for part in parts[1:]] == [round(0.1 * len(LINES)), round(0.2 * len(LINES))]
    assert any("lines are set aside" in sentence for sentence in told)
    with pytest.raises(DataError, match="1 lines cannot be split into train and dev"):
        given_corpus(recipe, {"train": ["one"]}, told.append)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a person does: plain text, init, train."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "text.txt").write_text("\n".join(LINES))
    quick = ["train.epochs=2", "model.width=16", "model.depth=1", "input.size=300"]
    for task in ("mlm", "lm"):
        made = regard("init", task, "--data", "text.txt", "--out", f"{task}.toml", folder=folder)
        assert made.status == 0, made.err
        assert "text.txt: train, read as plain text" in made.err and "307 lines" in made.err
        trained = regard("train", f"{task}.toml", *quick, folder=folder)
        assert trained.status == 0, trained.err
        assert FLOOR in trained.err
    return folder


def test_masks_are_filled_from_the_command_line(folder):
    lines = f"the {MASK} saw it\n\nno mask\n"
    found = regard("predict", "runs/mlm", "lines.txt", folder=_with(folder, lines))
    assert found.status == 0, found.err
    first, second, third = found.out.splitlines()
    assert first.startswith("the") and first.endswith(" saw it") and MASK not in first
    assert (second, third) == ("", "no mask")
    found = regard("predict", "runs/mlm", "lines.txt", "--top", "3", folder=folder)
    rows = [line.split("\t") for line in found.out.splitlines()]
    assert [row[:2] for row in rows] == [["1", "1"]] * 3
    found = regard("predict", "runs/mlm", "lines.txt", "--top", "2", "--json", folder=folder)
    told = [json.loads(line) for line in found.out.splitlines()]
    assert [len(one["masks"]) for one in told] == [1, 0, 0] and len(told[0]["masks"][0]) == 2


def test_texts_go_on_from_the_command_line(folder):
    found = regard("predict", "runs/lm", "lines.txt", "decode.max_length=3", folder=_with(folder, "the dog\n\nit\n"))
    first, second, third = found.out.splitlines()
    assert first.startswith("the dog") and second == "" and third.startswith("it")
    found = regard("predict", "runs/lm", "lines.txt", "--best", "2", "decode.max_length=2", folder=folder)
    assert {line.split("\t")[0] for line in found.out.splitlines()} >= {"1", "3"}
    drawn = ["decode.sample=true", "decode.max_length=4"]
    one, other = (regard("predict", "runs/lm", "lines.txt", *drawn, folder=folder).out for _ in range(2))
    assert one == other


def test_texts_are_scored_from_the_command_line(folder):
    for task, second in (("mlm", "accuracy"), ("lm", "character_perplexity")):
        found = regard("evaluate", f"runs/{task}", "text.txt", folder=folder)
        assert found.status == 0, found.err
        rows = dict(line.split("\t")[:2] for line in found.out.splitlines())
        assert set(rows) == {"score", "perplexity", second} and math.isfinite(float(rows["perplexity"]))


def test_what_is_looked_at_is_shown(folder):
    found = regard("look", "runs/mlm", f"the {MASK} saw it", folder=folder)
    assert found.status == 0 and MASK in found.out.replace("\n", "")[:400] + found.out, found.err
    assert regard("look", "runs/lm", "the dog", folder=folder).status == 0


def _with(folder, text):
    (folder / "lines.txt").write_text(text)
    return folder


def test_what_does_not_fit_is_refused_by_name(folder):
    for words, sentence in (
        (["predict", "runs/lm", "lines.txt", "--top", "3"], "top is asked for, but runs/lm fills no masks"),
        (["predict", "runs/mlm", "lines.txt", "--top", "0"], "top is 0, but at least one piece is asked for"),
        (["predict", "runs/lm", "lines.txt", "--align"], "reads nothing that could stand behind a word"),
        (["predict", "runs/lm", "lines.txt", "--score-targets", "lines.txt"], "regard evaluate scores texts"),
        (["init", "mlm", "--data", "text.txt", "--target", "a", "--out", "x.toml"], "mlm learns from plain text"),
    ):
        found = regard(*words, folder=_with(folder, "the\n"))
        assert found.status == 2 and sentence in found.err, found.err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"task": {"kind": "lm"}, "input": {"tokens": "words+characters"}}, "can be read but not written"),
        ({"task": {"kind": "lm", "masked": 0.2}}, "task.masked is not used with task.kind = lm"),
        ({"task": {"kind": "mlm", "whole_words": True}, "input": {"tokens": "words"}}, "task.whole_words is not used"),
        ({"task": {"kind": "mlm"}, "data": {"train": "x", "target": "y"}}, "data.target is not used"),
        ({"task": {"kind": "mlm"}, "train": {"certify": True}}, "train.certify is not used"),
        ({**LM, "model": {"encoder": "attention"}}, "model.encoder is not used with task.kind = lm"),
        ({"task": {"kind": "label"}, "data": {"train": "x", "longest": 3}}, "data.longest is not used"),
        ({**LM, "decode": {"max_ratio": 2.0}}, "decode.max_ratio is not used with task.kind = lm"),
        ({"task": {"kind": "mlm"}, "input": {"kind": "vectors"}}, "task.kind = mlm learns from plain text"),
        ({"task": {"kind": "mlm"}, "train": {"metric": "bleu"}}, "mlm has perplexity, accuracy"),
    ],
)  # fmt: skip
def test_settings_that_plain_text_does_not_use_are_refused(given, sentence):
    with pytest.raises(RecipeError, match=sentence):
        recipe_from({"data": {"train": "x"}, **given})


def test_a_run_that_writes_no_texts_says_so(folder):
    with pytest.raises(RegardError, match="writes no texts"):
        package.load(folder / "runs" / "mlm").asking(best=2)
