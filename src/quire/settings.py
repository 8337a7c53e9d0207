"""Settings: the environment and quire.toml become one frozen value, each part with its source."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid

FILE = "quire.toml"
DEFAULT_LEDGER = "quire.db"

TEMPLATE = """\
# Quire's settings for this folder. Flags win over a schema's prompt_config, that over this file,
# this file over the environment (QUIRE_LEDGER, QUIRE_MODEL, QUIRE_PACK_SIZE, …).

ledger = "quire.db"            # or postgresql://user@host/database
model = "simulated/small"      # what `quire run` uses when no --model is given

[policy]
# pack_size = 10               # blocks per call; left out, the schema's class decides
# max_tries = 3                # wrong answers before a block fails
# concurrency = 16             # calls in flight
"""

_KEYS = {
    "ledger": str,
    "model": str,
    "workspace": str,
    "durable": bool,
    "policy": dict,
    "worker": dict,
    "simulated": dict,
}
_WORKER_KEYS = ("lease", "grace")
_SIMULATED_KEYS = ("faults",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What this installation was told, before any flag."""

    ledger: str
    model: str | None = None
    workspace: str = "local"
    durable: bool = True  # sync every commit to disk
    lease: float = 30.0
    grace: float = 10.0
    faults: str = ""  # of the simulated model
    file_policy: Mapping[str, Json] = field(default_factory=dict)
    environment_policy: Mapping[str, Json] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


def read_settings(
    folder: Path, environment: Mapping[str, str], policy_names: tuple[str, ...]
) -> Settings:
    """Read the nearest quire.toml and the environment; the file wins."""
    path = _find(folder)
    told = _from_file(path) if path else {}
    said = _from_environment(environment)
    values: dict[str, Json] = {**said, **{k: v for k, v in told.items() if k in _FLAT}}
    sources = {name: "environment" for name in said}
    sources |= {name: str(path) for name in values if name in told}
    ledger = str(values.get("ledger", DEFAULT_LEDGER))
    if path and "ledger" in told and "://" not in ledger:
        ledger = str(path.parent / ledger)
    worker, simulated = _table(told, "worker"), _table(told, "simulated")
    return Settings(
        ledger=ledger,
        model=_text(values.get("model")),
        workspace=_text(values.get("workspace")) or "local",
        durable=bool(values.get("durable", True)),
        lease=_seconds(worker, "lease", environment, 30.0),
        grace=_seconds(worker, "grace", environment, 10.0),
        faults=_text(simulated.get("faults")) or environment.get("QUIRE_SIMULATED_FAULTS", ""),
        file_policy=_table(told, "policy"),
        environment_policy=_policy(environment, policy_names),
        sources=sources,
    )


_FLAT = ("ledger", "model", "workspace", "durable")


def _find(folder: Path) -> Path | None:
    for each in (folder, *folder.parents):
        if (each / FILE).is_file():
            return each / FILE
    return None


def _from_file(path: Path) -> dict[str, Json]:
    try:
        told: dict[str, Json] = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsInvalid(f"{path}: {error}") from None
    mistakes = [*_mistakes(told, _KEYS, "")]
    mistakes += _unknown(_table(told, "worker"), _WORKER_KEYS, "worker.")
    mistakes += _unknown(_table(told, "simulated"), _SIMULATED_KEYS, "simulated.")
    if mistakes:
        raise SettingsInvalid(f"{path}: " + "; ".join(mistakes))
    return told


def _mistakes(told: Mapping[str, Json], keys: Mapping[str, type], at: str) -> list[str]:
    wrong = [
        f"{at}{name} must be a {_NAMES[kind]}"
        for name, kind in keys.items()
        if name in told and not isinstance(told[name], kind)
    ]
    return wrong + _unknown(told, tuple(keys), at)


_NAMES = {str: "text", bool: "true or false", dict: "table"}


def _unknown(told: Mapping[str, Json], keys: tuple[str, ...], at: str) -> list[str]:
    said = []
    for name in told:
        if name not in keys:
            near = get_close_matches(name, keys, 1)
            hint = f"; did you mean {at}{near[0]}?" if near else f"; known: {', '.join(keys)}"
            said.append(f"unknown setting {at}{name}{hint}")
    return said


def _from_environment(environment: Mapping[str, str]) -> dict[str, Json]:
    return {
        name: environment[f"QUIRE_{name.upper()}"]
        for name in ("ledger", "model", "workspace")
        if environment.get(f"QUIRE_{name.upper()}")
    }


def _policy(environment: Mapping[str, str], names: tuple[str, ...]) -> dict[str, Json]:
    reserved = ("ledger",)  # QUIRE_LEDGER is where the ledger is, not how full its bodies are
    return {
        name: environment[f"QUIRE_{name.upper()}"]
        for name in names
        if name not in reserved and environment.get(f"QUIRE_{name.upper()}")
    }


def _table(told: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    table = told.get(name)
    return table if isinstance(table, dict) else {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _seconds(
    table: Mapping[str, Json], name: str, environment: Mapping[str, str], default: float
) -> float:
    value = table.get(name, environment.get(f"QUIRE_{name.upper()}", default))
    try:
        seconds = float(value)  # type: ignore[arg-type]  # a wrong type is refused below
    except (TypeError, ValueError):
        seconds = 0.0
    if seconds <= 0:
        raise SettingsInvalid(f"{name} must be a positive number of seconds, not {value!r}")
    return seconds
