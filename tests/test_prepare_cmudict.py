"""The script that makes tables of CMUdict, on a small dictionary."""

import gzip
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "recipes" / "prepare_cmudict.py"

WORDS = [f"word{number}" for number in range(997)]
DICTIONARY = (
    "tomato T AH0 M EY1 T OW2\ntomato(2) T AH0 M AA1 T OW2\n"
    + "close K L OW1 S\nclose(2) K L OW1 Z\nclose(3) K L OW0 S # the same without stress\n"
    + "'bout B AW1 T\naalborg AO1 L B AO0 R G # place, danish\n\n"
    + "".join(f"{word} W ER1 D\n" for word in WORDS)
)


def prepared(folder: Path, *more: str) -> dict[str, list[tuple[str, ...]]]:
    with gzip.open(folder / "small.dict.gz", "wt", encoding="utf-8") as file:
        file.write(DICTIONARY)
    words = [sys.executable, str(SCRIPT), str(folder / "small.dict.gz"), str(folder / "out"), *more]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    rows = {}
    for part in ("train", "dev", "test"):
        first, *rest = (folder / "out" / f"{part}.tsv").read_text(encoding="utf-8").splitlines()
        assert first == "word\tphonemes"
        rows[part] = [tuple(row.split("\t")) for row in rest]
    return rows


def of(rows: dict[str, list[tuple[str, ...]]], word: str) -> dict[str, list[str]]:
    found = {part: [phonemes for one, phonemes in of_part if one == word] for part, of_part in rows.items()}
    return {part: phonemes for part, phonemes in found.items() if phonemes}


def test_variants_are_rows_of_one_word_on_one_side(tmp_path: Path) -> None:
    rows = prepared(tmp_path)
    assert list(of(rows, "tomato").values()) == [["T AH M EY T OW", "T AH M AA T OW"]]
    assert list(of(rows, "close").values()) == [["K L OW S", "K L OW Z"]]
    assert list(of(rows, "aalborg").values()) == [["AO L B AO R G"]] and list(of(rows, "'bout").values()) == [
        ["B AW T"]
    ]


def test_stress_is_kept_if_asked_for(tmp_path: Path) -> None:
    rows = prepared(tmp_path, "--stress")
    assert list(of(rows, "close").values()) == [["K L OW1 S", "K L OW1 Z", "K L OW0 S"]]


def test_each_word_is_on_one_side_and_about_a_twentieth_on_each_of_the_small_ones(tmp_path: Path) -> None:
    rows = prepared(tmp_path)
    sides = {part: {word for word, _ in of_part} for part, of_part in rows.items()}
    assert sum(map(len, sides.values())) == len(WORDS) + 4 == len(set.union(*sides.values()))
    for part in ("dev", "test"):
        assert 0.025 < len(sides[part]) / len(WORDS) < 0.085
    assert prepared(tmp_path) == rows
