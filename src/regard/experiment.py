"""`train`: from a recipe to a run folder, or from an unfinished run to its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.build import build, learn, learn_answers, load_pretrained
from regard.calibrating import calibrate
from regard.certificate import Certificate, certify, save_certificate
from regard.corpus import Corpus, Pairs, given_corpus, read_corpus, settled
from regard.data.batching import Batch, Item, Items
from regard.data.drawing import Kept
from regard.data.example import Example
from regard.data.labels import Labels
from regard.data.plain import PlainText
from regard.data.signal.kinds import input_to_json
from regard.data.target import Classes, Numbers, Pieces, Target, Texts
from regard.errors import FolderError, RegardError
from regard.folder import (
    CARD,
    RESOLVED,
    WEIGHTS,
    append_line,
    load_model,
    load_tensors,
    load_weights,
    model_folder,
    recover,
    replacing,
    save_labels,
    save_model,
    save_tensors,
    write_file,
)
from regard.inputs import draws_of
from regard.machine import environment, keep_memory, threads
from regard.models.model import EncoderDecoderModel
from regard.plain_text import Drawn
from regard.predict import Predictor
from regard.recipe.read import read_recipe, recipe_from
from regard.recipe.settings import TEXT_TASKS, Recipe
from regard.recipe.write import differences, resolved, values
from regard.results import Results
from regard.run import Run
from regard.scoring import score, score_answers
from regard.start import Start
from regard.training.board import Board
from regard.training.checkpoint import restore, state
from regard.training.distributed import World, joined
from regard.training.metric import METRICS as MEASURES
from regard.training.metric import shown
from regard.training.objective import joint_loss, summed_weights, training_loss, weigh_labels
from regard.training.progress import Several, Stand, Talk
from regard.training.report import Report, history
from regard.training.threshold import choose_thresholds
from regard.training.trainer import Evaluation, Trainer

RUNS = Path("runs")

# Under this name it stands in the report.
_BEGUN = "began with"

METRICS, REPORT, ENVIRONMENT, BOARD = "metrics.jsonl", "report.html", "env.json", "tensorboard"


def train(
    recipe: str | Path | Mapping[str, Any] | Recipe,
    overrides: Mapping[str, Any] | None = None,
    *,
    run: str | Path | None = None,
    data: Mapping[str, Pairs] | None = None,
    talk: Talk | None = None,
    updates: int | None = None,
) -> Run:
    """Train what a recipe describes, or continue a run of the same recipe exactly where it was left.

    recipe:    a file, nested dictionaries, or settings
    overrides: settings by dotted key, as in {"model.depth": 2}
    run:       the run's folder; runs/<the recipe's name> where it is not given
    data:      your own sequences instead of the recipe's files: {"train": [(words, labels), …], "dev": …}
    updates:   how many updates a new run has, instead of the recipe's epochs or minutes
    """
    code = Path(recipe).parent if isinstance(recipe, str | Path) else Path()
    folder = RUNS / (Path(recipe).stem if isinstance(recipe, str | Path) else "run") if run is None else Path(run)
    with joined() as world:
        with world.together():
            settings = _settings(recipe, overrides, data)
        talk = Talk() if talk is None or not world.first else talk
        if settings.train.keep_memory and not keep_memory():
            talk.say("train.keep_memory does nothing here: it needs glibc, the C library of most Linux systems")
        with threads(settings.train.threads):
            text = Path(recipe).read_text("utf-8-sig") if isinstance(recipe, str | Path) else resolved(settings)
            return _Training(settings, text, folder, code, talk, updates, world=world).run(data)


@dataclass(frozen=True)
class Rehearsal:
    """What a training consists of, before it begins."""

    recipe: Recipe
    predictor: Predictor
    trainer: Trainer
    example_of: Callable[[int], Example]


def rehearse(recipe: str | Path, overrides: Mapping[str, Any] | None = None, *, talk: Talk | None = None) -> Rehearsal:
    """All that `train` would begin with, without a folder."""
    settings, code = _settings(recipe, overrides, None), Path(recipe).parent
    return _Training(settings, "", RUNS / Path(recipe).stem, code, Talk() if talk is None else talk).rehearse()


def _settings(
    recipe: str | Path | Mapping[str, Any] | Recipe,
    overrides: Mapping[str, Any] | None,
    data: Mapping[str, Pairs] | None,
) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe_from(values(recipe), overrides) if overrides else recipe
    if isinstance(recipe, str | Path):
        return read_recipe(recipe, overrides)
    given = dict(recipe)
    if data is not None:
        given.setdefault("data", {"train": "data given to regard.train"})
    return recipe_from(given, overrides)


@dataclass
class _Training:
    """One call of `train`: prepares, runs the trainer, and keeps what it gives in the folder."""

    recipe: Recipe
    text: str  # the recipe as it was given
    folder: Path
    code: Path
    talk: Talk
    updates: int | None = None
    example_of: Callable[[int], Example] = field(init=False)
    corpus: Corpus = field(init=False)
    predictor: Predictor = field(init=False)
    history: list[dict[str, Any]] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    start: Start | None = None
    world: World = field(default_factory=World)

    def run(self, given: Mapping[str, Pairs] | None) -> Run:
        with self.world.together():
            self._settle(given)
            unfinished = self._found() if self.world.first else False
        unfinished = self.world.from_first(unfinished)
        with self.world.together():
            trainer = self._prepared(given, unfinished)
        self.world.check_same(
            "data", json.dumps([*self.corpus.digests.values(), input_to_json(self.predictor.tokenizer)])
        )
        self.world.begin(self.predictor.model)
        if trainer.progress.finished:
            self.talk.say(f"{self.folder} has finished training; its best model is in {self.folder / 'best'}")
        else:
            self._train(trainer)
        return Run(self.folder, self.recipe, self._best())

    def _found(self) -> bool:
        """Whether there is a run to go on with, after what broke off in the middle of a save."""
        recover(self.folder / "last")
        recover(self.folder / "best")
        return self._check_folder()

    def _prepared(self, given: Mapping[str, Pairs] | None, unfinished: bool) -> Trainer:
        """Data, model and trainer, new or as they were left."""
        say = self.talk.say
        self.corpus = read_corpus(self.recipe, say) if given is None else given_corpus(self.recipe, given, say)
        self._describe_corpus()
        if unfinished:
            self._check_data()
        self.predictor = self._resumed() if unfinished else self._new()
        trainer = self._trainer()
        if unfinished:
            self._restore(trainer)
        return trainer

    def rehearse(self) -> Rehearsal:
        """Everything that a training needs, before the first update; nothing is written."""
        self._settle(None)
        self.corpus = read_corpus(self.recipe, self.talk.say)
        self._describe_corpus()
        self.predictor, _ = self._begun()
        trainer = self._trainer()
        return Rehearsal(self.recipe, self.predictor, trainer, self.example_of)

    def _settle(self, given: Mapping[str, Pairs] | None) -> None:
        """The recipe with what another run and its files say."""
        self.start = Start.of(self.recipe)
        if self.start is not None:
            self.recipe = self.start.inherited(self.recipe)
        self.recipe = settled(self.recipe) if given is None else self.recipe

    def _best(self) -> Predictor:
        """The best model of the run. Code is run from where the recipe lies, never from the folder."""
        return load_model(model_folder(self.folder), own=self.code).predictor

    # The folder

    def _check_folder(self) -> bool:
        """Whether there is a run to go on with; another recipe's run is refused."""
        if not self.folder.exists() or not any(self.folder.iterdir()):
            return False
        path = self.folder / RESOLVED
        if not path.exists():
            raise FolderError(f"{self.folder} holds something else than a run; name another folder with --run")
        changed = differences(read_recipe(path), self.recipe)
        if changed:
            raise FolderError(
                f"{self.folder} was made with another recipe: {'; '.join(changed)}. Go back to it, or name another "
                "folder with --run"
            )
        return (self.folder / "last" / "state" / "progress.json").exists()

    def _check_data(self) -> None:
        before = json.loads((self.folder / "last" / "state" / "data.json").read_text(encoding="utf-8"))
        for path, known in before.items():
            if path in self.corpus.digests and self.corpus.digests[path] != known:
                raise FolderError(
                    f"{path} has changed since {self.folder} was begun; put it back, or begin another run with --run"
                )
        if list(before.values()) != list(self.corpus.digests.values()):
            raise FolderError(f"the data of {self.folder} were other files: {', '.join(before)}")

    def _describe_corpus(self) -> None:
        corpus = self.corpus
        for part, examples in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
            if isinstance(examples, PlainText):
                self.talk.say(f"{part:>5}  {len(examples):,} lines, {examples.bytes / 1e6:,.1f} MB")
            elif examples and self.recipe.task.kind in TEXT_TASKS:
                self.talk.say(f"{part:>5}  {len(examples):,} lines")
            elif examples:
                words = sum(len(example.words) for example in examples)
                counted = "" if examples[0].signal is not None else f", {words:,} words"
                self.talk.say(f"{part:>5}  {len(examples):,} items{counted}")

    # The parts

    def _new(self) -> Predictor:
        predictor, begun = self._begun()
        if self.recipe.input.pretrained is not None:
            found, of = load_pretrained(predictor, self.recipe.input.pretrained, self.recipe.data.encoding_errors)
            self.talk.say(f"{found:,} of {of:,} words start from {self.recipe.input.pretrained}")
        if not self.world.first:
            return predictor
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self.folder / "recipe.toml", self.text)
        write_file(self.folder / ENVIRONMENT, json.dumps({**environment(), **begun}, indent=1))
        write_file(self.folder / METRICS, "")
        write_file(self.folder / RESOLVED, resolved(self.recipe))
        return predictor

    def _begun(self) -> tuple[Predictor, dict[str, str]]:
        """A new model, and what is to be told of what it began with."""
        if self.start is None:
            return build(self.recipe, *learn(self.recipe, self.corpus.train, self.corpus.columns), code=self.code), {}
        kept = self.start.targets(self.recipe)
        tokenizer, targets = self.start.tokenizer, kept
        if targets is None:
            targets = learn_answers(self.recipe, self.corpus.train, self.corpus.columns, tokenizer)
        predictor = build(self.recipe, tokenizer, targets, code=self.code)
        told = self.start.put_into(predictor, self.recipe).told()
        self.talk.say(f"start  {told}")
        return predictor, {_BEGUN: told}

    def _resumed(self) -> Predictor:
        return load_model(self.folder / "last", own=self.code).predictor

    def _trainer(self) -> Trainer:
        predictor, device = self.predictor, self.world.device(self.recipe.train.device)
        self.world.check_model(predictor.model)
        predictor.model.to(device)
        items, self.example_of = self._items()
        self._describe_model(device, items.sizes)
        output = predictor.model.output
        trainer = Trainer(
            model=predictor.model,
            items=items,
            settings=self.recipe.train,
            metric=self.recipe.metric,
            loss=self._loss,
            evaluate=self._evaluate,
            save=self._save,
            keep=self._keep,
            place=lambda item: str(self.example_of(item).place),
            talk=Several(self.talk, *self._listeners()),
            weight=lambda batches: summed_weights(output, batches),
            world=self.world,
        )
        if self.updates is not None:
            trainer.progress.total = self.updates
        return trainer

    def _items(self) -> tuple[Items, Callable[[int], Example]]:
        """What is learnt from, and which example each is."""
        predictor, train = self.predictor, self.corpus.train
        if self.recipe.task.kind in TEXT_TASKS:
            return Drawn(predictor, train, self.recipe.train.seed), train.__getitem__
        items = [predictor.item(example) for example in train]
        # Nothing is learnt of an item without words, nor of one whose text is not known or cannot be said.
        keep = [n for n, item in enumerate(items) if predictor.teaches(item)]
        self._name_too_long(items)
        weights = self.recipe.train.class_weights
        if weights != "none":
            weigh_labels(predictor.model.output, predictor.targets, [train[number] for number in keep], weights)
        kept = Kept([items[number] for number in keep], draws_of(self.recipe), self.recipe.train.seed)
        return kept, lambda item: train[keep[item]]

    def _describe_model(self, device: torch.device, lengths: Sequence[int] | np.ndarray) -> None:
        size = sum(parameter.numel() for parameter in self.predictor.model.parameters())
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.predictor.tokenizer.sizes().items())
        learnt = ", ".join(f"{_described(target)} of {column}" for column, target in self.predictor.targets.items())
        threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
        threads += f", {self.world.size} processes" if self.world.size > 1 else ""
        self.talk.say(f"model  {size:,} parameters; {kinds}; {learnt}; on {device}{threads}")
        budget = self.recipe.train.batch_tokens
        long = np.flatnonzero(np.asarray(lengths) > budget).tolist()
        if long:
            where = self.corpus.train[long[0]].place
            self.talk.say(
                f"{len(long)} items are longer than train.batch_tokens = {budget} and run alone, as that at {where} "
                f"with {lengths[long[0]]}"
            )

    def _name_too_long(self, items: Sequence[Item]) -> None:
        """Where elements spell a text, items whose text needs more of them than there are: they are not learnt."""
        if not self.predictor.spells:
            return
        known = [n for n, item in enumerate(items) if item.length and any(item.labels.values())]
        long = [n for n in known if self.predictor.needed(items[n]) > items[n].length]
        if long and len(long) == len(known):
            raise RegardError(
                f"none of {len(known):,} texts can be learnt: each needs more elements than are read, as that at "
                f"{self._too_long(items, long[0])}. task.kind = seq2seq has no such limit"
            )
        if long:
            self.talk.say(
                f"left out: {len(long):,} of {len(known):,} items of train, whose text needs more elements than are "
                f"read, as that at {self._too_long(items, long[0])}"
            )

    def _too_long(self, items: Sequence[Item], number: int) -> str:
        needed, there = self.predictor.needed(items[number]), items[number].length
        return f"{self.corpus.train[number].place}, which needs {needed} and has {there}"

    def _restore(self, trainer: Trainer) -> None:
        folder = self.folder / "last"
        progress = json.loads((folder / "state" / "progress.json").read_text(encoding="utf-8"))
        restore(trainer, load_tensors(folder / "state" / "optimizer.safetensors"), progress)
        load_weights(self.predictor.model, folder / WEIGHTS)
        if not self.world.first:
            return
        lines = (self.folder / METRICS).read_text(encoding="utf-8").splitlines()
        kept = [row for row in map(json.loads, lines) if row["update"] <= trainer.progress.update]
        write_file(self.folder / METRICS, "".join(json.dumps(row) + "\n" for row in kept))
        self.history = history(map(json.dumps, kept))
        if not trainer.progress.finished:
            self.talk.say(f"going on with {self.folder} after update {trainer.progress.update}")

    # What the trainer asks for

    def _train(self, trainer: Trainer) -> None:
        try:
            trainer.run()
        except KeyboardInterrupt:
            trainer.talk.close()
            raise self.world.fault(
                f"stopped after update {trainer.progress.update}; the same command goes on from there"
            ) from None
        finally:
            trainer.talk.close()
        if self.world.first:
            self._finish(trainer)
        self.world.from_first("finished")

    def _listeners(self) -> list[Talk]:
        """Who writes down what is heard: the first process."""
        if not self.world.first:
            return []
        return [_Listener(self), *([Board(self.folder / BOARD)] if self.recipe.train.tensorboard else [])]

    def _loss(self, batch: Batch) -> torch.Tensor:
        model, share = self.predictor.model, self.recipe.output.ctc
        if share and isinstance(model, EncoderDecoderModel):
            return joint_loss(model, batch, share, self.recipe.train.label_smoothing)
        return training_loss(model, batch, self.recipe.train.label_smoothing)

    def _evaluate(self) -> Evaluation:
        if self.recipe.task.kind in TEXT_TASKS:
            return Evaluation(score(self.predictor, self.corpus.dev, self.recipe).values)
        answers = list(self.predictor.quick(self.corpus.dev).predict(self.corpus.dev))
        if self.recipe.data.separator is not None:
            answers = choose_thresholds(self.predictor.targets, answers, self.recipe.metric)
        found = score_answers(self.predictor, answers, self.recipe)
        new = [label for label in found.unseen if label not in self.named]
        if new:
            self.named.update(new)
            self.talk.say(f"labels in dev that training never saw, counted as missed: {', '.join(new)}")
        wrong = next(found.wrong(), None)
        if wrong is None:
            return Evaluation(found.values)
        return Evaluation(found.values, _whole_sample(*wrong) if self.predictor.whole else _sample(*wrong))

    def _keep(self, trainer: Trainer) -> None:
        with replacing(self.folder / "best") as folder:
            save_model(folder, self.predictor, self.recipe, code=self.code, card=self._card(trainer))

    def _save(self, trainer: Trainer) -> None:
        tensors, progress = state(trainer)
        with replacing(self.folder / "last") as folder:
            save_model(folder, self.predictor, self.recipe, code=self.code, card=self._card(trainer))
            (folder / "state").mkdir()
            save_tensors(folder / "state" / "optimizer.safetensors", tensors)
            (folder / "state" / "data.json").write_text(json.dumps(dict(self.corpus.digests)), encoding="utf-8")
            (folder / "state" / "progress.json").write_text(json.dumps(progress), encoding="utf-8")

    def _card(self, trainer: Trainer, scores: str = "") -> str:
        """scores: what is told of them when training has ended"""
        data = "\n".join(f"- {path}: sha256 {known}" for path, known in self.corpus.digests.items())
        best, metric = trainer.progress.best, self.recipe.metric
        score = "not yet measured" if best is None else shown(metric, best * MEASURES[metric].sign)
        return (
            f"# {self.folder.name}\n\nA model trained with regard: {self.recipe.task.kind}, columns "
            f"{', '.join(self.corpus.columns)}.\n\n## Data\n\n{data}\n\n## Score on dev\n\n"
            f"{metric}: {score}, at update {trainer.progress.best_update}\n\n{scores}"
            "## Licence and intended use\n\n(for the author to fill in)\n"
        )

    # The end

    def _finish(self, trainer: Trainer) -> None:
        best = self._best()
        calibrated = calibrate(best, {part: of for part, of in self.parts.items() if of})
        save_labels(model_folder(self.folder), best)
        results = Results.of(best, self.corpus, self.recipe)
        certificate = self._certificate(best)
        report = Report(
            name=self.folder.name,
            history=self.history,
            scores={part: found.scores for part, found in results.scored.items()},
            intervals=results.intervals,
            floors=results.floors,
            samples=results.samples,
            metric=self.recipe.metric,
            facts={
                **environment(),
                **self._beginning(),
                **{f"probabilities of {column}": one.told() for column, one in calibrated.items()},
                "minutes": f"{trainer.progress.seconds / 60:.1f}",
                "updates": trainer.progress.update,
                "best at update": trainer.progress.best_update,
                "parameters": f"{sum(parameter.numel() for parameter in best.model.parameters()):,}",
                **{f"sha256 of {path}": known for path, known in self.corpus.digests.items()},
            },
            recipe=resolved(self.recipe),
            certificate=None if certificate is None else certificate.told(),
        )
        write_file(self.folder / REPORT, report.html())
        probabilities = "".join(f"Probabilities of {c}: {one.told()}\n\n" for c, one in calibrated.items())
        write_file(model_folder(self.folder) / CARD, self._card(trainer, results.card() + probabilities))
        minutes = trainer.progress.seconds / 60
        self.talk.say(f"done after {trainer.progress.update} updates and {minutes:.1f} minutes")
        for sentence in results.sentences():
            self.talk.say(sentence)
        for column, calibration in calibrated.items():
            self.talk.say(f"       probabilities of {column}: {calibration.told()}")
        if certificate is not None:
            self.talk.say(f"proof  {certificate.sentence}")
        self.talk.say(f"saved  {self.folder / 'best'}, and a report in {self.folder / REPORT}")

    @property
    def parts(self) -> Mapping[str, Sequence[Example]]:
        """What is scored."""
        return {"dev": self.corpus.dev, "test": self.corpus.test}

    def _beginning(self) -> dict[str, str]:
        """What the run began with, where that was another run."""
        known = json.loads((self.folder / ENVIRONMENT).read_text(encoding="utf-8"))
        return {_BEGUN: known[_BEGUN]} if _BEGUN in known else {}

    def _certificate(self, best: Predictor) -> Certificate | None:
        """That every way of running the best model gives the same answers, shown on dev and kept beside it."""
        if self.recipe.task.kind in TEXT_TASKS:
            return None
        if not (self.recipe.train.certify and any(example.words for example in self.corpus.dev)):
            return None
        folder = model_folder(self.folder)
        certificate = certify(best, self.corpus.dev, folder=folder, code=self.code, source=self.corpus.digests)
        save_certificate(folder, certificate)
        return certificate


@dataclass
class _Listener(Talk):
    """Writes metrics.jsonl, a line for each evaluation."""

    training: _Training
    losses: list[float] = field(default_factory=list)

    def stepped(self, at: Stand, loss: float, norm: float, rate: float, left: float | None) -> None:
        self.losses.append(loss)

    def evaluated(
        self, at: Stand, scores: Mapping[str, float], better: bool, sample: Sequence[tuple[str, str]]
    ) -> None:
        loss = sum(self.losses) / len(self.losses) if self.losses else None
        self.losses.clear()
        row = {
            "update": at.update,
            "epoch": at.epoch,
            "seconds": round(at.seconds, 1),
            "loss": loss,
            "scores": dict(scores),
            "best": better,
        }
        self.training.history.append(row)
        append_line(self.training.folder / METRICS, json.dumps(row))


def _sample(
    words: Sequence[str], golds: Sequence[str | None], answers: Sequence[str]
) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str]]:
    """A wrong answer, its columns one below the other."""
    widths = [max(map(len, map(str, cells))) for cells in zip(words, golds, answers, strict=True)]

    def line(cells: Iterable[object]) -> str:
        return " ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True))

    marked = (answer if answer == gold else answer.lower() for answer, gold in zip(answers, golds, strict=True))
    return ("sample", line(words)), ("wanted", line(golds)), ("got", line(marked))


def _whole_sample(
    words: Sequence[str], golds: Sequence[str | None], answers: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """A wrong answer to a whole text."""
    return ("sample", " ".join(words)), ("wanted", str(golds[0])), ("got", "".join(answers))


def _described(target: Target) -> str:
    """8 labels, or numbers around 0.3 ± 1.2."""
    if isinstance(target, Numbers):
        return f"numbers around {target.mean:.4g} ± {target.deviation:.4g}"
    if isinstance(target, Texts):
        return f"texts of {target.end:,} {target.tokenizer.kind}"
    if isinstance(target, Pieces):
        return f"what stands behind masks, of {next(iter(target.tokenizer.sizes().values())):,} {target.tokenizer.kind}"
    if isinstance(target, Classes):
        return f"{len(target.names)} classes"
    return f"{len(target.names)} labels" if isinstance(target, Labels) else "answers"
