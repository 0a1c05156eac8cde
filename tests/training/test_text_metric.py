"""Scores of texts, held against the libraries that everyone quotes, over the whole corpus at once."""

import math
import random

import jiwer
import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.training.interval import intervals
from regard.training.text_metric import TEXT_METRICS, TextScores

CASES = ["one", "two", "one or two", "none like it"]
WORDS = ["the", "a", "cat", "dog", "sat", "slept", "on", "under", "mat", "table", ",", ".", "it's", "3.5"]
SIGNS = ["我", "们", "在", "桌", "子", "上", "吃", "饭", ",", "。", "ok", "7"]


def corpus(kind: str, words=WORDS, joined=" ", items=31):
    """Answers, and one or several right texts for each."""
    draw = random.Random(kind)

    def text():
        return joined.join(draw.choices(words, k=draw.randrange(1, 11)))

    right = [tuple(text() for _ in range({"two": 2, "one or two": 1 + n % 2}.get(kind, 1))) for n in range(items)]
    if kind == "none like it":
        return ["zzz zz"] * items, right
    answered = [
        joined.join(
            w if draw.random() < 0.7 else draw.choice(words)
            for w in (draw.choice(r).split(joined) if joined else draw.choice(r))
        )
        for r in right
    ]
    return answered, right


def streams(right):
    most = max(map(len, right))
    return [[texts[n] if n < len(texts) else None for texts in right] for n in range(most)]


@pytest.mark.parametrize("tokens", ["13a", "intl", "none"])
@pytest.mark.parametrize("kind", CASES)
def test_bleu_and_chrf_are_sacrebleu_s(kind, tokens):
    answered, right = corpus(kind)
    found = TextScores(answered, right, bleu_tokens=tokens).values()
    wanted = BLEU(tokenize=tokens).corpus_score(answered, streams(right)).score / 100
    assert found["bleu"] == pytest.approx(wanted, abs=1e-9)
    assert found["chrf"] == pytest.approx(CHRF().corpus_score(answered, streams(right)).score / 100, abs=1e-9)


@pytest.mark.parametrize("tokens", ["zh", "char"])
def test_bleu_of_texts_without_spaces_is_sacrebleu_s(tokens):
    answered, right = corpus("one", SIGNS, "")
    found = TextScores(answered, right, bleu_tokens=tokens).values()
    assert found["bleu"] == pytest.approx(
        BLEU(tokenize=tokens).corpus_score(answered, streams(right)).score / 100, abs=1e-9
    )


def test_errors_are_jiwer_s():
    answered, right = corpus("one")
    found = TextScores(answered, right).values()
    only = [text for (text,) in right]
    assert found["word_errors"] == pytest.approx(jiwer.wer(only, answered))
    assert found["character_errors"] == pytest.approx(jiwer.cer(only, answered))


def distance(one, other):
    """The fewest changes from one sequence to another. Source: Wagner & Fischer 1974."""
    row = list(range(len(other) + 1))
    for a in one:
        before, row = row, [row[0] + 1]
        for place, b in enumerate(other):
            row.append(min(row[-1] + 1, before[place + 1] + 1, before[place] + (a != b)))
    return row[-1]


@pytest.mark.parametrize("kind", CASES)
def test_errors_are_counted_against_the_right_text_that_is_nearest(kind):
    answered, right = corpus(kind)
    for name, parts in (("word_errors", str.split), ("character_errors", list)):
        chosen = [
            min(((distance(parts(t), parts(a)), len(parts(t))) for t in texts), key=lambda pair: pair[0] / pair[1])
            for a, texts in zip(answered, right, strict=True)
        ]
        wrong, of = map(sum, zip(*chosen, strict=True))
        assert TextScores(answered, right).values()[name] == pytest.approx(wrong / of)


def test_a_text_is_exact_if_it_is_any_of_the_right_ones():
    found = TextScores(["a b", "c d", "e f", "a b "], [("x y", "a b"), ("c d",), ("c d", "f e"), ("a b",)])
    assert found.values()["exact"] == 2 / 4


def test_an_empty_answer_is_wrong_in_all_and_an_empty_text_is_right_where_it_should_be():
    found = TextScores(["", "a b"], [("a b c",), ("a b",)]).values()
    assert found["exact"] == 1 / 2 and found["word_errors"] == 3 / 5
    found = TextScores(["", "a b"], [("",), ("a b c",)], asked="word_errors").values()
    assert found["exact"] == 1 / 2 and found["word_errors"] == 1 / 3


def test_perplexity_is_how_many_pieces_a_uniform_guess_would_waver_between():
    given = [(size * math.log(1 / 7), size) for size in (1, 2, 5, 11)]
    found = TextScores(["a"] * 4, [("a",)] * 4, given).values()
    assert found["perplexity"] == pytest.approx(7)
    assert TextScores(["a"], [("a",)], [(-1e9, 1)]).values()["perplexity"] < math.inf


def test_scores_that_tell_nothing_of_single_words_are_left_out_unless_asked_for():
    one = TextScores(["ab", "c"], [("ab",), ("d",)])
    assert set(one.values()) == {"exact", "character_errors"}
    for name in ("bleu", "chrf", "word_errors"):
        asked = TextScores(["ab", "c"], [("ab",), ("d",)], asked=name).values()
        assert set(asked) == {"exact", "character_errors", name}


def test_of_nothing_every_score_is_there():
    assert set(TextScores([], []).values()) == set(TEXT_METRICS)


@pytest.mark.parametrize("kind", CASES)
def test_no_score_depends_on_the_order_of_items(kind):
    answered, right = corpus(kind)
    wanted = TextScores(answered, right).values()
    order = list(range(len(answered)))
    random.Random(1).shuffle(order)
    found = TextScores([answered[n] for n in order], [right[n] for n in order]).values()
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("kind", CASES)
def test_an_interval_holds_its_score(kind):
    answered, right = corpus(kind)
    scores = TextScores(answered, right, [(-1.0, 2)] * len(answered))
    found, values = intervals(scores, resamples=41), scores.values()
    assert found.keys() == values.keys()
    for name, (low, high) in found.items():
        assert low - 1e-9 <= values[name] <= high + 1e-9, name


def test_a_resample_is_the_corpus_of_its_items():
    answered, right = corpus("one or two")
    drawn = np.random.default_rng(5).integers(31, size=31)
    weights = np.bincount(drawn, minlength=31)
    resampled = TextScores([answered[n] for n in drawn], [right[n] for n in drawn]).values()
    assert TextScores(answered, right).values(weights) == pytest.approx(resampled)


def test_a_signature_says_how_bleu_and_chrf_were_computed():
    answered, right = corpus("one")
    found = TextScores(answered, right, bleu_tokens="intl").signatures
    assert set(found) == {"bleu", "chrf"} and "tok:intl" in found["bleu"] and "nrefs:1" in found["bleu"]
    metric = BLEU(tokenize="intl")
    metric.corpus_score(answered, streams(right))
    assert found["bleu"] == str(metric.get_signature())
    assert "nrefs:2" in TextScores(*corpus("two")).signatures["bleu"]
    assert "nrefs:var" in TextScores(*corpus("one or two")).signatures["bleu"]
    assert TextScores([], []).signatures == {} == TextScores(["ab"], [("ab",)]).signatures


FAULTS = {
    "a mean of items": lambda scores, weights: float(
        np.mean([sum(wrong) / max(1, of) for *wrong, of in scores.word_errors])
    ),
    "only the first right text": lambda scores, weights: jiwer.wer([t[0] for t in scores.right], list(scores.answered)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_laws_find_a_planted_fault(fault, monkeypatch):
    monkeypatch.setattr(
        "regard.training.text_metric.TEXT_METRICS",
        {**TEXT_METRICS, "word_errors": type(TEXT_METRICS["bleu"])(FAULTS[fault], sign=-1)},
    )
    with pytest.raises(AssertionError):
        test_errors_are_counted_against_the_right_text_that_is_nearest("two")
