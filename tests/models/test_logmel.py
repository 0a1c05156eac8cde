"""Log-mel frames: Kaldi's, alone and in a batch, of long recordings and of silence."""

import numpy as np
import pytest
import torch
from sharp import assert_close
from sounds import noise, tone

from regard.models import logmel
from regard.models.logmel import LogMel, triangles


def sounds(rate):
    return {
        "tones": np.concatenate((tone(300, 0.2, rate), tone(1250, 0.17, rate), noise(0.1, rate))),
        "noise": noise(0.5, rate),
        "quiet": noise(0.3, rate, loud=1e-3),
    }


def kaldi(wave, rate, bands):
    """(frames, bands): kaldi-native-fbank's, with Kaldi's defaults but without dither."""
    fbank = pytest.importorskip("kaldi_native_fbank")
    options = fbank.FbankOptions()
    options.frame_opts.dither = 0
    options.frame_opts.samp_freq = rate
    options.mel_opts.num_bins = bands
    found = fbank.OnlineFbank(options)
    found.accept_waveform(rate, (wave * 32768.0).tolist())
    found.input_finished()
    return np.stack([found.get_frame(number) for number in range(found.num_frames_ready)])


@pytest.mark.parametrize("sound", sounds(8000))
@pytest.mark.parametrize(("rate", "bands"), [(16000, 80), (8000, 80), (8000, 23)])
def test_frames_are_kaldi_s(rate, bands, sound):
    """Within 1e-3 of its logarithm in bands that are at most 80 dB below the loudest of the recording: below, single
    precision decides, in both."""
    wave = sounds(rate)[sound]
    wanted = kaldi(wave, rate, bands)
    found = LogMel(rate, bands)(torch.from_numpy(wave)[None])[0].numpy()
    assert found.shape == wanted.shape
    heard = wanted > wanted.max() - np.log(1e8)
    assert heard.mean() > 0.4
    assert np.abs(found - wanted)[heard].max() < 1e-3


def test_a_tone_is_heard_in_its_band():
    mel = LogMel(8000, 23)
    loudest = mel(torch.from_numpy(tone(1000, 0.5))[None])[0].mean(0).argmax()
    assert loudest == mel.mel[1000 * mel.size // 8000].argmax()


def test_a_long_recording_is_cut_into_pieces_and_nothing_is_different(monkeypatch):
    wave = torch.from_numpy(noise(1.1))[None]
    whole = LogMel(8000, 11)(wave)
    monkeypatch.setattr(logmel, "_AT_A_TIME", 13)
    assert_close(LogMel(8000, 11)(wave), whole, 1e-5)


def test_what_is_shorter_than_a_frame_is_filled_up_with_silence():
    mel = LogMel(8000, 11)
    wave = torch.from_numpy(noise(0.01))[None]
    found = mel(wave)
    assert found.shape == (1, 1, 11)
    filled = torch.nn.functional.pad(wave, (0, mel.window - wave.shape[1]))
    assert_close(found, mel(filled))
    assert mel.lengths(torch.tensor([1, 80, 200, 279, 280, 8000])).tolist() == [1, 1, 1, 1, 2, 98]


def test_silence_has_finite_frames():
    found = LogMel(16000)(torch.zeros(1, 3200))
    assert torch.isfinite(found).all()
    assert found.std() < 1e-5


def test_bands_of_a_higher_voice_lie_where_its_sounds_are():
    """A tone that is a tenth higher is heard by a warped bank as the tone itself by the plain one."""
    plain, warped = triangles(512, 16000, 40), triangles(512, 16000, 40, 1 / 1.1)
    waves = torch.from_numpy(np.stack((tone(1500, 0.2, 16000), tone(1650, 0.2, 16000))))
    mel = LogMel(16000, 40)
    of_each = mel(waves, torch.stack((plain, warped))).mean(1).argmax(-1).tolist()
    assert of_each[0] == of_each[1] < mel(waves).mean(1).argmax(-1).tolist()[1]


def test_it_runs_in_a_graph_of_another_length():
    samples = torch.export.Dim("samples", min=500)
    mel, example = LogMel(8000, 11), torch.zeros(1, 999)
    program = torch.export.export(mel, (example,), dynamic_shapes=({1: samples},), strict=False)
    wave = torch.from_numpy(noise(0.4))[None]
    assert_close(program.module()(wave), LogMel(8000, 11)(wave))
