"""The page on recordings: its Python makes the files, its recipe is written down, its commands print what it shows."""

import re

import pytest
from test_docs import ROOT, blocks, masked, run_all

PAGE, CHINESE = "docs/speech.md", "docs/speech.zh.md"


def test_the_page_on_recordings_prints_what_it_shows(tmp_path, monkeypatch):
    pytest.importorskip("soundfile")
    monkeypatch.chdir(tmp_path)
    for language, lines in blocks(PAGE):
        if language == "python":
            exec(compile("\n".join(lines), PAGE, "exec"), {})
        if language == "toml":
            (tmp_path / lines[0].removeprefix("# ")).write_text("\n".join(lines), encoding="utf-8")
    assert len(run_all(PAGE, tmp_path, masked)) == 6


def test_the_chinese_page_on_recordings_has_the_same_blocks():
    assert blocks(PAGE) == blocks(CHINESE)


def test_the_page_on_recordings_names_every_setting_of_speech():
    from regard.recipe.faults import _OF_SPEECH

    text = (ROOT / PAGE).read_text(encoding="utf-8")
    for setting in _OF_SPEECH.split():
        assert re.search(rf"\b{setting}\b", text), setting
