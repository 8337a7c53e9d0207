"""The installation: versions, extras, settings, the model of choice, the disk."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from quire.domain.errors import UnknownModel
from quire.domain.version import VERSION
from quire.engine.examining.findings import Finding, Patient, fine, odd, sized, wrong
from quire.ledger.tables.checks import OLDEST_SQLITE, SQLITE_VERSION
from quire.providers.catalog import facts_from_tables, find_model
from quire.recipes.policies import resolve
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
        "report": "matplotlib",
    }
)


def versions(patient: Patient) -> Iterator[Finding]:
    """What runs here."""
    python = ".".join(map(str, sys.version_info[:3]))
    said = (
        f"Quire {VERSION}, Python {python}, SQLite {SQLITE_VERSION},"
        f" aiohttp {metadata.version('aiohttp')}"
    )
    if _numbers(SQLITE_VERSION) < _numbers(OLDEST_SQLITE):
        yield wrong(
            "versions",
            f"{said}: this SQLite is too old",
            f"use a Python that comes with SQLite {OLDEST_SQLITE} or newer, or PostgreSQL",
        )
    else:
        yield fine("versions", said)


def extras(patient: Patient) -> Iterator[Finding]:
    """Which optional parts are installed."""
    here = {name: _version(package) for name, package in EXTRAS.items()}
    missing = ",".join(name for name, version in here.items() if not version)
    parts = [f"{name} ({EXTRAS[name]} {version})" for name, version in here.items() if version]
    said = ", ".join(parts) or "none is installed"
    if missing:
        said += f"; not installed: {missing} (`pip install 'quire[{missing}]'`)"
    yield fine("extras", said)


def settings(patient: Patient) -> Iterator[Finding]:
    """Where the settings come from, and whether the policy among them can be used."""
    told = patient.settings
    path = told.folder / FILE
    resolve([("quire.toml", told.file_policy), ("environment", told.environment_policy)])
    file = f"{path}" if path.is_file() else f"no {FILE} here or above; `quire init` writes one"
    said = [
        *(name for name, source in told.sources.items() if source == "environment"),
        *told.environment_policy,
    ]
    variables = ", ".join(f"QUIRE_{name.upper()}" for name in said)
    yield fine("settings", file + (f"; from the environment: {variables}" if said else ""))


def model(patient: Patient) -> Iterator[Finding]:
    """Whether the model of choice and the aliases mean models that there are."""
    told = patient.settings
    own = facts_from_tables(told.models)
    if told.model is None:
        yield fine("model", "none is set: every `quire run` needs --model")
    else:
        yield _standing_of(told.model, patient)
    for alias in told.aliases:
        try:
            find_model(alias, own, told.aliases)
        except UnknownModel as error:
            first = str(error).splitlines()[0]
            yield odd("model", f"alias {alias}: {first}", f"mend [aliases] in {FILE}")


def _standing_of(name: str, patient: Patient) -> Finding:
    told = patient.settings
    try:
        facts = find_model(name, facts_from_tables(told.models), told.aliases)
    except UnknownModel as error:
        said, _, hint = str(error).splitlines()[0].partition("; ")
        where = told.sources.get("model", "")
        fix = f"set `model` in {FILE}" if where != "environment" else "set QUIRE_MODEL"
        return wrong("model", said, f"{hint}; {fix}".removeprefix("; "))
    shown = facts.name if facts.name == name else f"{name} = {facts.name}"
    if facts.retires:
        left = (date.fromisoformat(facts.retires) - patient.outside.now().date()).days
        other = "`quire models` lists others"
        if left <= 0:
            return wrong("model", f"{shown} was shut down on {facts.retires}", other)
        if left <= SOON_DAYS:
            return odd("model", f"{shown} will be shut down on {facts.retires}", other)
    return fine("model", shown)


def disk(patient: Patient) -> Iterator[Finding]:
    """How much room there is where the ledger is."""
    if "://" in patient.settings.ledger.removeprefix("sqlite:///"):
        yield fine(
            "disk", "the ledger is in PostgreSQL: its server's disk cannot be seen from here"
        )
        return
    folder = Path(patient.settings.ledger.removeprefix("sqlite:///")).absolute().parent
    if not folder.is_dir():
        yield wrong("disk", f"there is no folder {folder}", f"make it, or mend `ledger` in {FILE}")
    elif not os.access(folder, os.W_OK):
        yield wrong("disk", f"{folder} cannot be written to", "give this user the right to")
    else:
        yield judge_disk(shutil.disk_usage(folder).free, str(folder))


def judge_disk(free: int, where: str) -> Finding:
    """Say whether a ledger has room to grow."""
    said = f"{sized(free)} free at {where}"
    if free < NO_DISK:
        return wrong("disk", said, "free some: answers that cannot be stored hold up the work")
    if free < LITTLE_DISK:
        return odd("disk", said, "free some before a large run")
    return fine("disk", said)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
