"""What each part buys: networks without it, at several depths."""

import json

import pytest
import small
from test_cli import regard

import regard as package
from regard.comparison.ablation import PARTS, WHOLE, ablation, changed, depths_of, recipes_without
from regard.errors import RegardError
from regard.recipe import recipe_from

WORDS = ("study", "small.toml", "train.epochs=0.1", "--without", "residual,norm", "--depths", "2,1", "--seeds", "2")
NETWORKS = [WHOLE, "no-residual", "no-norm", "batch-norm"]


def recipe(task="label", **model):
    return recipe_from({"task": {"kind": task}, "data": {"train": "train.conllu"}, "model": model})


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    small.write(folder, train=67, dev=13, test=17)
    return folder, regard(*WORDS, "--out", "pages/parts.html", folder=folder)


def test_every_part_is_taken_out_and_nothing_else():
    plain = recipe(width=12, heads=3, key_heads=1, distance=5, position="shaw")
    found = recipes_without(plain, list(PARTS))
    assert list(found) == [WHOLE, *(name for networks in PARTS.values() for name in networks)]
    whole = plain.model.model_dump()
    differ = {
        name: {key: value for key, value in of.model.model_dump().items() if value != whole[key]}
        for name, of in found.items()
    }
    assert differ == {
        WHOLE: {},
        "no-residual": {"residual": False},
        "no-norm": {"norm": "none"},
        "batch-norm": {"norm": "batch"},
        "no-positions": {"position": "none", "distance": None},
        "no-scale": {"scale": 1.0},
        "one-head": {"heads": 1, "key_heads": None},
    }


def test_where_the_norm_is_batch_norm_only_its_absence_is_tried():
    assert list(recipes_without(recipe(norm="batch"), ["norm"])) == [WHOLE, "no-norm"]


def test_a_text_s_decoder_loses_the_part_too():
    found = recipes_without(recipe("seq2seq", encoder="recurrent", decoder="recurrent"), ["heads", "scale"])
    assert found["one-head"].model.heads == 1 and found["no-scale"].model.scale == 1.0


@pytest.mark.parametrize(
    ("model", "parts", "words"),
    [
        ({"residual": False}, ["residual"], "residual cannot be taken out: model.residual is false already"),
        ({"norm": "none"}, ["norm"], "norm cannot be taken out: model.norm is none already"),
        ({"position": "none"}, ["positions"], "positions cannot be taken out: model.position is none already"),
        ({"scale": 1.0}, ["scale"], "scale cannot be taken out: model.scale is 1.0 already"),
        ({"heads": 1}, ["heads"], "heads cannot be taken out: model.heads is 1 already"),
        (
            {"score": "dot"},
            ["scale"],
            "scale cannot be taken out: model.score is dot, and only scaled_dot is divided by √head_width",
        ),
        (
            {"encoder": "pointwise"},
            ["residual", "positions"],
            "positions cannot be taken out: model.position is not used with model.encoder = pointwise",
        ),
        (
            {"encoder": "recurrent"},
            ["heads"],
            "heads cannot be taken out: model.heads is not used with model.encoder = recurrent",
        ),
        (
            {},
            ["residuals"],
            "unknown part residuals; known: residual, norm, positions, scale, heads; did you mean residual?",
        ),
        ({}, [], "no part is given; known: residual, norm, positions, scale, heads"),
    ],
)
def test_a_part_that_is_not_there_is_refused_by_name(model, parts, words):
    with pytest.raises(RegardError) as raised:
        recipes_without(recipe(**model), parts)
    assert str(raised.value) == words


def test_code_of_one_s_own_and_no_seed_are_refused(done):
    folder, _ = done
    path = folder / "small.toml"
    with pytest.raises(RegardError, match=r"model\.score is mine:Score, but a study does not train with code of"):
        ablation(path, ["norm"], [], 1, overrides={"model.score": "mine:Score"})
    with pytest.raises(RegardError, match="seeds is 0 and minutes is None"):
        ablation(path, ["norm"], [], 0)


def test_depths_are_sorted_and_the_recipe_s_own_where_none_is_given():
    assert depths_of([4, 1, 4, 2], 3) == [1, 2, 4] and depths_of([], 3) == [3]
    assert changed(recipe(depth=3), {"depth": 5}).model.depth == 5
    with pytest.raises(RegardError, match="depths are numbers of blocks from 1, as in 1,2,4; found 2, 0"):
        depths_of([2, 0], 3)


def test_every_cell_is_a_run_of_its_own(done):
    folder, found = done
    assert found.status == 0, found.err
    runs = folder / "studies" / "small"
    names = {f"{name}-depth-{depth}-seed-{seed}" for name in NETWORKS for depth in (1, 2) for seed in (1, 2)}
    assert {path.name for path in runs.iterdir()} == names
    model = package.load(runs / "batch-norm-depth-2-seed-2").recipe
    assert (model.model.norm, model.model.depth, model.train.seed) == ("batch", 2, 2)


def test_a_row_for_each_network_and_depth_and_a_sentence_for_each_part(done):
    folder, found = done
    lines = found.out.splitlines()
    assert lines[0] == "accuracy on dev" and len(lines[2:10]) == 8
    rows = [line.split("\t") for line in lines[2:10]]
    assert [row[:3] for row in rows] == [[depth, name, "2"] for depth in "12" for name in NETWORKS]
    for row in rows:
        assert (row[6] == "–") == (row[1] == WHOLE)
    for depth in "12":
        for name in NETWORKS[1:]:
            assert f"At depth {depth} {name} is " in lines[11]
    page = (folder / "pages" / "parts.html").read_text()
    assert page.count("<polygon") == len(NETWORKS) and "batch-norm" in page


def test_what_is_trained_is_not_trained_again_and_what_is_left_is_said(done):
    folder, found = done
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("studies/*/*/best/model.safetensors")}
    again = regard(*WORDS[:-1], "3", "--minutes", "1e-9", "--json", folder=folder)
    assert again.status == 0, again.err
    data = json.loads(again.out)
    assert data["left"] == [f"{name}-depth-{depth}-seed-3" for depth in (1, 2) for name in NETWORKS]
    assert len(data["cells"]) == 16 and data["sentence"] in found.out
    assert stamps == {path: path.stat().st_mtime_ns for path in folder.glob("studies/*/*/best/model.safetensors")}
