"""Recordings: files of sound -> samples of one channel, at one rate, between -1 and 1."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from regard.data.example import Late
from regard.data.lines import check_file
from regard.errors import DataError

Samples = npt.NDArray[np.float32]

# A segment may end so many seconds after the recording does: times in lists are rounded.
_ROUNDED = 0.05

# From this size on, a WAV's size was not known when its header was written: a stream.
_STREAMED = 0x7FFF0000

# So many samples are read at a time where a recording is read block by block.
BLOCK = 1 << 16


@dataclass(frozen=True)
class Sound:
    """What a file's header says.

    rate:  samples in a second
    count: samples in each channel, as far as the header knows
    """

    rate: int
    count: int
    channels: int
    format: str

    @property
    def seconds(self) -> float:
        return self.count / self.rate


@dataclass(frozen=True)
class Recording(Late):
    """A part of a file of sound, from start to end in seconds, which is read when it is needed.

    rate:  samples in a second that are wanted
    count: how many samples it will have
    """

    rate: int = 16000
    count: int = 0

    @classmethod
    def of(cls, path: str | Path, rate: int, start: float | None = None, end: float | None = None) -> Recording:
        """The recording as its header tells it; what cannot be read is refused here and not in training."""
        sound = look_at(path)
        first, last = _bounds(str(path), sound, start, end)
        count = max(1, round((last - first) / sound.rate * rate))
        return cls(str(path), partial(_loaded, rate=rate), start, end, rate=rate, count=count)

    def blocks(self) -> Iterator[Samples]:
        """The same in pieces, in memory that does not grow with the recording."""
        return read_blocks(self.path, self.rate, self.start, self.end)


def look_at(path: str | Path) -> Sound:
    """What a file's header says; what is no sound, or has none in it, is refused."""
    check_file(path)
    soundfile = needed("soundfile", path)
    try:
        info = soundfile.info(str(path))
    except soundfile.LibsndfileError as error:
        raise DataError(
            f"{path} cannot be read as sound ({error.error_string.rstrip('.')}); WAV, FLAC, OGG and MP3 can be"
        ) from None
    if info.frames == 0:
        raise DataError(f"{path} holds no samples; record it again, or leave it out")
    _refuse_cut(Path(path))
    return Sound(info.samplerate, info.frames, info.channels, info.format)


def read_sound(path: str | Path, rate: int, start: float | None = None, end: float | None = None) -> Samples:
    """The samples of a file, or of a part of it: (samples,), float between -1 and 1 at the wanted rate.

    Several channels are mixed into their mean. Only the part is read. Numbers of any width are divided by the largest
    that their width can hold.
    """
    look_at(path)
    return _loaded(str(path), start, end, rate=rate)


def _loaded(path: str, start: float | None, end: float | None, *, rate: int) -> Samples:
    """The same of a file that was looked at before: training reads it again and again."""
    with _opened(path) as file:
        sound = Sound(file.samplerate, file.frames, file.channels, file.format)
        first, last = _bounds(path, sound, start, end)
        file.seek(first)
        found = file.read(last - first, dtype="float32", always_2d=True)
    _refuse_short(path, sound, last, first + len(found))
    return _resampled(_mixed(found, path, first), sound.rate, rate, path)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A file of sound; damage that is met while it is read is named."""
    soundfile = needed("soundfile", path)
    try:
        with soundfile.SoundFile(path) as file:
            yield file
    except soundfile.LibsndfileError as error:
        raise DataError(f"{path} is damaged: {error.error_string}") from None


def read_blocks(path: str | Path, rate: int, start: float | None = None, end: float | None = None) -> Iterator[Samples]:
    """What `read_sound` gives, in pieces: a recording of an hour takes no more memory than one of a minute."""
    sound = look_at(path)
    first, last = _bounds(str(path), sound, start, end)
    stream = None if sound.rate == rate else needed("soxr", path).ResampleStream(sound.rate, rate, 1, dtype="float32")
    read = first
    with _opened(str(path)) as file:
        file.seek(first)
        while read < last:
            found = _mixed(file.read(min(BLOCK, last - read), dtype="float32", always_2d=True), path, read)
            read += len(found)
            over = read >= last or len(found) == 0
            if over:
                _refuse_short(path, sound, last, read)
            yield found if stream is None else stream.resample_chunk(found, last=over)
            if over:
                return


def needed(package: str, path: str | Path) -> ModuleType:
    """A package of the extra `speech`; where it is missing, what to install."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise DataError(f"cannot read {path}: the package {package} is missing; pip install regard[speech]") from None


def _bounds(path: str, sound: Sound, start: float | None, end: float | None) -> tuple[int, int]:
    """The first sample of a part, and the one after its last."""
    begin, stop = 0.0 if start is None else start, sound.seconds if end is None else end
    told = f"{path}: the segment from {begin:g} to {stop:g} seconds"
    if not 0 <= begin < stop:
        raise DataError(f"{told} holds nothing; its start must be at least 0 and below its end")
    if begin >= sound.seconds or stop > sound.seconds + _ROUNDED:
        raise DataError(f"{told} is not there: the recording has {sound.seconds:g} seconds")
    first, last = round(begin * sound.rate), min(round(stop * sound.rate), sound.count)
    if first >= last:
        raise DataError(f"{told} is shorter than one sample")
    return first, last


def _refuse_short(path: str | Path, sound: Sound, wanted: int, there: int) -> None:
    """Refuse a file with fewer samples than its header tells of; of MP3 and OGG it is only an estimate."""
    estimate = sound.format in ("MP3", "OGG")
    if there < wanted - estimate * max(sound.rate / 10, wanted / 50):
        raise DataError(f"{path} is cut off: {wanted} samples were expected, but {there} are there")


def _mixed(found: Any, path: str | Path, first: int) -> Samples:
    """(samples, channels) -> (samples,): the mean of the channels."""
    mixed: Samples = found[:, 0] if found.shape[1] == 1 else found.mean(1, dtype=np.float32)
    if not np.isfinite(mixed).all():
        where = first + int(np.argmin(np.isfinite(mixed)))
        raise DataError(f"{path}: sample {where} is not a finite number; write the file anew")
    return mixed


def _resampled(samples: Samples, from_rate: int, rate: int, path: str | Path) -> Samples:
    if from_rate == rate:
        return samples
    found: Samples = needed("soxr", path).resample(samples, from_rate, rate)
    if len(found) == 0:  # a few samples of a high rate are less than one of a low one
        raise DataError(f"{path}: {len(samples)} samples at {from_rate} a second are less than one at {rate}")
    return found


def _refuse_cut(path: Path) -> None:
    """Refuse a WAV file that is shorter than it says itself; libsndfile would read what is there and be silent."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) != b"RIFF":
            return
        file.seek(12)
        while len(head := file.read(8)) == 8:
            name, length = head[:4], struct.unpack("<I", head[4:])[0]
            if name == b"data":
                there = size - file.tell()
                if there < length < _STREAMED:
                    raise DataError(
                        f"{path} is cut off: its header tells of {length} bytes of sound, but {there} are there"
                    )
                return
            file.seek(length + length % 2, 1)
