"""Multi-head attention: projections, heads, the watched point."""

import importlib

import pytest
import reference
import torch
from laws import seen_weights, watched_weights_are_shares
from sharp import (
    BATCH,
    HEADS,
    KEYS,
    KINDS_AT,
    MEMORY_WIDTH,
    QUERIES,
    WIDTH,
    assert_close,
    assert_moved,
    attention_encoder,
    decoder,
    draw,
    masks,
    numpy,
    position_of,
    score_of,
    sharpen,
    stir,
    weights_of,
)

from regard.attention import NORMALIZERS, POSITIONS, SCORES, Mask
from regard.errors import ShapeError
from regard.layers import QUERY_KEY_NORMS, MultiHeadAttention
from regard.layers.cache import AttentionCache

module = importlib.import_module("regard.attention.question")

X = draw(BATCH, KEYS, WIDTH, dtype=torch.float64)
MEMORY = draw(BATCH, KEYS, MEMORY_WIDTH, seed=1, dtype=torch.float64)


def made(heads: int = HEADS, width: int = WIDTH, **named) -> MultiHeadAttention:
    torch.manual_seed(0)
    return stir(sharpen(MultiHeadAttention(width, heads, **named))).double().eval()


def test_the_models_of_these_tests_attend_sharply():
    """Of most rows the largest weight is above 0.6; with untouched projections it is not."""

    def sharp_rows(model) -> float:
        weights = seen_weights(model, draw(BATCH, KEYS, WIDTH))
        return float(torch.cat([found.amax(-1).flatten() for found in weights.values()]).gt(0.6).float().mean())

    for position in POSITIONS:
        assert sharp_rows(attention_encoder(position=position)) > 0.6
    assert sharp_rows(attention_encoder(sharp=False)) < 0.4
    assert sharp_rows(made().float()) > 0.6


@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
def test_self_attention_equals_the_reference(score, normalizer, position):
    attention = made(score=SCORES[score].sized(HEADS, WIDTH // HEADS), normalizer=NORMALIZERS[normalizer]())
    whole = position_of(position).double()
    kind, placed = whole.at(0), reference.POSITIONS[position].of_block(weights_of(whole), 0)
    for name, (mask, said) in masks(KEYS, KEYS).items():
        wanted = reference.multi_head(
            numpy(X),
            numpy(X),
            weights_of(attention),
            heads=HEADS,
            allowed=reference.may_look(range(KEYS), range(KEYS), batch=BATCH, **said),
            position=position,
            placed=placed,
            score=score,
            normalizer=normalizer,
        )
        for training in (True, False):
            attention.train(training)
            assert_close(attention(X, mask=mask, position=kind), wanted, 1e-9, f"{name}, training {training}")
        with torch.no_grad():
            assert_close(attention(X, mask=mask, position=kind), wanted, 1e-9, f"{name}, without gradients")


@pytest.mark.parametrize(("heads", "key_heads", "head_width"), [(2, 2, 3), (6, 2, 5), (6, 3, None), (5, 1, 7)])
def test_attention_to_a_memory_equals_the_reference_for_any_number_of_heads(heads, key_heads, head_width):
    width = 30
    attention = made(heads, width, key_heads=key_heads, head_width=head_width, memory_width=MEMORY_WIDTH)
    x = draw(BATCH, QUERIES, width, dtype=torch.float64)
    assert attention.key.out_features == key_heads * (width // heads if head_width is None else head_width)
    for mask, said in ((None, {}), (Mask.lengths(torch.tensor([7, 0, 3])), {"lengths": (7, 0, 3)})):
        allowed = reference.may_look(range(QUERIES), range(KEYS), batch=BATCH, **said)
        wanted = reference.multi_head(
            numpy(x), numpy(MEMORY), weights_of(attention), heads=heads, key_heads=key_heads, allowed=allowed
        )
        assert_close(attention(x, MEMORY, mask=mask), wanted, 1e-9)


def test_heads_that_share_keys_are_heads_whose_keys_are_equal():
    shared, apart = made(6, 30, key_heads=2), made(6, 30)
    with torch.no_grad():
        for name in ("query", "output"):
            getattr(apart, name).load_state_dict(getattr(shared, name).state_dict())
        for name in ("key", "value"):
            for kind in ("weight", "bias"):
                own = getattr(getattr(shared, name), kind)
                # (key_heads · head_width, …) -> each head's rows three times over
                repeated = own.unflatten(0, (2, 5)).repeat_interleave(3, 0).flatten(0, 1)
                getattr(getattr(apart, name), kind).copy_(repeated)
    x = draw(BATCH, KEYS, 30, dtype=torch.float64)
    assert_close(shared(x), apart(x), 1e-10)


def test_the_scale_takes_the_place_of_the_scores_own():
    attention, own = made(scale=0.17), made(score=SCORES["dot"](), scale=0.17)
    assert_close(attention(X), own(X), 1e-12)
    assert_close(made(scale=11**-0.5)(X), made()(X), 1e-9)
    assert_moved(attention(X), made()(X))


def test_the_gradients_of_the_fused_path_are_those_of_the_watched_one():
    attention = made()
    mask = Mask.causal() & Mask.lengths(torch.tensor([7, 0, 3]))
    pull = draw(BATCH, KEYS, WIDTH, seed=2, dtype=torch.float64)

    def gradients() -> list[torch.Tensor]:
        x = X.clone().requires_grad_()
        return list(torch.autograd.grad((attention(x, mask=mask) * pull).sum(), [x, *attention.parameters()]))

    unwatched = gradients()
    handle = attention.weights.register_forward_hook(lambda point, inputs, weights: None)
    for one, other in zip(unwatched, gradients(), strict=True):
        assert_close(one, other, 1e-9)
    handle.remove()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
@pytest.mark.parametrize("position", POSITIONS)
def test_watching_never_changes_the_answer(position, dtype, tolerance):
    encoder, answers = attention_encoder(position=position).to(dtype), []
    encoder.register_forward_hook(lambda encoder, inputs, answer: answers.append(answer))
    for name, (mask, _) in masks(KEYS, KEYS).items():
        answers.clear()
        with torch.no_grad():
            encoder(X.to(dtype), mask)
            assert len(seen_weights(encoder, X.to(dtype), mask)) == 2
        assert_close(answers[1], answers[0], tolerance, f"{position}, {name}")


def test_one_matrix_is_seen_for_each_layer_and_head():
    """Neither a mean over heads nor nothing at all (B09)."""
    x, memory = draw(BATCH, 3, WIDTH), draw(BATCH, 5, MEMORY_WIDTH, seed=1)
    seen = seen_weights(decoder(), x, memory)
    assert {name: tuple(weights.shape) for name, weights in seen.items()} == {
        "blocks.0.attention": (BATCH, HEADS, 3, 3),
        "blocks.0.cross_attention": (BATCH, HEADS, 3, 5),
        "blocks.1.attention": (BATCH, HEADS, 3, 3),
        "blocks.1.cross_attention": (BATCH, HEADS, 3, 5),
    }
    assert_moved(seen["blocks.0.attention"][:, 0], seen["blocks.0.attention"][:, 1])


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_what_is_seen_is_the_references_weights(normalizer):
    attention = made(normalizer=NORMALIZERS[normalizer]())
    (seen,) = seen_weights(torch.nn.Sequential(attention), X).values()
    weights = weights_of(attention)
    for head in range(HEADS):
        mine = slice(head * 11, head * 11 + 11)
        queries = reference.linear(numpy(X), reference.part(weights, "query"))[..., mine]
        keys = reference.linear(numpy(X), reference.part(weights, "key"))[..., mine]
        wanted = reference.NORMALIZERS[normalizer](reference.scaled_dot(queries, keys), None)
        assert_close(seen[:, head], wanted, 1e-9)


def test_what_is_seen_is_before_dropout():
    """After dropout rows sum to 1.3 and single weights are above 1 (B08)."""
    watched_weights_are_shares(attention_encoder(attention_dropout=0.5))


def test_dropout_in_training_drops_weights_watched_or_not():
    attention = made(dropout=0.5).train()
    torch.manual_seed(0)
    assert_moved(attention(X), attention(X))
    handle = attention.weights.register_forward_hook(lambda point, inputs, weights: None)
    assert_moved(attention(X), attention(X))
    handle.remove()


def test_in_evaluation_two_calls_give_the_same_bits_whatever_the_dropout():
    """Functional attention went on dropping weights after eval() (B06)."""
    attention = made(dropout=0.5)
    assert torch.equal(attention(X), attention(X))
    encoder = attention_encoder(dropout=0.5, attention_dropout=0.5)
    x = draw(BATCH, KEYS, WIDTH)
    assert torch.equal(encoder(x), encoder(x))
    assert_close(encoder(x), attention_encoder()(x), 1e-6, "as if dropout were 0")


@pytest.mark.parametrize("tile", [1, BATCH * HEADS * KEYS * 3])
def test_tiles_that_are_seen_joined_are_the_whole(tile, monkeypatch):
    encoder = attention_encoder(position="rotary").double()
    for name, (mask, _) in masks(KEYS, KEYS).items():
        whole = seen_weights(encoder, X, mask)
        with monkeypatch.context() as patched:
            patched.setattr(module, "TILE_WEIGHTS", tile)
            tiled = seen_weights(encoder, X, mask)
        assert whole.keys() == tiled.keys()
        for path, weights in whole.items():
            assert_close(tiled[path], weights, 1e-9, f"{path}, {name}")


@pytest.mark.parametrize("tile", [1, 2**22])
def test_a_hook_that_returns_zeros_switches_a_head_off(tile, monkeypatch):
    monkeypatch.setattr(module, "TILE_WEIGHTS", tile)
    attention = made()

    def first_head_off(point, inputs, weights):
        return weights * torch.tensor([0.0, 1.0], dtype=weights.dtype)[:, None, None]

    handle = attention.weights.register_forward_hook(first_head_off)
    found = attention(X)
    handle.remove()
    # The output projection without the columns that read the first head.
    with torch.no_grad():
        attention.output.weight[:, :11] = 0
    assert_close(found, attention(X), 1e-10)


def test_a_pre_hook_is_a_watcher_too():
    attention = made()
    handle = attention.weights.register_forward_pre_hook(lambda point, inputs: (inputs[0] * 0, inputs[1]))
    assert_close(attention(X), attention.output.bias.expand_as(X), 1e-12)
    handle.remove()
    assert_moved(attention(X), attention.output.bias.expand_as(X))


def test_positions_with_gaps_hide_no_key():
    places = torch.tensor([[0, 2, 3, 7, 11, 12, 30]])
    attention = made()
    assert_close(attention(X, mask=Mask.causal(), positions=places), attention(X, mask=Mask.causal()), 1e-9)


# --- Other shapes ---------------------------------------------------------------------------------------------------


def test_queries_keys_and_values_may_be_made_from_different_things():
    attention = made(memory_width=MEMORY_WIDTH, content_width=5, head_width=7, value_width=3)
    content = draw(BATCH, KEYS, 5, seed=2, dtype=torch.float64)
    x = draw(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    wanted = reference.multi_head(numpy(x), numpy(MEMORY), weights_of(attention), heads=HEADS, content=numpy(content))
    assert_close(attention(x, MEMORY, content), wanted, 1e-9)
    assert attention.query.out_features == attention.key.out_features == 7 * HEADS
    assert attention.value.out_features == attention.output.in_features == 3 * HEADS


def test_a_cached_memory_remembers_what_its_values_are_made_from():
    attention = made(memory_width=MEMORY_WIDTH, content_width=5)
    content, cache = draw(BATCH, KEYS, 5, seed=2, dtype=torch.float64), AttentionCache()
    for x in draw(BATCH, QUERIES, WIDTH, dtype=torch.float64).split(2, 1):
        assert_close(attention(x, MEMORY, content, cache=cache), attention(x, MEMORY, content), 1e-12)


@pytest.mark.parametrize("position", POSITIONS)
def test_values_may_be_narrower_than_keys_at_every_position(position):
    """Shaw's vectors are added to both."""
    encoder = attention_encoder(position=position, value_width=3).double()
    shape = reference.Shape(heads=HEADS, position=position)
    assert_close(encoder(X), reference.encoder(numpy(X), weights_of(encoder), shape), 1e-5)


@pytest.mark.parametrize("position", POSITIONS)
def test_attention_without_projections_has_nothing_to_learn_and_is_attention_as_it_is(position):
    attention = MultiHeadAttention(WIDTH, HEADS, project=False)
    assert not list(attention.parameters())
    kind = position_of(position).double()
    mask, said = masks(KEYS, KEYS)["causal & lengths"]
    wanted = reference.multi_head(
        numpy(X),
        numpy(X),
        {},
        heads=HEADS,
        allowed=reference.may_look(range(KEYS), range(KEYS), batch=BATCH, **said),
        position=position,
        placed=reference.POSITIONS[position].of_block(weights_of(kind), 0),
    )
    assert_close(attention(X, mask=mask, position=kind.at(0)), wanted, 1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_without_projections_only_a_score_can_have_something_to_learn(score):
    attention = MultiHeadAttention(WIDTH, HEADS, project=False, score=score_of(score))
    assert {name.split(".")[0] for name, _ in attention.named_parameters()} <= {"score"}
    assert bool(list(attention.parameters())) == (score not in ("dot", "scaled_dot"))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"memory_width": 17}, "without projections all is as wide as what asks, 22, in 2 heads; found a memory of 17"),
        ({"content_width": 17}, "found a memory of 22, a content of 17"),
        ({"value_width": 5}, "a content of 22 and values of 5 in each head"),
        ({"head_width": 5}, "a content of 22 and values of 5 in each head"),
        ({"key_heads": 1}, "without projections 2 heads cannot share 1 key_heads"),
    ],
)
def test_without_projections_other_widths_are_refused_in_words(asked, words):
    with pytest.raises(ShapeError, match=words):
        MultiHeadAttention(WIDTH, HEADS, project=False, **asked)


@pytest.mark.parametrize("position", ["none", "rotary"])
@pytest.mark.parametrize("norm", QUERY_KEY_NORMS)
def test_normed_queries_and_keys_equal_the_reference(norm, position):
    encoder = stir(attention_encoder(query_key_norm=norm, position=position)).double()
    shape = reference.Shape(heads=HEADS, query_key_norm=norm, position=position)
    assert_close(encoder(X), reference.encoder(numpy(X), weights_of(encoder), shape), 1e-8)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_normed_queries_and_keys_do_not_care_how_large_projections_are(norm):
    """Scores cannot grow with the weights (Dehghani et al. 2023, figure 1)."""
    attention = MultiHeadAttention(
        WIDTH, HEADS, query_norm=QUERY_KEY_NORMS[norm](11), key_norm=QUERY_KEY_NORMS[norm](11)
    ).double()
    (before,) = seen_weights(torch.nn.Sequential(attention), X).values()
    sharpen(attention, 100.0)
    with torch.no_grad():
        for scale in (attention.query_norm.scale, attention.key_norm.scale):
            scale.fill_(1.0)
    (after,) = seen_weights(torch.nn.Sequential(attention), X).values()
    assert_close(after, before, 1e-3)


@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
def test_a_model_made_once_takes_inputs_of_any_length(score, normalizer, position):
    encoder = attention_encoder(score=score, normalizer=normalizer, position=position, sharp=False)
    for time in (1, 2, 23):
        assert encoder(draw(2, time, WIDTH)).shape == (2, time, WIDTH)


def test_a_width_that_heads_do_not_divide_is_refused_with_what_fits():
    with pytest.raises(ShapeError) as error:
        MultiHeadAttention(30, 4)
    assert str(error.value) == (
        "model.width is 30, which cannot be split into 4 heads; use heads = 2, 3, 5, 6, or width = 28 or 32"
    )
    with pytest.raises(ShapeError, match="cannot be split into 0 heads"):
        MultiHeadAttention(30, 0)
    with pytest.raises(ShapeError, match="use heads = 1, or width = 28 or 35"):
        MultiHeadAttention(31, 7)
    MultiHeadAttention(30, 4, head_width=7)


def test_key_heads_that_do_not_divide_heads_are_refused():
    with pytest.raises(ShapeError, match="4 heads cannot share 3 key_heads evenly"):
        MultiHeadAttention(28, 4, key_heads=3)


@pytest.mark.parametrize("key_heads", [0, -1])
def test_key_heads_below_one_are_refused_in_words(key_heads):
    with pytest.raises(ShapeError):
        MultiHeadAttention(28, 4, key_heads=key_heads)


def test_no_width_is_proposed_twice():
    with pytest.raises(ShapeError) as error:
        MultiHeadAttention(3, 5)
    assert "width = 5 or 5" not in str(error.value)
