"""What is printed of scores."""

import pytest

from regard.printing import print_scores, scores_as_json
from regard.scoring import Scored
from regard.training.metric import LabelScores, TextScores, count_labels

TEXTS = Scored(TextScores(["the cat sat", "a dog"], [("the cat sat",), ("a dog ran",)]), ())


def test_bleu_and_chrf_are_told_with_how_they_were_computed(capsys: pytest.CaptureFixture[str]) -> None:
    """Others can compute the same only if they know tokeniser, case and smoothing."""
    print_scores(TEXTS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "score\tvalue\tlow\thigh" and any(line.startswith("bleu\t") for line in lines)
    assert isinstance(TEXTS.scores, TextScores)
    for name, how in TEXTS.scores.signatures.items():
        assert f"{name}: {how}" in lines and "version:" in how
    assert scores_as_json(TEXTS, "x.tsv")["signatures"] == TEXTS.scores.signatures


def test_labels_have_no_signatures(capsys: pytest.CaptureFixture[str]) -> None:
    found = Scored(count_labels([({"upos": ("A",)}, {"upos": ("A",)})]), ())
    assert isinstance(found.scores, LabelScores)
    print_scores(found)
    assert "version:" not in capsys.readouterr().out and "signatures" not in scores_as_json(found, "x")
