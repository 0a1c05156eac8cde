"""Probabilities that can be believed."""

import json
import math

import pytest
import small
import torch

import regard
from regard.data.batching import collate
from regard.data.target import target_from
from regard.errors import DataError
from regard.training.calibration import BINS, expected_error, fitted


def drawn(elements=4001, labels=5, trust=1.0, seed=3):
    """Scores, and labels that are drawn with the probabilities that the scores had before they were multiplied."""
    torch.manual_seed(seed)
    scores = 2 * torch.randn(elements, labels)
    return scores * trust, torch.multinomial(scores.softmax(1), 1)[:, 0]


@pytest.mark.parametrize("trust", [0.4, 1.0, 3.0])
def test_the_temperature_undoes_too_much_or_too_little_trust(trust):
    scores, labels = drawn(trust=trust)
    assert fitted(scores, labels) == pytest.approx(trust, rel=0.06)


@pytest.mark.parametrize("trust", [0.4, 3.0])
def test_no_temperature_near_it_makes_the_true_labels_more_probable(trust):
    scores, labels = drawn(elements=211, trust=trust)
    best = fitted(scores, labels)

    def likely(temperature):
        return float((scores.double() / temperature).log_softmax(1).gather(1, labels[:, None]).sum())

    assert all(likely(best) >= likely(best * factor) for factor in (0.9, 0.999, 1.001, 1.1))


def test_the_error_is_the_gap_between_trust_and_success_in_each_bin():
    scores, labels = drawn(elements=307, trust=2.0)
    shares, best = scores.double().softmax(1).max(1)
    total = 0.0
    for number in range(BINS):
        low, high = number / BINS, (number + 1) / BINS
        mine = [n for n, share in enumerate(shares.tolist()) if low < share <= high]
        if mine:
            trust = sum(float(shares[n]) for n in mine) / len(mine)
            right = sum(float(best[n] == labels[n]) for n in mine) / len(mine)
            total += len(mine) / len(labels) * abs(trust - right)
    assert expected_error(scores, labels) == pytest.approx(total)
    assert expected_error(scores, labels, 2.0) < expected_error(scores, labels)
    assert expected_error(scores[:0], labels[:0]) == 0.0


def test_a_sure_model_that_is_always_right_has_no_error_and_the_lowest_temperature():
    labels = torch.tensor([0, 1, 2])
    scores = 50 * torch.eye(3)
    assert expected_error(scores, labels) == pytest.approx(0, abs=1e-9)
    assert math.isfinite(fitted(scores, labels)) and fitted(scores, labels) < 0.3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Many passes over few sentences with wrong labels among them: a model that trusts itself too much."""
    folder = tmp_path_factory.mktemp("calibrated")
    parts = small.parts(train=40, dev=60, test=40)
    recipe = small.recipe(model={"dropout": 0.0}, input={"dropout": 0.0}, train={"epochs": 30, "lr": 2e-2})
    recipe["train"]["evaluate_every"] = 1000
    parts["train"] = [
        (words, [*tags[1:], tags[0]] if n % 4 == 0 else tags) for n, (words, tags) in enumerate(parts["train"])
    ]
    return regard.train(recipe, run=folder / "run", data=parts), parts


def test_a_training_ends_with_a_temperature_that_is_kept_and_told(run):
    trained, _ = run
    saved = json.loads((trained.folder / "best" / "labels.json").read_text())["label"]
    assert saved["temperature"] > 1.2
    told = (trained.folder / "best" / "card.md").read_text()
    assert f"temperature {saved['temperature']:.2f} (fitted on dev)" in told and "on test" in told
    assert "expected calibration error" in (trained.folder / "report.html").read_text()


def test_answers_stay_and_probabilities_are_those_of_scores_divided_by_the_temperature(run):
    trained, parts = run
    loaded = regard.load(trained.folder)
    head = loaded.predictor.model.output.head("label")
    words = parts["test"][0][0]
    (answer,) = loaded.predict([words])
    (again,) = trained.predict([words])
    assert answer.probabilities == again.probabilities
    inputs = collate([loaded.predictor.item(loaded.example(words))], [0]).inputs
    with torch.inference_mode():
        scores = loaded.predictor.model(inputs)["label"][0]
    wanted = (scores / head.temperature).softmax(-1).amax(-1)
    assert answer.probabilities["label"] == pytest.approx(wanted.tolist(), abs=1e-5)
    assert head.temperature != 1
    head.temperature = 1.0
    (plain,) = loaded.predict([words])
    assert plain.labels == answer.labels and plain.probabilities != answer.probabilities


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, None, "1"])
def test_a_temperature_that_is_none_is_refused(temperature):
    with pytest.raises(DataError, match=r"labels.json, upos, is damaged: the temperature is"):
        target_from({"labels": ["a"], "temperature": temperature}, "labels.json, upos,")
    assert target_from({"labels": ["a"], "temperature": 2.5}, "x").temperature == 2.5
