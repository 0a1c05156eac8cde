"""Speech bit by bit gives what the whole recording gives."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from sharp import assert_close, assert_moved, stir
from sounds import RATE, noise, tone
from speech import predictor

from regard.models.streaming import Listening, against_streaming

# Not a multiple of anything: frames, vectors, chunks.
WAVE = np.concatenate([tone(300 + 170 * number, 0.31) + noise(0.31, seed=number) for number in range(13)])

SETTINGS = {
    "windows on both sides": {"model": {"window": [2, 3], "position": "rotary"}},
    "a window for each block": {"model": {"window": [[3, 0], [0, 2]], "position": "alibi"}},
    "looking back only": {"model": {"window": [5, 0], "position": "sinusoidal"}},
    "no positions, no shortening": {"model": {"window": 2, "position": "none"}, "input": {"shorten": 1}},
    "shortened by 2": {"model": {"window": 2, "position": "t5"}, "input": {"shorten": 2}},
    "shortened by 8": {"model": {"window": 1, "position": "shaw"}, "input": {"shorten": 8}},
    "a convolution": {"model": {"encoder": "convolution", "kernel": 5}},
    "each alone": {"model": {"encoder": "pointwise"}},
}


def offline(made, wave):
    inputs = {"samples": torch.from_numpy(wave)[None], "sample_counts": torch.tensor([len(wave)])}
    inputs["lengths"] = -(-made.input.mel.lengths(inputs["sample_counts"]) // made.input.shorten.factor)
    with torch.inference_mode():
        return made(inputs)["text"][0]


def streamed(made, pieces, chunk):
    listening = Listening(made, "text", chunk=chunk)
    with torch.inference_mode():
        found = [scores for piece in pieces for scores in listening.feed(piece)]
        return torch.cat([*found, *listening.end()])


def sharp_model(name):
    given = SETTINGS[name]
    made = predictor("ctc", **{**given, "input": {"level": "train", **given.get("input", {})}})
    return stir(made.model, seed=3).eval()


@pytest.mark.parametrize("name", SETTINGS)
def test_what_comes_bit_by_bit_gives_the_scores_of_the_whole(name):
    made = sharp_model(name)
    assert against_streaming(made) is None
    whole = offline(made, WAVE)
    assert_moved(whole[:-1], whole[1:])
    for chunk, size in ((7, 1009), (64, 40009), (3, len(WAVE))):
        pieces = [WAVE[at : at + size] for at in range(0, len(WAVE), size)]
        assert_close(streamed(made, pieces, chunk), whole, 1e-4, f"{chunk} vectors at a time")


@pytest.mark.parametrize("samples", [1, 199, 200, 201, 2917, 2918])
def test_recordings_of_any_length_give_as_many_scores(samples):
    made = sharp_model("windows on both sides")
    assert_close(streamed(made, [WAVE[:samples]], 7), offline(made, WAVE[:samples]), 1e-4)


def test_a_recording_without_samples_gives_nothing():
    assert list(Listening(sharp_model("each alone"), "text").end()) == []


@pytest.mark.parametrize("fault", ["before", "ahead"])
def test_an_overlap_that_is_too_small_is_noticed(fault):
    made = sharp_model("windows on both sides")
    listening = Listening(made, "text", chunk=7)
    setattr(listening, fault, getattr(listening, fault) - 3)
    with torch.inference_mode():
        found = torch.cat([*listening.feed(WAVE), *listening.end()])
    assert_moved(found, offline(made, WAVE), 1e-3)


def test_no_more_is_kept_than_what_still_matters():
    listening = Listening(sharp_model("windows on both sides"), "text", chunk=7)
    sizes = []
    for begin, end in pairwise(range(0, len(WAVE), 501)):
        with torch.inference_mode():
            list(listening.feed(WAVE[begin:end]))
        sizes.append(len(listening.samples))
    assert max(sizes) < 2 * (listening.before + listening.ahead + listening.chunk) * 0.04 * RATE
    assert max(sizes[len(sizes) // 2 :]) <= max(sizes[: len(sizes) // 2]) + 501


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"window": 2}}, "input.level = train measures them by those of train"),
        ({"input": {"level": "train"}}, "each vector looks at all others; give model.window"),
        ({"input": {"level": "train"}, "model": {"encoder": "recurrent"}}, "each vector looks at all others"),
        (
            {"input": {"level": "train"}, "model": {"window": 2, "position": "learned"}},
            "only so many learned positions",
        ),
    ],
)
def test_what_cannot_be_streamed_is_refused_with_the_reason(changes, words):
    assert words in (against_streaming(predictor("ctc", **changes).model) or "")
