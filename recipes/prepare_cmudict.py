"""CMUdict -> tables of words and their phonemes, with 5 % of the words for dev and 5 % for test.

    python recipes/prepare_cmudict.py cmudict.dict.gz FOLDER [--stress]

A word's variants, `tomato` and `tomato(2)`, are rows of the same word and stay on one side: a word's side is decided by
its SHA-256. Without --stress the digits of stress are taken off the vowels (AH0 -> AH).
"""

import argparse
import gzip
import hashlib
import re
from pathlib import Path

# Of 100 hashed words those below the first number are for test, those below the second for dev.
TEST, DEV = 5, 10


def pronunciations(path: Path, stress: bool) -> list[tuple[str, str]]:
    """Every word with each of its pronunciations, no pair twice."""
    pairs: dict[tuple[str, str], None] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, _, phonemes = line.partition("#")[0].strip().partition(" ")
            if word:
                pairs[re.sub(r"\(\d+\)$", "", word), phonemes if stress else re.sub(r"\d", "", phonemes)] = None
    return list(pairs)


def part(word: str) -> str:
    """The side on which a word is."""
    number = int(hashlib.sha256(word.encode()).hexdigest(), 16) % 100
    return "test" if number < TEST else "dev" if number < DEV else "train"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dictionary", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stress", action="store_true", help="keep the digits of stress")
    given = parser.parse_args()
    rows: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for word, phonemes in pronunciations(given.dictionary, given.stress):
        rows[part(word)].append(f"{word}\t{phonemes}\n")
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in rows.items():
        (given.folder / f"{name}.tsv").write_text("word\tphonemes\n" + "".join(lines), encoding="utf-8")
        print(f"{given.folder / name}.tsv: {len(lines):,} rows")


if __name__ == "__main__":
    main()
