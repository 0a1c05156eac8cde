"""Which study is asked for, and what is said of options that it does not use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.comparison import FAR_SEEDS, SEEDS, ablated, long_range_told, studied
from regard.comparison.ablation import ablation
from regard.comparison.grid import ALL
from regard.comparison.long_range import DISTANCES, ENCODERS, long_range
from regard.comparison.study import STUDIES, study
from regard.errors import RegardError
from regard.recipe import parse_overrides
from regard.training.progress import Talk


@dataclass(frozen=True)
class Asked:
    """The options of `regard study`; None or nothing where one is not given."""

    recipe: Path | None = None
    overrides: Sequence[str] = ()
    encoders: Sequence[str] = ()
    sizes: Sequence[str] = ()
    without: Sequence[str] = ()
    depths: Sequence[str] = ()
    long_range: bool = False
    distances: Sequence[str] = ()
    match: str | None = None
    seeds: int | None = None
    minutes: float | None = None
    folder: Path | None = None


@dataclass(frozen=True)
class Told:
    """What was found: for a terminal, as JSON takes it, as a page."""

    text: str
    data: dict[str, Any]
    page: str


def answer(asked: Asked, talk: Talk) -> Told:
    """Do the study that is asked for; options that it would not use are refused."""
    if asked.long_range:
        return _long_range(asked, talk)
    if asked.recipe is None:
        raise RegardError("a study needs a recipe, as in regard study recipe.toml; only --long-range needs none")
    return _ablation(asked, talk) if asked.without else _study(asked, talk)


def _study(asked: Asked, talk: Talk) -> Told:
    _refuse("a study of encoders", {"--depths": asked.depths, "--distances": asked.distances})
    assert asked.recipe is not None
    found = study(
        asked.recipe,
        asked.encoders or ["attention"],
        asked.sizes or [ALL],
        SEEDS if asked.seeds is None else asked.seeds,
        match=asked.match,
        overrides=parse_overrides(asked.overrides),
        minutes=asked.minutes,
        folder=asked.folder,
        talk=talk,
    )
    return _told(studied, found)


def _ablation(asked: Asked, talk: Talk) -> Told:
    _refuse(
        "a study with --without",
        {
            **{"--encoder": asked.encoders, "--sizes": asked.sizes, "--match": asked.match},
            "--distances": asked.distances,
        },
    )
    assert asked.recipe is not None
    found = ablation(
        asked.recipe,
        asked.without,
        _numbers("--depths", asked.depths),
        SEEDS if asked.seeds is None else asked.seeds,
        overrides=parse_overrides(asked.overrides),
        minutes=asked.minutes,
        folder=asked.folder,
        talk=talk,
    )
    return _told(ablated, found)


def _long_range(asked: Asked, talk: Talk) -> Told:
    others = {
        **{"a recipe": asked.recipe, "--sizes": asked.sizes, "--match": asked.match},
        **{"--without": asked.without, "--depths": asked.depths},
    }
    _refuse("--long-range, which makes its own task", others)
    found = long_range(
        asked.encoders or list(ENCODERS),
        _numbers("--distances", asked.distances) or DISTANCES,
        FAR_SEEDS if asked.seeds is None else asked.seeds,
        minutes=asked.minutes,
        folder=STUDIES / "long-range" if asked.folder is None else asked.folder,
        talk=talk,
    )
    return _told(long_range_told, found)


def _refuse(study: str, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise RegardError(
            f"{' and '.join(given)} cannot be used with {study}; take {'it' if len(given) == 1 else 'them'} out"
        )


def _numbers(option: str, listed: Sequence[str]) -> list[int]:
    for number in listed:
        if not (number.isascii() and number.isdigit()):
            raise RegardError(f"{option} takes whole numbers parted by commas, as in 1,2,4; found {number!r}")
    return [int(number) for number in listed]


def _told(module: Any, found: Any) -> Told:
    told: Callable[[Any], str] = module.told
    return Told(told(found), module.as_data(found), module.html(found))
