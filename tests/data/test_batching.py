"""Batches under a budget, in an order that (seed, epoch) decides."""

import json
import math
import random
from pathlib import Path

import pytest
import torch

from regard.data.batching import IGNORED, Item, batches, collate, longer, plan
from regard.data.tokenizer import EncodedText


def lengths_drawn(seed: int) -> tuple[list[int], int]:
    draw = random.Random(seed)
    return [draw.choice([0, 1, 2, 3, 5, 7, 31, 97, 211]) for _ in range(draw.randrange(1, 67))], draw.randrange(1, 307)


def keeps_to_the_budget(batches: list[list[int]], lengths: list[int], budget: int) -> bool:
    return all(
        len(batch) == 1 or len(batch) * max(1, *(lengths[item] for item in batch)) <= budget for batch in batches
    )


def test_items_times_longest_is_within_the_budget_and_all_are_used_once(cases: Path) -> None:
    case = json.loads((cases / "b15_token_budget.json").read_text(encoding="utf-8"))
    for lengths, budget in [
        (case["lengths"], case["budget"]),
        (case["too_long"]["lengths"], case["too_long"]["budget"]),
    ]:
        for seed in (None, *range(29)):
            found = plan(lengths, budget, seed=seed)
            assert sorted(item for batch in found for item in batch) == list(range(len(lengths)))
            assert keeps_to_the_budget(found, lengths, budget)


def test_an_item_over_the_budget_goes_alone(cases: Path) -> None:
    case = json.loads((cases / "b15_token_budget.json").read_text(encoding="utf-8"))["too_long"]
    for seed in (None, *range(29)):
        assert [1] in plan(case["lengths"], case["budget"], seed=seed)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_any_plan_covers_every_item_once_within_the_budget(seed: int | None) -> None:
    for trial in range(307):
        lengths, budget = lengths_drawn(trial)
        for epoch in (0, 1):
            found = plan(lengths, budget, seed=seed, epoch=epoch)
            assert sorted(item for batch in found for item in batch) == list(range(len(lengths))), trial
            assert keeps_to_the_budget(found, lengths, budget), trial
            assert all(found), trial


def test_a_plan_is_a_function_of_seed_and_epoch() -> None:
    lengths, _ = lengths_drawn(5)
    before = torch.get_rng_state()
    plans = {(seed, epoch): plan(lengths, 211, seed=seed, epoch=epoch) for seed in range(3) for epoch in range(3)}
    random.seed(1)
    torch.rand(3)
    again = {(seed, epoch): plan(lengths, 211, seed=seed, epoch=epoch) for seed, epoch in reversed(plans)}
    torch.set_rng_state(before)
    assert plans == again


def test_plans_differ_between_epochs_and_between_seeds() -> None:
    lengths = [random.Random(3).randrange(1, 31) for _ in range(101)]
    plans = [plan(lengths, 67, seed=seed, epoch=epoch) for seed in range(3) for epoch in range(3)]
    assert all(one != other for place, one in enumerate(plans) for other in plans[:place])


def test_the_same_items_do_not_always_meet() -> None:
    lengths = [random.Random(3).randrange(10, 31) for _ in range(101)]
    groups = [{tuple(sorted(batch)) for batch in plan(lengths, 67, seed=1, epoch=epoch)} for epoch in range(2)]
    assert groups[0] != groups[1]


def test_without_a_seed_batches_go_from_short_to_long() -> None:
    lengths, budget = lengths_drawn(11)
    order = [max(1, lengths[item]) for batch in plan(lengths, budget) for item in batch]
    assert order == sorted(order)


def test_batches_hold_little_padding() -> None:
    lengths = [random.Random(5).randrange(1, 97) for _ in range(997)]
    found = plan(lengths, 1009, seed=1)
    padded = sum(len(batch) * max(lengths[item] for item in batch) for batch in found)
    assert sum(lengths) / padded > 0.8


def test_nothing_makes_no_batches() -> None:
    assert plan([], 7) == plan([], 7, seed=1) == []


# Side by side


def words(*numbers: int, labels: tuple[int, ...] | None = None, letters: bool = False) -> Item:
    encoded = EncodedText(
        words=numbers,
        letters=tuple((2, number, 3) for number in numbers) if letters else (),
        affixes=tuple((number, number + 1, 1) for number in numbers) if letters else (),
    )
    return Item(encoded, {"upos": numbers if labels is None else labels}, len(numbers), len(numbers))


def pieces(*word_of_piece: int) -> Item:
    count = max(word_of_piece) + 1
    return Item(
        EncodedText(pieces=tuple(range(5, 5 + len(word_of_piece))), word_of_piece=word_of_piece),
        {"upos": (1,) * count},
        count,
        count,
    )


def test_padding_is_ignored_and_real_labels_stay() -> None:
    batch = collate([words(7, 5, 3), words(2), words(11, 13, labels=(IGNORED, 4))], [2, 0, 1])
    assert batch.items == [2, 0, 1]
    assert batch.labels["upos"].tolist() == [[IGNORED, 4, IGNORED], [7, 5, 3], [2, IGNORED, IGNORED]]
    assert batch.inputs["word_numbers"].tolist() == [[11, 13, 0], [7, 5, 3], [2, 0, 0]]
    assert batch.inputs["lengths"].tolist() == batch.inputs["words"].tolist() == [2, 3, 1]
    assert batch.inputs["answers"].tolist() == [2, 3, 1]
    assert batch.size == 9


def test_pieces_and_words_are_padded_each_to_their_longest() -> None:
    batch = collate([pieces(0, 0, 1), pieces(0)], [0, 1])
    assert batch.inputs["lengths"].tolist() == [3, 1] and batch.inputs["words"].tolist() == [2, 1]
    assert batch.inputs["piece_numbers"].tolist() == [[5, 6, 7], [5, 0, 0]]
    assert batch.inputs["word_of_piece"].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert batch.labels["upos"].tolist() == [[1, 1], [1, IGNORED]]


def test_each_distinct_spelling_stands_once() -> None:
    batch = collate([words(7, 5, 7, letters=True), words(5, letters=True)], [0, 1])
    letters, spellings = batch.inputs["letters"], batch.inputs["spellings"]
    assert letters[0].tolist() == [0, 0, 0] and sorted(letters[1:].tolist()) == [[2, 5, 3], [2, 7, 3]]
    assert letters[spellings].tolist() == [[[2, 7, 3], [2, 5, 3], [2, 7, 3]], [[2, 5, 3], [0, 0, 0], [0, 0, 0]]]
    affixes = batch.inputs["affixes"]
    assert affixes[spellings].tolist() == [[[7, 8, 1], [5, 6, 1], [7, 8, 1]], [[5, 6, 1], [0, 0, 0], [0, 0, 0]]]


def test_several_columns_are_padded_alike() -> None:
    items = [
        Item(EncodedText(words=(2, 3)), {"a": (0, 1), "b": (1, IGNORED)}, 2, 2),
        Item(EncodedText(words=(4,)), {"a": (2,), "b": (3,)}, 1, 1),
    ]
    batch = collate(items, [0, 1])
    assert batch.labels["a"].tolist() == [[0, 1], [2, IGNORED]]
    assert batch.labels["b"].tolist() == [[1, IGNORED], [3, IGNORED]]


def whole(*numbers: int, **labels: tuple[float, ...]) -> Item:
    return Item(EncodedText(words=numbers), labels, len(numbers), 1)


def test_the_whole_has_one_answer_however_many_words_it_has() -> None:
    batch = collate([whole(7, 5, 3, a=(2,)), whole(2, a=(IGNORED,))], [0, 1])
    assert batch.labels["a"].tolist() == [[2], [IGNORED]] and not batch.labels["a"].is_floating_point()
    assert batch.inputs["answers"].tolist() == [1, 1] and batch.inputs["words"].tolist() == [3, 1]


def test_numbers_that_are_unknown_or_missing_are_not_a_number() -> None:
    batch = collate([whole(7, 5, a=(0.5,)), whole(2, a=(math.nan,)), whole(3)], [0, 1, 2])
    assert batch.labels["a"].dtype == torch.float32
    assert batch.labels["a"].isnan().tolist() == [[False], [True], [True]] and batch.labels["a"][0].item() == 0.5


def test_padding_of_numbers_is_not_a_number() -> None:
    items = [
        Item(EncodedText(words=(2, 3)), {"a": (0.5, -1.5)}, 2, 2),
        Item(EncodedText(words=(4,)), {"a": (2.0,)}, 1, 1),
    ]
    labels = collate(items, [0, 1]).labels["a"]
    assert labels[0].tolist() == [0.5, -1.5] and labels[1, 0].item() == 2.0 and labels[1, 1].isnan()


def test_batches_hold_all_items_once() -> None:
    items = [words(*range(2, 2 + count)) for count in (7, 1, 3, 2, 5, 3)]
    found = list(batches(items, 11))
    assert sorted(item for batch in found for item in batch.items) == list(range(6))
    assert all(batch.size <= 11 for batch in found)


def test_an_item_is_as_long_as_what_the_network_sees() -> None:
    assert words(2, 3, 5).length == 3 and pieces(0, 0, 1, 1, 1).length == 5


def test_a_longer_batch_is_the_item_as_it_stands_beside_a_longer_one() -> None:
    encoded = EncodedText(words=(3, 5), letters=((7,), (7, 2, 4)), affixes=((1, 1, 1), (2, 2, 2)))
    item = Item(encoded, {}, words=2, answers=2, written=(11, 13), texts=(0, 1), shared=(1, 1))
    long = Item(
        EncodedText((3,) * 7, letters=((7,) * 8,) * 7, affixes=((1, 1, 1),) * 7),
        {},
        words=7,
        answers=7,
        written=(13,) * 7,
        texts=(1,) * 7,
        shared=(1,) * 7,
    )
    found = longer(collate([item], [0]), 5).inputs
    beside = collate([item, long], [0, 1]).inputs
    assert found.keys() == beside.keys()
    for name in ("word_numbers", "written", "texts", "shared", "lengths", "words", "answers"):
        assert torch.equal(found[name], beside[name][:1]), name
    pieces = Item(EncodedText(pieces=(3, 5), word_of_piece=(0, 1)), {}, words=2, answers=2)
    more = Item(EncodedText(pieces=(3,) * 7, word_of_piece=(1,) * 7), {}, words=2, answers=2)
    found, beside = longer(collate([pieces], [0]), 5).inputs, collate([pieces, more], [0, 1]).inputs
    assert all(torch.equal(found[name], beside[name][:1]) for name in beside)
    # Letters are of distinct words: each has as many places more.
    spelled = collate([item], [0]).inputs
    letters, spellings = (longer(collate([item], [0]), 5).inputs[name] for name in ("letters", "spellings"))
    assert torch.equal(letters[:, :3], spelled["letters"]) and letters.shape == (3, 8) and not letters[:, 3:].any()
    assert torch.equal(spellings[:, :2], spelled["spellings"]) and spellings.shape == (1, 7)
