"""`attend`: every path gives what the definition gives, and the definition is the papers'."""

import importlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import reference
import torch
from sharp import (
    BATCH,
    HEAD_WIDTH,
    HEADS,
    KEYS,
    KINDS,
    KINDS_AT,
    QUERIES,
    VALUE_WIDTH,
    assert_close,
    assert_moved,
    case,
    draw,
    masks,
    numpy,
    position_of,
    score_of,
    weights_of,
)
from torch import Tensor

from regard.attention import NORMALIZERS, PATHS, SCORES, Mask, Position, Score, attend, attention_weights
from regard.errors import RegardError, ShapeError

# The package's attribute of that name is the function; this is its module.
module = importlib.import_module("regard.attention.question")

MASKS = masks(QUERIES, KEYS)
# The queries stand at 2 … 6 of 7 keys, as in a later chunk of decoding.
QUERY_POSITIONS, KEY_POSITIONS = torch.arange(KEYS - QUERIES, KEYS)[None], torch.arange(KEYS)[None]


def drawn(dtype: torch.dtype = torch.float64, queries: int = QUERIES) -> tuple[Tensor, Tensor, Tensor]:
    """Queries that are twice as large, so that attention is sharp."""
    return (
        2 * draw(BATCH, HEADS, queries, HEAD_WIDTH, dtype=dtype),
        draw(BATCH, HEADS, KEYS, HEAD_WIDTH, seed=1, dtype=dtype),
        draw(BATCH, HEADS, KEYS, VALUE_WIDTH, seed=2, dtype=dtype),
    )


def placed(position: str) -> Position:
    return position_of(position, width=HEAD_WIDTH, value_width=VALUE_WIDTH).at(0)


def untouched(weights: Tensor, rows: slice) -> Tensor:
    return weights


def every_way(*tensors: Tensor, **asked: object) -> Iterator[tuple[str, Tensor]]:
    """The output of each path that accepts the question, watched and not."""
    for path in PATHS:
        for watch in (None, untouched):
            try:
                yield f"{path}{' watched' if watch else ''}", attend(*tensors, path=path, watch=watch, **asked)
            except ShapeError as error:
                if not str(error).startswith(f"the {path} path cannot be taken"):
                    raise


def asked_where(**asked: object) -> dict[str, object]:
    return {"query_positions": QUERY_POSITIONS, "key_positions": KEY_POSITIONS, **asked}


def by_hand(tensors: tuple[Tensor, Tensor, Tensor], position: str, kind: Position, part: Score, **asked) -> np.ndarray:
    """The reference's answer, for queries that stand at QUERY_POSITIONS."""
    queries, keys, values = map(numpy, tensors)
    places = QUERY_POSITIONS[0].tolist(), KEY_POSITIONS[0].tolist()
    placed, known = weights_of(kind), reference.POSITIONS[position]
    turned = known.rotate(queries, places[0])
    return reference.attention(
        turned,
        known.rotate(keys, places[1]),
        values,
        bias=known.bias(turned, *places, placed),
        added_values=lambda weights: known.values(weights, *places, placed),
        learned=weights_of(part),
        **asked,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
def test_every_path_equals_the_reference(score, normalizer, position, dtype):
    queries, keys, values = drawn(dtype)
    kind, part = placed(position).to(dtype), score_of(score).to(dtype)
    turned = kind.rotate(queries, QUERY_POSITIONS), kind.rotate(keys, KEY_POSITIONS), values
    ways = set()
    for name, (mask, said) in MASKS.items():
        allowed = reference.may_look(range(KEYS - QUERIES, KEYS), range(KEYS), batch=BATCH, **said)
        wanted = by_hand(
            (queries, keys, values), position, kind, part, score=score, normalizer=normalizer, allowed=allowed
        )
        asked = asked_where(score=part, normalizer=normalizer, mask=mask, position=kind)
        for way, found in every_way(*turned, **asked):
            ways.add(way)
            assert found.dtype == dtype
            assert_close(found, wanted, 1e-4 if dtype == torch.float32 else 1e-11, f"{way}, mask {name}")
        with torch.no_grad():
            assert_close(attend(*turned, **asked), wanted, 1e-4, f"the chosen path, mask {name}")
    assert {"plain", "plain watched", "tiled watched"} <= ways


@pytest.mark.parametrize(("score", "normalizer"), KINDS)
def test_every_path_equals_the_reference_in_order(score, normalizer):
    """Queries and keys are as many, and nothing is said about where they stand."""
    queries, keys, values = drawn(queries=KEYS)
    part = score_of(score).double()
    for name, (mask, said) in masks(KEYS, KEYS).items():
        allowed = reference.may_look(range(KEYS), range(KEYS), batch=BATCH, **said)
        wanted = reference.attention(
            numpy(queries),
            numpy(keys),
            numpy(values),
            score=score,
            normalizer=normalizer,
            allowed=allowed,
            learned=weights_of(part),
        )
        for way, found in every_way(queries, keys, values, score=part, normalizer=normalizer, mask=mask):
            assert_close(found, wanted, 1e-11, f"{way}, mask {name}")


@pytest.mark.parametrize("shape", [(KEYS,), (QUERIES, KEYS), (HEADS, 1, KEYS), (BATCH, HEADS, QUERIES, KEYS)])
def test_a_bias_is_added_to_the_scores_on_every_path(shape):
    queries, keys, values = drawn()
    bias = 3 * draw(*shape, seed=3, dtype=torch.float64)
    for name, (mask, said) in MASKS.items():
        allowed = reference.may_look(range(KEYS - QUERIES, KEYS), range(KEYS), batch=BATCH, **said)
        wanted = reference.attention(numpy(queries), numpy(keys), numpy(values), allowed=allowed, bias=numpy(bias))
        for way, found in every_way(queries, keys, values, **asked_where(mask=mask, bias=bias)):
            assert_close(found, wanted, 1e-11, f"{way}, mask {name}")


@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
def test_every_path_has_the_gradients_of_the_plain_one(score, normalizer, position):
    """Also where a query, a head or an item may see nothing: there they are zero, not NaN."""
    kind, part = placed(position).double(), score_of(score).double()
    tensors = [tensor.requires_grad_() for tensor in drawn()]
    bias = draw(HEADS, QUERIES, KEYS, seed=3, dtype=torch.float64).requires_grad_()
    pull = draw(BATCH, HEADS, QUERIES, VALUE_WIDTH, seed=4, dtype=torch.float64)
    for added in (None, bias):
        inputs = [*tensors, *part.parameters(), *([] if added is None else [bias])]
        for name, (mask, _) in MASKS.items():
            asked = asked_where(score=part, normalizer=normalizer, mask=mask, position=kind, bias=added)
            wanted = torch.autograd.grad((attend(*tensors, path="plain", **asked) * pull).sum(), inputs)
            for way, output in every_way(*tensors, **asked):
                for mine, plain in zip(torch.autograd.grad((output * pull).sum(), inputs), wanted, strict=True):
                    assert_close(mine, plain, 1e-10, f"{way}, mask {name}")


@pytest.mark.parametrize(("score", "normalizer"), KINDS)
def test_the_gradient_of_the_definition_is_the_slope(score, normalizer):
    random = torch.Generator().manual_seed(0)
    tensors = [
        torch.randn(1, 1, time, width, generator=random, dtype=torch.float64).requires_grad_()
        for time, width in ((3, 2), (5, 2), (5, 2))
    ]
    table = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]]) == 1
    part = score_of(score, 1, 2).double()
    for mask in (None, Mask.allowed(table)):
        assert torch.autograd.gradcheck(
            lambda *given, mask=mask: attend(*given, score=part, normalizer=normalizer, mask=mask, path="plain"),
            tensors,
            fast_mode=True,
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize(("score", "normalizer"), KINDS)
def test_a_query_that_may_see_nothing_gives_zeros_and_zero_gradients(score, normalizer, dtype):
    for mask, hidden in (
        (Mask.allowed(torch.arange(QUERIES)[:, None].expand(QUERIES, KEYS) != 1), (slice(None), slice(None), 1)),
        (Mask.lengths(torch.tensor([KEYS, 0, 3])), 1),
    ):
        for way in PATHS:
            tensors = [tensor.requires_grad_() for tensor in drawn(dtype)]
            asked = asked_where(score=score_of(score).to(dtype), normalizer=normalizer, mask=mask)
            try:
                output = attend(*tensors, path=way, watch=untouched if way == "tiled" else None, **asked)
            except ShapeError:
                continue
            assert (output[hidden] == 0).all(), way
            assert_moved(output, torch.zeros_like(output))
            # A gradient of the loss that is not the same everywhere, as a real one.
            (output * draw(*output.shape, seed=5, dtype=dtype)).sum().backward()
            gradients = [tensor.grad for tensor in tensors]
            assert all(gradient.isfinite().all() for gradient in gradients), way
            assert (gradients[0][hidden] == 0).all(), way
            if hidden == 1:
                assert all((gradient[1] == 0).all() for gradient in gradients), way


@pytest.mark.parametrize(("score", "normalizer"), KINDS)
def test_a_hidden_key_or_value_changes_nothing_and_a_visible_one_does(score, normalizer):
    queries, keys, values = drawn()
    mask = Mask.keys(torch.arange(KEYS)[None].expand(BATCH, KEYS) != 3) & Mask.window(6, 0)
    for place, changes in ((3, False), (1, True)):
        other_keys, other_values = keys.clone(), values.clone()
        other_keys[:, :, place], other_values[:, :, place] = 9.0, 7.0
        asked = asked_where(score=score_of(score).double(), normalizer=normalizer, mask=mask)
        before = dict(every_way(queries, keys, values, **asked))
        for way, after in every_way(queries, other_keys, other_values, **asked):
            if changes:
                assert_moved(after, before[way])
            else:
                assert torch.equal(after, before[way]), way


def test_what_stands_in_hidden_keys_may_be_infinite_after_all_but_not_in_values():
    """Scores of hidden keys are replaced, not added to: even an infinite key stays hidden on the plain path."""
    queries, keys, values = drawn(torch.float32)
    keys[:, :, 3] = 1e38
    mask = Mask.keys(torch.arange(KEYS)[None].expand(BATCH, KEYS) != 3)
    assert attend(queries, keys, values, mask=mask, path="plain").isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_finite_and_near_the_reference(dtype):
    """Masks of minus a billion overflow there (B10)."""
    queries, keys, values = drawn(torch.float32, queries=KEYS)
    mask = Mask.causal() & Mask.lengths(torch.tensor([KEYS, 0, 1]))
    wanted = attend(queries, keys, values, mask=mask, path="plain")
    half = [tensor.to(dtype) for tensor in (queries, keys, values)]
    for way, found in every_way(*half, mask=mask):
        assert found.isfinite().all() and (found[1] == 0).all(), way
        assert_close(found.float(), wanted, 0.15 if dtype == torch.bfloat16 else 0.02, way)


def test_the_case_of_masks_that_turned_others_into_nan():
    """An item made of padding only, and a head that may see nothing (B01)."""
    found = case("b01_masks.json")
    lengths = torch.tensor(found["all_pad_sequence"]["lengths"])
    allowed = torch.tensor(found["one_head_blocked"]["allow"]) == 1
    queries, keys, values = (2 * draw(2, 2, 3, 5, seed=seed) for seed in range(3))
    alone = attend(queries[:1], keys[:1], values[:1], path="plain")
    for way, output in every_way(queries, keys, values, mask=Mask.lengths(lengths)):
        assert_close(output[:1], alone, 1e-6, way)
        assert (output[1] == 0).all(), way
    free = attend(queries, keys, values, path="plain")
    blocked = Mask.allowed(allowed.reshape(-1, 2, 3, 3))
    for way, output in every_way(queries, keys, values, mask=blocked):
        assert (output[:, 0] == 0).all(), way
        assert_close(output[:, 1], free[:, 1], 1e-6, way)
    seen = []
    attend(queries, keys, values, mask=blocked, watch=lambda weights, rows: seen.append(weights) or weights)
    assert (seen[0][:, 0].sum(-1) == 0).all()
    assert_close(seen[0][:, 1].sum(-1), torch.ones(2, 3), 1e-6)


def test_the_case_of_a_later_chunk_equals_the_whole():
    """Queries at positions 4 and 5 of 6 keys: aligned at the top left they would see the first keys (B05)."""
    found = case("b05_causal_chunk.json")
    table = 2 * draw(11, 7, dtype=torch.float64)
    x = table[torch.tensor(found["tokens"])][None, None]
    whole = attend(x, x, x, mask=Mask.causal())
    first, second = found["split"]
    places = torch.arange(first, first + second)[None]
    for way, output in every_way(x[:, :, first:], x, x, mask=Mask.causal(), query_positions=places):
        assert_close(output, whole[:, :, first:], 1e-12, way)
    shown = Mask.allowed(torch.tensor(found["allow_for_second_chunk"]) == 1)
    assert_close(attend(x[:, :, first:], x, x, mask=shown), whole[:, :, first:], 1e-12)


def test_other_numbers_of_queries_and_keys_are_refused_where_it_matters_where_they_stand():
    queries, keys, values = drawn()

    class Nearer(Position):
        def bias(self, queries, query_positions, key_positions):
            return -(key_positions[:, None, None] - query_positions[:, None, :, None]).abs().to(queries.dtype)

    for asked in ({"mask": Mask.causal()}, {"mask": Mask.window(1, 1)}, {"position": Nearer()}):
        with pytest.raises(ShapeError, match=r"5 queries and 7 keys: .*give query_positions and key_positions"):
            attend(queries, keys, values, **asked)
    attend(queries, keys, values, mask=Mask.lengths(torch.tensor([7, 2, 3])))


@pytest.mark.parametrize("position", ["none", "sinusoidal", "learned", "floater", "rotary"])
def test_a_position_that_does_nothing_here_needs_no_places(position):
    assert torch.equal(attend(*drawn(), position=placed(position)), attend(*drawn()))


@pytest.mark.parametrize("position", ["shaw", "t5", "alibi", "quadratic"])
def test_a_stacks_position_is_taken_as_its_first_block_sees_it(position):
    """Shaw as a whole adds nothing, its blocks do: given whole it must not be ignored."""
    whole = position_of(position, width=HEAD_WIDTH, value_width=VALUE_WIDTH).double()
    asked = asked_where(position=whole)
    assert torch.equal(attend(*drawn(), **asked), attend(*drawn(), **asked_where(position=whole.at(0))))
    assert_moved(attend(*drawn(), **asked), attend(*drawn()))


def test_masks_and_biases_that_do_not_broadcast_are_refused_with_both_shapes():
    queries, keys, values = drawn()
    with pytest.raises(
        ShapeError, match=r"the mask \(2, 1, 1, 7\) does not broadcast to \(3, 2, 5, 7\) \(batch, heads"
    ):
        attend(queries, keys, values, mask=Mask.lengths(torch.tensor([1, 2])))
    with pytest.raises(ShapeError, match=r"the mask \(1, 3, 5, 7\) does not broadcast to \(3, 2, 5, 7\)"):
        attend(queries, keys, values, mask=Mask.allowed(torch.ones(1, 3, 5, 7, dtype=torch.bool)))
    with pytest.raises(ShapeError, match=r"the mask is for \(7, 7\) \(queries, keys\), but there are \(5, 7\)"):
        attend(queries, keys, values, mask=Mask.allowed(torch.ones(7, 7, dtype=torch.bool)))
    with pytest.raises(ShapeError, match=r"the bias \(7, 5\) does not broadcast to \(3, 2, 5, 7\)"):
        attend(queries, keys, values, bias=torch.zeros(7, 5))


def test_two_masks_for_different_batches_are_refused_in_words():
    mask = Mask.lengths(torch.tensor([1, 2])) & Mask.keys(torch.ones(BATCH, KEYS, dtype=torch.bool))
    with pytest.raises(ShapeError, match="broadcast"):
        attend(*drawn(), mask=mask)


def test_a_tensor_in_place_of_a_mask_is_refused_in_words():
    with pytest.raises(RegardError, match="Mask"):
        attend(*drawn(), mask=torch.ones(QUERIES, KEYS, dtype=torch.bool))


def test_a_bias_of_minus_infinity_gives_the_same_on_every_path():
    bias = torch.zeros(QUERIES, KEYS, dtype=torch.float64)
    bias[1] = float("-inf")
    for way, found in every_way(*drawn(), bias=bias):
        assert (found[:, :, 1] == 0).all(), way


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ((0, (2, HEADS, QUERIES, HEAD_WIDTH)), "queries .* and keys .* differ in batch"),
        ((1, (BATCH, 5, KEYS, HEAD_WIDTH)), "queries .* and keys .* differ in heads"),
        ((2, (2, HEADS, KEYS, VALUE_WIDTH)), "keys .* and values .* differ in batch"),
        ((2, (BATCH, 3, KEYS, VALUE_WIDTH)), "keys .* and values .* differ in heads"),
        ((2, (BATCH, HEADS, 5, VALUE_WIDTH)), "keys .* and values .* differ in time"),
        ((1, (HEADS, KEYS, HEAD_WIDTH)), r"keys must be \(batch, heads, time, head_width\); found \(2, 7, 11\)"),
    ],
)
def test_tensors_that_do_not_fit_are_refused_with_the_axis(changed, words):
    tensors = list(drawn())
    place, shape = changed
    tensors[place] = torch.zeros(shape)
    with pytest.raises(ShapeError, match=words):
        attend(*tensors)


def test_unknown_names_are_answered_with_the_nearest():
    for asked, words in (
        ({"score": "scaled_dog"}, "unknown score scaled_dog; known: .*did you mean scaled_dot?"),
        ({"normalizer": "softmix"}, "unknown normalizer softmix; .*did you mean softmax?"),
        ({"path": "fussed"}, "unknown path fussed; .*did you mean fused?"),
    ):
        with pytest.raises(RegardError, match=words):
            attend(*drawn(), **asked)


def test_a_path_that_does_not_apply_is_refused_with_the_reason():
    with pytest.raises(ShapeError, match="the fused path cannot be taken: somebody watches the weights"):
        attend(*drawn(), path="fused", watch=untouched)
    with pytest.raises(ShapeError, match="the tiled path cannot be taken: nobody watches"):
        attend(*drawn(), path="tiled")
    queries, keys, values = drawn()
    with pytest.raises(ShapeError, match="the fused path cannot be taken: there is nothing to attend to"):
        attend(queries, keys[:, :, :0], values[:, :, :0], path="fused")


def test_parts_may_be_given_by_name_or_ready_made():
    for score in SCORES:
        for normalizer in NORMALIZERS:
            if not SCORES[score].learns:
                by_name = attend(*drawn(), score=score, normalizer=normalizer)
                ready = attend(*drawn(), score=SCORES[score](), normalizer=NORMALIZERS[normalizer]())
                assert torch.equal(by_name, ready)


@pytest.mark.parametrize("name", [name for name, kind in SCORES.items() if kind.learns])
def test_the_bare_name_of_a_score_that_learns_is_refused(name):
    """It would be drawn anew at each call."""
    words = rf"the score {name} has numbers that are learned.* give score={SCORES[name].__name__}\(heads, head_width\)"
    for ask in (lambda **asked: attend(*drawn(), **asked), lambda **asked: attention_weights(*drawn()[:2], **asked)):
        with pytest.raises(ShapeError, match=words):
            ask(score=name)


def test_a_score_of_the_users_own_with_the_wrong_shape_is_refused_with_both_shapes():
    class Flat(Score):
        def forward(self, queries, keys, scale=None):
            return queries.sum(-1) + keys.sum(-1)[..., :1]

    with pytest.raises(
        ShapeError, match=r"the score Flat gave \(3, 2, 5\) where \(3, 2, 5, 7\) \(batch, heads, queries"
    ):
        attend(*drawn(), score=Flat())


def test_where_there_is_nothing_to_attend_to_the_answer_is_zeros():
    queries, keys, values = drawn()
    for normalizer in NORMALIZERS:
        for way, found in every_way(queries, keys[:, :, :0], values[:, :, :0], normalizer=normalizer):
            assert found.shape == (BATCH, HEADS, QUERIES, VALUE_WIDTH) and (found == 0).all(), way
    for way, found in every_way(queries[:, :, :0], keys, values):
        assert found.shape == (BATCH, HEADS, 0, VALUE_WIDTH), way


# --- Watching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
@pytest.mark.parametrize("tile", [1, 2 * BATCH * HEADS * KEYS])
def test_tiles_joined_are_the_whole(score, normalizer, position, tile, monkeypatch):
    kind, part = placed(position).double(), score_of(score).double()
    bias = draw(HEADS, QUERIES, KEYS, seed=3, dtype=torch.float64)
    for name, (mask, _) in MASKS.items():
        asked = asked_where(score=part, normalizer=normalizer, mask=mask, position=kind, bias=bias)
        seen: dict[bool, list[tuple[Tensor, slice]]] = {True: [], False: []}
        outputs = {}
        for small in (False, True):
            with monkeypatch.context() as patched:
                if small:
                    patched.setattr(module, "TILE_WEIGHTS", tile)
                outputs[small] = attend(
                    *drawn(), watch=lambda weights, rows, to=seen[small]: to.append((weights, rows)) or weights, **asked
                )
        (whole, _), *others = seen[False]
        assert not others and whole.shape == (BATCH, HEADS, QUERIES, KEYS)
        starts = [rows.start for _, rows in seen[True]]
        assert starts == list(range(0, QUERIES, 1 if tile == 1 else 2))
        assert torch.cat([torch.arange(QUERIES)[rows] for _, rows in seen[True]]).tolist() == list(range(QUERIES))
        assert_close(torch.cat([weights for weights, _ in seen[True]], 2), whole, 1e-12, name)
        assert_close(outputs[True], outputs[False], 1e-12, name)


def test_of_paths_that_are_given_the_first_that_applies_and_pays_is_taken():
    taken = []
    paths = {
        "refused": replace(PATHS["plain"], refuse=lambda question: "never"),
        "too dear": replace(PATHS["plain"], pays=lambda question: False),
        "row by row": replace(PATHS["tiled"], take=lambda question: taken.append(question) or tiled_by_one(question)),
        "plain": PATHS["plain"],
    }
    rows: list[slice] = []
    output = attend(*drawn(), paths=paths, watch=lambda weights, part: rows.append(part) or weights)
    assert_close(output, attend(*drawn(), path="plain"), 1e-12)
    assert len(taken) == 1 and rows == [slice(row, row + 1) for row in range(QUERIES)]
    assert_close(attend(*drawn(), paths=paths), output, 1e-12)  # nobody watches: the plain path is left
    assert len(taken) == 1
    with pytest.raises(RegardError, match="unknown path fused; known: refused, too dear, row by row, plain"):
        attend(*drawn(), paths=paths, path="fused")


def tiled_by_one(question):
    return PATHS["tiled"].take(replace(question, tile_weights=1))


def test_what_the_watcher_gives_back_is_used_in_every_tile(monkeypatch):
    queries, keys, values = drawn()
    monkeypatch.setattr(module, "TILE_WEIGHTS", 1)

    def look_at_the_key_of_the_same_number(weights: Tensor, rows: slice) -> Tensor:
        return torch.eye(QUERIES, KEYS, dtype=weights.dtype)[rows].expand_as(weights)

    output = attend(queries, keys, values, watch=look_at_the_key_of_the_same_number)
    assert_close(output, values[:, :, :QUERIES], 1e-12)


def test_dropout_drops_a_share_of_the_weights_and_keeps_their_mean():
    torch.manual_seed(0)
    values = torch.ones(1, 1, KEYS, 1)
    queries, keys = draw(1, 1, 2003, HEAD_WIDTH), draw(1, 1, KEYS, HEAD_WIDTH, seed=1)
    for watch in (None, untouched):
        output = attend(queries, keys, values, dropout=0.5, watch=watch)
        assert abs(float(output.mean()) - 1) < 0.1
        assert float(output.std()) > 0.1
        assert (attend(queries, keys, values, dropout=1.0, watch=watch) == 0).all()
    assert_close(attend(queries, keys, values, dropout=0.0), torch.ones(1, 1, 2003, 1), 1e-5)


# --- Weights alone --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS_AT)
def test_the_weights_of_some_rows_and_heads_are_these_of_all(score, normalizer, position):
    kind, part = placed(position).double(), score_of(score).double()
    queries, keys, _ = drawn()
    bias = draw(HEADS, QUERIES, KEYS, seed=3, dtype=torch.float64)
    for name, (mask, _) in MASKS.items():
        asked = asked_where(score=part, normalizer=normalizer, mask=mask, position=kind, bias=bias)
        seen = []
        attend(*drawn(), watch=lambda weights, rows, to=seen: to.append(weights) or weights, **asked)
        assert_close(attention_weights(queries, keys, **asked), seen[0], 1e-12, name)
        found = attention_weights(queries, keys, rows=[3, 0, 3], heads=1, **asked)
        assert_close(found, seen[0][:, [1]][:, :, [3, 0, 3]], 1e-12, name)
        found = attention_weights(queries, keys, rows=slice(1, 4), heads=slice(0, 1), **asked)
        assert_close(found, seen[0][:, :1, 1:4], 1e-12, name)


def test_only_the_weights_that_are_asked_for_are_computed():
    seen = []

    class Spy(Score):
        def forward(self, queries, keys, scale=None):
            seen.append(tuple(queries.shape[1:3]))
            return queries @ keys.transpose(-1, -2)

    queries, keys, _ = drawn()
    assert attention_weights(queries, keys, score=Spy(), rows=2, heads=[1]).shape == (BATCH, 1, 1, KEYS)
    assert seen == [(1, 1)]


def test_rows_and_heads_that_are_not_there_are_refused():
    queries, keys, _ = drawn()
    for asked, words in (
        ({"rows": [0, 5]}, r"rows \[0, 5\] were asked for, but there are 5, numbered from 0"),
        ({"heads": 2}, r"heads \[2\] were asked for, but there are 2"),
    ):
        with pytest.raises(ShapeError, match=words):
            attention_weights(queries, keys, **asked)
