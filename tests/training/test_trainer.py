"""The training loop."""

import math
import os
import subprocess
import sys

import pytest
import small
import torch

import regard
from regard.build import build, learn_targets
from regard.data.drawing import Kept
from regard.errors import RegardError
from regard.inputs import learn_tokenizer
from regard.recipe import recipe_from
from regard.scoring import score
from regard.training import trainer as module
from regard.training.objective import training_loss
from regard.training.progress import Talk
from regard.training.trainer import Evaluation, Trainer


class Heard(Talk):
    def __init__(self):
        self.losses, self.scores, self.said = [], [], []

    def say(self, sentence):
        self.said.append(sentence)

    def stepped(self, at, loss, norm, rate, left):
        self.losses.append(loss)

    def evaluated(self, at, scores, better, sample):
        self.scores.append((at.update, scores, better))


def trainer_for(examples, talk=None, **changes):
    changes = {**changes, "model": {"dropout": 0.0, **changes.get("model", {})}}
    changes["input"] = {"dropout": 0.0, **changes.get("input", {})}
    settings = recipe_from({**small.recipe(**changes), "data": {"train": "x"}})
    predictor = build(settings, learn_tokenizer(settings, examples), learn_targets(settings, examples, (small.COLUMN,)))
    model = predictor.model

    def loss(batch):
        return training_loss(model, batch, settings.train.label_smoothing)

    return Trainer(
        model=model,
        items=Kept([predictor.item(example) for example in examples]),
        settings=settings.train,
        metric=settings.metric,
        loss=loss,
        evaluate=lambda: Evaluation(score(predictor, examples, settings).values),
        save=lambda trainer: None,
        keep=lambda trainer: None,
        place=lambda item: str(examples[item].place),
        talk=Heard() if talk is None else talk,
    )


def weights(trainer):
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def test_two_small_batches_accumulated_equal_one_large_batch():
    """A mean of the batches' means would let the words of short sentences weigh more (case B16)."""
    items = [e for e in small.examples(60) if len(e.words) in (4, 9)]
    examples = [next(e for e in items if len(e.words) == 4), next(e for e in items if len(e.words) == 9)]
    apart = trainer_for(examples, train={"accumulate": 2, "batch_tokens": 9})
    together = trainer_for(examples, train={"batch_tokens": 100})
    # In double precision: Adam's first step is the gradient's sign, which rounding decides where a gradient is 0.
    apart.model.double(), together.model.double()
    small_batches = [apart.items.batch([0], 0), apart.items.batch([1], 0)]
    loss_apart, _ = apart._update(small_batches)
    loss_together, _ = together._update([together.items.batch([0, 1], 0)])
    assert loss_apart == pytest.approx(loss_together, abs=1e-6)
    for name, tensor in weights(together).items():
        assert torch.allclose(tensor, weights(apart)[name], atol=1e-6), name


def test_an_update_without_a_label_to_learn_moves_nothing():
    """Not even by the optimiser's momentum or weight decay (case B18)."""
    trainer = trainer_for(small.examples(20))
    trainer._update([trainer.items.batch(range(10), 0)])
    before = weights(trainer)
    batch = trainer.items.batch(range(10), 0)
    for labels in batch.labels.values():
        labels.fill_(-100)
    assert trainer._update([batch]) == (0.0, 0.0)
    for name, tensor in weights(trainer).items():
        assert torch.equal(tensor, before[name]), name


def test_a_loss_that_is_no_number_stops_and_names_the_place():
    trainer = trainer_for(small.examples(20))
    trainer.loss = lambda batch: next(trainer.model.parameters()).sum() * math.nan
    with pytest.raises(RegardError, match=r"the loss became nan at update 1, on small:\d+"):
        trainer.run()


def test_epochs_become_updates_and_the_last_update_is_evaluated():
    heard = Heard()
    trainer = trainer_for(small.examples(40), heard, train={"epochs": 3, "evaluate_every": 4})
    trainer.run()
    epoch = len(trainer.plan_of(0))
    assert len(heard.losses) == 3 * epoch
    assert [update for update, _, _ in heard.scores][-1] == 3 * epoch
    assert all(update % 4 == 0 or update == 3 * epoch for update, _, _ in heard.scores)


def test_without_evaluate_every_there_are_at_least_ten_evaluations():
    heard = Heard()
    trainer = trainer_for(small.examples(60), heard, train={"epochs": 2, "evaluate_every": None, "batch_tokens": 32})
    trainer.run()
    assert len(heard.scores) >= 10


def test_patience_ends_training_early():
    heard = Heard()
    trainer = trainer_for(small.examples(40), heard, train={"epochs": 50, "evaluate_every": 1, "patience": 2})
    trainer.evaluate = lambda: Evaluation({"accuracy": 0.5})
    trainer.run()
    assert len(heard.losses) == 3  # one that is best, and two that are no better


def test_minutes_become_a_number_of_updates_after_thirty():
    heard = Heard()
    trainer = trainer_for(small.examples(40), heard, train={"epochs": None, "minutes": 0.03, "evaluate_every": 20})
    trainer.run()
    assert any("minutes are" in sentence and "updates" in sentence for sentence in heard.said)
    assert trainer.progress.total == len(heard.losses) > module.MEASURED_UPDATES
    # 1.8 seconds were asked for; the machine may be doing other things, and is slower or faster than while measured.
    assert 0.4 <= trainer.progress.seconds <= 9


def test_the_learning_rate_follows_the_schedule_and_ends_near_zero():
    trainer = trainer_for(small.examples(40), train={"epochs": 10, "lr": 0.01, "warmup_steps": 3})
    rates = []
    step = trainer.optimizer.step
    trainer.optimizer.step = lambda: (rates.append(trainer.optimizer.param_groups[0]["lr"]), step())[1]
    trainer.run()
    assert rates[0] == pytest.approx(0.01 / 3) and max(rates) == pytest.approx(0.01)
    assert rates[-1] < 1e-4 and rates[2:] == sorted(rates[2:], reverse=True)


def test_the_gradient_is_never_longer_than_the_clip():
    trainer = trainer_for(small.examples(20), train={"clip": 0.01})
    trainer._update([trainer.items.batch(range(20), 0)])
    squares = [parameter.grad.square().sum() for parameter in trainer.model.parameters() if parameter.grad is not None]
    assert math.sqrt(sum(squares)) <= 0.0101


def test_the_averaged_model_is_the_mean_of_the_last_evaluations():
    trainer = trainer_for(small.examples(40), train={"epochs": 4, "average": 2, "evaluate_every": 3})
    seen, kept = [], []
    add = trainer.average.add
    trainer.average.add = lambda model: (seen.append(weights(trainer)), add(model))
    trainer.evaluate = lambda: (kept.append(weights(trainer)), Evaluation({"accuracy": 0.5}))[1]
    trainer.run()
    for number in range(1, len(seen)):
        for name, tensor in kept[number].items():
            if tensor.is_floating_point():
                assert torch.allclose(tensor, (seen[number][name] + seen[number - 1][name]) / 2, atol=1e-7)
    assert all(torch.equal(a, b) for a, b in zip(weights(trainer).values(), seen[-1].values(), strict=True))


def test_the_task_is_learnt_and_the_pointwise_model_cannot_learn_it(tmp_path):
    data = small.parts(train=1200, dev=150, test=0)
    model = {"width": 32, "inner": 64, "depth": 2, "dropout": 0.0}
    settings = {"epochs": 8, "batch_tokens": 512, "evaluate_every": 40}
    looking = regard.train(small.recipe(model=model, train=settings), run=tmp_path / "a", data=data)
    alone = {key: value for key, value in model.items()} | {"encoder": "pointwise"}
    recipe = small.recipe(train=settings)
    recipe["model"] = alone
    pointwise = regard.train(recipe, run=tmp_path / "b", data=data)
    assert looking.evaluate(data["dev"]).values["accuracy"] > 0.97
    assert pointwise.evaluate(data["dev"]).values["accuracy"] < 0.87


def test_a_device_that_is_not_there_is_refused_by_name(tmp_path):
    absent = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(RegardError, match=rf"train\.device is {absent}, but this machine has .*cpu"):
        regard.train(small.recipe(train={"device": absent}), run=tmp_path / "run", data=small.parts())


def test_so_many_threads_compute_while_training_and_no_longer(tmp_path):
    before = torch.get_num_threads()
    seen = []

    class Counts(Talk):
        def stepped(self, at, loss, norm, rate, left):
            seen.append(torch.get_num_threads())

    regard.train(small.recipe(train={"threads": before + 1}), run=tmp_path / "run", data=small.parts(), talk=Counts())
    assert set(seen) == {before + 1} and torch.get_num_threads() == before


def test_keeping_memory_is_asked_for_only_by_its_setting_and_said_where_it_does_nothing(tmp_path, monkeypatch):
    asked, said = [], []

    class Hears(Talk):
        def say(self, text):
            said.append(text)

    monkeypatch.setattr("regard.experiment.keep_memory", lambda: bool(asked.append(True)))
    for keep in (False, True):
        train = {"keep_memory": keep, "epochs": 1.0}
        regard.train(small.recipe(train=train), run=tmp_path / str(keep), data=small.parts(), talk=Hears())
        assert len(asked) == keep
    assert sum("train.keep_memory does nothing here" in text for text in said) == 1


def test_memory_that_is_kept_need_not_be_made_again():
    """Where it can be done, a large tensor takes no new pages: in a process of its own, since it holds for good.

    Not from the first one on: small tensors cut pieces off the room that was left, until there are enough such rooms.
    """
    code = """
import resource, statistics, regard, torch

def faults(x):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    x + 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

x = torch.ones(2**22)
given_back = statistics.median(faults(x) for _ in range(5))
if regard.keep_memory():
    kept = statistics.median(faults(x) for _ in range(60))
    assert kept * 10 < given_back, (kept, given_back)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_without_glibc_memory_is_not_kept(monkeypatch):
    monkeypatch.setattr("regard.machine.platform.libc_ver", lambda: ("", ""))
    assert regard.keep_memory() is False
