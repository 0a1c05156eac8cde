"""Masks: True means "may look"."""

import numpy as np
import pytest
import reference
import torch
from sharp import BATCH, HEADS, KEYS, assert_close, assert_moved, case, draw, masks, numpy

from regard.attention import Mask, attend
from regard.errors import ShapeError

MASKS = masks(KEYS, KEYS)
OFFSET_MASKS = masks(5, KEYS)


def written_out(mask: Mask | None, queries: torch.Tensor, keys: torch.Tensor) -> np.ndarray:
    dense = None if mask is None else mask.dense(queries, keys)
    allowed = torch.ones(1, 1, 1, 1, dtype=torch.bool) if dense is None else dense
    return numpy(allowed.expand(BATCH, HEADS, queries.shape[-1], keys.shape[-1]))


@pytest.mark.parametrize("name", MASKS)
def test_every_mask_written_out_equals_the_reference(name):
    for found, start in ((MASKS, 0), (OFFSET_MASKS, 2)):
        mask, said = found[name]
        queries, keys = torch.arange(start, KEYS)[None], torch.arange(KEYS)[None]
        wanted = reference.may_look(range(start, KEYS), range(KEYS), batch=BATCH, **said)
        assert (written_out(mask, queries, keys) == wanted).all()


def test_rows_of_a_batch_may_stand_at_different_places():
    starts = (0, 3, 11)
    positions = torch.tensor(starts)[:, None] + torch.arange(KEYS)
    found = written_out(Mask.window(2, 1), positions[:, 4:], positions)
    for item, start in enumerate(starts):
        places = range(start, start + KEYS)
        assert (found[item] == reference.may_look(places[4:], places, before=2, after=1)[0]).all()


@pytest.mark.parametrize("one", MASKS)
def test_of_two_masks_both_must_allow(one):
    places = torch.arange(KEYS)[None]
    for other in MASKS:
        both = MASKS[one][0] & MASKS[other][0] if MASKS[one][0] is not None else MASKS[other][0]
        wanted = written_out(MASKS[one][0], places, places) & written_out(MASKS[other][0], places, places)
        assert (written_out(both, places, places) == wanted).all(), other


def test_a_mask_and_nothing_is_the_mask():
    assert (Mask.causal() & None).picture(3) == Mask.causal().picture(3)


@pytest.mark.parametrize("name", OFFSET_MASKS)
def test_the_mask_of_some_rows_is_these_rows_of_the_mask(name):
    mask, _ = OFFSET_MASKS[name]
    if mask is None:
        return
    queries, keys = torch.arange(2, KEYS)[None], torch.arange(KEYS)[None]
    rows = slice(1, 4)
    whole = written_out(mask, queries, keys)
    assert (written_out(mask.rows(rows), queries[:, rows], keys) == whole[:, :, rows]).all()


def test_the_causal_mask_of_a_later_chunk_lines_up_with_its_keys():
    """Aligned at the top left, the new elements would see only the first keys (B05)."""
    found = case("b05_causal_chunk.json")
    dense = Mask.causal().dense(torch.tensor([[4, 5]]), torch.arange(6)[None])
    assert dense[0, 0].int().tolist() == found["allow_for_second_chunk"]
    assert dense[0, 0].int().tolist() != found["wrong_upper_left"]


def test_the_picture_shows_who_may_look_at_whom():
    assert Mask().picture(2, 3) == "###\n###"
    assert Mask.causal().picture(3) == "#..\n##.\n###"
    assert Mask.window(1, 0).picture(3) == "#..\n##.\n.##"
    assert Mask.lengths(torch.tensor([2, 3])).picture(2, 3) == "##.\n##."
    assert (Mask.causal() & Mask.keys(torch.tensor([[False, True, True]]))).picture(3) == "...\n.#.\n.##"


def test_the_picture_shows_a_prefix_blocks_and_a_later_chunk():
    assert Mask.prefix(2).picture(4) == "##..\n##..\n###.\n####"
    assert Mask.prefix(0).picture(3) == Mask.causal().picture(3)
    assert Mask.blocks(torch.tensor([5, 5, 9])).picture(3) == "##.\n##.\n..#"
    assert (Mask.causal() & Mask.blocks(torch.tensor([0, 0, 1, 1]))).picture(4) == "#...\n##..\n..#.\n..##"
    assert Mask.causal().picture(2, 5, start=3) == "####.\n#####"
    assert Mask.prefix(4).picture(2, 5, start=1) == "####.\n####."


def test_several_sequences_in_one_row_get_what_each_gets_alone():
    """With the positions of each, packed or not makes no difference."""
    lengths = (3, 1, 4)
    x = draw(1, HEADS, sum(lengths), 5, dtype=torch.float64)
    ids = torch.repeat_interleave(torch.tensor([7, 2, 5]), torch.tensor(lengths))
    for extra in (None, Mask.causal(), Mask.window(1, 1)):
        packed = attend(x, x, x, mask=Mask.blocks(ids) & extra)
        for one, found in zip(x.split(lengths, 2), packed.split(lengths, 2), strict=True):
            assert_close(found, attend(one, one, one, mask=extra), 1e-12)


def test_blocks_of_two_kinds_both_count():
    one, other = torch.tensor([0, 0, 0, 1]), torch.tensor([[3, 3, 4, 4], [3, 3, 3, 3]])
    both = (Mask.blocks(one) & Mask.blocks(other)).dense(torch.arange(4)[None], torch.arange(4)[None])
    same = (one[:, None] == one) & (other[:, :, None] == other[:, None])
    assert torch.equal(both[:, 0], same)


def test_of_two_prefixes_the_shorter_counts():
    assert (Mask.prefix(3) & Mask.prefix(torch.tensor([2, 3]))).picture(4) == Mask.prefix(2).picture(4)


@pytest.mark.parametrize("name", OFFSET_MASKS)
def test_the_mask_of_some_heads_is_these_heads_of_the_mask(name):
    mask, _ = OFFSET_MASKS[name]
    if mask is not None:
        queries, keys = torch.arange(2, KEYS)[None], torch.arange(KEYS)[None]
        dense = mask.of_heads(torch.tensor([1])).dense(queries, keys).expand(BATCH, 1, 5, KEYS)
        assert (numpy(dense) == written_out(mask, queries, keys)[:, [1]]).all()


def test_blocks_and_prefixes_that_are_no_whole_numbers_are_refused():
    for ids in (torch.tensor([0.0, 1.0]), torch.tensor([True, False]), torch.zeros(2, 3, 4, dtype=torch.long)):
        with pytest.raises(ShapeError, match=r"blocks are whole numbers, \(time,\) or \(batch, time\), not \("):
            Mask.blocks(ids)
    for first in (torch.tensor([1.0]), torch.tensor([[1]]), torch.tensor([True])):
        with pytest.raises(ShapeError, match="a prefix is a whole number, or one for each row, not"):
            Mask.prefix(first)


def test_blocks_of_other_elements_are_refused_in_words():
    mask, queries, keys = Mask.blocks(torch.arange(5)), torch.arange(3)[None], torch.arange(5)[None]
    with pytest.raises(
        ShapeError, match=r"the blocks of \(5, 5\) .*but there are \(3, 5\); Mask.blocks\(ids, queries\)"
    ):
        mask.dense(queries, keys)
    assert Mask.blocks(torch.arange(5), torch.arange(3)).dense(queries, keys).shape == (1, 1, 3, 5)
    with pytest.raises(ShapeError, match=r"two masks know blocks of \(1, 5\) and \(1, 7\)"):
        mask & Mask.blocks(torch.arange(7))


def test_real_positions_are_those_that_are_no_padding():
    assert Mask.causal().real_positions(3) is None
    lengths, keys = torch.tensor([3, 0, 2]), torch.tensor([[True, False, True]] * 3)
    assert Mask.lengths(lengths).real_positions(3).int().tolist() == [[1, 1, 1], [0, 0, 0], [1, 1, 0]]
    both = Mask.lengths(lengths) & Mask.keys(keys) & Mask.causal() & Mask.allowed(torch.zeros(3, 3, dtype=torch.bool))
    assert both.real_positions(3).int().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_only_the_causal_mask_alone_is_only_causal():
    assert Mask.causal().only_causal
    assert (Mask.causal() & Mask.causal()).only_causal
    others = [mask for mask, _ in MASKS.values() if mask is not None]
    assert [mask.only_causal for mask in others].count(True) == 1
    assert not (Mask.causal() & Mask.window(1, 0)).only_causal


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32, torch.float16])
@pytest.mark.parametrize("make", [Mask.keys, Mask.allowed])
def test_a_mask_of_numbers_is_refused_and_told_what_true_means(make, dtype):
    numbers = torch.tensor([[1, 0], [1, 1]]).to(dtype)
    with pytest.raises(ShapeError, match=r"True means 'may look'.*Write mask == 1 .*given as bias"):
        make(numbers)
    assert make(numbers == 1).picture(2).startswith("#.")


def test_the_case_of_a_float_mask_of_ones_and_zeros_is_refused():
    found = case("b03_polarity.json")
    with pytest.raises(ShapeError, match="boolean"):
        Mask.allowed(torch.tensor(found["float_mask_0_1"], dtype=torch.float32))


def test_a_hidden_id_changes_nothing_and_a_real_one_does():
    """Polarity: the same table means "drop" in one call of PyTorch and "keep" in another (B03)."""
    found = case("b03_polarity.json")
    tokens = torch.tensor(found["tokens"])
    table = 2 * torch.randn(11, 7, generator=torch.Generator().manual_seed(0))
    mask = Mask.lengths(torch.tensor(found["lengths"]))

    def answer(ids: torch.Tensor) -> torch.Tensor:
        x = table[ids][:, None]
        return attend(x, x, x, mask=mask)[1, 0, :2]

    padded, real = tokens.clone(), tokens.clone()
    padded[1, 2:] = torch.tensor([9, 10])
    real[1, 1] = 9
    assert torch.equal(answer(padded), answer(tokens))
    assert_moved(answer(real)[:1], answer(tokens)[:1])


def test_a_negative_window_is_refused():
    for left, right in ((-1, 0), (0, -2)):
        with pytest.raises(ShapeError, match=rf"0 or more positions to each side, not \({left}, {right}\)"):
            Mask.window(left, right)


def test_lengths_that_are_no_whole_numbers_are_refused():
    for lengths in (torch.tensor([1.0, 2.0]), torch.tensor([True, False]), torch.tensor([[1, 2]]), torch.tensor(3)):
        with pytest.raises(ShapeError, match=r"lengths are whole numbers, one for each row, not \("):
            Mask.lengths(lengths)


def test_tables_with_too_few_or_too_many_axes_are_refused():
    for axes in (0, 1, 5):
        with pytest.raises(ShapeError, match=r"\(queries, keys\), \(batch, queries, keys\)"):
            Mask.allowed(torch.ones((2,) * axes, dtype=torch.bool))
    with pytest.raises(ShapeError, match=r"this mask is \(batch, keys\), not \(3,\) of bool"):
        Mask.keys(torch.ones(3, dtype=torch.bool))


def test_masks_for_another_number_of_keys_are_refused():
    places = torch.arange(5)[None]
    with pytest.raises(ShapeError, match="the mask knows 7 keys, but there are 5"):
        Mask.keys(torch.ones(2, 7, dtype=torch.bool)).dense(places, places)
    with pytest.raises(ShapeError, match=r"the mask is for \(7, 5\) \(queries, keys\), but there are \(5, 5\)"):
        Mask.allowed(torch.ones(7, 5, dtype=torch.bool)).dense(places, places)
