"""The Free Spoken Digit Dataset as lists for regard: its official split, or a speaker left out.

    python recipes/prepare_fsdd.py RECORDINGS data/fsdd
    python recipes/prepare_fsdd.py RECORDINGS data/fsdd-theo --without theo

RECORDINGS is the folder `recordings` of github.com/Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0), whose files are
DIGIT_SPEAKER_NUMBER.wav. Officially 0 to 4 are for test; 5 to 9 become dev here, and the rest is learnt. Of a speaker
who is left out all are for test, and of the others 5 to 9 are for dev.
"""

import argparse
from pathlib import Path

TEST, DEV = range(5), range(5, 10)


def part(file: Path, without: str | None) -> str:
    """train, dev or test."""
    _, speaker, number = file.stem.split("_")
    if without is not None:
        return "test" if speaker == without else "dev" if int(number) in DEV else "train"
    return "test" if int(number) in TEST else "dev" if int(number) in DEV else "train"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--without", metavar="SPEAKER")
    given = parser.parse_args()
    rows: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for file in sorted(given.recordings.glob("*_*_*.wav")):
        rows[part(file, given.without)].append(f"{file.resolve()}\t{file.stem[0]}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    for name, lines in rows.items():
        (given.out / f"{name}.tsv").write_text("path\tlabel\n" + "".join(lines), encoding="utf-8")
        print(f"{name}: {len(lines)}")


if __name__ == "__main__":
    main()
