"""Finding keys outside the ledger: where quire.toml says, then where the vendor's tools look."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from quire.accounts.sealing import digest_of
from quire.accounts.vendors import IN_THIS_PROCESS, OPTIONS, checked_key, needs_key, variables_of
from quire.domain.accounts import KeySource, Secret
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.settings import Settings, base_url

DEFAULT_CREDENTIALS = "application default credentials"  # Google's: found at each call, not here

_NOT_OPTIONS = ("base_url", "key_env", "key_file")
_NOTHING: Mapping[str, str] = {}


class FoundKey(NamedTuple):
    """A key outside the ledger."""

    provider: str
    source: KeySource
    name: str  # of the variable or the file
    key: Secret
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What this installation says of one provider, besides the keys in its ledger."""

    provider: str
    base_url: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[FoundKey, ...] = ()  # in the order in which they are to be tried
    problem: str = ""  # with what was said about a key: then nothing further on was looked at

    @property
    def needs_key(self) -> bool:
        """Whether nobody is answered without a key."""
        return needs_key(self.provider, self.base_url)

    @property
    def key_is_never_asked_for(self) -> bool:
        """Whether the answers are made here, by what Quire itself starts."""
        return self.provider in IN_THIS_PROCESS

    def without_search(self) -> "Surroundings":
        """The same, without what Google would find by itself, if there is such a thing."""
        return replace(
            self, keys=tuple(each for each in self.keys if each.name != DEFAULT_CREDENTIALS)
        )


class Told(NamedTuple):
    """Where to look: what quire.toml says of the provider, the environment, quire.toml's folder."""

    table: Mapping[str, Json]
    environment: Mapping[str, str]
    folder: Path


def surroundings(
    provider: str, settings: Settings, environment: Mapping[str, str], url: str = ""
) -> Surroundings:
    """Look around as settings and environment say; `url` is that of one model, if it has its own.

    Raises SettingsInvalid where the environment names a place that is none.
    """
    table = settings.providers.get(provider, {})
    said = {name: environment.get(each, "") for name, each in OPTIONS.get(provider, {}).items()}
    options = {
        name: value
        for name, value in {**said, **table}.items()
        if isinstance(value, str) and value and name not in _NOT_OPTIONS
    }
    place = url or base_url(settings, provider, environment)
    return look_around(provider, Told(table, environment, settings.folder), place, options)


def look_around(
    provider: str, told: Told, base_url: str = "", options: Mapping[str, str] = _NOTHING
) -> Surroundings:
    """Find a provider's keys outside the ledger; reads a file if quire.toml names one."""
    keys: tuple[FoundKey, ...] = ()
    problem = ""
    if provider not in IN_THIS_PROCESS:
        try:
            keys = tuple(dict.fromkeys(_found(provider, told)))
        except UsageError as error:
            problem = str(error)
    return Surroundings(
        provider=provider, base_url=base_url, options=options, keys=keys, problem=problem
    )


def _found(provider: str, told: Told) -> Iterator[FoundKey]:
    """What quire.toml names must be there: else calls would go out on somebody else's bill."""
    named = told.table.get("key_env")
    if isinstance(named, str) and named:
        if not told.environment.get(named, "").strip():
            raise UsageError(f"quire.toml says that the key of {provider} is in {named}; set it")
        yield _in_environment(provider, named, told.environment)
    path = told.table.get("key_file")
    if isinstance(path, str) and path:
        yield _in_file(provider, path, told.folder)
    for each in variables_of(provider):
        if each != named and told.environment.get(each, "").strip():
            yield _in_environment(provider, each, told.environment)
    if provider == "vertex":
        name, nobody = DEFAULT_CREDENTIALS, Secret("")
        yield FoundKey(provider, KeySource.ENVIRONMENT, name, nobody, digest_of(nobody))


def _in_environment(provider: str, name: str, environment: Mapping[str, str]) -> FoundKey:
    key = checked_key(environment[name], name)
    return FoundKey(provider, KeySource.ENVIRONMENT, name, key, digest_of(key))


def _in_file(provider: str, path: str, folder: Path) -> FoundKey:
    place = folder / Path(path).expanduser()
    try:
        if not place.is_file() and place.exists():  # a pipe would never end, and a folder is none
            raise UsageError(f"the key file {place} is not a file")
        with place.open("rb") as file:
            text = file.read(65536)
    except OSError as error:
        raise UsageError(f"the key file {place} cannot be read: {error.strerror}") from None
    key = checked_key(text.decode(errors="replace"), f"the key file {place}")
    return FoundKey(provider, KeySource.FILE, str(place), key, digest_of(key))
