"""Tatoeba's English and Chinese sentences -> tables with the split of Akyürek & Andreas 2021, in natural spelling.

    python recipes/prepare_tatoeba.py FOLDER_OF_THE_FILES FOLDER

The split is published tokenised (cmn.txt_train_tokenized.tsv.gz …), with signs made alike and English contractions
written out; the sentences as they were written stand in cmn.txt.gz. Each is found again by the letters of its Chinese
side, and among several by the likeness of the English one; every sentence is used once. test-unseen.tsv is test without
what has a side that also stands in train.
"""

import argparse
import gzip
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

PARTS = ("train", "dev", "test")

Pair = tuple[str, str]


def rows(path: Path) -> Iterator[Pair]:
    """The English and the Chinese side of each line."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            english, chinese = line.rstrip("\n").split("\t")[:2]
            yield english, chinese


def letters(text: str) -> str:
    """A text's letters and digits alone."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).lower() if sign.isalnum())


class Natural:
    """The sentences as they were written, each given out once."""

    def __init__(self, pairs: Iterator[Pair]) -> None:
        self.by_chinese: dict[str, list[Pair]] = {}
        for pair in pairs:
            self.by_chinese.setdefault(letters(pair[1]), []).append(pair)

    def of(self, tokenised: Pair) -> Pair:
        """The pair that was tokenised."""
        candidates = self.by_chinese[letters(tokenised[1])]
        english = letters(tokenised[0])
        best = max(candidates, key=lambda pair: SequenceMatcher(None, letters(pair[0]), english).ratio())
        candidates.remove(best)
        return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    natural = Natural(rows(given.files / "cmn.txt.gz"))
    found = {
        part: [natural.of(pair) for pair in rows(given.files / f"cmn.txt_{part}_tokenized.tsv.gz")] for part in PARTS
    }
    known = [{pair[side] for pair in found["train"]} for side in (0, 1)]
    found["test-unseen"] = [
        pair for pair in found["test"] if not any(side in sides for side, sides in zip(pair, known, strict=True))
    ]
    given.folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in found.items():
        text = "".join(f"{english}\t{chinese}\n" for english, chinese in pairs)
        (given.folder / f"{part}.tsv").write_text(f"english\tchinese\n{text}", encoding="utf-8")
        print(f"{given.folder / part}.tsv: {len(pairs):,} rows")


if __name__ == "__main__":
    main()
