"""Our attention against others', one thread, interleaved: `python bench/attention.py [--keep] [ROW …]`.

Prints milliseconds of processor time (medians), theirs over ours, and the versions. Once as the machine is, and once
with `--keep`, which gives everybody `regard.keep_memory()`. Peers that are not installed (`pip install regard[bench]`)
are left out by name. A row is chosen by a part of its name.
"""

import statistics
import sys
import time
from importlib import import_module, metadata

import torch
import torch.nn.functional as F

import regard
from regard.attention import Mask, attend
from regard.attention.score import Additive
from regard.layers import MultiHeadAttention

REPEATS = 5
WINDOW = 64


def seconds(function):
    started = time.process_time()
    function()
    return time.process_time() - started


def compare(name, ours, theirs, target):
    """One line: theirs over ours, medians of interleaved repeats."""
    ours(), theirs()
    times = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
    mine, other = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
    print(f"| {name} | {mine:.1f} | {other:.1f} | {other / mine:.2f} | {target} |", flush=True)


def drawn(*shape, count=3):
    return [torch.randn(*shape, requires_grad=True) for _ in range(count)]


def forward(function):
    def run():
        with torch.no_grad():
            function()

    return run


def backward(function, tensors):
    def run():
        torch.autograd.grad(function().sum(), tensors, allow_unused=True)

    return run


def both(name, ours, theirs, tensors, targets):
    if targets[0]:
        compare(f"{name}, forward", forward(ours), forward(theirs), targets[0])
    if targets[1]:
        compare(f"{name}, with backward", backward(ours, tensors), backward(theirs, tensors), targets[1])


def window_against_all():
    """Truncated attention against PyTorch's kernel on everything."""
    for length, target in ((1024, 3), (2048, 6), (4096, 12)):
        tensors = drawn(1, 8, length, 64)
        both(
            f"window {WINDOW} of {length} against all",
            lambda t=tensors: attend(*t, mask=Mask.window(WINDOW, WINDOW)),
            lambda t=tensors: F.scaled_dot_product_attention(*t),
            tensors,
            (None, f">= {target}"),
        )


def window_by_length():
    """Linear is 1/4 from 2,048 to 8,192, and 1/2 from there to 16,384; the columns are the longer and the shorter."""
    for short, long, targets in ((2048, 8192, (">= 1/4.4", ">= 1/5.2")), (8192, 16384, (None, ">= 1/2.4"))):
        sets = [drawn(1, 8, length, 64) for length in (long, short)]
        asked = [lambda t=tensors: attend(*t, mask=Mask.window(WINDOW, WINDOW)) for tensors in sets]
        if targets[0]:
            compare(f"window {WINDOW}, {long} and {short}, forward", *map(forward, asked), targets[0])
        compare(f"window {WINDOW}, {long} and {short}, with backward", *map(backward, asked, sets), targets[1])


def window_against_local_attention():
    LocalAttention = import_module("local_attention").LocalAttention
    theirs = LocalAttention(window_size=WINDOW, look_backward=1, look_forward=1, exact_windowsize=True, dropout=0.0)
    theirs.rel_pos = None
    tensors = drawn(1, 8, 4096, 64)
    padded = torch.arange(4096)[None] < 3500
    for name, mask, given, targets in (
        ("", Mask.window(WINDOW, WINDOW), None, (">= 3.0 (kept: 1.8)", ">= 1.8 (kept: 1.35)")),
        (", padded", Mask.window(WINDOW, WINDOW) & Mask.lengths(torch.tensor([3500])), padded, (None, ">= 1.5")),
    ):
        both(
            f"window {WINDOW} of 4096{name}, local-attention",
            lambda mask=mask: attend(*tensors, mask=mask),
            lambda given=given: theirs(*tensors, mask=given),
            tensors,
            targets,
        )


def window_against_longformer():
    longformer = import_module("transformers.models.longformer.modeling_longformer")
    sizes = longformer.LongformerConfig(hidden_size=512, num_attention_heads=8, attention_window=[2 * WINDOW])
    shell = longformer.LongformerSelfAttention(sizes, layer_id=0)

    def theirs(queries, keys, values):
        # (batch, heads, time, width) -> (batch, time, heads, width), as it has them; padding at both ends is its own.
        queries, keys, values = (x.transpose(1, 2) for x in (queries * queries.shape[-1] ** -0.5, keys, values))
        scores = shell._sliding_chunks_query_key_matmul(queries, keys, WINDOW)
        return shell._sliding_chunks_matmul_attn_probs_value(scores.softmax(-1), values, WINDOW)

    tensors = drawn(1, 8, 4096, 64)
    both(
        f"window {WINDOW} of 4096, Longformer's core",
        lambda: attend(*tensors, mask=Mask.window(WINDOW, WINDOW)),
        lambda: theirs(*tensors),
        tensors,
        (">= 2.2 (kept: 1.8)", ">= 2.0"),
    )


def module_against_torch():
    for shape, targets in (((4, 512), (">= 1.9", ">= 1.1")), ((1, 2048), (">= 3", None))):
        ours, theirs = MultiHeadAttention(512, 8), torch.nn.MultiheadAttention(512, 8, batch_first=True)
        theirs.eval()  # in training it takes another way
        x = torch.randn(*shape, 512, requires_grad=True)
        real = torch.arange(shape[1]).expand(shape) < shape[1] * 3 // 4
        both(
            f"module with padding, {shape}, nn.MultiheadAttention",
            lambda ours=ours, x=x, real=real: ours(x, mask=Mask.keys(real)),
            lambda theirs=theirs, x=x, real=real: theirs(x, x, x, key_padding_mask=~real, need_weights=False)[0],
            [x],
            targets,
        )


def few_keys():
    for length, target in ((10, 1.5), (32, 1.15)):
        tensors = drawn(32, 8, length, 32)
        both(
            f"{length} keys, PyTorch's kernel",
            lambda t=tensors: attend(*t),
            lambda t=tensors: F.scaled_dot_product_attention(*t),
            tensors,
            (None, f">= {target}"),
        )


def cosine():
    tensors = drawn(1, 2, 4096, 64)
    both(
        "cosine of 4096, PyTorch's kernel",
        lambda: attend(*tensors, score="cosine"),
        lambda: F.scaled_dot_product_attention(*tensors),
        tensors,
        (">= 1/1.05", None),
    )


def sparse_against_entmax():
    for normalizer, theirs, targets in (("entmax15", "entmax15", (8, 3)), ("sparsemax", "sparsemax", (4, 1.8))):
        normalize = getattr(import_module("entmax"), theirs)
        tensors = drawn(1, 2, 4096, 64)
        both(
            f"{normalizer} of 4096, the package entmax",
            lambda n=normalizer, t=tensors: attend(*t, normalizer=n),
            lambda n=normalize, t=tensors: n(t[0] @ t[1].mT * 64**-0.5, -1) @ t[2],
            tensors,
            [f">= {target}" for target in targets],
        )


def chunked_against_plain():
    for normalizer in ("relu", "sigmoid"):
        tensors = drawn(1, 1, 8192, 64)
        both(
            f"{normalizer} of 8192, the plain path",
            lambda n=normalizer, t=tensors: attend(*t, normalizer=n),
            lambda n=normalizer, t=tensors: attend(*t, normalizer=n, path="plain"),
            tensors,
            (">= 2.3", ">= 1.4"),
        )
    score, tensors = Additive(1, 64), drawn(1, 1, 1024, 64)
    both(
        "additive of 1024, the plain path",
        lambda: attend(*tensors, score=score),
        lambda: attend(*tensors, score=score, path="plain"),
        tensors,
        (None, ">= 1/0.8"),
    )


ROWS = (
    window_against_all,
    window_by_length,
    window_against_local_attention,
    window_against_longformer,
    module_against_torch,
    few_keys,
    cosine,
    sparse_against_entmax,
    chunked_against_plain,
)


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def main():
    kept = "--keep" in sys.argv
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if kept and not regard.keep_memory():
        sys.exit("memory cannot be kept here")
    versions = (f"{name} {version(name)}" for name in ("torch", "local-attention", "transformers", "entmax"))
    print(f"{', '.join(versions)}; one thread; {'memory kept' if kept else 'memory as it is'}; medians of {REPEATS}")
    print("| what | ours, ms | theirs, ms | theirs / ours | target |\n|---|---|---|---|---|")
    for row in ROWS:
        if not wanted or any(word in row.__name__ for word in wanted):
            try:
                row()
            except ImportError as missing:
                print(f"| {row.__name__.replace('_', ' ')}: left out, {missing} | | | | |")


if __name__ == "__main__":
    main()
