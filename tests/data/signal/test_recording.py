"""Recordings: every kind of file gives the same samples, and what is wrong with one is named."""

import importlib

import numpy as np
import pytest
from sharp import CASES
from sounds import RATE, noise, tone

from regard.data.signal import recording
from regard.data.signal.recording import Recording, look_at, read_blocks, read_sound
from regard.errors import DataError

soundfile = pytest.importorskip("soundfile")
soxr = pytest.importorskip("soxr")

WAVE = np.concatenate((tone(440, 0.7), noise(0.31)))


@pytest.fixture
def saved(tmp_path):
    def save(name="a.wav", wave=WAVE, rate=RATE, **how):
        soundfile.write(str(tmp_path / name), wave, rate, **how)
        return tmp_path / name

    return save


# How far one step of each kind of file is: what packs loses more.
KINDS = {
    ("a.wav", "PCM_U8"): 2**-7,
    ("a.wav", "PCM_16"): 2**-15,
    ("a.wav", "PCM_24"): 2**-23,
    ("a.wav", "PCM_32"): 2**-23,
    ("a.wav", "FLOAT"): 0.0,
    ("a.wav", "DOUBLE"): 0.0,
    ("a.flac", "PCM_16"): 2**-15,
    ("a.flac", "PCM_24"): 2**-23,
    ("a.ogg", "VORBIS"): 0.4,
    ("a.mp3", "MPEG_LAYER_III"): 0.4,
}


@pytest.mark.parametrize(("name", "subtype"), KINDS)
def test_every_kind_of_file_gives_the_same_samples(saved, name, subtype):
    found = read_sound(saved(name, subtype=subtype), RATE)
    assert found.dtype == np.float32 and len(found) == len(WAVE)
    assert np.abs(found - WAVE).max() <= KINDS[name, subtype] + 1e-7


def test_several_channels_are_mixed_into_their_mean(saved):
    path = saved(wave=np.stack((WAVE, -WAVE / 2, 0 * WAVE), 1), subtype="FLOAT")
    assert np.abs(read_sound(path, RATE) - WAVE / 6).max() < 1e-6


def test_a_segment_is_that_part_of_the_whole(saved):
    path = saved(subtype="FLOAT")
    assert (read_sound(path, RATE, 0.25, 0.625) == WAVE[2000:5000]).all()
    assert len(read_sound(path, RATE, 0.99, 1.04)) == len(WAVE) - 7920  # times in lists are rounded


@pytest.mark.parametrize(("rate", "wanted"), [(8000, 16000), (44100, 16000), (16000, 8000), (11025, 8000)])
def test_resampling_keeps_length_and_frequency(saved, rate, wanted):
    found = read_sound(saved(wave=tone(1000, 1.0, rate), rate=rate), wanted)
    assert abs(len(found) - wanted) <= 1
    assert abs(int(np.abs(np.fft.rfft(found)).argmax()) * wanted / len(found) - 1000) < 2


@pytest.mark.parametrize("rate", [RATE, 16000, 5000])
def test_block_by_block_gives_the_same_samples(saved, monkeypatch, rate):
    monkeypatch.setattr(recording, "BLOCK", 1009)
    path = saved()
    for segment in ((None, None), (0.13, 0.77)):
        whole, blocks = read_sound(path, rate, *segment), list(read_blocks(path, rate, *segment))
        assert len(blocks) > 4
        assert np.array_equal(np.concatenate(blocks), whole)
        assert len(whole) == Recording.of(path, rate, *segment).count


@pytest.mark.parametrize(
    ("segment", "words"),
    [
        ((2.0, 3.0), "the segment from 2 to 3 seconds is not there: the recording has 1.01 seconds"),
        ((0.5, 1.5), "the segment from 0.5 to 1.5 seconds is not there"),
        ((0.5, 0.5), "holds nothing; its start must be at least 0 and below its end"),
        ((-1.0, 0.5), "the segment from -1 to 0.5 seconds holds nothing"),
        ((0.5, 0.50001), "is shorter than one sample"),
    ],
)
def test_a_segment_that_is_not_there_is_named(saved, segment, words):
    with pytest.raises(DataError, match=words):
        Recording.of(saved(), RATE, *segment)


def test_what_is_no_sound_is_named(tmp_path, saved):
    (tmp_path / "text.wav").write_text("I am a text.\n" * 99)
    with pytest.raises(DataError, match=r"text.wav cannot be read as sound \(.*\); WAV, FLAC, OGG and MP3 can be"):
        look_at(tmp_path / "text.wav")
    with pytest.raises(DataError, match=r"there is no file .*none.wav"):
        look_at(tmp_path / "none.wav")
    with pytest.raises(DataError, match=r"empty.wav holds no samples"):
        look_at(saved("empty.wav", wave=WAVE[:0]))


def test_a_file_that_is_cut_off_is_named(saved):
    path = saved()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a.wav is cut off: its header tells of 16160 bytes of sound, but 8058 are"):
        look_at(path)
    packed = saved("a.flac", wave=np.tile(WAVE, 9))
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    with pytest.raises(DataError, match=r"a.flac is (damaged|cut off)"):
        read_sound(packed, RATE)


def test_a_header_of_a_stream_does_not_know_its_length_and_is_read(saved):
    path = saved()
    raw = bytearray(path.read_bytes())
    at = raw.index(b"data") + 4
    raw[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(bytes(raw))
    assert len(read_sound(path, RATE)) == len(WAVE)


def test_a_number_that_is_not_finite_is_named_with_its_place(saved):
    wave = WAVE.copy()
    wave[37] = np.nan
    with pytest.raises(DataError, match="sample 37 is not a finite number"):
        read_sound(saved(wave=wave, subtype="FLOAT"), RATE)


def test_a_missing_package_is_named_with_what_installs_it(saved, monkeypatch):
    path = saved()

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DataError, match=r"the package soundfile is missing; pip install regard\[speech\]"):
        look_at(path)


WANTED = {
    "b57_8bit.wav": ([0, 0.5, -0.5, -1, 0.25, 0], 2**-7),
    "b57_24bit.wav": ([0, 0.5, -0.5, -1, 0.25, 1.2e-7], 2**-23),
    "b57_32bit.wav": ([0, 0.5, -0.5, -1, 0.25, 1.2e-7], 2**-23),
    "b58_extensible_list.wav": ([0, 0.5, -0.5, -1, 0.25, 2**-15], 2**-15),
    "b58_streamed_size.wav": ([0, 0.5, -0.5, -1, 0.25, 2**-15], 2**-15),
}


def sound_case(name):
    if not (CASES / name).is_file():
        pytest.skip(f"{CASES / name} is not there")
    return CASES / name


@pytest.mark.parametrize("name", WANTED)
def test_samples_that_others_read_wrongly_are_exact_to_one_step(name):
    wanted, step = WANTED[name]
    found = read_sound(sound_case(name), 16000)
    assert len(found) == len(wanted) and np.abs(found - wanted).max() <= step


def test_a_recording_at_another_rate_is_not_read_as_if_it_had_the_wanted_one():
    found = read_sound(sound_case("b55_8k_1khz.wav"), 16000)
    assert abs(len(found) - 1600) <= 1
    assert abs(int(np.abs(np.fft.rfft(found)).argmax()) * 10 - 1000) <= 10


def test_silence_is_read_and_a_file_without_samples_is_named():
    assert not read_sound(sound_case("b59_silence.wav"), 16000).any()
    with pytest.raises(DataError, match="holds no samples"):
        look_at(sound_case("b59_zero_length.wav"))
