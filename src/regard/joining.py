"""Several runs as one that averages what they hold probable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from regard.data.labels import Labels
from regard.data.target import Classes, Target, Texts
from regard.errors import RegardError
from regard.folder import Loaded
from regard.models.answering import best_at_masks, best_of_each
from regard.models.mean import MeanContinuer, MeanReader, MeanTranslator
from regard.models.model import DecoderModel, EncoderDecoderModel, EncoderModel, WritingModel
from regard.predict import Predictor
from regard.writing import writer

# What must be the same, for answers to mean the same.
_ALIKE = (
    *("task.kind", "data.separator", "input.kind", "input.split", "input.shared_words", "model.towers"),
    *("output.scheme", "output.horizon"),
)


def join(runs: Mapping[str, Loaded]) -> Predictor:
    """A predictor that answers with the mean of all; runs whose labels or pieces differ are refused by name.

    runs: by the name they are known by
    """
    (first_name, first), *others = runs.items()
    for name, other in others:
        _check(first_name, first, name, other)
    predictors = [loaded.predictor for loaded in runs.values()]
    targets = {column: _target([one.targets[column] for one in predictors]) for column in predictors[0].targets}
    return _joined(first, predictors, targets)


def _check(first_name: str, first: Loaded, name: str, other: Loaded) -> None:
    names = f"{first_name} and {name}"
    for setting in _ALIKE:
        section, _, key = setting.partition(".")
        values = [getattr(getattr(loaded.recipe, section), key) for loaded in (first, other)]
        if values[0] != values[1]:
            raise RegardError(
                f"{names} cannot answer together: {setting} is {values[0]} in one and {values[1]} in the other"
            )
    one, two = first.predictor, other.predictor
    if list(one.targets) != list(two.targets):
        columns = [", ".join(predictor.targets) for predictor in (one, two)]
        raise RegardError(f"{names} cannot answer together: one answers {columns[0]}, the other {columns[1]}")
    for column, target in one.targets.items():
        what = _apart(target, two.targets[column])
        if what is not None:
            raise RegardError(f"{names} cannot answer together: {what} of {column} differ; train both on the same data")
    if (one.tokenizer.kind, one.tokenizer.saved()) != (two.tokenizer.kind, two.tokenizer.saved()):
        raise RegardError(
            f"{names} cannot answer together: they read in other pieces ({_sizes(one)} and {_sizes(two)}); train both "
            "on the same data, or let one begin with the other (model.start)"
        )


def _apart(one: Target, other: Target) -> str | None:
    """What two targets differ in; None where answers mean the same."""
    if isinstance(one, Classes) and isinstance(other, Classes):
        return None if one.names == other.names else "the classes"
    if isinstance(one, Labels) and isinstance(other, Labels):
        return None if one.names == other.names else "the labels"
    if type(one) is not type(other) or one.saved() != other.saved():
        return "the pieces" if isinstance(one, Texts) else "the units"
    return None


def _sizes(predictor: Predictor) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in predictor.tokenizer.sizes().items())


def _target(of_each: Sequence[Target]) -> Target:
    """The target of all: of several classes the mean of the thresholds that were chosen."""
    first = of_each[0]
    if not isinstance(first, Classes):
        return first
    thresholds = [target.threshold for target in of_each if isinstance(target, Classes)]
    return Classes(first.names, first.separator, sum(thresholds) / len(thresholds))


def _joined(first: Loaded, predictors: Sequence[Predictor], targets: Mapping[str, Target]) -> Predictor:
    models = [predictor.model for predictor in predictors]
    if isinstance(models[0], EncoderModel):
        reader = MeanReader([model for model in models if isinstance(model, EncoderModel)]).eval()
        answering = best_of_each(reader) if predictors[0].masking is None else best_at_masks(reader)
        return replace(predictors[0], model=reader, targets=targets, answering=answering)
    together: WritingModel
    if isinstance(models[0], DecoderModel):
        together = MeanContinuer([model for model in models if isinstance(model, DecoderModel)]).eval()
    else:
        together = MeanTranslator([model for model in models if isinstance(model, EncoderDecoderModel)]).eval()
    ((column, texts),) = targets.items()
    assert isinstance(texts, Texts)
    return replace(
        predictors[0], model=together, targets=targets, answering=writer(first.recipe.decode, together, column, texts)
    )
