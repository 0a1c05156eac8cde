"""Masks: True means "may look"."""

import numpy as np
import pytest
import reference
import torch
from sharp import BATCH, HEADS, KEYS, assert_moved, case, masks, numpy

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
