"""Which examples are set aside: by chance, by lines, by a column."""

import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest

from regard.data.dividing import DIVISIONS, by_chance, by_column, by_lines, divide
from regard.data.example import Example
from regard.errors import DataError


def examples(count: int, classes: str = "x", groups: int = 53) -> list[Example]:
    return [
        Example((str(n),), {"y": (classes[n % len(classes)],)}, whole=True, group=f"speaker {n % groups}")
        for n in range(count)
    ]


def number(example: Example) -> int:
    return int(example.words[0])


SHARES = [(0.1,), (0.5,), (0.07, 0.3), (0.25, 0.25), (0.4, 0.05)]
every_way = pytest.mark.parametrize("by", DIVISIONS)
shares = pytest.mark.parametrize("shares", SHARES)


@every_way
@shares
@pytest.mark.parametrize("classes", [False, True])
def test_each_example_is_in_one_part_and_all_are_in_their_order(
    by: str, shares: tuple[float, ...], classes: bool
) -> None:
    given = examples(101, "xxyz")
    found = divide(given, shares, by=by, seed=3, classes=classes)
    assert len(found) == 1 + len(shares) and all(found)
    assert sorted((one for part in found for one in part), key=number) == given
    for part in found:
        assert part == sorted(part, key=number)


@every_way
@shares
def test_the_same_is_set_aside_again(by: str, shares: tuple[float, ...]) -> None:
    given = examples(97)
    assert divide(given, shares, by=by, seed=3) == divide(given, shares, by=by, seed=3)


# By chance


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.999])
def test_a_share_of_all_is_drawn_but_something_is_always_learnt(share: float) -> None:
    train, dev = divide(examples(101), (share,), seed=3)
    assert train and len(dev) == min(100, max(1, round(share * 101)))


def test_another_seed_draws_others() -> None:
    assert divide(examples(101), (0.1,), seed=3) != divide(examples(101), (0.1,), seed=5)


@pytest.mark.parametrize("seed", range(7))
@shares
def test_each_class_keeps_its_share_to_one_example(shares: tuple[float, ...], seed: int) -> None:
    given = [Example((), {"y": (name,)}, whole=True) for name in "a" * 61 + "b" * 29 + "c" * 11 + "d" * 2 + "e"]
    found = divide(given, shares, seed=seed, classes=True)
    before = Counter(example.labels["y"][0] for example in given)
    for share, part in zip(shares, found[1:], strict=True):
        counts = Counter(example.labels["y"][0] for example in part)
        assert all(abs(counts[name] - Fraction(share) * of_class) < 1 for name, of_class in before.items())
        assert abs(len(part) - share * len(given)) <= 1
    assert {example.labels["y"][0] for example in found[0]} == set("abcde")


def test_a_class_with_one_example_is_learnt() -> None:
    for seed in range(19):
        assert "z" in {
            one.labels["y"][0] for one in divide(examples(29, "x" * 28 + "z"), (0.4,), seed=seed, classes=True)[0]
        }


def test_where_no_class_has_two_examples_none_is_set_aside() -> None:
    with pytest.raises(DataError) as raised:
        divide(examples(5, "abcde"), (0.2,), seed=1, classes=True)
    assert str(raised.value) == (
        "data.split sets aside 0.2 of 5 examples, which is none for dev, since no class has enough; give data.dev"
    )


def test_a_class_drawn_like_the_others_would_lose_its_share() -> None:
    """What the law would miss: drawing from all alike."""
    given = examples(101, "x" * 100 + "y")
    apart = [
        Counter(one.labels["y"][0] for one in divide(given, (0.5,), seed=seed, classes=classes)[1])["y"]
        for classes in (True, False)
        for seed in range(11)
    ]
    assert set(apart[:11]) == {0} and 1 in apart[11:]


# By lines


@pytest.mark.parametrize("every", [2, 3, 7, 10])
def test_every_nth_is_set_aside(every: int) -> None:
    _, dev = divide(examples(101), (1 / every,), by="lines")
    assert [number(one) for one in dev] == [n for n in range(101) if n % every == every - 1]


def test_of_two_shares_the_last_is_taken_first_and_the_other_from_the_rest() -> None:
    found = by_lines([None] * 101, (1 / 3, 1 / 5), 0)
    assert [n for n in range(101) if found[n] == 2] == list(range(4, 101, 5))
    rest = [n for n in range(101) if found[n] != 2]
    assert [n for n in rest if found[n] == 1] == rest[2::3]


def test_too_few_for_every_nth_are_refused() -> None:
    with pytest.raises(DataError) as raised:
        divide(examples(7), (0.1,), by="lines")
    assert str(raised.value) == "data.split sets aside 0.1 of 7 examples, which is none for dev; give data.dev"


# By a column


def test_all_of_a_group_are_on_one_side() -> None:
    found = divide(examples(211, groups=53), (0.3, 0.2), by="column")
    groups = [{one.group for one in part} for part in found]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 53


def test_where_a_group_goes_does_not_hang_on_the_others() -> None:
    names = [f"speaker {n}" for n in range(97)]
    together = by_column(names, (0.2, 0.3), 1)
    assert [by_column([name], (0.2, 0.3), 5)[0] for name in names] == together
    assert by_column(names[::-1], (0.2, 0.3), 1) == together[::-1]


def test_nor_on_the_hash_seed_of_the_process() -> None:
    code = "from regard.data.dividing import by_column; print(by_column([str(n) for n in range(199)], (0.2, 0.3), 1))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("0", "7")
    }  # fmt: skip
    assert told == {f"{by_column([str(n) for n in range(199)], (0.2, 0.3), 1)}\n"}


def test_of_many_groups_each_share_is_nearly_met() -> None:
    found = Counter(by_column([str(n) for n in range(10007)], (0.2, 0.3), 1))
    # Four standard deviations of so many draws.
    for part, share in ((1, 0.2), (2, 0.3), (0, 0.5)):
        assert abs(found[part] - 10007 * share) < 4 * (10007 * share * (1 - share)) ** 0.5


def test_a_group_of_any_sign_goes_somewhere() -> None:
    assert len(by_column(["", "é", "天", "\ud800"], (0.5,), 1)) == 4


def test_groups_that_all_go_one_way_are_refused() -> None:
    names = [f"speaker {n}" for n in range(97)]
    inside = next(name for name, part in zip(names, by_column(names, (0.5,), 1), strict=True) if part == 1)
    outside = next(name for name, part in zip(names, by_column(names, (0.5,), 1), strict=True) if part == 0)
    for group, words in (
        (inside, "all of 3 examples of 1 different groups, and nothing is left to learn from; give smaller shares"),
        (outside, "0.5 of 3 examples of 1 different groups, which is none for dev; give data.dev"),
    ):
        with pytest.raises(DataError) as raised:
            divide([Example((), {"y": ("x",)}, whole=True, group=group)] * 3, (0.5,), by="column")
        assert str(raised.value) == f"data.split sets aside {words}"


def test_examples_without_a_group_are_named() -> None:
    with pytest.raises(DataError, match=r"-:0: data\.split_by is column, but this example has no group"):
        divide([Example((), {"y": ("x",)}, whole=True)] * 3, (0.5,), by="column")


# Too few


def test_one_example_cannot_be_split() -> None:
    for shares, parts, needed in (((0.1,), "dev", "data.dev"), ((0.1, 0.1), "dev and test", "data.dev and data.test")):
        with pytest.raises(DataError) as raised:
            divide(examples(1), shares)
        assert str(raised.value) == f"one example cannot be split into train and {parts}; give {needed}"
    with pytest.raises(DataError, match=r"^2 examples cannot be split into train and dev and test;"):
        divide(examples(2), (0.1, 0.1))
    assert [len(part) for part in divide(examples(3), (0.1, 0.1))] == [1, 1, 1]


def test_a_fault_in_the_draw_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIVISIONS, "chance", lambda keys, shares, seed: by_chance([None] * len(keys), shares, seed))
    with pytest.raises(AssertionError):
        for seed in range(7):
            test_each_class_keeps_its_share_to_one_example((0.5,), seed)
