"""Output parts: vectors -> scores of answers, and scores -> answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batching import IGNORED
from regard.layers.block import make_norm
from regard.layers.dropout import Dropout
from regard.models.likelihood import summed_cross_entropy


class Head(nn.Module):
    """Scores what the answer might be, for each element that answers."""

    def negative_log_likelihood(
        self, scores: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """How unlikely the true answers are, summed over all that are known: ()."""
        raise NotImplementedError

    def loss(self, x: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0) -> Tensor:
        """The same from the vectors of the elements that answer: a head may get there without all scores.

        x: (batch, answers, width)
        """
        return self.negative_log_likelihood(self(x), labels, lengths, smoothing)

    def best(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """(batch, answers, scores) -> (batch, answers): the best answer of each element; where it is several classes
        (batch, answers, classes)."""
        raise NotImplementedError

    def certainty(self, scores: Tensor, best: Tensor, lengths: Tensor) -> Tensor | None:
        """(batch, answers): how probable each of the answers is, or each of its classes where it is several; None where
        there are no probabilities."""
        raise NotImplementedError


def _linear(width: int, labels: int) -> Projection:
    project = Projection(width, labels)
    nn.init.xavier_uniform_(project.weight)
    nn.init.zeros_(project.bias)
    return project


class Projection(nn.Linear):
    """From vectors to scores."""

    def last(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the scores are the product of at the end: vectors, and the weight and the bias of each label."""
        return x, self.weight, self.bias


class TiedProjection(nn.Module):
    """Each piece is scored by how much an element is like the piece's own vector.

    Source: Press & Wolf 2017, arXiv:1608.05859, section 2. The table's last vectors may be of what is never answered.
    """

    def __init__(self, table: nn.Embedding, pieces: int) -> None:
        super().__init__()
        self.table = table
        self.pieces = pieces
        self.bias = nn.Parameter(torch.zeros(pieces))

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, time, width); output: (batch, time, pieces)"""
        return F.linear(*self.last(x))

    def last(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the scores are the product of: vectors, and the vector and the bias of each piece."""
        return x, self.table.weight[: self.pieces], self.bias


class ReadOut(nn.Module):
    """From what is known of a hidden piece to vectors like those of pieces.

    Source: Devlin et al. 2019, arXiv:1810.04805, in its code (cls/predictions/transform): dense, GELU, layer norm.
    """

    def __init__(
        self,
        width: int,
        piece_width: int,
        project: nn.Module,
        activation: Callable[[Tensor], Tensor] = F.gelu,
        epsilon: float | None = None,
    ) -> None:
        """project: from such a vector to the scores of all pieces"""
        super().__init__()
        self.transform = _linear(width, piece_width)
        self.activation = activation
        self.norm = make_norm("layer", piece_width, epsilon)
        self.project: Any = project

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, asked, width); output: (batch, asked, pieces)"""
        return F.linear(*self.last(x))

    def last(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the scores are the product of at the end: vectors, and the vector and the bias of each piece."""
        vectors: tuple[Tensor, Tensor, Tensor] = self.project.last(self.norm(self.activation(self.transform(x))))
        return vectors


class SoftmaxHead(Head):
    """A label for each element, chosen for each on its own."""

    def __init__(self, width: int, labels: int, project: nn.Module | None = None) -> None:
        """project: from vectors to scores; a linear layer where not given"""
        super().__init__()
        self.project: Any = _linear(width, labels) if project is None else project
        # What scores are divided by before they become probabilities: kept with the labels, and no matter of training.
        self.temperature = 1.0
        # How much each label counts in the loss, all the same where None: a matter of training, and not saved.
        self.label_weights: Tensor | None
        self.register_buffer("label_weights", None, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, time, width); output: (batch, time, labels)"""
        return self.project(x)

    def negative_log_likelihood(
        self, scores: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """How unlikely the labels are, summed over all that are known: ().

        With label smoothing, a share of the belief is spread over all labels.
        Source: Szegedy et al. 2016, arXiv:1512.00567, section 7.

        scores: (batch, time, labels); labels: (batch, time); lengths: (batch,), which labels show by themselves here
        """
        return F.cross_entropy(
            scores.flatten(0, -2),
            labels.flatten(),
            self.label_weights,
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=smoothing,
        )

    def loss(self, x: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0) -> Tensor:
        """The same from vectors, (batch, time, width): only what has a known label is scored, some at a time."""
        known = labels != IGNORED
        x, weight, bias = self.project.last(x[known])
        return summed_cross_entropy(x, weight, bias, labels[known], self.label_weights, smoothing)

    def best(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """(batch, time, labels) -> (batch, time): the best label of each element."""
        return scores.argmax(-1)

    def certainty(self, scores: Tensor, best: Tensor, lengths: Tensor) -> Tensor | None:
        return self.probabilities(scores, lengths).gather(-1, best[..., None])[..., 0]

    def probabilities(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """(batch, time, labels) -> the same: how probable each label is for each element."""
        return (scores / self.temperature).softmax(-1)

    def log_probabilities(self, scores: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """(batch,): the log-probability of each item's known labels together."""
        return log_probabilities(scores, labels)


def log_probabilities(scores: Tensor, labels: Tensor) -> Tensor:
    """(batch,): the summed log-probability of each item's known labels.

    scores: (batch, time, labels); labels: (batch, time)
    """
    losses = F.cross_entropy(scores.float().transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
    return -losses.sum(1)


class CtcHead(SoftmaxHead):
    """Each element says a symbol or nothing, so that together they spell a text; when each is said is not given.

    All ways to say the text are added up. The last symbol is the blank, by which nothing is said; as the last of a
    text's labels it stands for the text's end, so that an empty text is another thing than an unknown one.
    Source: Graves, Fernández, Gomez & Schmidhuber 2006, ICML, section 4.1. The sum is torch's own: it is exact
    (tests/models/test_ctc.py) as long as what does not fit is kept from it, and steps through time outside of Python.
    """

    def __init__(self, width: int, symbols: int) -> None:
        super().__init__(width, symbols)
        self.blank = symbols - 1

    def negative_log_likelihood(
        self, scores: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """How unlikely the texts are, summed over the items whose text is known and fits: ().

        A text that needs more elements than there are is left out: its infinity would reach all weights.

        scores: (batch, time, symbols); labels: (batch, longest), the end of each text included; lengths: (batch,)
        """
        fits = (labels != IGNORED).any(1) & (elements_needed(labels, self.blank) <= lengths)
        likely = self.log_probabilities(scores[fits], labels[fits], lengths[fits])
        return -likely.sum() if len(likely) else 0.0 * scores.sum()

    def loss(self, x: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0) -> Tensor:
        """All ways to say a text need all scores."""
        return self.negative_log_likelihood(self(x), labels, lengths)

    def log_probabilities(self, scores: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """(batch,): of each item's text; minus infinity where it does not fit, or is not known."""
        symbols = (labels != IGNORED).sum(1) - 1
        if not len(scores):
            return scores.new_zeros(0)
        likely = scores.float().log_softmax(-1).transpose(0, 1)
        targets = labels.masked_fill(labels == IGNORED, self.blank)
        lost = F.ctc_loss(likely, targets, lengths, symbols.clamp(min=0), self.blank, reduction="none")
        return (-lost).masked_fill(symbols < 0, -torch.inf)


def elements_needed(labels: Tensor, blank: int) -> Tensor:
    """(batch,): how many elements it takes at least to say each text: one for each symbol, and one for nothing between
    two that are the same. labels: (batch, longest), the end of each text included, then IGNORED"""
    symbols = (labels != IGNORED) & (labels != blank)
    return symbols.sum(1) + (symbols[:, 1:] & (labels[:, 1:] == labels[:, :-1])).sum(1)


class CrfHead(SoftmaxHead):
    """Labels for all elements, chosen together: how well each label follows the one before counts too.

    Source: Lafferty, McCallum & Pereira 2001, ICML, section 3; on a network: Lample et al. 2016, arXiv:1603.01360,
    section 2.2. Unknown labels are summed over in training.
    """

    def __init__(
        self,
        width: int,
        labels: int,
        allowed: Tensor | None = None,
        begins: Tensor | None = None,
        ends: Tensor | None = None,
    ) -> None:
        """allowed: (labels, labels), which label may follow which; begins and ends: (labels,), which may come first and
        last; all where not given"""
        super().__init__(width, labels)
        self.follow = nn.Parameter(torch.zeros(labels, labels))
        self.first = nn.Parameter(torch.zeros(labels))
        self.last = nn.Parameter(torch.zeros(labels))
        self.allowed: Tensor
        self.begins: Tensor
        self.ends: Tensor
        self.register_buffer("allowed", torch.ones(labels, labels, dtype=torch.bool) if allowed is None else allowed)
        self.register_buffer("begins", torch.ones(labels, dtype=torch.bool) if begins is None else begins)
        self.register_buffer("ends", torch.ones(labels, dtype=torch.bool) if ends is None else ends)

    # Far below any score and far from the end of single precision, so that sums of several stay finite.
    IMPOSSIBLE = -1e4

    def _transitions(self) -> tuple[Tensor, Tensor, Tensor]:
        """How well each label follows each, comes first, and comes last."""
        follow = self.follow.masked_fill(~self.allowed, self.IMPOSSIBLE)
        first = self.first.masked_fill(~self.begins, self.IMPOSSIBLE)
        return follow, first, self.last.masked_fill(~self.ends, self.IMPOSSIBLE)

    def _forward(self, scores: Tensor, lengths: Tensor) -> list[Tensor]:
        """log of the summed weight of all beginnings that end with each label: time × (batch, labels); past an item's
        end, what stood at its end."""
        follow, first, _ = self._transitions()
        ahead = [first + scores[:, 0]]
        for time in range(1, scores.shape[1]):
            step = torch.logsumexp(ahead[-1][:, :, None] + follow, 1) + scores[:, time]
            ahead.append(torch.where((time < lengths)[:, None], step, ahead[-1]))
        return ahead

    def _backward(self, scores: Tensor, lengths: Tensor) -> list[Tensor]:
        """log of the summed weight of all continuations after each label: time × (batch, labels)."""
        follow, _, last = self._transitions()
        behind = [last.expand(len(scores), -1)]
        for time in range(scores.shape[1] - 1, 0, -1):
            step = torch.logsumexp(follow + (scores[:, time] + behind[0])[:, None], 2)
            behind.insert(0, torch.where((time < lengths)[:, None], step, behind[0]))
        return behind

    def _log_sum(self, scores: Tensor, lengths: Tensor) -> Tensor:
        _, _, last = self._transitions()
        return torch.logsumexp(self._forward(scores, lengths)[-1] + last, -1)

    def negative_log_likelihood(
        self, scores: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """How unlikely the known labels are, summed over the items: (). Unknown ones are summed over.

        scores: (batch, time, labels); labels: (batch, time); lengths: (batch,)
        """
        if scores.shape[1] == 0:
            return scores.sum()
        known = labels != IGNORED
        given = F.one_hot(labels.clamp(min=0), scores.shape[-1]).bool() | ~known[..., None]
        agreeing = scores.masked_fill(~given, self.IMPOSSIBLE)
        difference = self._log_sum(scores, lengths) - self._log_sum(agreeing, lengths)
        return torch.where(known.any(1), difference, torch.zeros_like(difference)).sum()

    def loss(self, x: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0) -> Tensor:
        """Labels that are chosen together need all scores."""
        return self.negative_log_likelihood(self(x), labels, lengths)

    def best(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """The best sequence as a whole. Source: Viterbi 1967; Rabiner 1989, section III.B."""
        batch, time, labels = scores.shape
        if time == 0:
            return scores.argmax(-1)
        follow, first, last = self._transitions()
        reached, steps = first + scores[:, 0], []
        nowhere = torch.arange(labels, device=scores.device).expand(batch, -1)
        for place in range(1, time):
            value, before = (reached[:, :, None] + follow).max(1)
            going = (place < lengths)[:, None]
            reached = torch.where(going, value + scores[:, place], reached)
            steps.append(torch.where(going, before, nowhere))
        path = [(reached + last).argmax(-1)]
        for before in reversed(steps):
            path.insert(0, before.gather(1, path[0][:, None])[:, 0])
        return torch.stack(path, 1)

    def probabilities(self, scores: Tensor, lengths: Tensor) -> Tensor:
        if scores.shape[1] == 0:
            return scores
        ahead, behind = self._forward(scores, lengths), self._backward(scores, lengths)
        together = torch.stack([one + other for one, other in zip(ahead, behind, strict=True)], 1)
        return together.softmax(-1)


class ClassesHead(Head):
    """Each class is there or not, whatever the others are."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.project = _linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, 1, width); output: (batch, 1, classes)"""
        return self.project(x)

    def negative_log_likelihood(
        self, scores: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """How unlikely it is that each class is there, or is not, summed over all that are known: ().

        scores: (batch, 1, classes); labels: (batch, classes), 1 where a class is there and 0 where it is not
        """
        known = labels != IGNORED
        return F.binary_cross_entropy_with_logits(scores[:, 0][known], labels[known].to(scores.dtype), reduction="sum")

    def best(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """(batch, 1, classes) -> the same: how probable each class is; the target knows how much is enough."""
        return scores.sigmoid()

    def certainty(self, scores: Tensor, best: Tensor, lengths: Tensor) -> Tensor | None:
        return best


class NumberHead(Head):
    """A number for each element that answers, in units of its spread over the training data."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, 1)
        nn.init.zeros_(self.project.weight)
        nn.init.zeros_(self.project.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, answers, width); output: (batch, answers, 1)"""
        return self.project(x)

    def negative_log_likelihood(
        self, scores: Tensor, labels: Tensor, lengths: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """The squared distance from the true numbers, summed over those that are known: ().

        scores: (batch, answers, 1); labels: (batch, answers)
        """
        known = ~labels.isnan()
        return (scores[..., 0] - labels)[known].square().sum()

    def best(self, scores: Tensor, lengths: Tensor) -> Tensor:
        return scores[..., 0]

    def certainty(self, scores: Tensor, best: Tensor, lengths: Tensor) -> Tensor | None:
        return None


class Heads(nn.Module):
    """A head for each of several columns, on the same vectors."""

    def __init__(self, columns: Sequence[str], heads: Sequence[Head], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.dropout = Dropout(dropout)
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """x: (batch, answers, width); output: for each column (batch, answers, scores)"""
        x = self.dropout(x)
        return {column: head(x) for column, head in zip(self.columns, self.heads, strict=True)}

    def loss(self, x: Tensor, labels: Mapping[str, Tensor], lengths: Tensor, smoothing: float = 0.0) -> Tensor:
        """How unlikely the labels of all columns are, summed over all that are known: ().

        x: (batch, answers, width); labels: for each column; lengths: (batch,), how many answers each item gets
        """
        x = self.dropout(x)
        losses = [self.head(column).loss(x, labels[column], lengths, smoothing) for column in self.columns]
        return torch.stack(losses).sum()

    def head(self, column: str) -> Head:
        found = self.heads[self.columns.index(column)]
        assert isinstance(found, Head)
        return found
