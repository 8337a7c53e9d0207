"""Checks of the setup: versions, extras, settings, the model of choice, the disk."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from quire.domain.errors import UnknownModel, with_fix
from quire.domain.version import VERSION
from quire.engine.doctor.findings import (
    Finding,
    Installation,
    finding_of_error,
    format_bytes,
    ok,
    problem,
    warning,
)
from quire.ledger.tables.checks import OLDEST_SQLITE, SQLITE_VERSION
from quire.providers.catalog import facts_from_tables, find_model
from quire.recipes.policy_layers import resolve_policy
from quire.settings import FILE

LITTLE_DISK = 1_000_000_000  # bytes
NO_DISK = 100_000_000
SOON_DAYS = 60  # before a model is shut down

# The optional parts of Quire, each with the package that it brings.
EXTRAS: Mapping[str, str] = MappingProxyType(
    {
        "postgres": "psycopg",
        "vertex": "google-auth",
        "tokens": "bpe-openai",
        "local": "xllamacpp",
        "compress": "wordllama",
        "report": "matplotlib",
        "files": "docutils",
        "frames": "pyarrow",
        "ocr": "rapidocr",
        "s3": "s3fs",
        "web": "fastapi",
    }
)


def check_versions(installation: Installation) -> Iterator[Finding]:
    """What runs here."""
    python = ".".join(map(str, sys.version_info[:3]))
    said = (
        f"Quire {VERSION}, Python {python}, SQLite {SQLITE_VERSION},"
        f" aiohttp {metadata.version('aiohttp')}"
    )
    if _version_numbers(SQLITE_VERSION) < _version_numbers(OLDEST_SQLITE):
        yield problem(
            f"{said}: this SQLite is too old",
            f"use a Python that comes with SQLite {OLDEST_SQLITE} or newer, or PostgreSQL",
        )
    else:
        yield ok(said)


def check_extras(installation: Installation) -> Iterator[Finding]:
    """Which optional parts are installed."""
    here = {name: _package_version(package) for name, package in EXTRAS.items()}
    missing = ",".join(name for name, version in here.items() if not version)
    parts = [f"{name} ({EXTRAS[name]} {version})" for name, version in here.items() if version]
    said = ", ".join(parts) or "none is installed"
    if missing:
        said += f"; not installed: {missing} (`pip install 'quire[{missing}]'`)"
    yield ok(said)


def check_settings(installation: Installation) -> Iterator[Finding]:
    """Where the settings come from, and whether the policy among them can be used."""
    config = installation.settings
    path = config.folder / FILE
    resolve_policy([("quire.toml", config.file_policy), ("environment", config.environment_policy)])
    file = f"{path}" if path.is_file() else f"no {FILE} here or above; `quire init` writes one"
    said = [
        *(name for name, source in config.sources.items() if source == "environment"),
        *config.environment_policy,
    ]
    variables = ", ".join(f"QUIRE_{name.upper()}" for name in said)
    yield ok(file + (f"; from the environment: {variables}" if said else ""))


def check_model(installation: Installation) -> Iterator[Finding]:
    """Whether the model of choice and the aliases mean models that there are."""
    config = installation.settings
    own = facts_from_tables(config.models)
    if config.model is None:
        yield ok("none is set: every `quire run` needs --model")
    else:
        yield _model_finding(config.model, installation)
    for alias in config.aliases:
        try:
            find_model(alias, own, config.aliases)
        except UnknownModel as error:
            said = f"alias {alias}: {error.headline}"
            yield warning(said, f"mend [aliases] in {FILE}")


def _model_finding(name: str, installation: Installation) -> Finding:
    config = installation.settings
    try:
        facts = find_model(name, facts_from_tables(config.models), config.aliases)
    except UnknownModel as error:
        found = finding_of_error(error)
        where = config.sources.get("model", "")
        fix = f"set `model` in {FILE}" if where != "environment" else "set QUIRE_MODEL"
        return problem(error.message, with_fix(found.fix, fix))
    shown = facts.name if facts.name == name else f"{name} = {facts.name}"
    if facts.retires:
        left = (date.fromisoformat(facts.retires) - installation.runtime.now().date()).days
        other = "`quire models` lists others"
        if left <= 0:
            return problem(f"{shown} was shut down on {facts.retires}", other)
        if left <= SOON_DAYS:
            return warning(f"{shown} will be shut down on {facts.retires}", other)
    return ok(shown)


def check_disk(installation: Installation) -> Iterator[Finding]:
    """How much room there is where the ledger is."""
    if "://" in installation.settings.ledger.removeprefix("sqlite:///"):
        yield ok("the ledger is in PostgreSQL: its server's disk cannot be seen from here")
        return
    folder = Path(installation.settings.ledger.removeprefix("sqlite:///")).absolute().parent
    if not folder.is_dir():
        yield problem(f"there is no folder {folder}", f"make it, or mend `ledger` in {FILE}")
    elif not os.access(folder, os.W_OK):
        yield problem(f"{folder} cannot be written to", "give this user the right to")
    else:
        yield disk_finding(shutil.disk_usage(folder).free, str(folder))


def disk_finding(free: int, where: str) -> Finding:
    """Say whether a ledger has room to grow."""
    said = f"{format_bytes(free)} free at {where}"
    if free < NO_DISK:
        return problem(said, "free some: answers that cannot be stored hold up the work")
    if free < LITTLE_DISK:
        return warning(said, "free some before a large run")
    return ok(said)


def _package_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
