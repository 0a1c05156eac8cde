"""Speech through the whole road: an answer depends on nothing but the recording, and what is said is learnt."""

import numpy as np
import pytest
import torch
from sharp import assert_close, assert_moved
from sounds import RATE, noise, tone
from speech import examples, pairs, predictor, recipe, say
from test_cli import regard

import regard as package
from regard.certificate import certify
from regard.data.drawing import drawn
from regard.data.example import Example, Place
from regard.data.signal.speech import Frames, Speech, SpeechDraws
from regard.errors import DataError, RegardError
from regard.inputs import draws_of
from regard.models import speech_input
from regard.models.speech_input import LEVELS, Shorten, equaliser
from regard.recipe import recipe_from

CASES = {
    "a class, by the item": ("classify", {"input": {"level": "item"}}),
    "a class, by each band": ("classify", {"input": {"level": "band"}, "model": {"pooling": "attention"}}),
    "a text spelled, by train": ("ctc", {"input": {"level": "train"}, "model": {"window": 3}}),
    "a text spelled, not shortened": ("ctc", {"input": {"shorten": 1}}),
    "a text written": (
        "seq2seq",
        {"input": {"shorten": 8}, "model": {"depth": 1}, "decode": {"beam": 2, "max_length": 5}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_running_gives_the_same_answers(case):
    task, changes = CASES[case]
    made = predictor(task, **changes)
    certificate = certify(made, examples(task=task))
    assert not certificate.failed, certificate.sentence


def test_the_law_finds_a_bias_that_is_read_beyond_an_item_s_end(monkeypatch):
    made = predictor("ctc")
    for convolution in made.model.input.shorten.convolutions:
        convolution.bias.data.fill_(0.3)
    monkeypatch.setattr(speech_input, "_real", lambda count, lengths: torch.ones(len(lengths), count, dtype=torch.bool))
    assert certify(made, examples()).failed


@pytest.mark.parametrize("level", LEVELS)
def test_mean_and_spread_are_of_real_frames_only(level):
    made = LEVELS[level]([0.3] * 7, [1.7] * 7)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 11, 7)).astype(np.float32))
    lengths = torch.tensor([11, 5, 1])
    real = torch.arange(11) < lengths[:, None]
    found = made(x, real)
    other = made(x.masked_fill(~real[..., None], 99.0), real)
    for item, length in enumerate(lengths.tolist()):
        assert_close(found[item, :length], made(x[item : item + 1, :length], real[item : item + 1, :length])[0], 1e-5)
        assert_close(other[item], found[item], 1e-5)
        assert not found[item, length:].any()
    if level != "train":
        assert abs(float(found[0].mean())) < 1e-5 and float(found[0].std(correction=0)) == pytest.approx(1, abs=1e-4)
    if level == "band":
        assert found[0].mean(0).abs().max() < 1e-5


@pytest.mark.parametrize("level", LEVELS)
def test_loudness_changes_nothing_where_items_are_measured_by_themselves(level):
    made = predictor("ctc", input={"level": level})
    one, other = (make_inputs(say("abca") * loud) for loud in (1.0, 0.1))
    vectors = [made.model.input(inputs) for inputs in (one, other)]
    if level == "train":
        assert_moved(vectors[0], vectors[1])
    else:
        assert_close(vectors[0], vectors[1], 5e-3)


def make_inputs(wave):
    counts = torch.tensor([len(wave)])
    return {"samples": torch.from_numpy(wave)[None], "sample_counts": counts, "lengths": counts}


@pytest.mark.parametrize("level", LEVELS)
def test_silence_has_a_finite_answer(level):
    made = predictor("classify", input={"level": level})
    silence = Example(("x",), place=Place("x", 1), whole=True, signal=np.zeros(3200, np.float32))
    (answer,) = made.predict([silence])
    assert np.isfinite(answer.probabilities["text"][0])


@pytest.mark.parametrize("shorten", [1, 2, 4, 8])
def test_as_many_vectors_are_made_as_are_counted(shorten):
    made = predictor("ctc", input={"shorten": shorten})
    cut = Frames.of(RATE, 13, 25.0, 10.0, shorten)
    for samples in (1, 200, 279, 280, 1000, 3001, 8000):
        inputs = make_inputs(noise(samples / RATE)[:samples])
        assert made.model.input(inputs).shape[1] == cut.vectors(samples)
    assert isinstance(made.model.input.shorten, Shorten)


# Samples that cannot be

BAD = {
    "a text": (None, "made:1: a text, where speech is read; give a recording"),
    "two dimensions": (np.zeros((5, 2), np.float32), "an array of 2 dimensions, but speech has"),
    "nothing": (np.zeros(0, np.float32), "made:1 holds no samples"),
    "whole numbers": (np.zeros(5, np.int16), "samples are int16; give floats between -1 and 1"),
    "not finite": (np.array([0, np.inf], np.float32), "sample 1 is not a finite number"),
}


@pytest.mark.parametrize("name", BAD)
def test_samples_that_cannot_be_are_named(name):
    signal, words = BAD[name]
    kind = Speech(Frames.of(RATE, 13, 25.0, 10.0, 4))
    with pytest.raises(DataError, match=words.replace("(", r"\(")):
        kind.of(Example(("x",), place=Place("made", 1), whole=True, signal=signal))


# What training draws


DRAWS = {"speed": 0.2, "pitch": 0.1, "noise": 1.0, "equalizer": 3.0, "hide": 0.3}


def items(**changes):
    made = predictor("ctc", input=changes)
    given = recipe_from(recipe(input=changes))
    return made, draws_of(given), [made.item(example) for example in examples()]


@pytest.mark.parametrize("name", DRAWS)
def test_each_change_changes_something_and_is_drawn_by_seed_epoch_and_item_alone(name):
    made, draws, given = items(**{name: DRAWS[name]})
    assert draws.any
    made.model.train()

    def seen(number, epoch, seed=1):
        item = drawn(draws, given, number, seed=seed, epoch=epoch)
        inputs = type(item.encoded).side_by_side([item.encoded])
        assert item.answers == item.length
        return made.model.input({**inputs, "lengths": torch.tensor([item.length])})

    one, again = seen(3, 0), seen(3, 0)
    assert torch.equal(one, again)
    others = [seen(3, 1), seen(3, 0, seed=2), seen(3, 2)]
    assert any(other.shape != one.shape or float((other - one).detach().abs().max()) > 1e-3 for other in others)


def test_nothing_is_drawn_where_nothing_is_asked():
    _, draws, _ = items()
    assert draws == SpeechDraws() and not draws.any


def test_what_is_drawn_in_a_batch_is_what_is_drawn_alone():
    made, draws, given = items(**DRAWS)
    seen = [drawn(draws, given, number, seed=1, epoch=0).encoded for number in range(len(given))]
    together = type(seen[0]).side_by_side(seen)
    frames = made.model.input.mel.lengths(together["sample_counts"])
    x = made.model.input(together)
    for number, one in enumerate(seen):
        alone = made.model.input(type(one).side_by_side([one]))
        assert -(-int(frames[number]) // 4) == one.length
        assert_close(x[number, : one.length], alone[0], 1e-4)


def test_an_equaliser_of_nothing_adds_nothing():
    assert not equaliser(torch.zeros(2, 3), 13).any()
    one = equaliser(torch.tensor([[10.0, 0.0, 0.0]]), 13)
    assert float(one[0, 0]) == pytest.approx(np.log(10)) and float(one[0, -1]) == pytest.approx(-np.log(10))


# What is learnt


def test_what_is_said_is_learnt(tmp_path):
    data = {"train": pairs(150, 1, "classify"), "dev": pairs(20, 2, "classify")}
    settings = recipe(
        "classify",
        input={"level": "band", "speed": 0.05, "noise": 0.3, "hide": 0.05},
        model={"width": 32, "depth": 1},
        train={"epochs": 5, "batch_tokens": 150, "lr": 8e-3, "evaluate_every": 10_000},
    )
    del settings["data"]
    run = package.train(settings, data=data, run=tmp_path / "run")
    assert run.evaluate(pairs(30, 3, "classify")).values["accuracy"] > 0.8


def test_a_tone_that_is_faster_is_higher():
    draws = SpeechDraws(speed=0.3)
    kind = Speech(Frames.of(RATE, 13, 25.0, 10.0, 4))
    encoded = kind.of(Example(("x",), place=Place("x", 1), whole=True, signal=tone(1000, 1.0)))
    for seed in range(3):
        found = draws(encoded, np.random.default_rng(seed))
        heard = int(np.abs(np.fft.rfft(found.samples())).argmax()) * RATE / found.count
        assert heard == pytest.approx(1000 * encoded.count / found.count, rel=0.01)


# The command line, on files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Recordings with lists of them, a recipe made by init, and a trained run."""
    soundfile = pytest.importorskip("soundfile")
    folder = tmp_path_factory.mktemp("speech")
    for part, count, seed in (("train", 200, 1), ("dev", 15, 2)):
        (folder / part).mkdir()
        rows = ["path\ttext\n"]
        for number, (sound, said) in enumerate(pairs(count, seed)):
            soundfile.write(str(folder / part / f"{number}.wav"), sound, RATE)
            rows.append(f"{part}/{number}.wav\t{said}\n")
        (folder / f"{part}.tsv").write_text("".join(rows))
    outcome = regard("init", "ctc", "--input", "speech", "--data", "train.tsv", "dev.tsv", folder=folder)
    assert outcome.status == 0, outcome.err
    settings = ["train.epochs=11", "train.batch_tokens=250", "train.lr=8e-3", "train.evaluate_every=10000"]
    small = ["model.width=32", "model.depth=1", "model.window=4", "input.bands=13", "input.channels=5"]
    quiet = [f"input.{name}=0" for name in ("speed", "pitch", "noise", "equalizer", "hide")]
    text = (folder / "recipe.toml").read_text()
    (folder / "recipe.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("minutes")))
    trained = regard("train", "recipe.toml", *settings, *small, *quiet, folder=folder)
    assert trained.status == 0, trained.err
    return folder, outcome.err, trained.err


def test_init_tells_what_it_heard_and_training_proves_the_stream(files):
    _, told, trained = files
    assert "train  200 recordings, " in told and "at 8,000 samples a second; texts are written in characters" in told
    assert "most frequent text of train" in trained
    assert "proof  all " in trained and "DIFFERS" not in trained


def test_predicting_streaming_and_timing_agree(files):
    folder, _, _ = files
    (folder / "ask.tsv").write_text("path\ndev/0.wav\nnone.wav\ndev/1.wav\n")
    stopped = regard("predict", "runs/recipe", "ask.tsv", folder=folder)
    assert stopped.status == 2 and "ask.tsv, line 3: there is no file" in stopped.err
    answers = regard("predict", "runs/recipe", "ask.tsv", "--on-error", "skip", folder=folder).out.split("\n")
    streamed = regard("predict", "runs/recipe", "ask.tsv", "--on-error", "skip", "--stream", folder=folder).out.split(
        "\n"
    )
    assert answers == streamed and answers[1] == "" and answers[0] and answers[2]
    times = regard("predict", "runs/recipe", "ask.tsv", "--on-error", "skip", "--timestamps", folder=folder).out
    rows = [line.split("\t") for line in times.splitlines()]
    assert [(row[0], row[3]) for row in rows] == [("1", answers[0]), ("3", answers[2])]
    for row in rows:
        assert 0 <= float(row[1]) < float(row[2]) < 1


def test_times_are_where_the_sounds_are(files):
    folder, _, _ = files
    run = package.load(folder / "runs" / "recipe")
    sound = say("abd", seed=3)
    (whole,) = run.timed(Example(("x",), whole=True, signal=sound), "abd")
    (last,) = run.timed(Example(("x",), whole=True, signal=np.concatenate((say("b", seed=4), sound))), "babd")
    # Each letter takes about an eighth of a second, and is said somewhere within.
    assert whole.begin < 0.2 and whole.end == pytest.approx(len(sound) / RATE, abs=0.2)
    assert last.end - whole.end == pytest.approx(len(say("b", seed=4)) / RATE, abs=0.1)


def test_a_text_is_written_by_a_decoder_and_spelled_too(tmp_path):
    data = {"train": pairs(40, 1, "seq2seq"), "dev": pairs(5, 2, "seq2seq")}
    settings = recipe("seq2seq", output={"ctc": 0.3}, train={"epochs": 1}, decode={"beam": 2, "max_length": 6})
    del settings["data"]
    run = package.train(settings, data=data, run=tmp_path / "run")
    moved = run.predictor.model.spelled.project.bias
    assert bool(moved.any())
    (one,) = run.timed(Example(("x",), whole=True, signal=say("ab")), "ab")
    assert one.word == "ab" and one.end > one.begin
    drawn = run.decoding({"decode.sample": True})
    asked = [Example(("x",), whole=True, signal=sound) for sound, _ in pairs(5, 4)]
    together = [answer.text for answer in drawn.predict(asked)]
    assert together == [drawn.predict([one])[0].text for one in asked] and len(set(together)) > 1
    without = package.train(settings, {"output.ctc": 0.0}, data=data, run=tmp_path / "other")
    with pytest.raises(RegardError, match=r"nothing spells the text: train with output.ctc"):
        without.timed(Example(("x",), whole=True, signal=say("ab")), "ab")
