"""Settings -> a recipe file: commented for people, or resolved for the run folder."""

from __future__ import annotations

import textwrap
from typing import Any

import tomlkit
from pydantic import BaseModel

from regard.recipe.faults import faults
from regard.recipe.settings import BODY, NAMES, OWN_NAME, Recipe

# The version of the format in which runs are saved; a newer one is refused.
FORMAT_VERSION = 1


def resolved(recipe: Recipe) -> str:
    """Every setting that is used with its value, as TOML; settings without a value are left out."""
    document = tomlkit.document()
    for section, settings in recipe.model_dump(exclude_none=True).items():
        table = tomlkit.table()
        for key, value in settings.items():
            if _used(recipe, section, key):
                table[key] = _plain(value)
        document[section] = table
    return tomlkit.dumps(document)


def values(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """What was given in the recipe, defaults left out, as nested dictionaries."""
    return {
        section: {key: _plain(value) for key, value in settings.items() if value is not None}
        for section, settings in recipe.model_dump(exclude_unset=True).items()
    }


def commented(recipe: Recipe, heading: str) -> str:
    """A complete recipe, each setting below its sentence; what has no value stands as a comment. Where a run is begun
    with, its body's settings are left out."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section in Recipe.model_fields:
        part: BaseModel = getattr(recipe, section)
        lines += ["", f"[{section}]  # {_sentence(part)}"]
        for key, field in type(part).model_fields.items():
            value = getattr(part, key)
            inherited = recipe.model.start is not None and key in BODY.get(section, ())
            if not _used(recipe, section, key) or inherited:
                continue
            names = NAMES.get(f"{section}.{key}")
            choices = f" ({' | '.join(names)})" if names else ""
            lines += textwrap.wrap(f"{field.description}{choices}", 110, initial_indent="# ", subsequent_indent="#   ")
            lines.append(f"# {key} =" if value is None or value == () else f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def differences(one: Recipe, other: Recipe) -> list[str]:
    """The settings in which two recipes differ, as sentences; the files' places do not count, their contents do."""
    found = []
    ones, others = one.model_dump(), other.model_dump()
    for section, settings in ones.items():
        for key, value in settings.items():
            if f"{section}.{key}" in ("data.train", "data.dev", "data.test"):
                continue
            if value != others[section][key]:
                found.append(f"{section}.{key} was {_shown(value)} and is now {_shown(others[section][key])}")
    return found


def own_files(recipe: Recipe) -> dict[str, str]:
    """The settings that name something of the user's own: setting -> file:Class."""
    return {
        f"{section}.{key}": value
        for section, settings in recipe.model_dump().items()
        for key, value in settings.items()
        if isinstance(value, str) and section == "model" and OWN_NAME.match(value)
    }


def _used(recipe: Recipe, section: str, key: str) -> bool:
    """Whether the setting may be given in this recipe at all."""
    part = getattr(recipe, section)
    if key in part.model_fields_set:
        return True
    given = part.model_copy(update={})
    given.model_fields_set.add(key)
    return all(setting != f"{section}.{key}" for setting, _ in faults(recipe.model_copy(update={section: given})))


def _sentence(part: BaseModel) -> str:
    return (type(part).__doc__ or "").splitlines()[0].rstrip(".").lower()


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _toml(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return tomlkit.item(_plain(value)).as_string()


def _shown(value: Any) -> str:
    return "not given" if value is None or value == () else _toml(value)
