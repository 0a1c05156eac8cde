"""The package's shape: who may import whom, what stays light, and names that stand in two places being the same."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

import regard
from regard.attention import NORMALIZERS, POSITIONS, SCORES
from regard.build import DECODERS, ENCODERS
from regard.data.dividing import DIVISIONS
from regard.data.labels import FILE_SCHEMES, SCHEMES
from regard.data.reading import READERS
from regard.data.signal.kinds import SIGNALS
from regard.data.text import SPLITS
from regard.data.tokenizer import TOKENIZERS
from regard.decode.search import LENGTH_NORMS
from regard.inputs import INPUTS
from regard.layers import ACTIVATIONS, CELLS, DILATIONS, DIRECTIONS, NORMS, QUERY_KEY_NORMS
from regard.layers.block import PLACES
from regard.machine import EXTRAS
from regard.models.gather import POOLINGS
from regard.models.signal_inputs import STEMS
from regard.models.speech_input import LEVELS
from regard.recipe import NAMES
from regard.recipe.settings import FORMATS
from regard.training.metric import METRICS
from regard.training.objective import CLASS_WEIGHTS
from regard.training.schedule import SCHEDULES

PACKAGE = Path(regard.__file__).parent
ROOT = Path(__file__).resolve().parents[1]

# Lowest first: a part may import from lower rows, from itself, and from nothing beside it.
ROWS = (
    ("errors", "page"),
    ("attention", "data", "recipe", "decode"),
    ("layers",),
    ("models",),
    ("written",),
    ("predict", "machine"),
    ("look", "training", "writing"),
    ("plain_text",),
    ("inputs", "corpus"),
    ("build",),
    ("folder", "scoring", "matching"),
    ("joining", "calibrating"),
    ("run", "init", "doctor", "runs", "results", "start"),
    ("certificate",),
    ("ship",),
    ("experiment",),
    ("demo", "verifying", "dry_run", "comparison", "printing", "showing", "long_file"),
    ("cli",),
    ("__main__", "__init__"),
)
ROW_OF = {part: number for number, row in enumerate(ROWS) for part in row}

TABLES = {
    "data.format": {"guess", *READERS, *(name for kind in SIGNALS.values() for name in kind.readers)},
    "input.kind": INPUTS,
    "input.stem": STEMS,
    "input.tokens": TOKENIZERS,
    "input.split": SPLITS,
    # What is read as words and their letters, or between signs, cannot be written.
    "output.tokens": {name: kind for name, kind in TOKENIZERS.items() if name not in ("words+characters", "library")},
    "data.split_by": DIVISIONS,
    "data.scheme": FILE_SCHEMES,
    "input.level": LEVELS,
    "output.scheme": SCHEMES,
    "model.encoder": ENCODERS,
    "model.decoder": DECODERS,
    "model.dilations": DILATIONS,
    "model.cell": CELLS,
    "model.directions": DIRECTIONS,
    "model.activation": ACTIVATIONS,
    "model.score": SCORES,
    "model.normalizer": NORMALIZERS,
    "model.position": POSITIONS,
    "model.norm": NORMS,
    "model.query_key_norm": QUERY_KEY_NORMS,
    "model.pooling": POOLINGS,
    "model.norm_place": PLACES,
    "decode.length_norm": LENGTH_NORMS,
    "train.schedule": SCHEDULES,
    "train.class_weights": CLASS_WEIGHTS,
    "train.metric": METRICS,
}


def imports(path, source=None):
    """(line, part) of every import of the package's own parts in a file."""
    for node in ast.walk(ast.parse(path.read_text() if source is None else source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "regard":
            parts = node.module.split(".")[1:2] or [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("regard.")]
        else:
            continue
        for part in parts:
            yield node.lineno, part


def offences(path, source=None):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for line, imported in imports(path, source):
        if imported != part and ROW_OF[imported] >= ROW_OF[part]:
            yield f"{path.relative_to(PACKAGE)}:{line} imports {imported}, which stands above or beside {part}"


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_part_has_its_row():
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES}
    assert parts <= set(ROW_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_from_higher_to_lower_rows(path):
    assert list(offences(path)) == []


def test_an_import_upwards_would_be_named():
    found = list(offences(PACKAGE / "attention" / "mask.py", "x = 1\nfrom regard.layers import Encoder\n"))
    assert found == ["attention/mask.py:2 imports layers, which stands above or beside attention"]


def test_attention_knows_only_torch():
    for path in (PACKAGE / "attention").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                root = node.module.split(".")[0]
                assert root in {"regard", "torch"} or root in sys.stdlib_module_names, f"{path}:{node.lineno}"


@pytest.mark.parametrize("setting", TABLES)
def test_the_names_of_a_setting_are_the_keys_of_its_table(setting):
    assert set(NAMES[setting]) == set(TABLES[setting])


def test_the_formats_of_each_kind_of_input_are_its_readers():
    wanted = {"text": set(READERS), **{name: set(kind.readers) for name, kind in SIGNALS.items()}}
    assert {name: set(formats) for name, formats in FORMATS.items()} == wanted
    assert set(SIGNALS) == set(INPUTS) - {"text"}


def test_every_setting_with_names_is_held_against_something():
    others = {
        "task.kind", "data.on_error", "data.encoding_errors", "input.normalize", "train.device",
        "output.share", "output.bleu_tokens", "decode.unknown",
    }  # fmt: skip
    assert set(NAMES) == set(TABLES) | others


def test_the_names_of_bleu_s_tokens_are_sacrebleu_s():
    assert set(NAMES["output.bleu_tokens"]) <= set(BLEU.TOKENIZERS)


def test_the_extras_that_doctor_knows_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {extra: tuple(name.split(">")[0] for name in packages) for extra, packages in declared.items()}
    assert {extra: names[extra] for extra in EXTRAS} == EXTRAS
    assert set(declared) == {*EXTRAS, "all", "test", "bench"}


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["train"],
        ["predict"],
        ["init"],
        ["look"],
        ["runs"],
        ["doctor"],
        ["evaluate"],
        ["compare"],
        ["study"],
        ["certify"],
        ["export"],
        ["import"],
    ],
)
def test_help_does_not_import_torch(words):
    code = f"""
import sys
from regard.cli import app
try:
    app([*{words!r}, "--help"])
except SystemExit as ended:
    assert ended.code == 0
assert not {{"torch", "numpy"}} & set(sys.modules)
"""
    assert "Usage" in run(code)


def test_importing_the_package_imports_nothing_heavy():
    run("import sys, regard; assert 'torch' not in sys.modules; assert 'train' in dir(regard)")


def test_the_public_names_are_there():
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        regard.trian  # noqa: B018


def test_help_takes_less_than_seven_tenths_of_a_second_of_cpu():
    code = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "regard", "--help"], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""
    run(code)  # once, so that the compiled files are there
    assert min(float(run(code)) for _ in range(3)) < 0.7
