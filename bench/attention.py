"""Our attention against others', one thread, interleaved: `python bench/attention.py [--keep] [ROW …]`.

Prints milliseconds of processor time (medians), theirs over ours, what the products alone would take at the rate at
which this machine multiplies, the most memory, and the versions. Once as the machine is, and once with `--keep`, which
gives everybody `regard.keep_memory()`. Peers that are not installed (`pip install regard[bench]`) are left out by
name. A row is chosen by a part of its name. Layers: `python bench/layers.py`.
"""

from importlib import import_module

import torch
import torch.nn.functional as F
from measuring import backward, drawn, forward, main

from regard.attention import Mask, attend, attention_weights
from regard.attention.score import Additive

WINDOW = 64


def products(batch, heads, queries, keys, width):
    """Operations of the two products of attention, forward."""
    return 4 * batch * heads * queries * keys * width


def window_against_all(bench):
    """Truncated attention against PyTorch's kernel on everything."""
    for length, target in ((1024, 3), (2048, 6), (4096, 12)):
        tensors = drawn(1, 8, length, 64)
        bench.both(
            f"window {WINDOW} of {length} against all",
            lambda t=tensors: attend(*t, mask=Mask.window(WINDOW, WINDOW)),
            lambda t=tensors: F.scaled_dot_product_attention(*t),
            tensors,
            (None, f">= {target}"),
            products(1, 8, length, 2 * WINDOW + 1, 64),
        )


def window_by_length(bench):
    """Linear is 1/4 from 2,048 to 8,192, and 1/2 from there to 16,384; the columns are the longer and the shorter."""
    for short, long, targets in ((2048, 8192, (">= 1/4.4", ">= 1/5.2")), (8192, 16384, (None, ">= 1/2.4"))):
        sets = [drawn(1, 8, length, 64) for length in (long, short)]
        asked = [lambda t=tensors: attend(*t, mask=Mask.window(WINDOW, WINDOW)) for tensors in sets]
        if targets[0]:
            bench.compare(f"window {WINDOW}, {long} and {short}, forward", *map(forward, asked), targets[0])
        bench.compare(f"window {WINDOW}, {long} and {short}, with backward", *map(backward, asked, sets), targets[1])


def window_against_local_attention(bench):
    LocalAttention = import_module("local_attention").LocalAttention
    theirs = LocalAttention(window_size=WINDOW, look_backward=1, look_forward=1, exact_windowsize=True, dropout=0.0)
    theirs.rel_pos = None
    tensors = drawn(1, 8, 4096, 64)
    padded = torch.arange(4096)[None] < 3500
    for name, mask, given, targets in (
        ("", Mask.window(WINDOW, WINDOW), None, (">= 3.0 (kept: 1.8)", ">= 1.8 (kept: 1.35)")),
        (", padded", Mask.window(WINDOW, WINDOW) & Mask.lengths(torch.tensor([3500])), padded, (None, ">= 1.5")),
    ):
        bench.both(
            f"window {WINDOW} of 4096{name}, local-attention",
            lambda mask=mask: attend(*tensors, mask=mask),
            lambda given=given: theirs(*tensors, mask=given),
            tensors,
            targets,
            products(1, 8, 4096, 2 * WINDOW + 1, 64),
        )


def window_against_longformer(bench):
    longformer = import_module("transformers.models.longformer.modeling_longformer")
    sizes = longformer.LongformerConfig(hidden_size=512, num_attention_heads=8, attention_window=[2 * WINDOW])
    shell = longformer.LongformerSelfAttention(sizes, layer_id=0)

    def theirs(queries, keys, values):
        # (batch, heads, time, width) -> (batch, time, heads, width), as it has them; padding at both ends is its own.
        queries, keys, values = (x.transpose(1, 2) for x in (queries * queries.shape[-1] ** -0.5, keys, values))
        scores = shell._sliding_chunks_query_key_matmul(queries, keys, WINDOW)
        return shell._sliding_chunks_matmul_attn_probs_value(scores.softmax(-1), values, WINDOW)

    tensors = drawn(1, 8, 4096, 64)
    bench.both(
        f"window {WINDOW} of 4096, Longformer's core",
        lambda: attend(*tensors, mask=Mask.window(WINDOW, WINDOW)),
        lambda: theirs(*tensors),
        tensors,
        (">= 2.2 (kept: 1.8)", ">= 2.0"),
        products(1, 8, 4096, 2 * WINDOW + 1, 64),
    )


def window_memory(bench):
    tensors = drawn(1, 8, 4096, 64)
    bench.memory(
        f"window {WINDOW} of 4096 against all, with backward",
        backward(lambda: attend(*tensors, mask=Mask.window(WINDOW, WINDOW)), tensors),
        backward(lambda: F.scaled_dot_product_attention(*tensors), tensors),
        "<= 115 MB",
    )


def few_keys(bench):
    for length, target in ((10, 1.5), (32, 1.15)):
        tensors = drawn(32, 8, length, 32)
        bench.both(
            f"{length} keys, PyTorch's kernel",
            lambda t=tensors: attend(*t),
            lambda t=tensors: F.scaled_dot_product_attention(*t),
            tensors,
            (None, f">= {target}"),
            products(32, 8, length, length, 32),
        )


def weights_too(bench):
    """All weights beside the output, and some rows of them."""
    queries, keys, values = drawn(4, 8, 512, 64)

    def ours(rows):
        return attend(queries, keys, values), attention_weights(queries, keys, rows=rows)

    def written():
        weights = (queries @ keys.mT * 64**-0.5).softmax(-1)
        return weights @ values, weights

    def fused():
        return F.scaled_dot_product_attention(queries, keys, values)

    def watched():
        seen = []
        return attend(queries, keys, values, watch=lambda weights, rows: seen.append(weights) or weights), seen

    bench.compare(
        "output and all weights, watched, of 512, PyTorch's kernel", forward(watched), forward(fused), ">= 1/1.9"
    )
    bench.compare(
        "output and 4 rows of weights, of 512, PyTorch's kernel",
        forward(lambda: ours([0, 7, 100, 511])),
        forward(fused),
        ">= 1/1.15",
    )
    bench.memory("output and all weights of 512, written out plainly", forward(watched), forward(written), ">= 2")


def beams(bench):
    """5 beams as queries beside each other over one memory, and over a memory that is there 5 times."""
    queries, keys, values = torch.randn(32, 8, 5, 32), torch.randn(32, 8, 32, 32), torch.randn(32, 8, 32, 32)
    rows = queries.transpose(1, 2).reshape(160, 8, 1, 32)
    many = [x.repeat_interleave(5, 0) for x in (keys, values)]
    bench.compare(
        "5 beams over one memory of 32, over 5",
        forward(lambda: attend(queries, keys, values)),
        forward(lambda: attend(rows, *many)),
        ">= 3",
    )


def cosine(bench):
    tensors = drawn(1, 2, 4096, 64)
    bench.both(
        "cosine of 4096, PyTorch's kernel",
        lambda: attend(*tensors, score="cosine"),
        lambda: F.scaled_dot_product_attention(*tensors),
        tensors,
        (">= 1/1.05", None),
    )


def sparse_against_entmax(bench):
    for normalizer, theirs, targets in (("entmax15", "entmax15", (8, 3)), ("sparsemax", "sparsemax", (4, 1.8))):
        normalize = getattr(import_module("entmax"), theirs)
        tensors = drawn(1, 2, 4096, 64)
        bench.both(
            f"{normalizer} of 4096, the package entmax",
            lambda n=normalizer, t=tensors: attend(*t, normalizer=n),
            lambda n=normalize, t=tensors: n(t[0] @ t[1].mT * 64**-0.5, -1) @ t[2],
            tensors,
            [f">= {target}" for target in targets],
        )
        bench.memory(
            f"{normalizer} of 4096, with backward, the package entmax",
            backward(lambda n=normalizer, t=tensors: attend(*t, normalizer=n), tensors),
            backward(lambda n=normalize, t=tensors: n(t[0] @ t[1].mT * 64**-0.5, -1) @ t[2], tensors),
            "<= 40 MB",
        )


def chunked_against_plain(bench):
    for normalizer in ("relu", "sigmoid"):
        tensors = drawn(1, 1, 8192, 64)
        bench.both(
            f"{normalizer} of 8192, the plain path",
            lambda n=normalizer, t=tensors: attend(*t, normalizer=n),
            lambda n=normalizer, t=tensors: attend(*t, normalizer=n, path="plain"),
            tensors,
            (">= 2.3", ">= 1.4"),
        )
    score, tensors = Additive(1, 64), drawn(1, 1, 1024, 64)
    bench.both(
        "additive of 1024, the plain path",
        lambda: attend(*tensors, score=score),
        lambda: attend(*tensors, score=score, path="plain"),
        tensors,
        (None, ">= 1/0.8"),
    )
    bench.memory(
        "additive of 1024, with backward, the plain path",
        backward(lambda: attend(*tensors, score=score), tensors),
        backward(lambda: attend(*tensors, score=score, path="plain"), tensors),
        "<= 20 MB",
    )


ROWS = (
    window_against_all,
    window_by_length,
    window_against_local_attention,
    window_against_longformer,
    window_memory,
    few_keys,
    weights_too,
    beams,
    cosine,
    sparse_against_entmax,
    chunked_against_plain,
)


if __name__ == "__main__":
    main(ROWS, ("local-attention", "transformers", "entmax"))
