"""Provider URLs: where a provider is found, if it is not where its vendor put it."""

import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid, SettingsMistake

_ADDRESS = re.compile("@(http.*)", re.IGNORECASE | re.DOTALL)


class ProviderTables(Protocol):
    """The part of the settings that speaks of providers."""

    @property
    def providers(self) -> Mapping[str, Mapping[str, Json]]:
        """The tables of quire.toml."""


def base_url(settings: ProviderTables, provider: str, environment: Mapping[str, str]) -> str:
    """Where a provider is found: quire.toml over the environment; "" is where its vendor put it."""
    from quire.providers.vendors import vendor_facts  # not for --help

    configured = settings.providers.get(provider, {}).get("base_url")
    if isinstance(configured, str):
        return configured.rstrip("/")
    facts = vendor_facts(provider)
    for variable in facts.url_variables:
        address = environment.get(variable, "").strip()
        if address:
            url = _add_scheme(address, facts.listen_port) if facts.listen_port else address
            if problem := url_problem(url):
                said = f"environment: {variable} {problem.message}"
                raise SettingsInvalid(said, fix=problem.fix)
            return url.rstrip("/")
    return ""


def url_problem(url: str) -> SettingsMistake | None:
    """What is wrong with an address, never repeating a key in it; follows its name."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number shows itself only here
    except ValueError:
        return SettingsMistake("is not an address", "write https://HOST/path")
    if "@" in parts.netloc:
        return SettingsMistake("holds a name or a key", "use key_env or key_file for that")
    if "?" in url or "#" in url:  # where keys stand too
        return SettingsMistake("must end with its path: without ? and #")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return SettingsMistake(f"must be an address like https://HOST/path, not {url!r}")
    return None


def model_url_problem(model: Json) -> SettingsMistake | None:
    """What is wrong with the address in a model's name, if it has one and something is."""
    name = model if isinstance(model, str) else ""
    found = _ADDRESS.search(name)
    return url_problem(found[1]) if found else None


def _add_scheme(host: str, usual_port: int) -> str:
    """Make an address of where a server is told to listen: 0.0.0.0, :8080, box:8080."""
    url = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(url)
        port = parts.port or (None if "://" in host else usual_port)
    except ValueError:
        return url
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else name  # noqa: S104 - where it listens, not we
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path}"
