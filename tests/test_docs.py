"""Every command and piece of Python in the README and in docs/ is run, in the order in which a reader meets it."""

import contextlib
import gzip
import io
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from test_cli import regard

from regard.recipe import NAMES
from regard.recipe.settings import DecodeSettings

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "README.zh.md")


def blocks(page):
    """The fenced blocks of a page: (language, lines)."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [(language, body.splitlines()) for language, body in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)]


def commands(page):
    """(command, the lines that stand below it as its output)."""
    found = []
    for language, lines in blocks(page):
        if language:
            continue
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found and lines[0].startswith("$ "):
                found[-1][1].append(line)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reader")


def run_all(page, folder, shown=lambda line: line):
    """Run a page's commands, one after the other; gives them. shown: what counts of a line."""
    ran = []
    for command, output in commands(page):
        text, _, words = command.partition(" | ") if " | " in command else ("", "", command)
        arguments = shlex.split(words)
        assert arguments[0] == "regard"
        if text:  # echo "…" | regard … RUN: the same text as a file
            (folder / "line.txt").write_text(shlex.split(text)[1] + "\n")
            arguments.append("line.txt")
        found = regard(*arguments[1:], folder=folder)
        assert found.status == 0, f"{command}: {found.err}"
        for line in output:
            assert shown(line) in map(shown, found.out.splitlines()), f"{command} printed {found.out}"
        ran.append(command)
    return ran


def test_the_commands_of_the_readme_do_what_it_says(folder):
    ran = run_all("README.md", folder)
    assert ran[0] == "regard demo" and len(ran) >= 9


def test_the_commands_of_the_guide_run(folder, monkeypatch):
    """After the demo and the page's own Python, whose files they use."""
    pytest.importorskip("PIL", reason="needs pillow: pip install regard[vision]")
    monkeypatch.chdir(folder)
    for language, lines in blocks("docs/guide.md"):
        if language == "python":
            exec(compile("\n".join(lines), "docs/guide.md", "exec"), {})
    assert len(run_all("docs/guide.md", folder)) >= 21


def masked(line):
    """Decimals are others in their last digits on another machine."""
    return re.sub(r"-?\d+\.\d+", "#", line)


def written(line):
    """What is right stands there in any case; what else a model writes is another after another training."""
    return re.sub(r"\d{3,}", lambda found: found[0] if found[0] in ("40006", "2007") else "#", masked(line))


def test_the_commands_of_the_page_on_decoding_print_what_it_shows(folder):
    (folder / "regard-demo" / "two.txt").write_text("forty thousand and six\ntwo thousand and seven\n")
    (folder / "regard-demo" / "digits.txt").write_text("40006\n207\n")
    assert len(run_all("docs/decoding.md", folder, written)) >= 14


def squeezed(line):
    """Columns are as wide as their numbers."""
    return " ".join(masked(line).split())


def test_the_commands_of_the_page_on_looking_print_what_it_shows(folder):
    assert len(run_all("docs/looking.md", folder, squeezed)) >= 11


def test_the_python_of_the_page_on_looking_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    code = ["\n".join(lines) for language, lines in blocks("docs/looking.md") if language == "python"]
    assert code
    for block in code:
        exec(compile(block, "docs/looking.md", "exec"), {})


def test_the_lessons_can_be_learnt(folder, monkeypatch):
    """Their commands run, their Python prints what they show and draws the pictures that stand in them."""
    page = "docs/lessons/README.md"
    assert len(run_all(page, folder, squeezed)) >= 4
    monkeypatch.chdir(folder)
    names, shown = {}, blocks(page)
    for (language, lines), (after, printed) in pairwise([*shown, ("", [])]):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n".join(lines), page, "exec"), names)
            assert [line.rstrip() for line in out.getvalue().splitlines()] == (printed if after == "text" else [])
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        drawn, kept = (where / picture for where in (folder, (ROOT / page).parent))
        assert drawn.read_text().count("<rect") == kept.read_text().count("<rect")


def test_the_page_on_looking_names_every_measure_and_every_option():
    from regard.look.measure import ALL_MEASURES

    text = (ROOT / "docs" / "looking.md").read_text(encoding="utf-8")
    for measure in ALL_MEASURES:
        assert f"`{measure}`" in text, measure
    for option in re.findall(r"--[a-z-]+", regard("look", "--help").out):
        assert option in text or option in ("--help", "--trust-code", "--json", "--reference"), option


def test_the_commands_of_the_page_on_comparing_run(folder):
    """After the demo, whose runs it compares."""
    assert len(run_all("docs/comparing.md", folder, masked)) == 4
    assert all((folder / page).is_file() for page in ("compare.html", "words.html", "parts.html"))


def test_the_page_on_decoding_names_every_setting():
    text = (ROOT / "docs" / "decoding.md").read_text(encoding="utf-8")
    for setting in DecodeSettings.model_fields:
        assert f"decode.{setting}" in text, setting


def test_the_python_of_the_readme_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    code = ["\n".join(lines) for language, lines in blocks("README.md") if language == "python"]
    assert len(code) >= 2
    for block in code:
        exec(compile(block, "README.md", "exec"), {})


def test_the_demo_keeps_its_promises(folder):
    """At least 98 % of unseen sentences wholly right, 99.5 % of words; a word alone tells no more than a list."""
    from regard.demo.story import answered, looked_up, shares, write_data
    from regard.run import load

    parts = write_data(folder / "again")
    test = folder / "again" / "test.conllu"
    looking = shares(answered(load(folder / "regard-demo" / "attention").evaluate(test)))
    alone = shares(answered(load(folder / "regard-demo" / "pointwise").evaluate(test)))
    listed = shares(looked_up(parts))
    assert looking.sentences >= 0.98 and looking.words >= 0.995
    assert abs(alone.words - listed.words) <= 0.01 and alone.ambiguous < 0.7
    assert not {s.words for s in parts["train"]} & {s.words for s in parts["test"]}


@pytest.mark.parametrize("pages", [PAGES, ("docs/guide.md", "docs/guide.zh.md")], ids=("readme", "guide"))
def test_the_chinese_page_has_the_same_commands_and_code(pages):
    english, chinese = (
        [(language, [re.sub(r"#.*", "", line).rstrip() for line in lines]) for language, lines in blocks(page)]
        for page in pages
    )
    assert english == chinese


def beside(shared_data, name):
    """The file that a command of docs/results.md names, made from the data beside the repository."""
    if name.startswith("en_ewt"):
        return (shared_data / "ud-english-ewt" / name).read_bytes()
    if name.startswith("tr_imst"):
        return (shared_data / "ud-turkish-imst" / name).read_bytes()
    if name.endswith(".conll"):
        return gzip.decompress((shared_data / "resume-ner" / name.replace(".conll", ".char.bmes.gz")).read_bytes())
    if name == "tweets.train.tsv":
        tweets = gzip.decompress((shared_data / "vader-ratings" / "tweets_GroundTruth.txt.gz").read_bytes())
        lines = tweets.splitlines(keepends=True)
        return b"".join(line for number, line in enumerate(lines, 1) if number % 10)
    if name.endswith(".ts.gz"):
        return (shared_data / "timeseries-ucr-uea" / name).read_bytes()
    if name.startswith("stsb"):
        packed = shared_data / "stsb" / f"{name.replace('stsb', 'stsb-en')}.gz"
        return gzip.decompress(packed.read_bytes())
    if name.startswith(("german", "turkish", "finnish")):
        return (shared_data / "sigmorphon2018" / name).read_bytes()
    return (shared_data / "sst2" / name).read_bytes()


# Lines of a table that are enough to see that a command runs.
ENOUGH = 400


def prepare(words, shared_data, folder):
    """Run one of the recipes' scripts, and keep the first lines of what it writes."""
    script, source, target = words[1:4]
    data = {"cmudict.dict.gz": shared_data / "cmudict" / "cmudict.dict.gz"}.get(source, shared_data / source)
    if source == "recordings":
        data = folder / source
        shutil.unpack_archive(shared_data / "fsdd" / "recordings.tar.xz", folder, filter="data")
    command = [sys.executable, str(ROOT / script), str(data), str(folder / target), *words[4:]]
    subprocess.run(command, check=True, capture_output=True)
    for table in (folder / target).glob("*.tsv"):
        lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
        table.write_text("".join(lines[:ENOUGH]), encoding="utf-8")


def test_the_commands_of_the_results_run(shared_data, tmp_path):
    """Each with a hundredth of an epoch: that they reach what is said is for the page itself to say."""
    lines = [line for language, body in blocks("docs/results.md") if not language for line in body]
    ran = []
    for line in lines:
        words = shlex.split(line)
        if words[0] == "python" and "prepare_" not in words[1]:
            continue  # a whole experiment; its own test is in tests/
        if words[0] == "python":
            prepare(words, shared_data, tmp_path)
            continue
        words = [word for word in words[1:] if not word.startswith(("train.minutes=", "train.epochs="))]
        if words[0] == "train":
            words += ["train.epochs=0.01", *(["decode.max_length=9"] if writes(tmp_path / words[1]) else [])]
        if words[0] == "study":
            words += ["--minutes", "1e-9"]
        for name in words:
            if re.search(r"\.(conllu\.gz|conll|tsv|csv|gz)$", name) and "/" not in name:
                (tmp_path / name).write_bytes(beside(shared_data, name))
        found = regard(*words, folder=tmp_path)
        assert found.status == 0, f"{line}: {found.err}"
        ran.append(line)
    assert len(ran) >= 20


def writes(recipe):
    """Whether a recipe writes texts, which takes long as long as a model has not learnt to end them."""
    return 'kind = "seq2seq"' in recipe.read_text(encoding="utf-8")


def test_the_examples_of_the_page_on_attention_print_what_it_shows():
    names, shown = {}, 0
    for (language, lines), (after, printed) in pairwise(blocks("docs/attention.md")):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n".join(lines), "docs/attention.md", "exec"), names)
            assert after == "text" and [line.rstrip() for line in out.getvalue().splitlines()] == printed
            shown += 1
    assert shown >= 10


def test_the_page_on_attention_names_everything_that_can_be_chosen():
    text = (ROOT / "docs" / "attention.md").read_text(encoding="utf-8")
    for setting in ("model.score", "model.normalizer", "model.position"):
        assert setting in text
        for name in NAMES[setting]:
            assert f"\n| `{name}` |" in text, name
    for made in ("lengths", "keys", "causal", "window", "prefix", "blocks", "allowed"):
        assert f"\n| `Mask.{made}(" in text, made


@pytest.mark.parametrize("page", [*PAGES, *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in link:
            assert ((ROOT / page).parent / link).exists(), link
