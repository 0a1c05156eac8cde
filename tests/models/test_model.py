"""The whole model: from numbers to scores, whatever the batch."""

import pytest
import torch
from laws import seen_weights
from sharp import assert_close, assert_moved, encoder, sharpen, stir

from regard.build import ENCODERS
from regard.data.batching import IGNORED, Item, collate
from regard.data.tokenizer import SHAPES, TOKENIZERS, TokenizerSettings
from regard.layers import NORMS
from regard.models.gather import EachWord
from regard.models.inputs import (
    Affixes,
    Embedding,
    LetterPatterns,
    PieceInput,
    ScaledEmbedding,
    WordCharacterInput,
    WordInput,
)
from regard.models.model import EncoderModel
from regard.models.outputs import CrfHead, Heads, SoftmaxHead

SENTENCES = ["the old saw saw wood", "I", "see the sea shore again and again", "no saw"]
TEXTS = [sentence.split() for sentence in SENTENCES]
LABELS = 3
WIDTH = 22


def items(tokens: str) -> tuple[list[Item], dict[str, int]]:
    tokenizer = TOKENIZERS[tokens].learn(TEXTS, TokenizerSettings(300, 1, False, "none"))
    labels = [{"tag": tuple(len(word) % LABELS for word in words)} for words in TEXTS]
    found = [
        Item(tokenizer.encode(words), of_item, len(words), len(words))
        for words, of_item in zip(TEXTS, labels, strict=True)
    ]
    return found, tokenizer.sizes()


def model(tokens: str, sizes: dict[str, int], kind: str = "attention", crf: bool = False, **settings) -> EncoderModel:
    torch.manual_seed(0)
    if "pieces" in sizes:
        read = PieceInput(ScaledEmbedding(sizes["pieces"], WIDTH))
    elif "characters" in sizes:
        letters = LetterPatterns(sizes["characters"], 5, 3)
        affixes = Affixes(sizes["affixes"], len(SHAPES) + 1, 5)
        read = WordCharacterInput(Embedding(sizes["words"], 7), letters, affixes, 7, WIDTH)
    else:
        read = WordInput(Embedding(sizes["words"], 7), 7, WIDTH)
    head = (CrfHead if crf else SoftmaxHead)(WIDTH, LABELS)
    made = EncoderModel(read, encoder(kind, sharp=False, **settings), EachWord(WIDTH), Heads(("tag",), [stir(head)]))
    return sharpen(made, 5.0).double().eval()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_the_answer_does_not_depend_on_neighbours_order_or_padding(tokens, kind, norm):
    all_items, sizes = items(tokens)
    made = model(tokens, sizes, kind, norm=norm)
    with torch.no_grad():
        alone = [made(collate(all_items, [number]).inputs)["tag"][0] for number in range(len(all_items))]
        for order in ([0, 1, 2, 3], [3, 1, 0], [1, 2]):
            together = made(collate(all_items, order).inputs)["tag"]
            for row, number in enumerate(order):
                words = len(TEXTS[number])
                assert alone[number].shape == (words, LABELS)
                assert_close(together[row, :words], alone[number], 1e-8, f"item {number} of {order}")


@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_an_answer_depends_on_what_stands_beside_a_word_unless_the_encoder_is_pointwise(tokens):
    """The first and the last "again" are spelt alike; only a look at others or at places tells them apart."""
    all_items, sizes = items(tokens)
    batch = collate(all_items, [2]).inputs
    for kind in ENCODERS:
        with torch.no_grad():
            answer = model(tokens, sizes, kind)(batch)["tag"][0]
        if kind == "pointwise":
            assert_close(answer[4], answer[6], 1e-8)
        else:
            assert_moved(answer[4], answer[6])


@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_the_loss_of_a_batch_is_the_sum_of_its_items_and_so_is_the_gradient(tokens, crf):
    all_items, sizes = items(tokens)
    made = model(tokens, sizes, crf=crf)

    def loss(numbers: list[int]) -> torch.Tensor:
        batch = collate(all_items, numbers)
        return made.output.head("tag").negative_log_likelihood(
            made(batch.inputs)["tag"], batch.labels["tag"], batch.inputs["answers"]
        )

    # The vectors of padding get no gradient, and those of words that the items do not have none either.
    parameters = list(made.parameters())
    together = torch.autograd.grad(loss([0, 1, 2, 3]), parameters)
    alone = torch.autograd.grad(torch.stack([loss([number]) for number in range(4)]).sum(), parameters)
    for one, other in zip(together, alone, strict=True):
        assert_close(one, other, 1e-7)
        assert one.isfinite().all()


@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_the_batch_has_a_label_for_each_word_and_the_model_an_answer(tokens):
    all_items, sizes = items(tokens)
    batch = collate(all_items, [0, 1, 2, 3])
    assert batch.labels["tag"].shape == (4, 7) and (batch.labels["tag"][1, 1:] == IGNORED).all()
    with torch.no_grad():
        assert model(tokens, sizes)(batch.inputs)["tag"].shape == (4, 7, LABELS)


@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_looking_inside_changes_no_answer_and_sees_every_layer(tokens):
    all_items, sizes = items(tokens)
    made, inputs = model(tokens, sizes), collate(all_items, [0, 2]).inputs
    time = int(inputs["lengths"].max())
    with torch.no_grad():
        before = made(inputs)["tag"]
        seen = seen_weights(made, inputs)
        assert torch.equal(made(inputs)["tag"], before)
    assert {name: tuple(weights.shape) for name, weights in seen.items()} == {
        f"encoder.blocks.{layer}.attention": (2, 2, time, time) for layer in range(2)
    }
    hidden = torch.arange(time) >= inputs["lengths"][:, None]
    assert all((weights.transpose(1, 3)[hidden] == 0).all() for weights in seen.values())
