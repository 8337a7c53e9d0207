"""Reading settings: from the nearest quire.toml and the environment; the file wins."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any

from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid
from quire.settings.checking import SECONDS, mistakes

FILE = "quire.toml"
DEFAULT_LEDGER = "quire.db"
DEFAULT_LEASE, DEFAULT_GRACE = 30.0, 10.0

TEMPLATE = """\
# Quire's settings for this folder. Flags win over a schema's prompt_config, that over this file,
# this file over the environment (QUIRE_LEDGER, QUIRE_MODEL, QUIRE_PACK_SIZE, …).

ledger = "quire.db"            # or postgresql://user@host/database
model = "simulated/small"      # what `quire run` uses when no --model is given

[policy]
# pack_size = 10               # blocks per call; left out, the schema's class decides
# max_tries = 3                # wrong answers before a block fails
# concurrency = 16             # calls in flight

[aliases]
# cheap = "openai/gpt-6-luna"  # a short name for --model; `quire models` lists what there is

# [providers.openai]
# key_env = "MY_OPENAI_KEY"    # the variable that holds the key, if not OPENAI_API_KEY
# base_url = "https://gateway.example/v1"

# [models."compatible/my-model@http://10.0.0.5:8000/v1"]
# window = 32768               # tokens, input and output together
# max_output = 4096
# input = 0.25                 # dollars per million tokens
# output = 2.00
"""

Further = Callable[[Mapping[str, Json], Sequence[str]], list[str]]

_FLAT = ("ledger", "model", "workspace", "durable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What this installation was told, before any flag."""

    ledger: str
    model: str | None = None
    workspace: str = "local"
    durable: bool = True  # sync every commit to disk
    lease: float = DEFAULT_LEASE
    grace: float = DEFAULT_GRACE
    poll: float | None = None  # seconds between looks at a batch; None = as its vendor likes it
    faults: str = ""  # of the simulated model
    aliases: Mapping[str, str] = field(default_factory=dict)  # short names of models
    models: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)  # facts, by name
    providers: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    file_policy: Mapping[str, Json] = field(default_factory=dict)
    environment_policy: Mapping[str, Json] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)  # of quire.toml; paths in it start there


def read_settings(
    folder: Path,
    environment: Mapping[str, str],
    policy_names: tuple[str, ...],
    further: Further = lambda told, found: [],
) -> Settings:
    """Read the nearest quire.toml and the environment; `policy_names` may hold old names too.

    `further` says what else is wrong with the file, so that all of its mistakes are told at once.
    """
    path = _find(folder)
    told = _from_file(path, further) if path else {}
    said = _from_environment(environment)
    values: dict[str, Any] = {**said, **{k: v for k, v in told.items() if k in _FLAT}}
    sources = {name: "environment" for name in said}
    sources |= {name: str(path) for name in values if name in told}
    ledger = values.get("ledger", DEFAULT_LEDGER)
    if path and "ledger" in told and "://" not in ledger:
        ledger = str(path.parent / ledger)
    worker = told.get("worker", {})
    return Settings(
        ledger=ledger,
        model=values.get("model"),
        workspace=values.get("workspace") or "local",
        durable=values.get("durable", True),
        lease=worker.get("lease") or _seconds("QUIRE_LEASE", environment, DEFAULT_LEASE),
        grace=worker.get("grace") or _seconds("QUIRE_GRACE", environment, DEFAULT_GRACE),
        poll=worker.get("poll") or _seconds("QUIRE_POLL", environment, 0.0) or None,
        faults=told.get("simulated", {}).get("faults")
        or environment.get("QUIRE_SIMULATED_FAULTS", ""),
        aliases=told.get("aliases", {}),
        models=told.get("models", {}),
        providers=told.get("providers", {}),
        file_policy=told.get("policy", {}),
        environment_policy=_policy(environment, policy_names),
        sources=sources,
        folder=path.parent if path else folder,
    )


def _find(folder: Path) -> Path | None:
    for each in (folder, *folder.parents):
        if (each / FILE).is_file():
            return each / FILE
    return None


def _from_file(path: Path, further: Further) -> dict[str, Any]:
    """Read a file of settings, every value of the kind that its rule asks for."""
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:  # TOML and UTF-8 errors among them
        raise SettingsInvalid(f"{path}: {error}") from None
    except RecursionError:
        raise SettingsInvalid(f"{path}: brackets are nested too deep to be read") from None
    plain: dict[str, Any] = _without_dates(told)
    found = mistakes(plain)
    found += further(plain, found)
    if found:
        raise SettingsInvalid("\n".join(f"{path}: {each}" for each in found))
    return plain


def _without_dates(value: Any) -> Any:
    """JSON has no dates: TOML's become text, as they would have been in quotes."""
    if isinstance(value, dict):
        return {name: _without_dates(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_dates(each) for each in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
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


def _seconds(variable: str, environment: Mapping[str, str], default: float) -> float:
    said = environment.get(variable, "").strip()
    if not said:
        return default
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not SECONDS.allows(seconds):
        raise SettingsInvalid(f"environment: {variable} must be {SECONDS.wanted}, not {said!r}")
    return seconds
