"""Over a corpus: measures of all items, syntactic heads that were planted, links against people's."""

import pytest
import small
import torch
import written
from test_independence import predictor_for

from regard.attention.question import Question
from regard.data.example import Example
from regard.errors import DataError, RegardError
from regard.look.corpus import Found, Gold, Syntax, _count_links, look_at_corpus, read_gold, read_syntax
from regard.look.intervene import replacing
from regard.look.measure import Totals

EXAMPLES = small.examples(23)


def test_measures_of_a_corpus_do_not_depend_on_batches_and_no_weight_is_on_padding():
    predictor = predictor_for("words", {"depth": 2, "heads": 2})
    found = []
    for budget in (1, 10_000):
        predictor.batch_tokens = budget
        found.append(look_at_corpus(predictor, EXAMPLES))
    for (path, head, one), (_, _, other) in zip(found[0].rows(), found[1].rows(), strict=True):
        assert one == pytest.approx(other, abs=1e-5), (path, head)
        assert other["padding"] == 0
    assert found[0].items == len(EXAMPLES)


def test_padding_that_is_looked_at_would_be_seen(monkeypatch):
    """The planted fault: padding is not masked."""
    predictor = predictor_for("words")
    monkeypatch.setattr(Question, "allowed", None)
    found = look_at_corpus(predictor, EXAMPLES)
    assert max(measures["padding"] for _, _, measures in found.rows()) > 1e-3


def chain(example):
    """Each word hangs on the one before it, the first on nothing."""
    count = len(example.words)
    return Syntax((None, *range(count - 1)), ("root", *["dep"] * (count - 1)))


def test_a_planted_head_finds_every_syntactic_head_and_a_planted_offset_too():
    predictor = predictor_for("words", {"depth": 1, "heads": 2})
    same = [example for example in EXAMPLES if len(example.words) == len(EXAMPLES[0].words)]
    count = len(same[0].words)
    with replacing(predictor.model, "encoder.blocks.0.attention", 1, torch.eye(count).roll(-1, 1)):
        found = look_at_corpus(predictor, same * 5, syntax=[chain(example) for example in same * 5])
    for relation, number, share, which, constant, offset in found.relations():
        assert relation in ("all", "dep") and number == 5 * len(same) * (count - 1)
        assert share == 1 and which == "layer 1 head 2, from the dependent"
        assert constant == 1 and offset == -1


def test_words_in_pieces_are_measured_as_words():
    predictor = predictor_for("subwords", {"depth": 1})
    found = look_at_corpus(predictor, EXAMPLES, syntax=[chain(example) for example in EXAMPLES])
    there = sum(len(example.words) - 1 for example in EXAMPLES)
    assert all(of_head.syntax["all"][2] == there for of_head in found.found.values())


def test_heads_and_relations_are_read_as_conllu_writes_them():
    (found,) = read_syntax([(("2", "0", "_", None), ("nsubj", "root", "_", None))])
    assert found.heads == (1, None, None, None) and found.relations == ("nsubj", "root", "_", "_")


def test_the_error_rate_of_links_is_that_of_its_formula():
    """Och & Ney 2003: A = {a, b, c}, S = {a}, P = {a, b}: 1 − (1 + 2) / (3 + 1)."""
    gold = Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    found = Found()
    _count_links(found, ((0, 0), (1, 1), (2, 2)), gold)
    assert found.error_rate == pytest.approx(1 - 3 / 4)
    _count_links(perfect := Found(), ((0, 0), (1, 1)), gold)
    assert perfect.error_rate == 0


def test_links_of_a_writer_are_held_against_people_s_and_the_diagonal():
    predictor = written.predictor()
    examples = written.examples(7)
    gold = [
        Gold(
            frozenset((place, place) for place in range(len(example.words[0]))),
            frozenset((place, place) for place in range(len(example.words[0]))),
        )
        for example in examples
    ]
    found = look_at_corpus(predictor, examples, gold=gold)
    assert found.has_links and found.diagonal.error_rate == pytest.approx(0)
    rates = [of_head.error_rate for (path, _), of_head in found.found.items() if "cross" in path]
    assert len(rates) == 2 and all(0 <= rate <= 1 for rate in rates) and max(rates) > 0


def test_gold_links_are_read_and_what_is_none_is_named(tmp_path):
    (tmp_path / "gold.txt").write_text("0-0 1p2\n\n1?0\n")
    found = list(read_gold(tmp_path / "gold.txt"))
    assert found[0] == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)})) and found[1] == Gold(
        frozenset(), frozenset()
    )
    (tmp_path / "wrong.txt").write_text("0-0\n1:2\n")
    with pytest.raises(DataError, match=r"wrong.txt, line 2: '1:2' is no link; 0-0 is a sure one"):
        list(read_gold(tmp_path / "wrong.txt"))


def test_without_attention_or_items_there_is_nothing_to_look_at():
    with pytest.raises(RegardError, match="its encoder is not attention"):
        look_at_corpus(predictor_for("words", {"encoder": "pointwise"}), EXAMPLES)
    with pytest.raises(RegardError, match="no example of the corpus has an input"):
        look_at_corpus(predictor_for("words"), [Example(())])


def test_totals_of_nothing_are_nothing():
    assert Totals(own=True).means() == []
