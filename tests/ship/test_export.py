"""What is exported gives the same answers, at lengths it was not drawn by too; else nothing is written."""

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import small
import torch
from test_cli import regard

import regard as package
from regard.certificate import Line
from regard.certificate.of_run import add_line
from regard.data.batching import collate
from regard.data.example import Example
from regard.errors import RegardError
from regard.recipe import recipe_from
from regard.ship import formats, graph
from regard.ship.formats import FORMATS
from regard.ship.graph import output_name
from regard.ship.refuse import refuse

INSTALLED = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            format.extra == "onnx" and find_spec("onnxruntime") is None, reason="needs the extra onnx"
        ),
    )
    for name, format in FORMATS.items()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of a tagger that reads words and their letters."""
    folder = tmp_path_factory.mktemp("ship")
    small.write(folder, epochs=1, train=97, dev=29)
    changes = ['input.tokens="words+characters"', "input.filters=3"]
    done = regard("train", "small.toml", *changes, folder=folder)
    assert done.status == 0, done.err
    return folder


def lines(folder):
    kept = json.loads((folder / "runs" / "small" / "best" / "certificate.json").read_text(encoding="utf-8"))
    return {line["line"]: line for line in kept["lines"]}


def ask_file(to, path, inputs):
    """A graph's file asked as those do who have no regard: with the library of the format alone."""
    if to == "torch":
        return torch.export.load(path).module()(inputs)[output_name("upos")].detach()
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    given = {one.name: inputs[one.name].numpy() for one in session.get_inputs()}
    return torch.from_numpy(session.run([output_name("upos")], given)[0])


@pytest.mark.parametrize("to", INSTALLED)
@pytest.mark.filterwarnings("ignore")
def test_an_export_answers_as_the_model_at_any_length_and_padded(to, folder):
    done = regard("export", "runs/small", "--to", to, folder=folder)
    assert done.status == 0, done.err
    assert f"export {to}\tas it is / exported to {to}\t" in done.out and done.out.endswith("\t0\tsame\n")
    place = folder / "runs" / "small" / "export" / to
    told = json.loads((place / "model.json").read_text(encoding="utf-8"))
    run = package.load(folder / "runs" / "small")
    assert told["targets"][0]["labels"] == list(run.predictor.targets["upos"].names)
    words = [word for example in small.examples(5) for word in example.words]
    items = [run.predictor.item(Example(tuple((words * 2)[:length]))) for length in (1, 7, 33)]
    for numbers in ([0], [1], [2], [2, 0, 1]):
        inputs = collate(items, numbers).inputs
        with torch.inference_mode():
            wanted = run.predictor.model(inputs)["upos"]
        found = ask_file(
            to,
            place / f"model{FORMATS[to].suffix}",
            {one["name"]: inputs[one["name"]] for one in told["graphs"][0]["inputs"]},
        )
        for row, number in enumerate(numbers):
            real = items[number].answers
            assert np.allclose(found[row, :real], wanted[row, :real], atol=1e-4), (to, numbers)


@pytest.mark.parametrize("to", INSTALLED)
def test_certify_asks_the_exports_too_and_names_those_of_other_weights(to, folder):
    place = folder / "runs" / "small" / "export" / to
    run = package.load(folder / "runs" / "small")
    from regard.ship.kept import _line

    examples = small.examples(5)
    here = folder / "runs" / "small" / "best"
    assert _line(run.predictor, examples, here, to, True).verdict == "same"
    if FORMATS[to].code:
        assert "could hold code" in _line(run.predictor, examples, here, to, False).verdict
    told = json.loads((place / "model.json").read_text(encoding="utf-8"))
    (place / "model.json").write_text(json.dumps({**told, "weights": "0"}), encoding="utf-8")
    found = _line(run.predictor, examples, here, to, True)
    (place / "model.json").write_text(json.dumps(told), encoding="utf-8")
    assert found.failed and found.reason == "it was made of other weights; export it again"


def test_certify_has_a_line_for_each_export(folder):
    done = regard("certify", "runs/small", folder=folder)
    assert done.status == 0, done.err
    made = [to for to in FORMATS if (folder / "runs" / "small" / "export" / to).is_dir()]
    assert made and [name for name in lines(folder) if name.startswith("export")] == [f"export {to}" for to in made]


def test_an_export_made_anew_takes_the_place_of_its_line(folder):
    best = folder / "runs" / "small" / "best"
    before = list(lines(folder))
    add_line(best, Line("export torch", ("one", "other"), reason="nobody asked"))
    assert lines(folder)["export torch"]["reason"] == "nobody asked" and len(lines(folder)) == len(before)
    add_line(folder, Line("export torch", ("one", "other")))  # there is no certificate
    assert not (folder / "certificate.json").exists()


def test_an_export_that_says_something_else_is_refused_and_not_written(folder, monkeypatch):
    def load(path, names):
        run = FORMATS_AS_THEY_ARE["torch"].load(path, names)
        # As if the graph forgot about padding: what stands in a batch with a longer one is answered otherwise.
        return lambda inputs: {
            name: scores + 0.1 * (inputs["lengths"] < scores.shape[1])[:, None, None] * torch.arange(scores.shape[-1])
            for name, scores in run(inputs).items()
        }

    FORMATS_AS_THEY_ARE = dict(FORMATS)
    monkeypatch.setitem(formats.FORMATS, "torch", replace(FORMATS["torch"], load=load))
    done = regard("export", "runs/small", "--to", "torch", "--out", "elsewhere", folder=folder)
    assert done.status == 2 and "the export to torch DIFFERS, as always, at item " in done.err
    assert "elements; nothing is written" in done.err and not (folder / "elsewhere").exists()


def test_a_graph_that_holds_the_lengths_it_was_drawn_by_is_refused(folder, monkeypatch):
    monkeypatch.setattr(graph, "_open", lambda graph: dict.fromkeys(graph.inputs))
    done = regard("export", "runs/small", "--to", "torch", "--out", "elsewhere", folder=folder)
    assert done.status == 2 and "the export to torch DIFFERS, as always it fails" in done.err
    assert not (folder / "elsewhere").exists()


def test_what_is_no_export_is_not_written_over(folder):
    done = regard("export", "runs/small", "--to", "torch", "--out", "runs", folder=folder)
    assert done.status == 2 and "runs holds something else than an export; name another folder with --out" in done.err


def test_an_unknown_format_is_answered_with_those_there_are(folder):
    done = regard("export", "runs/small", "--to", "onix", folder=folder)
    assert done.status == 2 and f"unknown format onix; known: {', '.join(FORMATS)}; did you mean onnx?" in done.err


def test_a_missing_package_is_named(folder, monkeypatch):
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    done = regard("export", "runs/small", "--to", "onnx", folder=folder)
    assert done.status == 2
    assert "--to onnx needs onnx, onnxscript, onnxruntime, which is missing; pip install regard[onnx]" in done.err


REFUSED = {
    "output.crf = true": {"output": {"crf": True}},
    "model.encoder = recurrent": {"model": {"encoder": "recurrent"}},
    "model.position = floater": {"model": {"position": "floater"}},
    "model.normalizer = entmax15: ONNX": {"model": {"normalizer": "entmax15"}},
    "task.kind = mlm": {"task": {"kind": "mlm"}, "input": {"tokens": "characters"}},
    "model.decoder = convolution": {
        "task": {"kind": "seq2seq"},
        "input": {"tokens": "characters"},
        "model": {"decoder": "convolution"},
    },
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_a_graph_cannot_express_is_refused_by_name(reason):
    recipe = recipe_from({"data": {"train": "x"}, **REFUSED[reason]})
    with pytest.raises(RegardError, match="cannot be exported to onnx") as found:
        refuse(recipe, "onnx")
    assert reason in str(found.value)


def test_what_has_no_line_in_the_table_of_inputs_is_refused_by_name():
    with pytest.raises(RegardError, match="this model reads smells, which no export can be given"):
        graph.inputs_of({"lengths": torch.tensor([1]), "smells": torch.tensor([1.0])})
