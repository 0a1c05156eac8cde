"""Strings of spoken digits, joined from the Free Spoken Digit Dataset, as lists for regard.

    python recipes/prepare_fsdd_strings.py RECORDINGS data/digits

RECORDINGS is the folder `recordings` of github.com/Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0). A string is of
one speaker, with up to 120 ms of silence between digits. Train has strings of 1 to 6 digits from recordings 10 and up
(short ones let the network find out what is said where), dev and test strings of 2 to 6 from 5 to 9 and from 0 to 4.
"""

import argparse
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import soundfile

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
RATE = 8000
# How many strings, how many digits in each, and from which recordings.
PARTS = {"train": (3000, (1, 6), range(10, 1000)), "dev": (240, (2, 6), range(5, 10)), "test": (360, (2, 6), range(5))}


def string(draw: random.Random, files: list[Path], digits: int) -> tuple[np.ndarray, str]:
    """The sound of some digits of one speaker, and what is said."""
    sounds, words = [], []
    for file in draw.choices(files, k=digits):
        sounds += [soundfile.read(file, dtype="float32")[0], np.zeros(draw.randrange(RATE * 120 // 1000), np.float32)]
        words.append(WORDS[int(file.stem[0])])
    return np.concatenate(sounds[:-1]), " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    draw = random.Random(1)
    for part, (count, lengths, numbers) in PARTS.items():
        speakers: dict[str, list[Path]] = defaultdict(list)
        for file in sorted(given.recordings.glob("*_*_*.wav")):
            if int(file.stem.split("_")[2]) in numbers:
                speakers[file.stem.split("_")[1]].append(file)
        (given.out / part).mkdir(parents=True, exist_ok=True)
        rows = ["path\ttext\n"]
        for number in range(count):
            sound, said = string(draw, speakers[draw.choice(sorted(speakers))], draw.randint(*lengths))
            soundfile.write(given.out / part / f"{number:04}.wav", sound, RATE)
            rows.append(f"{part}/{number:04}.wav\t{said}\n")
        (given.out / f"{part}.tsv").write_text("".join(rows), encoding="utf-8")
        print(f"{part}: {count} strings")


if __name__ == "__main__":
    main()
