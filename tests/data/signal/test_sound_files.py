"""Recordings in lists and folders: what is in them, and what is wrong with them, with its place."""

import json

import numpy as np
import pytest
from sounds import RATE, tone

from regard.data.example import Example
from regard.data.reading import read_examples
from regard.data.signal.reader import Wanted
from regard.data.signal.sound_files import SOUND_READERS, guess_sound
from regard.errors import DataError

soundfile = pytest.importorskip("soundfile")

SECONDS = {"one.wav": 0.5, "two.wav": 0.75, "three.wav": 1.0}


@pytest.fixture
def folder(tmp_path):
    """Recordings of two classes, and a text among them."""
    for number, (name, seconds) in enumerate(SECONDS.items()):
        place = tmp_path / "sounds" / ("low" if number % 2 == 0 else "high")
        place.mkdir(parents=True, exist_ok=True)
        soundfile.write(str(place / name), tone(300 + 900 * number, seconds), RATE)
    (tmp_path / "sounds" / "notes.txt").write_text("by hand")
    return tmp_path


def read(path, format="guess", on_error="stop", say=lambda sentence: None, **wanted):
    format = guess_sound(path) if format == "guess" else format
    return read_examples([path], SOUND_READERS[format](Wanted(rate=RATE, **wanted)), on_error=on_error, say=say)


def told(examples):
    return [(len(one.signal.read()), *next(iter(one.labels.values()), ())) for one in examples]


ROWS = [("sounds/low/one.wav", "low tone"), ("sounds/high/two.wav", "high")]
LISTS = {
    "tsv with a header": ("list.tsv", "path\ttext\n" + "".join(f"{path}\t{text}\n" for path, text in ROWS)),
    "tsv without one": ("list.tsv", "".join(f"{path}\t{text}\n" for path, text in ROWS)),
    "csv, other order": ("list.csv", "label,file\n" + "".join(f"{text},{path}\n" for path, text in ROWS)),
    "json lines": (
        "list.jsonl",
        "".join(json.dumps({"audio_filepath": path, "duration": 9.0, "text": text}) + "\n" for path, text in ROWS),
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_every_kind_of_list_gives_the_same_examples(folder, name):
    file, text = LISTS[name]
    (folder / file).write_text(text)
    found = read(folder / file)
    assert told(found) == [(4000, "low tone"), (6000, "high")]
    assert all(isinstance(one, Example) and one.whole for one in found)


def test_columns_may_be_named(folder):
    (folder / "list.csv").write_text("a,said,where\nx,hello,sounds/low/one.wav\n")
    assert told(read(folder / "list.csv", source=("where",), target=("said",))) == [(4000, "hello")]
    with pytest.raises(
        DataError, match=r"line 2: there is no column were; the columns are a, said, where; did you mean"
    ):
        read(folder / "list.csv", source=("were",), target=("said",))


@pytest.mark.parametrize(
    ("header", "cells", "samples"),
    [("start,end", "0.25,0.5", 2000), ("start,end", "0.25,", 2000), ("offset,duration", "0.125,0.25", 2000)],
)
def test_a_part_of_a_recording_is_read_alone(folder, header, cells, samples):
    (folder / "list.csv").write_text(f"path,text,{header}\nsounds/low/one.wav,x,{cells}\n")
    (one,) = read(folder / "list.csv")
    assert len(one.signal.read()) == one.signal.count == samples
    assert one.words[0].startswith("sounds/low/one.wav 0.")


def test_a_folder_for_each_class_names_the_classes_and_tells_what_was_left(folder):
    sentences = []
    assert told(read(folder / "sounds", say=sentences.append)) == [(6000, "high"), (4000, "low"), (8000, "low")]
    assert sentences == [
        "1 files do not end as sound does (.wav, .flac, .ogg, .oga, .opus, .mp3, .aif, .aiff), as "
        f"{folder / 'sounds' / 'notes.txt'}"
    ]
    assert told(read(folder / "sounds" / "low", predicting=True)) == [(4000,), (8000,)]


def test_a_recording_alone_can_be_asked_and_not_learnt(folder):
    path = folder / "sounds" / "high" / "two.wav"
    assert told(read(path, predicting=True)) == [(6000,)]
    with pytest.raises(DataError, match="is one recording; what is learnt is read from a list"):
        read(path)


def test_recordings_at_other_rates_are_told(folder):
    soundfile.write(str(folder / "fast.wav"), tone(300, 0.5, 44100), 44100)
    (folder / "list.tsv").write_text("path\ttext\nsounds/low/one.wav\tx\nfast.wav\ty\n")
    sentences = []
    assert told(read(folder / "list.tsv", say=sentences.append)) == [(4000, "x"), (4000, "y")]
    assert sentences == [
        f"1 recordings have 44,100 samples a second and are resampled to input.rate = 8,000, as {folder / 'fast.wav'}"
    ]


def faulty(folder):
    (folder / "text.wav").write_text("I am a text.\n" * 99)
    soundfile.write(str(folder / "empty.wav"), np.zeros(0), RATE)
    return {
        "a missing file": ("none.wav\tx\n", "line 3: there is no file"),
        "a text named .wav": ("text.wav\tx\n", "line 3: .*text.wav cannot be read as sound"),
        "no samples": ("empty.wav\tx\n", "line 3: .*empty.wav holds no samples"),
        "too few columns": ("sounds/low/one.wav\n", "line 3: 1 columns where there are 2"),
    }


@pytest.mark.parametrize("name", ["a missing file", "a text named .wav", "no samples", "too few columns"])
def test_what_is_wrong_is_named_with_its_line_and_the_rest_goes_on_if_asked(folder, name):
    row, words = faulty(folder)[name]
    (folder / "list.tsv").write_text(f"path\ttext\nsounds/low/one.wav\tx\n{row}sounds/high/two.wav\ty\n")
    with pytest.raises(DataError, match=words):
        read(folder / "list.tsv")
    sentences = []
    assert told(read(folder / "list.tsv", on_error="skip", say=sentences.append)) == [(4000, "x"), (6000, "y")]
    assert len(sentences) == 1 and sentences[0].startswith("left out: ")


def test_a_time_that_is_no_number_is_named(folder):
    (folder / "list.csv").write_text("path,text,start,end\nsounds/low/one.wav,x,soon,\n")
    with pytest.raises(DataError, match=r"line 2: start is 'soon', which is no number of seconds"):
        read(folder / "list.csv")
    (folder / "list.csv").write_text("path,text,start,end\nsounds/low/one.wav,x,0.25,2\n")
    with pytest.raises(DataError, match=r"line 2: .* is not there: the recording has 0.5 seconds"):
        read(folder / "list.csv")


def test_a_recording_in_no_class_s_folder_is_named(folder):
    soundfile.write(str(folder / "sounds" / "alone.wav"), tone(300), RATE)
    with pytest.raises(DataError, match=r"alone.wav is in no folder of a class; make one for each class"):
        read(folder / "sounds")
