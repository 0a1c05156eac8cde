"""The Transformer, written from the papers in NumPy: slow, short, in double precision.

This is what the package is tested against, and a textbook: each function states its formula and where it comes from.
It reads nothing of the package. Learned numbers come as a dictionary from name to array, named as in a state_dict;
`part(weights, "attention")` are those of one part.

Axes: (batch, time, width) between layers; (batch, heads, queries, keys) for scores and weights.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

Array = np.ndarray
Weights = Mapping[str, Array]


def part(weights: Weights, name: str) -> dict[str, Array]:
    """The learned numbers of one part, under their names within it."""
    return {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}


def linear(x: Array, weights: Weights) -> Array:
    """y = W x + b, for every vector of x.

    x: (…, inputs); weight: (outputs, inputs); bias: (outputs,); output: (…, outputs)
    """
    return x @ weights["weight"].T + weights["bias"]


# --- Attention ------------------------------------------------------------------------------------------------------


def dot(queries: Array, keys: Array) -> Array:
    """Query and key fit as well as their dot product says: q · k.

    Source: Luong, Pham & Manning 2015, arXiv:1508.04025, section 3.1, "dot".
    queries: (…, queries, head_width); keys: (…, keys, head_width); output: (…, queries, keys)
    """
    return np.einsum("...qd,...kd->...qk", queries, keys)


def scaled_dot(queries: Array, keys: Array) -> Array:
    """The dot product, divided by the root of the head width: q · k / sqrt(d_k).

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.
    """
    return dot(queries, keys) / math.sqrt(queries.shape[-1])


SCORES: dict[str, Callable[[Array, Array], Array]] = {"dot": dot, "scaled_dot": scaled_dot}


def softmax(scores: Array, allowed: Array | None = None) -> Array:
    """exp(s_i) / Σ_j exp(s_j) over the allowed keys j; the others get 0, and a row that allows nothing is all 0.

    Source: Vaswani et al. 2017, section 3.2.3: what is not allowed is given the score −∞.
    scores: (…, keys); allowed: broadcasts to the scores, True means "may look"
    """
    allowed = np.broadcast_to(True if allowed is None else allowed, scores.shape)
    largest = np.where(allowed, scores, -np.inf).max(-1, keepdims=True, initial=-1e300)
    powers = np.where(allowed, np.exp(np.where(allowed, scores - largest, 0.0)), 0.0)
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1.0, total)


NORMALIZERS: dict[str, Callable[[Array, Array | None], Array]] = {"softmax": softmax}


def attention(
    queries: Array,
    keys: Array,
    values: Array,
    *,
    score: str = "scaled_dot",
    normalizer: str = "softmax",
    allowed: Array | None = None,
    bias: Array | float = 0.0,
) -> Array:
    """Each query takes the weighted mean of the values: softmax(Q Kᵀ / sqrt(d_k)) V.

    Source: Vaswani et al. 2017, equation 1.
    queries: (…, queries, head_width); keys: (…, keys, head_width); values: (…, keys, value_width)
    output:  (…, queries, value_width)
    """
    weights = NORMALIZERS[normalizer](SCORES[score](queries, keys) + bias, allowed)
    return np.einsum("...qk,...kd->...qd", weights, values)


def may_look(
    query_positions: Sequence[int],
    key_positions: Sequence[int],
    *,
    batch: int = 1,
    lengths: Sequence[int] | None = None,
    real: Array | None = None,
    before: int | None = None,
    after: int | None = None,
    table: Array | None = None,
) -> Array:
    """Who may look at whom, decided for one pair after the other: the key is no padding, stands no more than `before`
    back and no more than `after` ahead, and the table allows it.

    lengths: so many keys of each item are real; real: (batch, keys); table: broadcasts to (batch, heads, queries, keys)
    output:  (batch, heads | 1, queries, keys)
    """
    heads = 1 if table is None or table.ndim < 4 else table.shape[1]
    allowed = np.ones((batch, heads, len(query_positions), len(key_positions)), dtype=bool)
    table = np.broadcast_to(True if table is None else table, allowed.shape)
    for item, head, query, key in np.ndindex(allowed.shape):
        ahead = key_positions[key] - query_positions[query]
        allowed[item, head, query, key] = (
            (lengths is None or key < lengths[item])
            and (real is None or bool(real[item, key]))
            and (before is None or -ahead <= before)
            and (after is None or ahead <= after)
            and bool(table[item, head, query, key])
        )
    return allowed


# --- Positions ------------------------------------------------------------------------------------------------------


def sinusoidal(positions: Sequence[int], width: int) -> Array:
    """PE(pos, 2i) = sin(pos / 10000^(2i/width)), PE(pos, 2i+1) = cos(pos / 10000^(2i/width)).

    Source: Vaswani et al. 2017, section 3.5. An odd width has one sine more than cosines.
    output: (time, width)
    """
    table = np.zeros((len(positions), width))
    for row, position in enumerate(positions):
        for column in range(width):
            angle = position / 10000 ** ((column - column % 2) / width)
            table[row, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


def rotation(position: int, width: int) -> Array:
    """R_m: the plane of dimensions i and i + width/2 is turned by the angle m θ_i with θ_i = 10000^(−2i/width).

    Source: Su et al. 2021, arXiv:2104.09864, equation 15. They pair dimensions 2i and 2i+1: the same with dimensions
    in another order. Of an odd width the last dimension stays as it is.
    output: (width, width)
    """
    matrix, half = np.eye(width), width // 2
    for i in range(half):
        angle = position * 10000 ** (-2 * i / (2 * half))
        j = i + half
        matrix[i, i], matrix[i, j] = math.cos(angle), -math.sin(angle)
        matrix[j, i], matrix[j, j] = math.sin(angle), math.cos(angle)
    return matrix


def rotary(heads: Array, positions: Sequence[int]) -> Array:
    """f(x_m, m) = R_m x_m: every query and key is turned by where it stands.

    Source: Su et al. 2021, equations 14 and 16.
    heads, output: (batch, heads, time, head_width)
    """
    turns = np.stack([rotation(position, heads.shape[-1]) for position in positions])
    return np.einsum("tij,bhtj->bhti", turns, heads)


@dataclass(frozen=True)
class Position:
    """A position kind: what the first block's input becomes, and what queries and keys become.

    embed:  (x, positions, learned numbers) -> x;  rotate: (heads, positions) -> heads
    """

    embed: Callable[[Array, Sequence[int], Weights], Array] = lambda x, positions, weights: x
    rotate: Callable[[Array, Sequence[int]], Array] = lambda heads, positions: heads


POSITIONS: dict[str, Position] = {
    "none": Position(),
    # x + PE. Source: Vaswani et al. 2017, section 3.5.
    "sinusoidal": Position(embed=lambda x, positions, weights: x + sinusoidal(positions, x.shape[-1])),
    # x + p, a learned vector for each position. Source: Gehring et al. 2017, arXiv:1705.03122, section 3.1.
    "learned": Position(embed=lambda x, positions, weights: x + weights["table.weight"][list(positions)]),
    "rotary": Position(rotate=rotary),
}


# --- The parts of a block -------------------------------------------------------------------------------------------


def multi_head(
    x: Array,
    memory: Array,
    weights: Weights,
    *,
    heads: int,
    key_heads: int | None = None,
    allowed: Array | None = None,
    rotate: Callable[[Array], Array] = lambda heads: heads,
    score: str = "scaled_dot",
    normalizer: str = "softmax",
) -> Array:
    """Concat(head_1, …, head_h) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    Source: Vaswani et al. 2017, section 3.2.2. Head i looks at the keys and values of number i · key_heads // heads:
    Ainslie et al. 2023, arXiv:2305.13245, section 2.2.
    x: (batch, queries, width); memory: (batch, keys, memory_width); output: (batch, queries, width)
    """
    key_heads = heads if key_heads is None else key_heads

    def split(vectors: Array, count: int) -> Array:
        # (batch, time, count · head_width) -> (batch, count, time, head_width)
        return np.stack(np.split(vectors, count, -1), 1)

    queries = rotate(split(linear(x, part(weights, "query")), heads))
    keys = rotate(split(linear(memory, part(weights, "key")), key_heads))
    values = split(linear(memory, part(weights, "value")), key_heads)
    joined = []
    for head in range(heads):
        mine = head * key_heads // heads
        gathered = attention(
            queries[:, head],
            keys[:, mine],
            values[:, mine],
            score=score,
            normalizer=normalizer,
            allowed=None if allowed is None else allowed[:, head if allowed.shape[1] > 1 else 0],
        )
        joined.append(gathered)
    return linear(np.concatenate(joined, -1), part(weights, "output"))


def relu(x: Array) -> Array:
    """max(0, x). Source: Vaswani et al. 2017, equation 2."""
    return np.maximum(0, x)


def gelu(x: Array) -> Array:
    """x Φ(x) = x / 2 · (1 + erf(x / √2)). Source: Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2."""
    return x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def swiglu(x: Array) -> Array:
    """Swish(g) ⊗ v with Swish(g) = g / (1 + e^(−g)); g is the first half of x and v the second.

    Source: Shazeer 2020, arXiv:2002.05202, equations 5 and 6.
    """
    gate, value = np.split(x, 2, -1)
    return gate / (1 + np.exp(-gate)) * value


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": relu, "gelu": gelu, "swiglu": swiglu}


def feed_forward(x: Array, weights: Weights, activation: str) -> Array:
    """FFN(x) = activation(x W1 + b1) W2 + b2. Source: Vaswani et al. 2017, equation 2.

    x, output: (batch, time, width)
    """
    return linear(ACTIVATIONS[activation](linear(x, part(weights, "enter"))), part(weights, "leave"))


def layer_norm(x: Array, weights: Weights) -> Array:
    """g ⊗ (x − μ) / σ + b, where μ and σ are the mean and deviation of the one vector x.

    Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, equations 3 and 4.
    """
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return weights["scale"] * (x - mean) / np.sqrt(variance + 1e-5) + weights["shift"]


def rms_norm(x: Array, weights: Weights) -> Array:
    """g ⊗ x / RMS(x) with RMS(x) = sqrt(mean of the squares).

    Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4.
    """
    return weights["scale"] * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)


def batch_norm(x: Array, weights: Weights) -> Array:
    """γ (x − E[x]) / sqrt(Var[x] + ε) + β, where mean and variance of each feature were gathered in training.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, algorithm 2, steps 10 and 11.
    """
    found = part(weights, "norm")
    scale = found["weight"] / np.sqrt(found["running_var"] + 1e-5)
    return scale * (x - found["running_mean"]) + found["bias"]


NORMS: dict[str, Callable[[Array, Weights], Array]] = {
    "layer": layer_norm,
    "rms": rms_norm,
    "batch": batch_norm,
    "none": lambda x, weights: x,
}


# --- Blocks and stacks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """What the learned numbers do not say about a stack."""

    heads: int
    key_heads: int | None = None
    activation: str = "gelu"
    norm: str = "layer"
    norm_place: str = "before"
    residual: bool = True
    position: str = "none"
    score: str = "scaled_dot"
    normalizer: str = "softmax"


def around(x: Array, change: Callable[[Array], Array], weights: Weights, shape: Shape) -> Array:
    """LayerNorm(x + Sublayer(x)), the norm after; or x + Sublayer(LayerNorm(x)), the norm before.

    Source: after: Vaswani et al. 2017, section 3.1; before: Xiong et al. 2020, arXiv:2002.04745, figure 1.
    Without residual the x + is left out.
    """
    norm = NORMS[shape.norm]
    stays = x if shape.residual else 0.0
    if shape.norm_place == "before":
        return stays + change(norm(x, part(weights, "norm_before")))
    return norm(stays + change(x), part(weights, "norm_after"))


def encoder_block(
    x: Array, weights: Weights, shape: Shape, *, allowed: Array | None = None, positions: Sequence[int] | None = None
) -> Array:
    """Self-attention, then the feed-forward network. Source: Vaswani et al. 2017, section 3.1 and figure 1, left.

    x, output: (batch, time, width)
    """
    places = range(x.shape[1]) if positions is None else positions

    def attend(x: Array) -> Array:
        return multi_head(
            x,
            x,
            part(weights, "attention"),
            heads=shape.heads,
            key_heads=shape.key_heads,
            allowed=allowed,
            rotate=lambda heads: POSITIONS[shape.position].rotate(heads, places),
            score=shape.score,
            normalizer=shape.normalizer,
        )

    def think(x: Array) -> Array:
        return feed_forward(x, part(weights, "feed_forward"), shape.activation)

    x = around(x, attend, part(weights, "around_attention"), shape)
    return around(x, think, part(weights, "around_feed_forward"), shape)


def decoder_block(
    x: Array, memory: Array, weights: Weights, shape: Shape, *, allowed: Array | None, memory_allowed: Array | None
) -> Array:
    """Causal self-attention, attention to the memory, then the feed-forward network.

    Source: Vaswani et al. 2017, section 3.1 and figure 1, right; section 3.2.3 for what is hidden from whom.
    x, output: (batch, length, width); memory: (batch, time, memory_width)
    """
    places = range(x.shape[1])
    nobody_looks_ahead = may_look(places, places, batch=len(x), after=0)
    allowed = nobody_looks_ahead if allowed is None else nobody_looks_ahead & allowed

    def attend(x: Array) -> Array:
        return multi_head(
            x,
            x,
            part(weights, "attention"),
            heads=shape.heads,
            key_heads=shape.key_heads,
            allowed=allowed,
            rotate=lambda heads: POSITIONS[shape.position].rotate(heads, places),
        )

    def read(x: Array) -> Array:
        return multi_head(
            x,
            memory,
            part(weights, "cross_attention"),
            heads=shape.heads,
            key_heads=shape.key_heads,
            allowed=memory_allowed,
        )

    def think(x: Array) -> Array:
        return feed_forward(x, part(weights, "feed_forward"), shape.activation)

    x = around(x, attend, part(weights, "around_attention"), shape)
    x = around(x, read, part(weights, "around_cross_attention"), shape)
    return around(x, think, part(weights, "around_feed_forward"), shape)


def blocks(weights: Weights) -> Iterator[dict[str, Array]]:
    """The learned numbers of one block after the other."""
    depth = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("blocks."))
    return (part(weights, f"blocks.{index}") for index in range(depth))


def last_norm(x: Array, weights: Weights, shape: Shape) -> Array:
    """Blocks with the norm before their parts need a norm at the end. Source: Xiong et al. 2020, section 3.1."""
    return NORMS[shape.norm](x, part(weights, "norm")) if shape.norm_place == "before" else x


def encoder(x: Array, weights: Weights, shape: Shape, *, allowed: Array | None = None) -> Array:
    """Positions are added to the input, then block follows block. Source: Vaswani et al. 2017, section 3.1.

    x, output: (batch, time, width)
    """
    x = POSITIONS[shape.position].embed(x, range(x.shape[1]), part(weights, "position"))
    for of_block in blocks(weights):
        x = encoder_block(x, of_block, shape, allowed=allowed)
    return last_norm(x, weights, shape)


def decoder(
    x: Array,
    memory: Array,
    weights: Weights,
    shape: Shape,
    *,
    allowed: Array | None = None,
    memory_allowed: Array | None = None,
) -> Array:
    """Positions are added to what is written, then block follows block. Source: Vaswani et al. 2017, section 3.1.

    x, output: (batch, length, width); memory: (batch, time, memory_width)
    """
    x = POSITIONS[shape.position].embed(x, range(x.shape[1]), part(weights, "position"))
    for of_block in blocks(weights):
        x = decoder_block(x, memory, of_block, shape, allowed=allowed, memory_allowed=memory_allowed)
    return last_norm(x, weights, shape)


def pointwise_encoder(x: Array, weights: Weights, shape: Shape) -> Array:
    """A Transformer encoder without attention: each element is on its own. x, output: (batch, time, width)"""
    for of_block in blocks(weights):
        x = around(
            x,
            lambda x, of_block=of_block: feed_forward(x, part(of_block, "feed_forward"), shape.activation),
            part(of_block, "around_feed_forward"),
            shape,
        )
    return last_norm(x, weights, shape)


# --- Words from letters ---------------------------------------------------------------------------------------------


def letter_patterns(word: Sequence[Array], patterns: Iterable[tuple[Array, Array]]) -> Array:
    """For each pattern H the strongest match anywhere in the word: y_k = max_i relu(⟨C[:, i : i + w], H_k⟩ + b_k).

    Source: Kim et al. 2016, arXiv:1508.06615, equations 5 and 6 (with tanh there). Here a pattern may reach past the
    last letter, where there is nothing. A word without letters gives zeros.
    word: the vectors of its letters; patterns: (filters, letter_width, w) and (filters,) for each w
    output: (filters of all widths,)
    """
    found = []
    for kernel, bias in patterns:
        best = np.zeros(len(bias))
        for start in range(len(word)):
            covered = word[start : start + kernel.shape[-1]]
            match = bias + sum(kernel[:, :, offset] @ letter for offset, letter in enumerate(covered))
            best = np.maximum(best, relu(match))
        found.append(best)
    return np.concatenate(found)


# --- Answers --------------------------------------------------------------------------------------------------------


def cross_entropy(scores: Array, label: int, smoothing: float = 0.0) -> float:
    """−Σ_k q(k) log p(k), where q is 1 − ε at the label, and ε is spread evenly over all labels.

    Source: Szegedy et al. 2016, arXiv:1512.00567, section 7.
    scores: (labels,), of one element
    """
    log_p = scores - np.logaddexp.reduce(scores)
    q = np.full(len(scores), smoothing / len(scores))
    q[label] += 1 - smoothing
    return float(-(q * log_p).sum())


@dataclass(frozen=True)
class Crf:
    """A linear chain: how well labels follow each other, come first, come last. What is ruled out is −∞.

    Source: Lafferty, McCallum & Pereira 2001, section 3. All is computed by trying every sequence.
    follow: (labels, labels), from a label to the next; first, last: (labels,)
    """

    follow: Array
    first: Array
    last: Array

    def score(self, labels: Sequence[int], scores: Array) -> float:
        """s(X, y) = Σ_i A[y_i, y_i+1] + Σ_i P[i, y_i], beginning and end included.

        Source: Lample et al. 2016, arXiv:1603.01360, section 2.2.
        scores: (time, labels)
        """
        steps = sum(self.follow[one, other] for one, other in pairwise(labels))
        places = sum(scores[place, label] for place, label in enumerate(labels))
        return float(self.first[labels[0]] + steps + places + self.last[labels[-1]])

    def all(self, scores: Array) -> dict[tuple[int, ...], float]:
        """Every sequence of labels, with its score."""
        time, labels = scores.shape
        return {sequence: self.score(sequence, scores) for sequence in product(range(labels), repeat=time)}

    def log_likelihood(self, known: Sequence[int | None], scores: Array) -> float:
        """log p of what is known: log Σ exp s(X, y) over the sequences that agree − log Σ exp s(X, y) over all.

        Source: Lample et al. 2016, equation 1; the sum over what is not known: Tsuboi et al. 2008, COLING, section 4.
        """
        all_scores = self.all(scores)
        agreeing = [
            score
            for sequence, score in all_scores.items()
            if all(label is None or label == mine for label, mine in zip(known, sequence, strict=True))
        ]
        return float(np.logaddexp.reduce(agreeing) - np.logaddexp.reduce(list(all_scores.values())))

    def best(self, scores: Array) -> tuple[int, ...]:
        """The sequence with the highest score. Source: Lample et al. 2016, equation 2."""
        all_scores = self.all(scores)
        return max(all_scores, key=lambda sequence: all_scores[sequence])

    def marginals(self, scores: Array) -> Array:
        """p(y_i = k), summed over all sequences with k at place i. Output: (time, labels)"""
        all_scores = self.all(scores)
        total = np.logaddexp.reduce(list(all_scores.values()))
        found = np.zeros(scores.shape)
        for sequence, score in all_scores.items():
            for place, label in enumerate(sequence):
                found[place, label] += math.exp(score - total)
        return found
