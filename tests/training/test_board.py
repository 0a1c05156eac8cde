"""TensorBoard's files hold what training heard."""

import warnings

import pytest
import small

import regard
from regard.training import board
from regard.training.progress import Talk


class Losses(Talk):
    def __init__(self):
        self.losses, self.rates, self.scores = [], [], []

    def stepped(self, at, loss, norm, rate, left):
        self.losses.append(loss)
        self.rates.append(at.lr)

    def evaluated(self, at, scores, better, sample):
        self.scores.append((at.update, scores["accuracy"]))


def curves(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    found = EventAccumulator(str(folder))
    found.Reload()
    return {name: [(one.step, one.value) for one in found.Scalars(name)] for name in found.Tags()["scalars"]}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_shows_every_update_and_every_evaluation(tmp_path):
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install regard[tensorboard]")
    heard = Losses()
    regard.train(small.recipe(train={"tensorboard": True}), run=tmp_path, data=small.parts(), talk=heard)
    found = curves(tmp_path / "tensorboard")
    assert [step for step, _ in found["train/loss"]] == list(range(1, len(heard.losses) + 1))
    assert [value for _, value in found["train/loss"]] == pytest.approx(heard.losses)
    assert [value for _, value in found["train/lr"]] == pytest.approx(heard.rates)
    assert [step for step, _ in found["dev/accuracy"]] == [update for update, _ in heard.scores]
    assert [value for _, value in found["dev/accuracy"]] == pytest.approx([score for _, score in heard.scores])
    assert all(value > 0 for name in ("megabytes", "gradient") for _, value in found[f"train/{name}"])


def test_without_the_package_tensorboard_is_refused_with_what_installs_it(tmp_path, monkeypatch):
    monkeypatch.setattr(board, "find_spec", lambda name: None)
    with pytest.raises(regard.RegardError, match=r"needs the package tensorboard; pip install regard\[tensorboard\]"):
        regard.train(small.recipe(train={"tensorboard": True}), run=tmp_path / "run", data=small.parts())
