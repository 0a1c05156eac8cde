"""Every metric by its name, and scores as people read them."""

from regard.training.metric import METRICS, shown, shown_interval
from regard.training.number_metric import NUMBER_METRICS
from regard.training.text_metric import TEXT_METRICS


def test_shares_are_shown_in_percent_and_others_as_they_are() -> None:
    assert [shown(name, 0.5) for name in ("accuracy", "exact", "macro_f1", "accuracy upos")] == ["50.00%"] * 4
    assert [shown(name, -0.5) for name in NUMBER_METRICS] == ["-0.5000"] * 3
    assert {name for name in TEXT_METRICS if shown(name, 0.5) != "50.00%"} == {"perplexity"}


def test_less_is_better_of_errors_only() -> None:
    assert {name for name, metric in METRICS.items() if metric.sign < 0} == {
        "rmse",
        "word_errors",
        "character_errors",
        "perplexity",
        "character_perplexity",
    }


def test_an_interval_is_shown_as_its_score_is() -> None:
    assert shown_interval("accuracy upos", (0.5, 1.0)) == "50.00% to 100.00%"
    assert shown_interval("pearson", (-0.5, 0.5)) == "-0.5000 to 0.5000"
