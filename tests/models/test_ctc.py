"""The output part whose elements spell a text."""

import math

import pytest
import torch
from sharp import assert_close, case, draw

from regard.data.batching import IGNORED
from regard.decode.ctc import log_probability
from regard.models.outputs import CtcHead, elements_needed

SYMBOLS, TIME = 4, 7
BLANK = SYMBOLS - 1
TEXTS = [(0, 1, 0), (2,), (), (1, 1, 1, 2)]
LENGTHS = torch.tensor([7, 3, 2, 6])


def labels(texts):
    """Each text with its end, filled up; None is an unknown one."""
    longest = 1 + max(len(text or ()) for text in texts)
    rows = [[] if text is None else [*text, BLANK] for text in texts]
    return torch.tensor([row + [IGNORED] * (longest - len(row)) for row in rows])


def head():
    torch.manual_seed(0)
    return CtcHead(5, SYMBOLS)


def test_the_loss_is_that_of_each_text_over_its_own_elements():
    scores = draw(len(TEXTS), TIME, SYMBOLS)
    wanted = [
        log_probability(row[:length].log_softmax(-1), [text], BLANK)[0]
        for row, length, text in zip(scores, LENGTHS, TEXTS, strict=True)
    ]
    assert all(map(math.isfinite, wanted))
    assert head().negative_log_likelihood(scores, labels(TEXTS), LENGTHS) == pytest.approx(-sum(wanted), abs=1e-4)
    assert_close(head().log_probabilities(scores, labels(TEXTS), LENGTHS), torch.tensor(wanted))


def test_what_stands_in_the_padding_changes_neither_loss_nor_gradient():
    scores = draw(len(TEXTS), TIME, SYMBOLS).requires_grad_()
    head().negative_log_likelihood(scores, labels(TEXTS), LENGTHS).backward()
    assert scores.grad is not None
    for row, length in zip(scores.grad, LENGTHS.tolist(), strict=True):
        assert not row[length:].any() and row[:length].any()


@pytest.mark.parametrize("other", [None, (0, 0, 0, 0)])
def test_a_text_that_is_unknown_or_does_not_fit_moves_nothing(other):
    scores = draw(2, TIME, SYMBOLS).requires_grad_()
    lengths = torch.tensor([7, 6])
    loss = head().negative_log_likelihood(scores, labels([(0, 1), other]), lengths)
    loss.backward()
    alone = head().negative_log_likelihood(scores[:1].detach(), labels([(0, 1)]), lengths[:1])
    assert float(loss.detach()) == pytest.approx(float(alone), abs=1e-5)
    assert torch.isfinite(scores.grad).all() and not scores.grad[1].any()


def test_a_batch_in_which_nothing_fits_has_no_loss():
    scores = draw(1, 2, SYMBOLS).requires_grad_()
    loss = head().negative_log_likelihood(scores, labels([(0, 0)]), torch.tensor([2]))
    loss.backward()
    assert float(loss.detach()) == 0 and not scores.grad.any()


def test_the_elements_that_a_text_needs_are_counted():
    found = elements_needed(labels([*TEXTS, (0, 0), None]), BLANK)
    assert found.tolist() == [3, 1, 0, 6, 3, 0]


def test_the_loss_of_texts_that_broke_others_is_right():
    given = case("b54_ctc.json")["cases"]
    symbols, blank = 3, 2  # there the blank is 0; all symbols are equally probable, so that it does not matter
    head = CtcHead(5, symbols)
    for one in given:
        scores = torch.zeros(1, one["T"], symbols, requires_grad=True)
        row = torch.tensor([[*(symbol - 1 for symbol in one["target"]), blank]])
        loss = head.negative_log_likelihood(scores, row, torch.tensor([one["T"]]))
        loss.backward()
        assert torch.isfinite(scores.grad).all()
        wanted = 0.0 if one["loss"] == "impossible" else one["loss"]
        assert float(loss.detach()) == pytest.approx(wanted, abs=1e-4)
