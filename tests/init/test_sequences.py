"""`regard init seq2seq`: pieces and sizes by what the texts are."""

import random
from pathlib import Path

import pytest
from test_cli import regard

from regard.data.example import Example
from regard.errors import RegardError
from regard.init.sequences import SIZES, look_at_side, read_sequences, sequence_settings
from regard.recipe import read_recipe

draw = random.Random(7)
ENGLISH = [f"w{n}{'xyz'[n % 3]}" for n in range(997)]


def sentences(words: list[str], count: int = 600) -> list[str]:
    return [" ".join(draw.choices(words, k=draw.randrange(3, 11))) for _ in range(count)]


# What the texts of a side are -> the kind of piece.
SIDES = {
    "single words": (["hello", "worlds", "x"] * 50, "characters", False),
    "phonemes": (sentences(["AH", "B", "K", "EY", "T"]), "words", False),
    "sentences": (sentences(ENGLISH), "subwords", False),
    "a script without spaces": (["我们在桌子上吃饭。", "今天天气很好"] * 30, "characters", True),
    "some letters of such a script": (["the sign 我 is read wo by all who know it"] * 30, "words", False),
    "Korean, which has spaces": (
        [f"{a}나는 {b}학교에 {a}간다" for a in "가나다라마바사" for b in ENGLISH],
        "subwords",
        False,
    ),
    "lemma and features": ([f"walk{n}<sep>V;PST" for n in range(200)], "characters", False),
}


@pytest.mark.parametrize(("texts", "tokens", "unspaced"), SIDES.values(), ids=SIDES)
def test_each_side_is_written_in_pieces_that_fit(texts: list[str], tokens: str, unspaced: bool) -> None:
    found = look_at_side([text.replace("<sep>", " <sep> ") if "<sep>" in text else text for text in texts])
    assert (found.tokens, found.unspaced) == (tokens, unspaced)


def pairs(sources: list[str], targets: list[str]) -> list[Example]:
    return [
        Example((source,), {"target": (target,)}, whole=True) for source, target in zip(sources, targets, strict=True)
    ]


def test_two_sides_in_the_same_letters_share_one_table_of_subwords() -> None:
    texts = sentences(ENGLISH)
    found = sequence_settings(pairs(texts, sentences(ENGLISH)))
    assert found["output"]["share"] == "all" and "size" not in found["output"]
    russian = [text.translate({ord(c): ord(c) + 1000 for c in "wxyz0123456789"}) for text in texts]
    found = sequence_settings(pairs(texts, russian))
    assert found["output"]["share"] == "target" and found["output"]["size"] >= 500


def test_the_best_model_of_a_translation_is_chosen_by_bleu_and_of_others_by_exactness() -> None:
    texts = sentences(ENGLISH)
    assert sequence_settings(pairs(texts, texts))["train"]["metric"] == "bleu"
    chinese = sequence_settings(pairs(texts, ["我们吃饭"] * len(texts)))
    assert chinese["train"]["metric"] == "bleu" and chinese["output"]["bleu_tokens"] == "zh"
    words = sequence_settings(pairs(["cat"] * 90, ["k æ t"] * 90))
    assert words["train"]["metric"] == "exact" and "bleu_tokens" not in words["output"]


def test_more_text_gets_a_larger_network() -> None:
    widths = [(size.width, size.depth) for size in SIZES]
    assert widths == sorted(widths) and SIZES[-1].up_to_pieces == float("inf")
    assert sequence_settings(pairs(["ab"] * 9, ["ba"] * 9))["model"]["width"] == SIZES[0].width


# Files


def written(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


TABLES = {
    "with titles": ["word\tphonemes", "cat\tK AE T", "dog\tD AO G"],
    "without": ["cat\tK AE T", "dog\tD AO G", "a\tAH"],
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_becomes_a_recipe_that_reads_it(name: str, tmp_path: Path) -> None:
    rows = TABLES[name]
    lines = rows[:1] + rows[1:] * 50
    written(tmp_path / "train.tsv", lines)
    made = regard("init", "seq2seq", "--data", "train.tsv", "--out", "made.toml", folder=tmp_path)
    assert made.status == 0, made.err
    recipe = read_recipe(tmp_path / "made.toml")
    assert recipe.data.header is (name == "with titles") and recipe.data.format == "tsv"
    assert (recipe.data.source, recipe.data.target) == ((1,), (2,))
    assert recipe.input.tokens == "characters" and recipe.output.tokens == "words"
    assert f"{len(lines) - (name == 'with titles'):,} items" in made.err


def test_columns_may_be_named(tmp_path: Path) -> None:
    written(tmp_path / "t.csv", ["id,en,fr", *[f"{n},cat,chat" for n in range(40)]])
    made = regard(
        "init", "seq2seq", "--data", "t.csv", "--source", "en", "--target", "fr", "--out", "made.toml", folder=tmp_path
    )
    assert made.status == 0, made.err
    recipe = read_recipe(tmp_path / "made.toml")
    assert (recipe.data.source, recipe.data.target, recipe.data.header) == (("en",), ("fr",), True)


def test_plain_files_in_twos_become_a_recipe_and_train(tmp_path: Path) -> None:
    for part, count in (("train", 60), ("dev", 9)):
        written(tmp_path / f"{part}.en", [f"cat {n}" for n in range(count)])
        written(tmp_path / f"{part}.fr", [f"chat {n}" for n in range(count)])
    files = ["train.en", "train.fr", "dev.en", "dev.fr"]
    made = regard("init", "seq2seq", "--data", *files, "--out", "made.toml", folder=tmp_path)
    assert made.status == 0, made.err
    assert "train.en and train.fr: train, read as parallel" in made.err
    recipe = read_recipe(tmp_path / "made.toml")
    assert recipe.data.format == "parallel" and [Path(file).name for file in recipe.data.dev] == files[2:]
    small = ["model.width=8", "model.depth=1", "train.minutes=0.02"]
    trained = regard("train", "made.toml", *small, folder=tmp_path)
    assert trained.status == 0, trained.err


def test_plain_files_that_have_no_other_are_refused(tmp_path: Path) -> None:
    paths = [written(tmp_path / name, ["a cat", "a dog"]) for name in ("a", "b", "c")]
    with pytest.raises(RegardError, match=r"plain text comes in twos, .*; found 3 files"):
        read_sequences(paths, "guess", (), ())
    with pytest.raises(RegardError, match="found 4 parts"):
        read_sequences([*paths, *paths, paths[0], paths[0]], "guess", (), ())
