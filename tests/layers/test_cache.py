"""One step at a time equals all at once."""

import pytest
import torch
from laws import one_step_at_a_time_equals_all_at_once
from sharp import BATCH, MEMORY_WIDTH, WIDTH, assert_close, assert_moved, case, decoder, draw

from regard.attention import POSITIONS, Mask
from regard.layers import NORMS, Decoder
from regard.layers.cache import AttentionCache

X = draw(BATCH, 7, WIDTH, dtype=torch.float64)
MEMORY = draw(BATCH, 5, MEMORY_WIDTH, seed=1, dtype=torch.float64)


def made(**settings) -> Decoder:
    return decoder(**settings).double()


@pytest.mark.parametrize("chunks", [(4, 2), (1, 1, 1, 1, 1, 1), (2, 1, 3), (6,)], ids=str)
@pytest.mark.parametrize("position", POSITIONS)
def test_one_step_at_a_time_equals_all_at_once(position, chunks):
    one_step_at_a_time_equals_all_at_once(made(position=position), chunks)
    one_step_at_a_time_equals_all_at_once(decoder(position=position), chunks)


@pytest.mark.parametrize("norm_place", ["before", "after"])
@pytest.mark.parametrize("norm", NORMS)
def test_one_step_at_a_time_equals_all_at_once_for_every_norm(norm, norm_place):
    one_step_at_a_time_equals_all_at_once(made(norm=norm, norm_place=norm_place), (1, 4, 2))


@pytest.mark.parametrize("position", POSITIONS)
def test_one_step_at_a_time_equals_all_at_once_with_shared_keys(position):
    one_step_at_a_time_equals_all_at_once(made(position=position, key_heads=1), (3, 1, 1))


def test_the_case_of_a_chunk_after_cached_keys():
    found = case("b05_causal_chunk.json")
    assert sum(found["split"]) == len(found["tokens"])
    table = draw(11, WIDTH, dtype=torch.float64)
    x = table[torch.tensor([found["tokens"]])]
    memory = draw(1, 5, MEMORY_WIDTH, seed=1, dtype=torch.float64)
    for position in POSITIONS:
        writer = made(position=position)
        with torch.no_grad():
            whole = writer(x, memory)
            for chunks in (found["split"], [1] * 6):
                cache = writer.cache()
                steps = [writer(chunk, memory, cache=cache) for chunk in x.split(chunks, 1)]
                assert_close(torch.cat(steps, 1), whole, 1e-5, f"{position}, {chunks}")


@pytest.mark.parametrize("position", POSITIONS)
def test_selecting_rows_goes_on_with_these_rows(position):
    """As beam search does: a row may be dropped, or taken several times."""
    writer, rows = made(position=position), torch.tensor([2, 0, 2, 2])
    memory_mask = Mask.lengths(torch.tensor([5, 2, 3]))
    chosen_mask = Mask.lengths(torch.tensor([5, 2, 3])[rows])
    new = draw(4, 2, WIDTH, seed=3, dtype=torch.float64)
    with torch.no_grad():
        cache = writer.cache()
        writer(X[:, :4], MEMORY, memory_mask=memory_mask, cache=cache)
        cache.select(rows)
        cache.select_memory(rows)
        found = writer(new, MEMORY[rows], memory_mask=chosen_mask, cache=cache)
        wanted = writer(torch.cat((X[rows, :4], new), 1), MEMORY[rows], memory_mask=chosen_mask)[:, 4:]
    assert_close(found, wanted, 1e-5)
    assert cache.length == 6


def test_selecting_before_the_first_step_does_nothing():
    writer = made()
    cache = writer.cache()
    cache.select(torch.tensor([0]))
    with torch.no_grad():
        assert_close(writer(X, MEMORY, cache=cache), writer(X, MEMORY), 1e-5)


def test_the_memory_is_projected_once():
    writer = made(depth=1)
    calls = []
    handle = writer.blocks[0].cross_attention.key.register_forward_hook(lambda *_: calls.append(1))
    cache = writer.cache()
    with torch.no_grad():
        for step in X.split(1, 1):
            writer(step, MEMORY, cache=cache)
    handle.remove()
    assert len(calls) == 1


def test_a_cache_remembers_in_order():
    cache = AttentionCache()
    first, second = draw(2, 3, 2, 5), draw(2, 3, 1, 5, seed=1)
    cache.extend(first, -first, torch.arange(first.shape[2])[None])
    keys, values, _ = cache.extend(second, -second, torch.arange(second.shape[2])[None])
    assert torch.equal(keys, torch.cat((first, second), 2)) and torch.equal(values, -keys)


def test_two_caches_of_one_decoder_know_nothing_of_each_other():
    writer = made()
    one, other = writer.cache(), writer.cache()
    with torch.no_grad():
        writer(X[:, :3], MEMORY, cache=one)
        writer(draw(BATCH, 2, WIDTH, seed=5, dtype=torch.float64), MEMORY, cache=other)
        assert_close(writer(X[:, 3:], MEMORY, cache=one), writer(X, MEMORY)[:, 3:], 1e-5)


def test_watching_a_cached_step_changes_nothing_and_shows_all_keys():
    writer, seen = made(position="rotary", depth=1), []
    with torch.no_grad():
        whole = writer(X, MEMORY)
        cache = writer.cache()
        writer(X[:, :4], MEMORY, cache=cache)
        handle = writer.blocks[0].attention.weights.register_forward_hook(lambda _, i, weights: seen.append(weights))
        assert_close(writer(X[:, 4:], MEMORY, cache=cache), whole[:, 4:], 1e-5)
        handle.remove()
    assert seen[0].shape == (BATCH, 2, 3, 7)
    assert (seen[0][:, :, 0, 5:] == 0).all()
    assert_moved(seen[0][:, :, 0, :5], torch.zeros(1))


def test_a_chunk_without_elements_changes_nothing():
    writer = made()
    cache = writer.cache()
    with torch.no_grad():
        writer(X[:, :3], MEMORY, cache=cache)
        assert writer(X[:, :0], MEMORY, cache=cache).shape == (BATCH, 0, WIDTH)
