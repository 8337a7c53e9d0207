"""Families: the files of a sweep, one for each combination of an experiment's settings."""

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import FileMistake, Mistake, RecipeInvalid, UsageError
from quire.kits.judge.experiment_file import (
    EXTENDS,
    SETTINGS,
    merge_bodies,
    read_experiment,
    read_sources,
)
from quire.recipes.setting_rules import unknown_message

MOST = 200  # experiments of a family
_LONGEST_NAME = 64
_FIXED = ("experiment_tag", "family", EXTENDS, "evidence", "windows", "prompts", "rubric")
VARIED = tuple(name for name in SETTINGS if name not in _FIXED)
_LISTS = ("models", "randomizations")


class Variation(NamedTuple):
    """A setting, and the values that it takes one after the other."""

    setting: str
    values: tuple[Json, ...]


def parse_variations(given: Sequence[str]) -> list[Variation]:
    """Read `scale_size=3,4,5`; values of a list are parted by +, `none` leaves the setting out."""
    found: list[Variation] = []
    for text in given:
        setting, equals, listed = text.partition("=")
        setting = setting.strip()
        if not equals or not listed.strip():
            raise UsageError(f"--vary {text}: write SETTING=VALUE,VALUE, such as scale_size=3,4,5")
        if setting not in VARIED:
            raise UsageError(f"--vary {setting} {unknown_message(setting, VARIED)}")
        if setting in [item.setting for item in found]:
            raise UsageError(f"--vary {setting} is given twice; put all of its values in one")
        values = tuple(_parse_value(setting, item.strip()) for item in listed.split(","))
        if len({json.dumps(value) for value in values}) < len(values):
            raise UsageError(f"--vary {setting} has a value twice")
        found.append(Variation(setting, values))
    return found


def _parse_value(setting: str, text: str) -> Json:
    if text == "none":
        return [] if setting in _LISTS else None
    if setting in _LISTS:
        return [item.strip() for item in text.split("+")]
    try:
        value: Json = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value


def write_family(base: Path, variations: Sequence[Variation], folder: Path) -> list[Path]:
    """Write a file for each combination, check all of them, and give their paths in order.

    A file that says the same already is left as it is, so that a sweep can be chosen_values again.
    """
    body = merge_bodies(read_sources(base))
    chosen = [*product(*(item.values for item in variations))]
    if not 2 <= len(chosen) <= MOST:
        raise UsageError(f"a sweep has 2 to {MOST} experiments; this would be {len(chosen)}")
    tag = str(body.get("experiment_tag", base.stem))
    paths = []
    for values in chosen:
        chosen_values = dict(zip((item.setting for item in variations), values, strict=True))
        paths.append(folder / f"{_file_name(chosen_values)}.toml")
        _write_file(paths[-1], _file_text(base, tag, chosen_values, paths[-1]))
    _check(paths)
    return paths


def _check(paths: Sequence[Path]) -> None:
    """Refuse all mistakes of all files at once, each mistake once."""
    mistakes: dict[str, FileMistake | Mistake] = {}
    for path in paths:
        try:
            read_experiment(path)
        except RecipeInvalid as error:
            mistakes |= {str(mistake): mistake for mistake in error.mistakes}
    if mistakes:
        raise RecipeInvalid("the sweep", [*mistakes.values()])


def _file_name(chosen_values: Mapping[str, Json]) -> str:
    return "_".join(f"{name}-{_name_part(value)}" for name, value in chosen_values.items())[:120]


def _name_part(value: Json) -> str:
    words = value if isinstance(value, list) else ["none" if value is None else value]
    named = "+".join(
        ("yes" if word else "no") if isinstance(word, bool) else str(word) for word in words
    )
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", named or "none").strip("-")


def _file_text(base: Path, tag: str, chosen_values: Mapping[str, Json], path: Path) -> str:
    """A file that says only what differs from the one it extends."""
    short = ".".join(_name_part(value) for value in chosen_values.values()).replace("+", "-")
    settings: dict[str, Json] = {
        EXTENDS: Path(os.path.relpath(base, path.parent)).as_posix(),
        "family": tag[:_LONGEST_NAME],
        "experiment_tag": f"{tag[: _LONGEST_NAME - 1 - min(40, len(short))]}.{short[:40]}",
        **{name: value for name, value in chosen_values.items() if value is not None},
    }
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items()
    ]
    return "\n".join(["# One of a family that `quire judge sweep` made.", *lines, ""])


def _write_file(path: Path, text: str) -> None:
    try:
        if path.exists() and path.read_text("utf-8") == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
