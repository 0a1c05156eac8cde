"""The recordings of "yesno" as lists for regard: eight words each, which the file's name tells.

    python recipes/prepare_yesno.py WAVES_YESNO data/yesno

WAVES_YESNO is the folder of openslr.org/1 (60 files, 8 kHz, one speaker; no licence is given). As in Kaldi's recipe the
first 31 of the sorted names are learnt and the last 29 are for test; of the 31, every fifth is for dev.
"""

import argparse
from pathlib import Path

WORDS = {"0": "no", "1": "yes"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("waves", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    files = sorted(given.waves.glob("*_*.wav"))
    parts = {
        "train": [file for number, file in enumerate(files[:31]) if number % 5 != 4],
        "dev": files[4:31:5],
        "test": files[31:],
    }
    given.out.mkdir(parents=True, exist_ok=True)
    for name, found in parts.items():
        said = [" ".join(WORDS[digit] for digit in file.stem.split("_")) for file in found]
        rows = [f"{file.resolve()}\t{text}\n" for file, text in zip(found, said, strict=True)]
        (given.out / f"{name}.tsv").write_text("path\ttext\n" + "".join(rows), encoding="utf-8")
        print(f"{name}: {len(found)}")


if __name__ == "__main__":
    main()
