"""Of runs that do not differ, how many are told to: `python bench/alarms.py`. 5 of 100 is right for p at most 0.05.

Two runs' answers are drawn in the same way, 2,000 times for each kind of scores; the share's own spread is 0.5 of 100.
"""

import numpy as np

from regard.comparison.both import one_score
from regard.comparison.paired import paired
from regard.training.metric import TextScores, collect_numbers, count_labels

TIMES, ITEMS, TRIALS = 2000, 53, 199


def labels(random):
    """Sentences of 1 to 23 words, some of them harder than others for both runs."""
    hard = random.uniform(0.05, 0.5, size=ITEMS)
    words = random.integers(1, 24, size=ITEMS)
    truth = [tuple(random.choice(list("XYZ"), size=size)) for size in words]
    pairs = []
    for _ in range(2):
        for share, true in zip(hard, truth, strict=True):
            wrong = random.random(len(true)) < share
            answered = tuple("W" if is_wrong else label for is_wrong, label in zip(wrong, true, strict=True))
            pairs.append(({"a": answered}, {"a": true}))
    return count_labels(pairs), ("accuracy",)


def numbers(random):
    truth = random.normal(size=ITEMS)
    answered = (truth + random.normal(size=ITEMS) * 0.7 for _ in range(2))
    pairs = [({"a": (str(a),)}, {"a": (str(t),)}) for run in answered for a, t in zip(run, truth, strict=True)]
    return collect_numbers(pairs), ("pearson", "spearman", "rmse")


def texts(random):
    right = [" ".join(random.choice(list("abcdefg"), size=size)) for size in random.integers(4, 24, size=ITEMS)]

    def spoilt(text):
        return " ".join(word if random.random() > 0.2 else "z" for word in text.split())

    return TextScores([spoilt(text) for text in right * 2], [(text,) for text in right * 2]), (
        "bleu",
        "character_errors",
    )


def measure_of(scores, names):
    measures = [one_score(scores, name) for name in names]
    return lambda weights: np.concatenate([measure(weights) for measure in measures])


def main():
    print(f"{TIMES} pairs of runs without a difference, {ITEMS} items, {TRIALS} trials: p at most 0.05, of 100")
    for make in (labels, numbers, texts):
        random = np.random.default_rng(1)
        alarms = []
        for number in range(TIMES):
            scores, names = make(random)
            found = paired(measure_of(scores, names), ITEMS, trials=TRIALS, seed=number).differences
            alarms.append([(of.p <= 0.05, of.p_resampled <= 0.05) for of in found])
        shares = 100 * np.mean(alarms, axis=0)
        for name, (swaps, resamples) in zip(names, shares, strict=True):
            print(f"{name:>17}  by swaps {swaps:.1f}, by resamples {resamples:.1f}", flush=True)


if __name__ == "__main__":
    main()
