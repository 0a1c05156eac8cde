"""A run as a folder: nothing is lost, nothing is run, nothing is silently wrong."""

import os
import resource
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import nn

import regard
from regard.build import build, learn_targets
from regard.data.columns import Columns
from regard.data.example import Example
from regard.data.lines import read_lines
from regard.errors import FolderError
from regard.folder import (
    LABELS,
    RECIPE,
    TOKENIZER,
    WEIGHTS,
    load_model,
    load_tensors,
    load_weights,
    model_folder,
    recover,
    replacing,
    save_model,
    save_tensors,
    unique_tensors,
    write_file,
)
from regard.inputs import learn_tokenizer
from regard.predict import Predictor
from regard.recipe import Recipe, recipe_from
from regard.run import load
from regard.scoring import score

EXAMPLES = [
    Example(("I", "saw", "a", "saw"), {"upos": ("PRON", "VERB", "DET", "NOUN")}),
    Example(("odd",), {"upos": ("ADJ",)}),
]

TOKENS: dict[str, dict[str, Any]] = {
    "words": {"word_width": 5, "minimum_count": 1},
    "words+characters": {"word_width": 5, "character_width": 3, "filters": 2},
    "characters": {},
    "subwords": {"size": 262},
}


def recipe(tokens: str = "words", **sections: Any) -> Recipe:
    return recipe_from(
        {
            "data": {"train": "a.tsv"},
            "input": {"tokens": tokens, **TOKENS[tokens]},
            "output": sections.pop("output", {}),
            "model": {"width": 14, "heads": 7, "depth": 1, "inner": 11, **sections},
        }
    )


def saved(
    folder: Path, given: Recipe | None = None, *, code: Path | None = None, examples: list[Example] = EXAMPLES
) -> Predictor:
    """A run with a small model in its best/."""
    given = recipe() if given is None else given
    columns = list(examples[0].labels)
    tokenizer, labels = learn_tokenizer(given, examples), learn_targets(given, examples, columns)
    predictor = build(given, tokenizer, labels, code=code)
    predictor.model.eval()
    with replacing(folder / "best") as new:
        save_model(new, predictor, given, code=code, card="# a card\n")
    return predictor


def refused(folder: Path, *, trust_code: bool = False) -> str:
    """What is said, which must be one sentence."""
    with pytest.raises(FolderError) as raised:
        load_model(model_folder(folder), trust_code=trust_code)
    assert len(str(raised.value).splitlines()) == 1
    return str(raised.value)


# Saved and loaded


@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("tokens", TOKENS)
def test_a_model_that_was_saved_answers_the_same_bit_for_bit(tokens: str, crf: bool, tmp_path: Path) -> None:
    given = recipe(tokens, output={"crf": crf})
    before = saved(tmp_path, given)
    loaded = load_model(model_folder(tmp_path))
    assert loaded.recipe == given and loaded.code is None and not loaded.predictor.model.training
    weights = loaded.predictor.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in before.model.state_dict().items())
    assert list(loaded.predictor.predict(EXAMPLES)) == list(before.predict(EXAMPLES))


def test_best_alone_is_complete(tmp_path: Path) -> None:
    before = saved(tmp_path / "run")
    shutil.copytree(tmp_path / "run" / "best", tmp_path / "copied")
    shutil.rmtree(tmp_path / "run")
    assert list(load(tmp_path / "copied").predictor.predict(EXAMPLES)) == list(before.predict(EXAMPLES))


def test_nothing_that_is_saved_is_a_pickle(tmp_path: Path) -> None:
    saved(tmp_path)
    assert sorted(path.name for path in (tmp_path / "best").iterdir()) == sorted(
        ["model.safetensors", "recipe.toml", "tokenizer.json", "labels.json", "card.md"]
    )


def test_loading_a_run_does_not_hide_how_to_train_one(tmp_path: Path) -> None:
    saved(tmp_path)
    regard.load(tmp_path)
    assert callable(regard.train)


def test_training_data_without_o_and_dev_labels_unseen_in_training_are_no_fault(cases: Path, tmp_path: Path) -> None:
    train, dev, without = (
        [one for one in Columns(None, ()).examples(read_lines(cases / name), name) if isinstance(one, Example)]
        for name in ("b24_train.conll", "b24_dev.conll", "b24_no_o_train.conll")
    )
    found = score(saved(tmp_path, examples=train), dev, recipe())
    assert found.unseen == ["B-LOC"]
    counts = found.scores.columns["-1"].labels
    assert counts.gold.counts() == {"B-LOC": 1, "O": 1} and counts.right.counts()["B-LOC"] == 0
    assert set(saved(tmp_path, examples=without).targets["-1"].names) == {"B-DOC", "I-DOC"}


# Which folder is meant


def test_a_run_means_its_best_model_and_best_or_last_mean_themselves(tmp_path: Path) -> None:
    saved(tmp_path)
    shutil.copytree(tmp_path / "best", tmp_path / "last")
    assert model_folder(tmp_path) == model_folder(tmp_path / "best") == tmp_path / "best"
    assert model_folder(str(tmp_path / "last")) == tmp_path / "last"


def test_a_run_without_a_best_model_says_what_can_be_used(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "best").rename(tmp_path / "last")
    assert refused(tmp_path) == f"{tmp_path} has no best model yet; {tmp_path / 'last'} can be used as it stands"


def test_a_missing_run_names_its_neighbours(tmp_path: Path) -> None:
    for name in ("pos", "ner"):
        (tmp_path / name).mkdir()
    assert refused(tmp_path / "pso") == f"there is no run {tmp_path / 'pso'}; beside it there are ner, pos"
    assert refused(tmp_path / "x" / "y") == f"there is no run {tmp_path / 'x' / 'y'}"


def test_another_folder_is_no_run(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path} is not a run: there is no {WEIGHTS} in it, nor in {tmp_path / 'best'}"


# Damaged

DAMAGED = ["b26_truncated.safetensors", "b26_empty.pt", "b26_truncated.pt", "b26_huge_header.safetensors"]


@pytest.mark.parametrize("name", DAMAGED)
def test_weights_cut_short_are_named_as_incomplete(name: str, cases: Path, tmp_path: Path) -> None:
    saved(tmp_path)
    path = tmp_path / "best" / WEIGHTS
    shutil.copyfile(cases / name, path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    words = refused(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert words.startswith(f"{path} is incomplete or no safetensors file: ")
    # A header that claims 2^62 bytes is not believed: neither Python nor the library takes so much memory.
    assert peak < 2**24 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17


@pytest.mark.parametrize("name", [*DAMAGED, "b27_pickle_marker.pt"])
def test_a_file_is_no_run_and_is_never_loaded(name: str, cases: Path) -> None:
    path = cases / name
    assert refused(path) == f"{path} is a file where a run's folder was expected; files such as .pt are never loaded"


def test_code_hidden_in_a_pickle_is_not_run(cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "run")
    with pytest.raises(FolderError, match="never loaded"):
        load(cases / "b27_pickle_marker.pt", trust_code=True)
    for file in (WEIGHTS, RECIPE, TOKENIZER, LABELS):
        saved(tmp_path / "run")
        shutil.copyfile(cases / "b27_pickle_marker.pt", tmp_path / "run" / "best" / file)
        for trust in (False, True):
            assert str(Path("run", "best", file)) in refused(Path("run"), trust_code=trust)
    with pytest.raises(FolderError, match="incomplete or no safetensors file"):
        load_tensors(cases / "b27_pickle_marker.pt")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not (cases / "PICKLE_WAS_EXECUTED").exists()


def test_every_missing_file_is_named(tmp_path: Path) -> None:
    for file in (RECIPE, TOKENIZER, LABELS):
        saved(tmp_path)
        path = tmp_path / "best" / file
        path.unlink()
        assert refused(tmp_path) == f"{path} is missing; the folder is incomplete"


BROKEN = [
    (RECIPE, "", "has format None, but this regard reads format 1"),
    (RECIPE, "[regard\n", "is damaged: "),
    (RECIPE, "[regard]\nformat = 1\n[model]\nwidht = 3\n", "does not fit this version of regard: "),
    (RECIPE, "regard = 3\n", "has format None, but this regard reads format 1"),
    (
        RECIPE,
        '[regard]\nformat = 1\ncode = 3\n[data]\ntrain = "a"\n',
        "is damaged: [regard] code is no table of digests",
    ),
    (TOKENIZER, "{", "is not a tokenizer of regard's, or incomplete: "),
    (TOKENIZER, '{"kind": "words"}', "is not a tokenizer of regard's, or incomplete: "),
    (LABELS, '{"upos"', "is damaged: "),
    (LABELS, "[]", "is damaged: it is no table"),
    (LABELS, "{}", "does not fit its recipe: "),
    (LABELS, '{"upos": ["A"]}', "does not fit its recipe: "),
    (LABELS, '{"upos": 3}', "labels.json, upos, is damaged: it is no list of texts"),
    (LABELS, '{"upos": []}', "labels.json, upos, is damaged: it is no list of texts"),
    (LABELS, '{"upos": {"mean": 1.0}}', "labels.json, upos, is damaged: 'deviation'"),
    (LABELS, '{"upos": {"mean": "a", "deviation": 1.0}}', "labels.json, upos, is damaged: could not convert"),
    (LABELS, '{"upos": {"mean": 1.0, "deviation": 2.0}}', "does not fit its recipe: "),
    (LABELS, '{"upos": [1, 2, 3, 4, 5]}', "labels.json, upos, is damaged: it is no list of texts"),
]


@pytest.mark.parametrize(("file", "text", "words"), BROKEN)
def test_a_damaged_file_is_refused_in_words(file: str, text: str, words: str, tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "best" / file).write_text(text, encoding="utf-8")
    with pytest.raises(FolderError) as raised:
        load_model(model_folder(tmp_path))
    assert words in str(raised.value) and str(tmp_path / "best") in str(raised.value)


@pytest.mark.parametrize("version", ["2", "17"])
def test_a_newer_format_is_refused_in_words(version: str, tmp_path: Path) -> None:
    saved(tmp_path)
    path = tmp_path / "best" / RECIPE
    path.write_text(path.read_text(encoding="utf-8").replace("format = 1", f"format = {version}"), encoding="utf-8")
    assert refused(tmp_path) == (
        f"{tmp_path / 'best'} has format {version}, but this regard reads format 1; install a newer regard"
    )


# Weights that fit


class Tied(nn.Module):
    """Two names for one tensor."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(7, 5)
        self.output = nn.Linear(5, 7)
        self.output.weight = self.embedding.weight


def test_tied_weights_are_saved_once_and_still_tied_when_loaded(tmp_path: Path) -> None:
    before, after = Tied(1), Tied(2)
    save_tensors(tmp_path / "a", unique_tensors(before))
    assert sorted(load_tensors(tmp_path / "a")) == ["embedding.weight", "output.bias"]
    load_weights(after, tmp_path / "a")
    assert after.output.weight is after.embedding.weight
    assert all(torch.equal(tensor, after.state_dict()[name]) for name, tensor in before.state_dict().items())


def test_whatever_does_not_fit_is_named_all_at_once(tmp_path: Path) -> None:
    tensors = {"embedding.weight": torch.zeros(7, 3), "bias": torch.zeros(7)}
    safetensors.torch.save_file(tensors, tmp_path / "a")
    model = Tied(1)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(FolderError) as raised:
        load_weights(model, tmp_path / "a")
    assert str(raised.value) == (
        f"{tmp_path / 'a'} does not fit its recipe: output.bias is missing; bias is not known; "
        "embedding.weight is (7, 3) where (7, 5) was expected"
    )
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in before.items())


def test_a_part_of_a_view_is_saved_as_it_looks(tmp_path: Path) -> None:
    whole = torch.arange(15.0).reshape(3, 5)
    save_tensors(tmp_path / "a", {"turned": whole.T, "part": whole[:, 1]})
    found = load_tensors(tmp_path / "a")
    assert torch.equal(found["turned"], whole.T) and torch.equal(found["part"], whole[:, 1])


# Saving


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def filled(folder: Path, text: str) -> None:
    with replacing(folder) as new:
        (new / "a").write_text(text, encoding="utf-8")


def test_a_new_folder_takes_the_old_one_s_place(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "best"
    filled(folder, "old")
    with replacing(folder) as new:
        (new / "b").write_text("new", encoding="utf-8")
        assert content(folder) == {"a": "old"}
    assert content(folder) == {"b": "new"} and list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("failure", [OSError("full"), ValueError("x"), KeyboardInterrupt()])
def test_a_failure_while_saving_leaves_the_old_folder(failure: BaseException, tmp_path: Path) -> None:
    folder = tmp_path / "best"
    filled(folder, "old")
    with pytest.raises((FolderError, ValueError, KeyboardInterrupt)), replacing(folder) as new:
        (new / "a").write_text("half", encoding="utf-8")
        raise failure
    assert content(folder) == {"a": "old"}
    filled(folder, "newer")
    assert content(folder) == {"a": "newer"} and list(tmp_path.iterdir()) == [folder]


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    filled(tmp_path / "best", "old")
    with pytest.raises(FolderError) as raised, replacing(tmp_path / "best"):
        raise OSError(28, "No space left on device")
    assert str(raised.value) == (
        f"cannot save {tmp_path / 'best'}: No space left on device; what was saved before is still there. Make room, "
        "then give the same command again"
    )


def test_a_kill_between_the_two_renames_is_recovered_from(tmp_path: Path) -> None:
    # The steps of `replacing`: best.new is filled, best becomes best.old, (killed here) best.new becomes best.
    saved(tmp_path)
    shutil.copytree(tmp_path / "best", tmp_path / "best.new")
    (tmp_path / "best").rename(tmp_path / "best.old")
    assert model_folder(tmp_path) == tmp_path / "best"
    load_model(tmp_path / "best")
    saved(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "best"]


def test_a_kill_between_the_two_renames_is_recovered_from_when_best_itself_is_given(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "best").rename(tmp_path / "best.old")
    assert model_folder(tmp_path / "best") == tmp_path / "best"


def test_a_kill_before_the_renames_or_after_them_needs_no_recovery(tmp_path: Path) -> None:
    folder = tmp_path / "best"
    for left in ("best.new", "best.old"):
        filled(folder, "whole")
        (tmp_path / left).mkdir()
        (tmp_path / left / "a").write_text("other", encoding="utf-8")
        recover(folder)
        assert content(folder) == {"a": "whole"}
        filled(folder, "next")
        assert content(folder) == {"a": "next"} and list(tmp_path.iterdir()) == [folder]


def test_saving_after_a_kill_keeps_the_only_copy_until_the_new_one_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "best"
    filled(folder, "old")
    folder.rename(tmp_path / "best.old")
    with pytest.raises(ValueError, match="killed again"), replacing(folder):
        raise ValueError("killed again")
    recover(folder)
    assert content(folder) == {"a": "old"}


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_file(path, "old")
    write_file(path, "é")
    assert path.read_bytes() == "é".encode()
    with pytest.raises(FolderError, match=f"cannot write {tmp_path / 'none' / 'a'}: No such file or directory"):
        write_file(tmp_path / "none" / "a", "x")
    assert list(tmp_path.iterdir()) == [path]


FULL = """
import resource, sys
from pathlib import Path
from regard.errors import FolderError
from regard.folder import load_model, model_folder, replacing, save_model

run = Path(sys.argv[1])
loaded = load_model(model_folder(run))
# A stand-in for a full disk: no file may grow beyond so many bytes.
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))
try:
    with replacing(run / "best") as folder:
        save_model(folder, loaded.predictor, loaded.recipe, code=None, card="")
except FolderError as error:
    print(error)
"""


def test_when_the_disk_is_full_one_sentence_says_so_and_the_old_model_still_loads(tmp_path: Path) -> None:
    before = saved(tmp_path)
    assert (tmp_path / "best" / WEIGHTS).stat().st_size > 2048
    found = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    [line] = found.stdout.splitlines()
    assert line.startswith(f"cannot save {tmp_path / 'best'}: ") and line.endswith("give the same command again")
    assert "what was saved before is still there" in line
    assert list(load(tmp_path).predictor.predict(EXAMPLES)) == list(before.predict(EXAMPLES))
    assert list(tmp_path.iterdir()) == [tmp_path / "best"]


# Code of one's own

MINE = """
from pathlib import Path

from regard.attention.score import Dot

Path({marker!r}).touch()


class MyScore(Dot):
    pass
"""


def own(folder: Path) -> tuple[Path, Path]:
    """A run whose score is the user's own: (the run, a file that its code makes)."""
    code, marker = folder / "code", folder / "was run"
    code.mkdir()
    (code / "mine.py").write_text(MINE.format(marker=str(marker)), encoding="utf-8")
    saved(folder / "run", recipe(score="mine:MyScore"), code=code)
    shutil.rmtree(code)
    marker.unlink()
    return folder / "run", marker


def test_code_in_a_run_is_not_run_unless_it_is_trusted(tmp_path: Path) -> None:
    run, marker = own(tmp_path)
    assert refused(run) == (
        f"{run / 'best'} carries code of its own (mine.py), which would be run; read it, then say so with "
        "--trust-code (trust_code=True)"
    )
    assert not marker.exists()


def test_code_in_a_run_that_is_trusted_is_used(tmp_path: Path) -> None:
    run, marker = own(tmp_path)
    found = load(run, trust_code=True)
    kinds = {type(module).__name__ for module in found.predictor.model.modules()}
    assert "MyScore" in kinds and marker.exists()
    assert len(found.predict(["I saw a saw"])) == 1


def test_a_run_with_trusted_code_can_be_saved_again(tmp_path: Path) -> None:
    run, _ = own(tmp_path)
    loaded = load_model(model_folder(run), trust_code=True)
    with replacing(tmp_path / "other") as folder:
        save_model(folder, loaded.predictor, loaded.recipe, code=loaded.code, card="")
    assert load_model(tmp_path / "other", trust_code=True).recipe == loaded.recipe


@pytest.mark.parametrize("trust", [False, True])
def test_code_that_was_changed_or_taken_out_is_refused(trust: bool, tmp_path: Path) -> None:
    run, marker = own(tmp_path)
    path = run / "best" / "code" / "mine.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    for _ in ("changed", "missing"):
        wanted = "is not the code that was saved" if trust else "carries code of its own"
        assert wanted in refused(run, trust_code=trust)
        path.unlink(missing_ok=True)
    assert not marker.exists()


def test_code_that_a_run_does_not_own_up_to_is_not_run(tmp_path: Path) -> None:
    run, marker = own(tmp_path)
    path = run / "best" / RECIPE
    text = path.read_text(encoding="utf-8")
    path.write_text("[regard]\nformat = 1\n" + text[text.index("[task]") :], encoding="utf-8")
    assert "--trust-code" in refused(run)
    assert refused(run, trust_code=True) == (
        f"{run / 'best' / 'code' / 'mine.py'} is not the code that was saved with the model"
    )
    assert not marker.exists()


def test_trusted_code_must_have_a_digest(tmp_path: Path) -> None:
    run, marker = own(tmp_path)
    folder = run / "best"
    (folder / "code" / "mine.py").rename(folder / "code" / "other.py")
    (folder / "code" / "mine.py").write_text(MINE.format(marker=str(marker)) + "\n", encoding="utf-8")
    text = (folder / RECIPE).read_text(encoding="utf-8")
    (folder / RECIPE).write_text(text.replace("mine.py", "other.py"), encoding="utf-8")
    assert "mine.py" in refused(run)
    assert (
        refused(run, trust_code=True) == f"{folder / 'code' / 'mine.py'} is not the code that was saved with the model"
    )
    assert not marker.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0", "cannot be run: ZeroDivisionError: division by zero"),
        ("class (", "cannot be run: SyntaxError"),
        ("x = 3", "has no MyScore"),
        (None, "does not exist"),
    ],
)
def test_code_that_does_not_work_is_named(text: str | None, words: str, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    if text is not None:
        (code / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(FolderError) as raised:
        saved(tmp_path / "run", recipe(score="mine:MyScore"), code=code)
    assert words in str(raised.value) and "mine.py" in str(raised.value)
