"""What came of a training: scores on dev and test with their intervals, and the floors beside them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regard.corpus import Corpus
from regard.predict import Predictor
from regard.recipe.settings import Recipe
from regard.scoring import Scored, Wrong, floors, score
from regard.training.metric import Scores, shown, shown_interval
from regard.training.report import signatures

# At most so many of the wrong items are kept for the report.
_SAMPLES = 12

Interval = tuple[float, float]


@dataclass(frozen=True)
class Results:
    """By part of the data (dev, test): the model's scores, how far they would move, and those of each floor."""

    metric: str
    scored: Mapping[str, Scored]
    intervals: Mapping[str, Mapping[str, Interval]]
    floors: Mapping[str, Mapping[str, Scores]]

    @classmethod
    def of(cls, best: Predictor, corpus: Corpus, recipe: Recipe) -> Results:
        """Score the best model, and every floor, on the same items."""
        parts = {part: examples for part, examples in (("dev", corpus.dev), ("test", corpus.test)) if examples}
        scored = {part: score(best, examples, recipe) for part, examples in parts.items()}
        return cls(
            recipe.metric,
            scored,
            {part: found.intervals() for part, found in scored.items()},
            {part: floors(best, corpus, examples, recipe) for part, examples in parts.items()},
        )

    @property
    def samples(self) -> Sequence[Wrong]:
        """A few items that are wrong in the last part."""
        return list(itertools.islice(list(self.scored.values())[-1].wrong(), _SAMPLES))

    def told(self, part: str) -> str:
        """accuracy 94.80% (94.53% to 95.06%), and so on."""
        apart = self.intervals[part]
        return "  ".join(
            f"{name} {shown(name, value)} ({shown_interval(name, apart[name])})"
            for name, value in self.scored[part].values.items()
        )

    def card(self) -> str:
        """A model card's part about scores."""
        lines = [f"- {part}: {self.told(part)}" for part in self.scored]
        return "\n".join(["## Scores, and the intervals that hold 95 % of resamples", "", *lines, "", ""])

    def sentences(self) -> Iterator[str]:
        """What is said of each part."""
        for part, found in self.scored.items():
            yield f"{part:>5}  {self.told(part)}"
            for name, how in signatures(found.scores).items():
                yield f"       {name}: {how}"
            if found.cut:
                yield f"       {found.cut} texts of {part} were cut at their longest length (decode.max_length)"
            for name, floor in self.floors[part].items():
                values = floor.values()
                if self.metric in values:
                    yield f"       {self.metric} {shown(self.metric, values[self.metric])}: {name}"
