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
from types import MappingProxyType

import numpy as np

Array = np.ndarray
Weights = Mapping[str, Array]
NOTHING: Weights = MappingProxyType({})

# What stands in the place of attention: vectors and its learned numbers -> vectors.
Mix = Callable[[Array, Weights], Array]


def part(weights: Weights, name: str) -> dict[str, Array]:
    """The learned numbers of one part, under their names within it."""
    return {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}


def linear(x: Array, weights: Weights) -> Array:
    """y = W x + b, for every vector of x.

    x: (…, inputs); weight: (outputs, inputs); bias: (outputs,); output: (…, outputs)
    """
    return x @ weights["weight"].T + weights["bias"]


# --- Attention ------------------------------------------------------------------------------------------------------


def dot(queries: Array, keys: Array, learned: Weights = NOTHING) -> Array:
    """Query and key fit as well as their dot product says: q · k.

    Source: Luong, Pham & Manning 2015, arXiv:1508.04025, section 3.1, "dot".
    queries: (…, queries, head_width); keys: (…, keys, head_width); output: (…, queries, keys)
    """
    return np.einsum("...qd,...kd->...qk", queries, keys)


def scaled_dot(queries: Array, keys: Array, learned: Weights = NOTHING) -> Array:
    """The dot product, divided by the root of the head width: q · k / sqrt(d_k).

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.
    """
    return dot(queries, keys) / math.sqrt(queries.shape[-1])


def cosine(queries: Array, keys: Array, learned: Weights = NOTHING) -> Array:
    """g · q·k / (|q| |k|), g = 10 where none was learned.

    Source: Henry et al. 2020, arXiv:2010.04245, section 3.
    learned: the logarithm of g, (heads, 1, 1)
    """
    lengths = np.linalg.norm(queries, axis=-1)[..., None] * np.linalg.norm(keys, axis=-1)[..., None, :]
    return np.exp(learned.get("logarithm", math.log(10))) * dot(queries, keys) / lengths


def bilinear(queries: Array, keys: Array, learned: Weights = NOTHING) -> Array:
    """qᵀ W k. Source: Luong, Pham & Manning 2015, section 3.1, "general".

    learned: W, (heads, query_width, key_width)
    """
    return np.einsum("bhqc,hcd,bhkd->bhqk", queries, learned["matrix"], keys)


def additive(queries: Array, keys: Array, learned: Weights = NOTHING) -> Array:
    """vᵀ tanh(W q + U k). Source: Bahdanau, Cho & Bengio 2015, arXiv:1409.0473, appendix A.1.2.

    learned: W and U, (heads, width, inner); v, (heads, inner, 1)
    """
    scores = np.zeros((*queries.shape[:3], keys.shape[2]))
    for item, head, i, j in np.ndindex(scores.shape):
        heard = queries[item, head, i] @ learned["query"][head] + keys[item, head, j] @ learned["key"][head]
        scores[item, head, i, j] = np.tanh(heard) @ learned["energy"][head, :, 0]
    return scores


SCORES: dict[str, Callable[..., Array]] = {
    "dot": dot,
    "scaled_dot": scaled_dot,
    "cosine": cosine,
    "bilinear": bilinear,
    "additive": additive,
}


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


def by_row(scores: Array, allowed: Array | None, weigh: Callable[[Array], Array]) -> Array:
    """Each row by itself, and of it only the keys that are allowed; the others get 0."""
    allowed = np.broadcast_to(True if allowed is None else allowed, scores.shape)
    weights = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        if allowed[row].any():
            weights[row][allowed[row]] = weigh(scores[row][allowed[row]])
    return weights


def relu_weights(scores: Array, allowed: Array | None = None) -> Array:
    """max(0, s_i) / n of n keys. Source: Wortsman et al. 2023, arXiv:2309.08586, section 3."""
    return by_row(scores, allowed, lambda row: np.maximum(0, row) / len(row))


def sigmoid_weights(scores: Array, allowed: Array | None = None) -> Array:
    """σ(s_i − log n) of n keys. Source: Ramapuram et al. 2024, arXiv:2409.04431, with b = −log n."""
    return by_row(scores, allowed, lambda row: 1 / (1 + np.exp(-(row - math.log(len(row))))))


def summing_to_one(row: Array, weigh: Callable[[Array], Array]) -> Array:
    """weigh(row − τ) with the τ that makes the sum 1, found by halving an interval."""
    low, high = row.max() - 2.0, row.max()
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if weigh(row - middle).sum() > 1 else (low, middle)
    return weigh(row - low)


def sparsemax(scores: Array, allowed: Array | None = None) -> Array:
    """max(0, s_i − τ). Source: Martins & Astudillo 2016, arXiv:1602.02068, proposition 1."""
    return by_row(scores, allowed, lambda row: summing_to_one(row, lambda above: np.maximum(0, above)))


def entmax15(scores: Array, allowed: Array | None = None) -> Array:
    """max(0, s_i / 2 − τ)². Source: Peters, Niculae & Martins 2019, arXiv:1905.05702, equation 10 with α = 1.5."""
    return by_row(scores, allowed, lambda row: summing_to_one(row / 2, lambda above: np.maximum(0, above) ** 2))


NORMALIZERS: dict[str, Callable[[Array, Array | None], Array]] = {
    "softmax": softmax,
    "relu": relu_weights,
    "sigmoid": sigmoid_weights,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
}


def attention(
    queries: Array,
    keys: Array,
    values: Array,
    *,
    score: str = "scaled_dot",
    normalizer: str = "softmax",
    allowed: Array | None = None,
    bias: Array | float = 0.0,
    learned: Weights = NOTHING,
    added_values: Callable[[Array], Array] = lambda weights: np.zeros(1),
) -> Array:
    """Each query takes the weighted mean of the values: softmax(Q Kᵀ / sqrt(d_k)) V.

    Source: Vaswani et al. 2017, equation 1.
    queries: (batch, heads, queries, head_width); keys: (batch, heads, keys, head_width)
    values:  (batch, heads, keys, value_width)
    learned: the score's numbers; added_values: what the position makes of the weights
    output:  (batch, heads, queries, value_width)
    """
    weights = NORMALIZERS[normalizer](SCORES[score](queries, keys, learned) + bias, allowed)
    return np.einsum("...qk,...kd->...qd", weights, values) + added_values(weights)


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
    first: Sequence[int] | None = None,
    blocks: tuple[Array, Array] | None = None,
) -> Array:
    """Who may look at whom, decided for one pair after the other: the key is no padding, stands no more than `before`
    back and no more than `after` ahead, it is one of the `first` or not ahead, it is of the same block, and the table
    allows it.

    lengths: so many keys of each item are real; real: (batch, keys); table: broadcasts to (batch, heads, queries, keys)
    first: one number for each item; blocks: of the queries and of the keys, (batch, time)
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
            and (first is None or ahead <= 0 or key_positions[key] < first[item])
            and (blocks is None or bool(blocks[0][item, query] == blocks[1][item, key]))
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


def flow(positions: Sequence[int], learned: Weights, block: int) -> Array:
    """p(t) = p(0) + ∫ h(τ, p(τ)) dτ at t = 0.1 · position, h a network with one inner layer of tanh.

    Source: Liu et al. 2020, arXiv:2003.09229, equation 8; the method of order 4 of Runge and Kutta, with steps of 0.1.
    output: (time, width)
    """

    def h(time: float, point: Array) -> Array:
        inner = np.tanh(linear(np.append(point, time), part(learned, "flow.enter")))
        return linear(inner, part(learned, "flow.leave"))

    point, step, found = learned["starts"][block], 0.1, []
    for index in range(max(positions) + 1):
        found.append(point)
        time = index * step
        k1 = h(time, point)
        k2 = h(time + step / 2, point + step * k1 / 2)
        k3 = h(time + step / 2, point + step * k2 / 2)
        k4 = h(time + step, point + step * k3)
        point = point + step * (k1 / 6 + k2 / 3 + k3 / 3 + k4 / 6)
    return np.stack([found[position] for position in positions])


Places = Sequence[int]


def for_pairs(query_places: Places, key_places: Places, number: Callable[[int], Array | float]) -> Array:
    """What `number` says of how far ahead the key stands, for each pair: (…, queries, keys)."""
    return np.stack(
        [np.stack([np.asarray(number(key - query)) for key in key_places], -1) for query in query_places], -2
    )


def shaw_bias(queries: Array, query_places: Places, key_places: Places, learned: Weights) -> Array:
    """q_i · a^K_ij / sqrt(d_z), a^K_ij = w^K of j − i, clipped. Source: Shaw et al. 2018, arXiv:1803.02155, eq. 4, 5.

    output: (batch, heads, queries, keys)
    """
    table = learned["of_keys"]
    limit = len(table) // 2
    scores = np.zeros((*queries.shape[:3], len(key_places)))
    for i, query in enumerate(query_places):
        for j, key in enumerate(key_places):
            apart = min(limit, max(-limit, key - query)) + limit
            scores[:, :, i, j] = queries[:, :, i] @ table[apart] / math.sqrt(queries.shape[-1])
    return scores


def shaw_values(weights: Array, query_places: Places, key_places: Places, learned: Weights) -> Array:
    """Σ_j α_ij a^V_ij. Source: Shaw et al. 2018, equation 3. Output: (batch, heads, queries, value_width)"""
    table = learned["of_values"]
    limit = len(table) // 2
    output = np.zeros((*weights.shape[:3], table.shape[1]))
    for i, query in enumerate(query_places):
        for j, key in enumerate(key_places):
            apart = min(limit, max(-limit, key - query)) + limit
            output[:, :, i] += weights[:, :, i, j, None] * table[apart]
    return output


def t5_bucket(ahead: int, *, causal: bool = False, buckets: int = 32, distance: int = 128) -> int:
    """One bucket for each small distance; then bucket near + k begins where far / near ≥ (distance / near)^(k / wide).

    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1. In whole numbers, so that no rounding decides.
    """
    size = buckets if causal else buckets // 2
    near, wide = size // 2, size - size // 2
    far = max(0, -ahead) if causal else abs(ahead)
    bucket = far
    if far >= near:
        steps = [k for k in range(wide) if far**wide * near**k >= distance**k * near**wide]
        bucket = near + max(steps)
    return bucket + (size if ahead > 0 and not causal else 0)


def t5_bias(queries: Array, query_places: Places, key_places: Places, learned: Weights) -> Array:
    """The learned number of the bucket and head. Output: (1, heads, queries, keys)"""
    return for_pairs(query_places, key_places, lambda ahead: learned["table"][:, t5_bucket(ahead)])[None]


def alibi_slopes(heads: int) -> list[float]:
    """2^(−8/n), 2^(−16/n), …; between powers of 2 each second one of twice as many fills up.

    Source: Press, Smith & Lewis 2022, arXiv:2108.12409, section 3 and their code.
    """
    power = max(2**k for k in range(heads) if 2**k <= heads)
    of_power = [2 ** (-8 * n / power) for n in range(1, power + 1)]
    of_double = [2 ** (-8 * n / (2 * power)) for n in range(1, 2 * power + 1)]
    return of_power + of_double[::2][: heads - power]


def alibi_bias(queries: Array, query_places: Places, key_places: Places, learned: Weights) -> Array:
    """−m |i − j|. Source: Press, Smith & Lewis 2022, section 3. Output: (1, heads, queries, keys)"""
    slopes = np.array(alibi_slopes(queries.shape[1]))
    return for_pairs(query_places, key_places, lambda ahead: -slopes * abs(ahead))[None]


def quadratic_bias(queries: Array, query_places: Places, key_places: Places, learned: Weights) -> Array:
    """−α |δ − Δ|². Source: Cordonnier, Loukas & Jaggi 2020, arXiv:1911.03584, equation 9.

    learned: Δ, (heads, 1); α = log(1 + exp(sharpness)), (heads,). Output: (1, heads, queries, keys)
    """
    alpha = np.log1p(np.exp(learned["sharpness"]))
    return for_pairs(query_places, key_places, lambda ahead: -alpha * (ahead - learned["centre"][:, 0]) ** 2)[None]


def nothing(*asked: object) -> Array:
    return np.zeros((1, 1, 1, 1))


@dataclass(frozen=True)
class Position:
    """A position kind: what a block's input becomes, what queries and keys become, what scores and values get.

    embed:  (x, positions, learned numbers of the stack, block) -> x;  rotate: (heads, positions) -> heads
    bias:   (queries, their positions, positions of keys, learned numbers of the block) -> added to the scores
    values: (weights, the same) -> added to the values
    by_block: whether each block has learned numbers of its own
    """

    embed: Callable[[Array, Places, Weights, int], Array] = lambda x, positions, learned, block: x
    rotate: Callable[[Array, Places], Array] = lambda heads, positions: heads
    bias: Callable[[Array, Places, Places, Weights], Array] = nothing
    values: Callable[[Array, Places, Places, Weights], Array] = nothing
    by_block: bool = False

    def of_block(self, learned: Weights, block: int) -> Weights:
        return part(learned, f"blocks.{block}") if self.by_block else learned


def at_first(add: Callable[[Places, int, Weights], Array]) -> Callable[[Array, Places, Weights, int], Array]:
    """Something is added to the input of the first block."""
    return lambda x, positions, learned, block: x + add(positions, x.shape[-1], learned) if block == 0 else x


POSITIONS: dict[str, Position] = {
    "none": Position(),
    # x + PE. Source: Vaswani et al. 2017, section 3.5.
    "sinusoidal": Position(embed=at_first(lambda positions, width, learned: sinusoidal(positions, width))),
    # x + p, a learned vector for each position. Source: Gehring et al. 2017, arXiv:1705.03122, section 3.1.
    "learned": Position(embed=at_first(lambda positions, width, learned: learned["table.weight"][list(positions)])),
    # x + p of the block, at every block. Source: Liu et al. 2020, figure 1.
    "floater": Position(embed=lambda x, positions, learned, block: x + flow(positions, learned, block)),
    "shaw": Position(bias=shaw_bias, values=shaw_values, by_block=True),
    "t5": Position(bias=t5_bias),
    "alibi": Position(bias=alibi_bias),
    "rotary": Position(rotate=rotary),
    "quadratic": Position(bias=quadratic_bias, by_block=True),
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
    position: str = "none",
    placed: Weights = NOTHING,
    score: str = "scaled_dot",
    normalizer: str = "softmax",
    query_key_norm: str = "none",
    content: Array | None = None,
) -> Array:
    """Concat(head_1, …, head_h) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    Source: Vaswani et al. 2017, section 3.2.2. Head i looks at the keys and values of number i · key_heads // heads:
    Ainslie et al. 2023, arXiv:2305.13245, section 2.2. Where there are no projections, each head takes its share of
    the numbers. A norm of queries and keys: Dehghani et al. 2023, arXiv:2302.05442, section 2.
    x: (batch, queries, width); memory: (batch, keys, memory_width); output: (batch, queries, width)
    content: what values are made from, (batch, keys, content_width); the memory where not given
    placed:  the position's learned numbers, of this block
    """
    key_heads = heads if key_heads is None else key_heads
    kind = POSITIONS[position]
    places, key_places = range(x.shape[1]), range(memory.shape[1])

    def project(vectors: Array, name: str) -> Array:
        return linear(vectors, part(weights, name)) if f"{name}.weight" in weights else vectors

    def split(vectors: Array, count: int) -> Array:
        # (batch, time, count · head_width) -> (batch, count, time, head_width)
        return np.stack(np.split(vectors, count, -1), 1)

    def enter(vectors: Array, name: str, count: int) -> Array:
        own = NORMS[query_key_norm](split(project(vectors, name), count), part(weights, f"{name}_norm"))
        return kind.rotate(own, range(vectors.shape[1]))

    queries, keys = enter(x, "query", heads), enter(memory, "key", key_heads)
    values = split(project(memory if content is None else content, "value"), key_heads)
    bias = kind.bias(queries, places, key_places, placed)
    joined = []
    for head in range(heads):
        mine = [head * key_heads // heads]
        gathered = attention(
            queries[:, [head]],
            keys[:, mine],
            values[:, mine],
            score=score,
            normalizer=normalizer,
            allowed=None if allowed is None else allowed[:, [head if allowed.shape[1] > 1 else 0]],
            bias=bias[:, [head if bias.shape[1] > 1 else 0]],
            learned={name: numbers[[head]] for name, numbers in part(weights, "score").items()},
            added_values=lambda found: kind.values(found, places, key_places, placed),
        )
        joined.append(gathered[:, 0])
    return project(np.concatenate(joined, -1), "output")


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


def gelu_tanh(x: Array) -> Array:
    """Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2: the same, by a tanh that is near to it."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "swiglu": swiglu,
}


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
    query_key_norm: str = "none"


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
    x: Array, weights: Weights, shape: Shape, *, allowed: Array | None = None, placed: Weights = NOTHING
) -> Array:
    """Self-attention, then the feed-forward network. Source: Vaswani et al. 2017, section 3.1 and figure 1, left.

    x, output: (batch, time, width); placed: the position's learned numbers, of this block
    """

    def attend(x: Array) -> Array:
        return multi_head(
            x,
            x,
            part(weights, "attention"),
            heads=shape.heads,
            key_heads=shape.key_heads,
            allowed=allowed,
            position=shape.position,
            placed=placed,
            score=shape.score,
            normalizer=shape.normalizer,
            query_key_norm=shape.query_key_norm,
        )

    def think(x: Array) -> Array:
        return feed_forward(x, part(weights, "feed_forward"), shape.activation)

    x = around(x, attend, part(weights, "around_attention"), shape)
    return around(x, think, part(weights, "around_feed_forward"), shape)


def decoder_block(
    x: Array,
    memory: Array,
    weights: Weights,
    shape: Shape,
    *,
    allowed: Array | None,
    memory_allowed: Array | None,
    placed: Weights = NOTHING,
    look_back: Mix | None = None,
) -> Array:
    """Causal self-attention (or what looks back in its place), attention to the memory, then the feed-forward network.

    Source: Vaswani et al. 2017, section 3.1 and figure 1, right; section 3.2.3 for what is hidden from whom.
    x, output: (batch, length, width); memory: (batch, time, memory_width)
    """
    places = range(x.shape[1])
    nobody_looks_ahead = may_look(places, places, batch=len(x), after=0)
    allowed = nobody_looks_ahead if allowed is None else nobody_looks_ahead & allowed

    def attend(x: Array) -> Array:
        if look_back is not None:
            return look_back(x, part(weights, "attention.part"))
        return multi_head(
            x,
            x,
            part(weights, "attention"),
            heads=shape.heads,
            key_heads=shape.key_heads,
            allowed=allowed,
            position=shape.position,
            placed=placed,
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
    """Positions are told to the input, then block follows block. Source: Vaswani et al. 2017, section 3.1.

    x, output: (batch, time, width)
    """
    kind, placed = POSITIONS[shape.position], part(weights, "position")
    for index, of_block in enumerate(blocks(weights)):
        x = kind.embed(x, range(x.shape[1]), placed, index)
        x = encoder_block(x, of_block, shape, allowed=allowed, placed=kind.of_block(placed, index))
    return last_norm(x, weights, shape)


def decoder(
    x: Array,
    memory: Array,
    weights: Weights,
    shape: Shape,
    *,
    allowed: Array | None = None,
    memory_allowed: Array | None = None,
    look_back: Callable[[int], Mix] | None = None,
) -> Array:
    """Positions are told to what is written, then block follows block. Source: Vaswani et al. 2017, section 3.1.

    x, output: (batch, length, width); memory: (batch, time, memory_width)
    """
    kind, placed = POSITIONS[shape.position], part(weights, "position")
    for index, of_block in enumerate(blocks(weights)):
        x = kind.embed(x, range(x.shape[1]), placed, index)
        x = decoder_block(
            x,
            memory,
            of_block,
            shape,
            allowed=allowed,
            memory_allowed=memory_allowed,
            placed=kind.of_block(placed, index),
            look_back=None if look_back is None else look_back(index),
        )
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


# --- Convolution and recurrence -------------------------------------------------------------------------------------


def gated_convolution(x: Array, weights: Weights, *, kernel: int, dilation: int = 1, causal: bool = False) -> Array:
    """h(X) = (X * W + b) ⊗ σ(X * V + c), where beyond the ends there are zeros.

    Source: Dauphin et al. 2017, arXiv:1612.08083, equation 1; dilation: van den Oord et al. 2016, arXiv:1609.03499,
    section 2.1. W and V stand one after the other in project.weight, (2 · width, kernel · width).
    x, output: (batch, time, width)
    """
    time, width = x.shape[1:]
    taps = weights["project.weight"].reshape(2 * width, kernel, width)
    before = (kernel - 1) * dilation if causal else (kernel - 1) // 2 * dilation
    found = np.tile(weights["project.bias"], (*x.shape[:2], 1))
    for place, tap in product(range(time), range(kernel)):
        seen = place - before + tap * dilation
        if 0 <= seen < time:
            found[:, place] += x[:, seen] @ taps[:, tap].T
    return found[..., :width] * sigmoid(found[..., width:])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def rnn(x: Array, h: Array, c: Array, weights: Weights) -> tuple[Array, Array]:
    """h' = tanh(W x + U h + b). Source: Elman 1990, figure 2."""
    return np.tanh(_product(x, weights, "ih") + _product(h, weights, "hh")), c


def lstm(x: Array, h: Array, c: Array, weights: Weights) -> tuple[Array, Array]:
    """c' = f ⊗ c + i ⊗ g and h' = o ⊗ tanh c'. Source: Gers, Schmidhuber & Cummins 2000, equations 1 to 6."""
    i, f, g, o = np.split(_product(x, weights, "ih") + _product(h, weights, "hh"), 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x: Array, h: Array, c: Array, weights: Weights) -> tuple[Array, Array]:
    """h' = z ⊗ h + (1 − z) ⊗ n, n = tanh(W x + r ⊗ (U h)). Source: Cho et al. 2014, arXiv:1406.1078, equations 5 to 8
    (there U (r ⊗ h))."""
    of_x, of_h = np.split(_product(x, weights, "ih"), 3, -1), np.split(_product(h, weights, "hh"), 3, -1)
    r, z = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
    return z * h + (1 - z) * np.tanh(of_x[2] + r * of_h[2]), c


def _product(x: Array, weights: Weights, kind: str) -> Array:
    return x @ weights[f"weight_{kind}_l0"].T + weights[f"bias_{kind}_l0"]


CELLS = {"rnn": rnn, "lstm": lstm, "gru": gru}


def walk(x: Array, weights: Weights, cell: str) -> Array:
    """What the memory holds after each element, beginning with nothing. x: (batch, time, width)"""
    size = weights["weight_hh_l0"].shape[1]
    h = c = np.zeros((len(x), size))
    found = np.zeros((*x.shape[:2], size))
    for place in range(x.shape[1]):
        h, c = CELLS[cell](x[:, place], h, c, weights)
        found[:, place] = h
    return found


def recurrence(x: Array, weights: Weights, cell: str) -> Array:
    """Forward, and beside it what a second memory holds that comes from the end. Source: Schuster & Paliwal 1997."""
    found = walk(x, part(weights, "walks.0"), cell)
    other = part(weights, "walks.1")
    return np.concatenate((found, walk(x[:, ::-1], other, cell)[:, ::-1]), -1) if other else found


def mix_encoder(x: Array, weights: Weights, shape: Shape, mix: Callable[[int], Mix]) -> Array:
    """A Transformer encoder with something else in the place of attention. x, output: (batch, time, width)

    mix: for each block what stands there
    """
    for index, of_block in enumerate(blocks(weights)):

        def take_in(x: Array, of_block: Weights = of_block, index: int = index) -> Array:
            return mix(index)(x, part(of_block, "mix"))

        def think(x: Array, of_block: Weights = of_block) -> Array:
            return feed_forward(x, part(of_block, "feed_forward"), shape.activation)

        x = around(x, take_in, part(of_block, "around_mix"), shape)
        x = around(x, think, part(of_block, "around_feed_forward"), shape)
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
