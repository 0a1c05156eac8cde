"""Our multi-head attention against others', one thread, interleaved: `python bench/layers.py [--keep] [ROW …]`.

Read as `bench/attention.py` is. All layers are 512 wide, in 8 heads, projections included.
"""

from importlib import import_module

import torch
from measuring import main

from regard.attention import Mask
from regard.layers import MultiHeadAttention

WIDTH, HEADS = 512, 8


def operations(batch, length):
    """Of four projections and two products, forward."""
    return 8 * batch * length * WIDTH**2 + 4 * batch * length**2 * WIDTH


def given(batch, length):
    """What is read, and which three quarters of it are real."""
    real = torch.arange(length).expand(batch, length) < length * 3 // 4
    return torch.randn(batch, length, WIDTH, requires_grad=True), real


def torch_padded(bench):
    for shape, targets in (((4, 512), (">= 1.9", None)), ((1, 2048), (">= 3", None))):
        ours, theirs = MultiHeadAttention(WIDTH, HEADS), torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        theirs.eval()  # in training it takes another way
        x, real = given(*shape)
        bench.both(
            f"padded, {shape}, nn.MultiheadAttention",
            lambda ours=ours, x=x, real=real: ours(x, mask=Mask.keys(real)),
            lambda theirs=theirs, x=x, real=real: theirs(x, x, x, key_padding_mask=~real, need_weights=False)[0],
            [x],
            targets,
            operations(*shape),
        )


def torch_whole(bench):
    for shape in ((32, 32), (16, 128), (4, 512)):
        ours, theirs = MultiHeadAttention(WIDTH, HEADS), torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        x, _ = given(*shape)
        bench.both(
            f"whole, {shape}, nn.MultiheadAttention",
            lambda ours=ours, x=x: ours(x),
            lambda theirs=theirs, x=x: theirs(x, x, x, need_weights=False)[0],
            [x],
            (">= 1.1", ">= 1.1"),
            operations(*shape),
        )


def x_transformers(bench):
    theirs = import_module("x_transformers.x_transformers").Attention(
        dim=WIDTH, heads=HEADS, dim_head=WIDTH // HEADS, flash=True
    )
    ours = MultiHeadAttention(WIDTH, HEADS)
    x, real = given(4, 512)

    def output(found):
        return found[0] if isinstance(found, tuple) else found

    bench.both(
        "padded, (4, 512), x-transformers with flash",
        lambda: ours(x, mask=Mask.keys(real)),
        lambda: output(theirs(x, mask=real)),
        [x],
        (">= 1.4", ">= 1.2"),
        operations(4, 512),
    )


def bert(bench):
    modeling = import_module("transformers.models.bert.modeling_bert")
    sizes = modeling.BertConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
        attn_implementation="sdpa",
    )
    inner, dense = modeling.BertSelfAttention(sizes, layer_idx=0), torch.nn.Linear(WIDTH, WIDTH)
    ours = MultiHeadAttention(WIDTH, HEADS)
    x, _ = given(4, 512)
    bench.both(
        "whole, (4, 512), Hugging Face BERT with PyTorch's kernel",
        lambda: ours(x),
        lambda: dense(inner(x)[0]),
        [x],
        (">= 0.95", ">= 0.95"),
        operations(4, 512),
    )


ROWS = (torch_padded, torch_whole, x_transformers, bert)


if __name__ == "__main__":
    main(ROWS, ("x-transformers", "transformers"))
