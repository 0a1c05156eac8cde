"""Output parts: scores, likelihoods, answers."""

from itertools import pairwise

import numpy as np
import pytest
import reference
import torch
from sharp import assert_close, assert_moved, draw, numpy, stir

from regard.data.batching import IGNORED
from regard.models.outputs import ClassesHead, CrfHead, Heads, NumberHead, SoftmaxHead

LABELS, TIME = 3, 5
LENGTHS = torch.tensor([TIME, 1, 4, 2])
SCORES = 2 * draw(4, TIME, LABELS, dtype=torch.float64)
GOLD = torch.randint(0, LABELS, (4, TIME), generator=torch.Generator().manual_seed(1)).masked_fill(
    torch.arange(TIME) >= LENGTHS[:, None], IGNORED
)


def crf(allowed: torch.Tensor | None = None, begins: torch.Tensor | None = None) -> CrfHead:
    head = CrfHead(7, LABELS, allowed, begins).double()
    with torch.no_grad():
        head.follow.copy_(draw(LABELS, LABELS, seed=3))
        head.first.copy_(draw(LABELS, seed=4))
        head.last.copy_(draw(LABELS, seed=5))
    return head


def by_hand(head: CrfHead) -> reference.Crf:
    hidden = -float("inf")
    return reference.Crf(
        numpy(head.follow.masked_fill(~head.allowed, hidden)),
        numpy(head.first.masked_fill(~head.begins, hidden)),
        numpy(head.last),
    )


# Label 2 may neither come first nor follow label 0, as I- in a scheme of spans.
RULES = {
    "all": (None, None),
    "some": (torch.tensor([[1, 1, 0], [1, 1, 1], [1, 1, 1]]) == 1, torch.tensor([True, True, False])),
}


def log_likelihoods(head: CrfHead, labels: torch.Tensor) -> float:
    known = [
        [None if label == IGNORED else label for label in row[:length]]
        for row, length in zip(labels.tolist(), LENGTHS.tolist(), strict=True)
    ]
    return sum(by_hand(head).log_likelihood(row, numpy(SCORES[item, : len(row)])) for item, row in enumerate(known))


@pytest.mark.parametrize("rules", RULES)
def test_the_likelihood_equals_enumeration(rules):
    head = crf(*RULES[rules])
    # Under rules the gold labels must follow them; label 1 always may.
    labels = GOLD if rules == "all" else torch.where(GOLD == 2, 1, GOLD)
    assert_close(
        head.negative_log_likelihood(SCORES, labels, LENGTHS),
        torch.tensor(-log_likelihoods(head, labels), dtype=torch.float64),
        1e-8,
    )


@pytest.mark.parametrize("rules", RULES)
def test_labels_that_are_ignored_are_summed_over(rules):
    head, labels = crf(*RULES[rules]), torch.where(GOLD == 2, 1, GOLD)
    for places in ([0], [1], [0, 2], [0, 1, 2]):
        some = labels.clone()
        some[0, places] = IGNORED
        some[2, places[:1]] = IGNORED
        assert_close(
            head.negative_log_likelihood(SCORES, some, LENGTHS),
            torch.tensor(-log_likelihoods(head, some), dtype=torch.float64),
            1e-8,
        )


def test_ignored_labels_at_the_end_of_an_item_are_summed_over_too():
    head, some = crf(), GOLD.clone()
    some[0, 3:] = IGNORED
    assert_close(
        head.negative_log_likelihood(SCORES, some, LENGTHS),
        torch.tensor(-log_likelihoods(head, some), dtype=torch.float64),
        1e-8,
    )


def test_an_item_of_which_nothing_is_known_says_nothing():
    head, nothing = crf(), torch.full_like(GOLD, IGNORED)
    scores = SCORES.clone().requires_grad_()
    loss = head.negative_log_likelihood(scores, nothing, LENGTHS)
    loss.backward()
    assert loss == 0 and scores.grad.isfinite().all() and (scores.grad == 0).all()


@pytest.mark.parametrize("rules", RULES)
def test_the_best_sequence_equals_enumeration(rules):
    head = crf(*RULES[rules])
    found = head.best(SCORES, LENGTHS)
    for item, length in enumerate(LENGTHS.tolist()):
        assert tuple(found[item, :length].tolist()) == by_hand(head).best(numpy(SCORES[item, :length])), item


@pytest.mark.parametrize("rules", RULES)
def test_probabilities_equal_enumeration(rules):
    head = crf(*RULES[rules])
    found = head.probabilities(SCORES, LENGTHS)
    for item, length in enumerate(LENGTHS.tolist()):
        assert_close(found[item, :length], by_hand(head).marginals(numpy(SCORES[item, :length])), 1e-8, f"item {item}")
    assert_close(found.sum(-1), torch.ones(4, TIME), 1e-9)


def test_what_may_not_follow_is_never_answered_and_never_probable():
    head = crf(*RULES["some"])
    with torch.no_grad():
        head.first.zero_()
        head.follow.zero_()
    wanting = torch.zeros(1, TIME, LABELS, dtype=torch.float64)
    wanting[..., 2] = 50.0  # the scores alone would answer 2 everywhere
    wanting[0, 1, 0] = 90.0
    best = head.best(wanting, torch.tensor([TIME]))[0].tolist()
    assert best[0] != 2 and all((one, other) != (0, 2) for one, other in pairwise(best))
    assert head.probabilities(wanting, torch.tensor([TIME]))[0, 0, 2] < 1e-12
    random = 20 * draw(101, 7, LABELS, seed=9, dtype=torch.float64)
    answers = head.best(random, torch.full((101,), 7))
    assert (answers[:, 0] != 2).all() and not ((answers[:, :-1] == 0) & (answers[:, 1:] == 2)).any()


@pytest.mark.parametrize("kind", [SoftmaxHead, CrfHead])
def test_padding_and_neighbours_change_nothing(kind):
    head = crf() if kind is CrfHead else SoftmaxHead(7, LABELS).double()
    other = torch.where((torch.arange(TIME) < LENGTHS[:, None])[..., None], SCORES, 7.0)
    assert_close(
        head.negative_log_likelihood(other, GOLD, LENGTHS), head.negative_log_likelihood(SCORES, GOLD, LENGTHS), 1e-9
    )
    alone = []
    for item, length in enumerate(LENGTHS.tolist()):
        mine, gold = SCORES[item : item + 1, :length], GOLD[item : item + 1, :length]
        alone.append(head.negative_log_likelihood(mine, gold, LENGTHS[item : item + 1]))
        for scores in (SCORES, other):
            assert torch.equal(head.best(scores, LENGTHS)[item, :length], head.best(mine, LENGTHS[item : item + 1])[0])
            together = head.probabilities(scores, LENGTHS)[item, :length]
            assert_close(together, head.probabilities(mine, LENGTHS[item : item + 1])[0], 1e-9)
    assert_close(head.negative_log_likelihood(SCORES, GOLD, LENGTHS), torch.stack(alone).sum(), 1e-9)


def test_the_gradient_of_the_chains_likelihood_is_probabilities_minus_truth():
    """Source: Lafferty et al. 2001, section 3: expected counts against observed ones."""
    head, scores = crf(), SCORES[:1].clone().requires_grad_()
    head.negative_log_likelihood(scores, GOLD[:1], LENGTHS[:1]).backward()
    truth = torch.nn.functional.one_hot(GOLD[:1], LABELS)
    assert_close(scores.grad, head.probabilities(SCORES[:1], LENGTHS[:1]) - truth, 1e-8)
    assert torch.autograd.gradcheck(
        lambda scores, first: (
            head.negative_log_likelihood(scores, GOLD[:2, :3], LENGTHS[:2].clamp(max=3)) + 0 * first.sum()
        ),
        (SCORES[:2, :3].clone().requires_grad_(), head.first),
        fast_mode=True,
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_cross_entropy_equals_the_reference(smoothing):
    head = SoftmaxHead(7, LABELS).double()
    wanted = sum(
        reference.cross_entropy(numpy(SCORES[item, place]), int(GOLD[item, place]), smoothing)
        for item in range(4)
        for place in range(TIME)
        if GOLD[item, place] != IGNORED
    )
    assert_close(
        head.negative_log_likelihood(SCORES, GOLD, LENGTHS, smoothing), torch.tensor(wanted, dtype=torch.float64), 1e-9
    )


def test_where_every_label_is_ignored_the_loss_is_zero_and_so_is_the_gradient():
    """A mean over no labels is NaN (B18)."""
    scores = SCORES.clone().requires_grad_()
    loss = SoftmaxHead(7, LABELS).negative_log_likelihood(scores, torch.full_like(GOLD, IGNORED), LENGTHS, 0.1)
    loss.backward()
    assert loss == 0 and (scores.grad == 0).all()


@pytest.mark.parametrize("kind", [SoftmaxHead, CrfHead])
def test_sequences_without_elements_have_empty_answers(kind):
    head = kind(7, LABELS)
    scores, labels, lengths = torch.zeros(2, 0, LABELS), torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0])
    assert head.negative_log_likelihood(scores, labels, torch.tensor([0])) == 0
    assert head.best(scores, lengths).shape == (2, 0)
    assert head.probabilities(scores, lengths).shape == (2, 0, LABELS)


def test_softmax_answers_the_largest_score():
    head = SoftmaxHead(7, LABELS)
    assert torch.equal(head.best(SCORES, LENGTHS), SCORES.argmax(-1))
    assert_close(head.probabilities(SCORES, LENGTHS), reference.softmax(numpy(SCORES)), 1e-12)


def test_each_column_has_its_head():
    torch.manual_seed(0)
    part = Heads(("upos", "deprel"), [SoftmaxHead(7, 3), CrfHead(7, 5)], dropout=0.5).eval()
    x = draw(2, 4, 7)
    scores = part(x)
    assert list(scores) == ["upos", "deprel"]
    assert scores["upos"].shape == (2, 4, 3) and scores["deprel"].shape == (2, 4, 5)
    assert torch.equal(scores["deprel"], part.head("deprel")(x)) and torch.equal(part(x)["upos"], scores["upos"])
    part.train()
    assert_moved(part(x)["upos"], part(x)["upos"])


# Numbers

NUMBERS = torch.tensor([[0.5, -2.0, float("nan")], [float("nan")] * 3, [1.0, float("nan"), 7.0]])
KNOWN = ~NUMBERS.isnan()
ANSWERS = torch.tensor([3, 3, 3])


def number_head():
    torch.manual_seed(0)
    return stir(NumberHead(7)).double()


def test_the_loss_of_numbers_is_the_sum_of_squares_of_those_that_are_known():
    head, x = number_head(), draw(3, 3, 7, dtype=torch.float64)
    scores = head(x)
    assert scores.shape == (3, 3, 1)
    squares = (numpy(scores)[..., 0] - numpy(NUMBERS)) ** 2
    wanted = sum(square for square, known in zip(squares.ravel(), KNOWN.ravel().tolist(), strict=True) if known)
    assert head.negative_log_likelihood(scores, NUMBERS, ANSWERS).item() == pytest.approx(wanted, rel=1e-6)


def test_numbers_that_are_not_known_have_no_gradient():
    head, x = number_head(), draw(3, 3, 7, dtype=torch.float64).requires_grad_()
    head.negative_log_likelihood(head(x), NUMBERS, ANSWERS).backward()
    assert (x.grad[~KNOWN] == 0).all() and (x.grad[KNOWN] != 0).any(-1).all()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


def test_where_no_number_is_known_there_is_no_loss_and_no_gradient():
    head, x = number_head(), draw(1, 3, 7, dtype=torch.float64).requires_grad_()
    loss = head.negative_log_likelihood(head(x), NUMBERS[1:2], ANSWERS[:1])
    loss.backward()
    assert loss.item() == 0 and (x.grad == 0).all()
    assert all((parameter.grad == 0).all() for parameter in head.parameters())


def test_a_number_is_answered_as_it_stands_and_nobody_knows_how_sure():
    head = number_head()
    scores = head(draw(3, 3, 7, dtype=torch.float64))
    best = head.best(scores, ANSWERS)
    assert torch.equal(best, scores[..., 0])
    assert head.certainty(scores, best, ANSWERS) is None


def test_before_training_a_number_is_the_mean():
    assert (NumberHead(7)(draw(2, 1, 7)) == 0).all()


@pytest.mark.parametrize("kind", [SoftmaxHead, CrfHead])
def test_how_sure_a_head_is_is_the_probability_of_what_it_answers(kind):
    torch.manual_seed(0)
    head = stir(kind(7, LABELS)).double()
    scores = head(3 * draw(4, TIME, 7, dtype=torch.float64))
    best, shares = head.best(scores, LENGTHS), head.probabilities(scores, LENGTHS)
    certain = head.certainty(scores, best, LENGTHS)
    for item, length in enumerate(LENGTHS.tolist()):
        for place in range(length):
            assert certain[item, place] == shares[item, place, best[item, place]]


# Several classes: rows of 1 and 0, the second row not known.
CLASSES = torch.tensor([[1, 0, 0, 1, 1], [IGNORED] * 5, [0, 0, 0, 0, 0]])


def classes_head():
    torch.manual_seed(0)
    return stir(ClassesHead(7, 5)).double()


def test_the_likelihood_of_several_classes_is_the_product_of_each_alone():
    head = classes_head()
    scores = head(draw(3, 1, 7, dtype=torch.float64))
    assert scores.shape == (3, 1, 5)
    shares = 1 / (1 + np.exp(-numpy(scores)[:, 0]))
    true = np.where(numpy(CLASSES) == 1, shares, 1 - shares)[[0, 2]]
    assert head.negative_log_likelihood(scores, CLASSES, ANSWERS).item() == pytest.approx(-np.log(true).sum())


def test_classes_that_are_not_known_have_no_gradient():
    head, x = classes_head(), draw(3, 1, 7, dtype=torch.float64).requires_grad_()
    head.negative_log_likelihood(head(x), CLASSES, ANSWERS).backward()
    assert (x.grad[1] == 0).all() and (x.grad[[0, 2]] != 0).any()


def test_each_class_is_as_probable_whatever_the_others_are():
    head = classes_head()
    scores = head(draw(3, 1, 7, dtype=torch.float64))
    best = head.best(scores, ANSWERS)
    assert best.shape == scores.shape and torch.equal(best, head.certainty(scores, best, ANSWERS))
    other = scores.clone()
    other[..., 2] += 3
    assert_moved(head.best(other, ANSWERS)[..., 2], best[..., 2])
    assert torch.equal(head.best(other, ANSWERS)[..., [0, 1, 3, 4]], best[..., [0, 1, 3, 4]])
