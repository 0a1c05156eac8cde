"""Several runs as one: the mean of what all hold probable."""

import math

import numpy as np
import pytest
import small
import torch
from test_cli import regard
from test_plain_text import LINES, values

import regard as package
from regard.data.batching import collate
from regard.data.example import Example
from regard.errors import RecipeError, RegardError

LABELLED = small.parts(train=97, dev=23)
WORDS = [" ".join(words) for words, _ in LABELLED["train"][:60]]
DATA = {
    "label": LABELLED,
    "crf": LABELLED,
    "classify": {"train": [(text, str(len(text) % 3)) for text in WORDS], "dev": [(text, "1") for text in WORDS[:7]]},
    "several": {
        "train": [(text, "|".join(sorted({str(len(text) % 3), str(len(text) % 2)}))) for text in WORDS],
        "dev": [(text, "1") for text in WORDS[:7]],
    },
    "regress": {"train": [(text, len(text) / 7) for text in WORDS], "dev": [(text, 3.0) for text in WORDS[:7]]},
    "seq2seq": {"train": [(text, text[:9]) for text in WORDS], "dev": [(text, text[:9]) for text in WORDS[:7]]},
    "mlm": {"train": LINES[:60], "dev": LINES[60:70]},
    "lm": {"train": LINES[:60], "dev": LINES[60:70]},
}
SETTINGS = {
    "label": {},
    "crf": {"output": {"crf": True}},
    "classify": {"task": {"kind": "classify"}},
    "several": {"task": {"kind": "classify"}, "data": {"train": "given", "separator": "|"}},
    "regress": {"task": {"kind": "regress"}},
    "seq2seq": {"task": {"kind": "seq2seq"}, "decode": {"beam": 3, "max_length": 11}},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of each kind, from two seeds."""
    folder = tmp_path_factory.mktemp("joined")
    for kind, data in DATA.items():
        for seed in (1, 2):
            given = values(f"{kind} of words") if kind in ("mlm", "lm") else small.recipe(**SETTINGS[kind])
            given["train"] |= {"seed": seed, "epochs": 1, "lr": 2e-2}
            package.train(given, run=folder / f"{kind}-{seed}", data=data)
    return folder


def both(runs, kind):
    return [runs / f"{kind}-{seed}" for seed in (1, 2)]


TEXT = WORDS[0]


# Alone, a CRF's labels are chosen together; together with others, each is chosen on its own.
@pytest.mark.parametrize("kind", sorted(set(DATA) - {"crf"}))
def test_a_run_with_itself_answers_as_it_does_alone(kind, runs):
    one = runs / f"{kind}-1"
    alone, joined = package.load(one), package.load([one, one])
    texts = ["the [MASK] saw", "it"] if kind == "mlm" else [TEXT, WORDS[1]]
    for answer, wanted in zip(joined.predict(texts), alone.predict(texts), strict=True):
        assert answer.columns == wanted.columns
        for column, shares in answer.probabilities.items():
            for share, of_one in zip(shares, wanted.probabilities[column], strict=True):
                assert share == pytest.approx(of_one, abs=1e-4)


@pytest.mark.parametrize("kind", ["label", "crf"])
def test_labels_are_those_with_the_highest_mean_probability(kind, runs):
    each = [package.load(run) for run in both(runs, kind)]
    joined = package.load(both(runs, kind))
    example = Example(tuple(TEXT.split()))
    shares = []
    for run in each:
        inputs = collate([run.predictor.item(example)], [0]).inputs
        with torch.inference_mode():
            head = run.predictor.model.output.head("label")
            shares.append(head.probabilities(run.predictor.model(inputs)["label"], inputs["answers"])[0])
    mean = torch.stack(shares).mean(0)
    (answer,) = joined.predict([example])
    names = joined.predictor.targets["label"].names
    assert answer.labels == tuple(names[number] for number in mean.argmax(-1).tolist())
    np.testing.assert_allclose(answer.probabilities["label"], mean.amax(-1).numpy(), atol=1e-5)
    assert not torch.allclose(*shares, atol=1e-2)


def test_classes_are_those_whose_mean_comes_over_the_mean_threshold(runs):
    each = [package.load(run) for run in both(runs, "several")]
    answers = [run.predict([TEXT])[0].probabilities["label"][0] for run in each]
    (answer,) = package.load(both(runs, "several")).predict([TEXT])
    found = answer.probabilities["label"][0]
    for name, share in found.items():
        assert share == pytest.approx(sum(of[name] for of in answers) / 2, abs=1e-5)
    threshold = sum(run.predictor.targets["label"].threshold for run in each) / 2
    assert answer.label == "|".join(name for name, share in found.items() if share > threshold)


def test_numbers_are_their_mean(runs):
    each = [package.load(run).predict([TEXT])[0].number for run in both(runs, "regress")]
    (answer,) = package.load(both(runs, "regress")).predict([TEXT])
    assert answer.number == pytest.approx(sum(each) / 2, abs=2e-3) and each[0] != each[1]


@pytest.mark.parametrize("kind", ["seq2seq", "lm"])
def test_each_next_piece_is_as_probable_as_the_mean_of_all_holds_it(kind, runs):
    joined, each = package.load(both(runs, kind)), [package.load(run) for run in both(runs, kind)]
    labels = {"label": (TEXT[:9],)} if kind == "seq2seq" else {}
    example = Example(tuple(TEXT.split()), labels, whole=True)
    (given,) = joined.predictor.given([example])
    total, (column,) = 0.0, joined.predictor.targets
    inputs, pieces = None, None
    shares = []
    for run in each:
        item = run.predictor.item(example)
        inputs, pieces = collate([item], [0]).inputs, item.labels[column]
        with torch.inference_mode():
            shares.append(run.predictor.model(inputs)[column][0].softmax(-1))
    mean = torch.stack(shares).mean(0)
    total = sum(math.log(float(mean[place, piece])) for place, piece in enumerate(pieces))
    assert given.log_probability == pytest.approx(total, abs=1e-3)


def test_beams_step_together(runs):
    """What the search says of a text, with caches and reordered rows, is what the mean says of it all at once."""
    joined = package.load(both(runs, "seq2seq"))
    compared = 0
    for answer in joined.predict(WORDS[:9]):
        best = answer.texts[0]
        if not best.cut:
            compared += 1
            told = Example(answer.words, {"label": (best.text,)}, whole=True)
            (given,) = joined.predictor.given([told])
            assert best.log_probability == pytest.approx(given.log_probability, abs=1e-3)
    assert compared


def test_what_means_something_else_is_refused_by_name(runs, tmp_path):
    other = small.parts(train=97, dev=23, seed=8)
    package.train(small.recipe(), run=tmp_path / "other", data=other)
    renamed = {part: [(words, [f"x{tag}" for tag in tags]) for words, tags in of] for part, of in LABELLED.items()}
    package.train(small.recipe(), run=tmp_path / "renamed", data=renamed)
    package.train(small.recipe(input={"minimum_count": 5}), run=tmp_path / "fewer", data=LABELLED)
    for names, sentence in (
        ([runs / "label-1", runs / "classify-1"], "task.kind is label in one and classify in the other"),
        ([runs / "label-1", tmp_path / "renamed"], "the labels of label differ"),
        ([runs / "label-1", tmp_path / "fewer"], "they read in other pieces"),
        ([runs / "classify-1", runs / "several-1"], r"data.separator is None in one and \| in the other"),
    ):
        with pytest.raises(RegardError, match=sentence):
            package.load(names)
    joined = package.load(both(runs, "seq2seq"))
    with pytest.raises(RecipeError, match=r"decode\.coverage_penalty asks what a model looks at, but several runs"):
        joined.decoding({"decode.coverage_penalty": 0.2})
    with pytest.raises(RegardError, match="align is asked for, but several runs answer together"):
        joined.asking(align=True)
    with pytest.raises(RegardError, match="look is asked for, but several runs answer together"):
        joined.look(TEXT)


def test_several_runs_answer_from_the_command_line(runs):
    (runs / "lines.txt").write_text("\n".join(WORDS[:5]))
    alone = [regard("predict", f"classify-{seed}", "lines.txt", "--probabilities", folder=runs).out for seed in (1, 2)]
    found = regard("predict", "classify-1", "lines.txt", "--with", "classify-2", "--probabilities", folder=runs)
    assert found.status == 0, found.err
    assert len(found.out.splitlines()) == 5 and found.out not in alone
    (runs / "dev.tsv").write_text("text\tlabel\n" + "".join(f"{text}\t1\n" for text in WORDS[:7]))
    found = regard("evaluate", "lm-1", "lines.txt", "--with", "lm-2", folder=runs)
    assert found.status == 0 and "perplexity" in found.out, found.err
    found = regard("predict", "classify-1", "lines.txt", "--with", "label-1", folder=runs)
    assert found.status == 2 and "cannot answer together" in found.err
