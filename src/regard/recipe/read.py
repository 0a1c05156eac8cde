"""A recipe file and overrides from the command line -> settings, or all faults at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from regard.errors import RecipeError, nearest
from regard.recipe.faults import faults
from regard.recipe.settings import Recipe

# A key's place for messages: "recipe.toml:14", or where else it came from.
Places = Mapping[str, str]

Values = dict[str, Any]


def read_recipe(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """The settings in a recipe file (TOML, or YAML), with overrides by dotted key.

    Paths of data are taken relative to the recipe's folder. Every fault is named with file, line and key, all at once.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RecipeError(f"there is no recipe {path}; `regard init` writes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from None
    values = _parse(path, text)
    places = {key: f"{path}:{line}" for key, line in _lines(text).items()}
    return recipe_from(values, overrides, folder=path.parent, places=places, name=str(path))


def recipe_from(
    values: Values,
    overrides: Mapping[str, Any] | None = None,
    *,
    folder: str | Path = ".",
    places: Places | None = None,
    name: str = "recipe",
) -> Recipe:
    """The settings in nested dictionaries, with overrides by dotted key."""
    places = dict(places or {})
    values = {section: dict(part) if isinstance(part, dict) else part for section, part in values.items()}
    for key, value in (overrides or {}).items():
        _put(values, key, value)
        places[key] = "override"
        places.setdefault(key.partition(".")[0], "override")
        if key in _INSTEAD_OF and _INSTEAD_OF[key] not in (overrides or {}):
            _take_out(values, _INSTEAD_OF[key])
    try:
        recipe = Recipe.model_validate(_rooted(values, Path(folder)))
    except ValidationError as error:
        found = [_explain(dict(fault)) for fault in error.errors(include_url=False)]
    else:
        found = faults(recipe)
        if not found:
            return recipe
    raise RecipeError("\n".join(_placed(key, sentence, places, name) for key, sentence in found))


def parse_overrides(words: Iterable[str]) -> Values:
    """`model.depth=3 model.position=rotary` -> {"model.depth": 3, "model.position": "rotary"}: values as in TOML, and
    what is none is text."""
    overrides = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or "." not in key:
            raise RecipeError(f"cannot read {word!r}; an override is section.key=value, as in model.depth=3")
        try:
            overrides[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            overrides[key.strip()] = value
    return overrides


def _parse(path: Path, text: str) -> Values:
    if path.suffix in (".yaml", ".yml"):
        try:
            values = yaml.load(text, _Yaml) or {}
        except yaml.YAMLError as error:
            raise RecipeError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
        if not isinstance(values, dict):
            raise RecipeError(f"{path} must consist of sections such as model: and train:")
        return values
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f'{path} is not TOML: {error}; text needs quotes, as in position = "rotary"') from None


class _Yaml(yaml.SafeLoader):
    """YAML with the rules of 1.2: `no` is text (Norwegian) and 1e-4 is a number."""


_REPLACED = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "timestamp"))
_Yaml.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Yaml.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false|True|False)$"), list("tfTF"))
_Yaml.add_implicit_resolver(
    "tag:regard,2026:int", re.compile(r"^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")
)
_Yaml.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^([-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
    list("-+.0123456789"),
)


def _whole(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """A whole number as YAML 1.2 writes it: 010 is ten, 0o12 and 0xa too."""
    written = str(loader.construct_scalar(node))
    return int(written, 0) if written[:2] in ("0o", "0x") else int(written)


_Yaml.add_constructor("tag:regard,2026:int", _whole)


def _lines(text: str) -> dict[str, int]:
    """The line of each section and of each section's keys, in TOML or in YAML of two levels."""
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*\[\s*([\w.\-]+)\s*\]|^([\w\-]+):\s*(#.*)?$", line):
            section = match[1] or match[2]
            lines.setdefault(section, number)
        elif match := re.match(r"\s*([\w.\-]+)\s*[=:]", line):
            lines.setdefault(f"{section}.{match[1]}" if section else match[1], number)
    return lines


# Overriding one of the two is to say that the other does not count.
_INSTEAD_OF = {"train.minutes": "train.epochs", "train.epochs": "train.minutes"}


def _take_out(values: Values, key: str) -> None:
    section, _, name = key.partition(".")
    part = values.get(section)
    if isinstance(part, dict):
        part.pop(name, None)


def _put(values: Values, key: str, value: Any) -> None:
    section, _, name = key.partition(".")
    part = values.setdefault(section, {})
    if isinstance(part, dict):
        part[name] = value


def _rooted(values: Values, folder: Path) -> Values:
    """Paths relative to the recipe's folder become absolute."""

    def root(value: Any) -> Any:
        if isinstance(value, str) and value:
            return str((folder / Path(value).expanduser()).resolve())
        return [root(one) for one in value] if isinstance(value, list | tuple) else value

    values = dict(values)
    for section, names in {"data": ("train", "dev", "test"), "input": ("pretrained",), "model": ("start",)}.items():
        part = values.get(section)
        if isinstance(part, dict):
            values[section] = {key: root(value) if key in names else value for key, value in part.items()}
    return values


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "model": "a section",
}


def _explain(fault: dict[str, Any]) -> tuple[str, str]:
    """One of pydantic's faults -> the key and a sentence in words of the user's settings."""
    steps = [str(step) for step in fault["loc"]]
    key, value = ".".join(steps[:2]), fault["input"]
    kind = fault["type"]
    if kind == "extra_forbidden":
        return key, _unknown(steps)
    if kind == "missing":
        return key, f"{key} is missing: {_description(steps)}"
    if kind == "value_error":
        return key, f"{key} is {value!r}, but {fault['ctx']['error']}"
    if kind in ("too_short", "string_too_short"):
        return key, f"{key} is {value!r}, but must not be empty"
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return key, f"{key} is {value!r}, but {_lower(fault['msg'].replace('Input should', 'must'))}"
    wanted = next((words for name, words in _TYPES.items() if kind.startswith(name)), None)
    if wanted is None:
        return key, f"{key} is {value!r}, but {_lower(fault['msg'].replace('Input should', 'must'))}"
    return key, f"{key} is {value!r}, but must be {wanted}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _unknown(steps: list[str]) -> str:
    sections = Recipe.model_fields
    if len(steps) == 1:
        return f"unknown section [{steps[0]}]; known: {', '.join(sections)}{nearest(steps[0], sections)}"
    known = _settings(steps[0])
    hint = nearest(steps[1], known)
    elsewhere = [f"{section}.{steps[1]}" for section in sections if steps[1] in _settings(section)]
    if not hint and elsewhere:
        hint = f"; did you mean {elsewhere[0]}?"
    return f"unknown setting {'.'.join(steps)}{hint or '; known: ' + ', '.join(known)}"


def _settings(section: str) -> list[str]:
    annotation = Recipe.model_fields[section].annotation if section in Recipe.model_fields else None
    return list(annotation.model_fields) if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def _description(steps: list[str]) -> str:
    annotation = Recipe.model_fields[steps[0]].annotation
    if len(steps) == 1 or not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "every recipe needs this section"
    return annotation.model_fields[steps[1]].description or ""


def _placed(key: str, sentence: str, places: Places, name: str) -> str:
    place = places.get(key) or places.get(key.partition(".")[0]) or name
    return f"{place}: {sentence}"
