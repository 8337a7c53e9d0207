"""Key search: the variables and files where a vendor's key may be, and what a key looks like."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from quire.accounts.encryption import digest_of
from quire.domain.accounts import KeySource, Secret
from quire.domain.data import Json, as_object
from quire.domain.errors import NotFound, SettingsInvalid, UsageError
from quire.providers.vendors import KEYED_PROVIDERS, VENDORS, vendor_facts
from quire.settings import Settings, base_url

LONGEST_KEY = 8192  # characters; the tokens of clouds reach some thousands

_KEY_PREFIXES = {  # the longest that fits decides whose a key looks to be
    name: facts.key_prefixes for name, facts in VENDORS.items() if facts.key_prefixes
}
_COMMON_PREFIX = "sk-"  # many have taken it over from OpenAI
# no longer than this, because keys of 32 letters are common, and no message should repeat one
_PROVIDER_NAME = re.compile(r"[a-z][a-z0-9_-]{0,19}")
_KEY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,29}")
_KEY_TEXT = re.compile(r"[!-~]+")  # ASCII that can be seen: what may stand in a header


def variables_of(provider: str) -> tuple[str, ...]:
    """The variables where this vendor's own tools look for its key."""
    usual = re.sub(r"[^A-Z0-9]", "_", provider.upper())
    return vendor_facts(provider).key_variables or (f"{usual}_API_KEY",)


def needs_key(provider: str, base_url: str) -> bool:
    """Whether nobody is answered without a key; servers of one's own mostly ask for none."""
    facts = vendor_facts(provider)
    if facts.keyless or facts.own_machine:
        return False
    host = _host(base_url)
    return not (_is_here(host) or (facts.keyless_nearby and _is_near(host)))


def validate_key(text: str, where: str) -> Secret:
    """Take a key as it was typed or found, or say what is wrong with it, never repeating it."""
    key = text.strip()
    if not key:
        raise UsageError(f"{where} is empty")
    if len(key) > LONGEST_KEY:
        raise UsageError(f"{where} is {len(key):,} characters long", "keys are much shorter")
    if not key.isascii():
        raise UsageError(f"{where} holds letters that no key has", "was it copied as it is?")
    if not _KEY_TEXT.fullmatch(key):
        raise UsageError(f"{where} holds a blank or a line break", "was more than the key copied?")
    return Secret(key)


def validate_provider(text: str, others: frozenset[str] = frozenset()) -> str:
    """Take the name of a provider that has keys, or suggest the nearest."""
    known = {*KEYED_PROVIDERS, *others}
    if text in known:
        return text
    if not _PROVIDER_NAME.fullmatch(text) or _looks_like_a_key(text):
        raise UsageError("that is not the name of a provider; it goes before the key's own name")
    if vendor_facts(text).keyless:
        raise UsageError(f"{text} needs no key")
    near = get_close_matches(text, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
    raise NotFound(f"no provider is called {text}; {hint}")


def validate_key_name(text: str) -> str:
    """Take what somebody calls a key; a key itself in its place is not repeated."""
    if not _KEY_NAME.fullmatch(text) or _looks_like_a_key(text):
        raise UsageError(
            "the name of a key is at most 30 letters, digits, dots and dashes, and not the key"
        )
    return text


def key_doubt(provider: str, key: Secret) -> str:
    """Say why a key does not look like this vendor's; "" where it does, or where nobody knows."""
    start, owners = _owners_by_prefix(key.reveal())
    if provider in owners:
        return ""
    if provider in _KEY_PREFIXES and not owners:
        usual = _KEY_PREFIXES[provider][0]
        return f"this does not look like a key of {provider}: those begin with {usual}"
    if owners and (
        provider in _KEY_PREFIXES
        or (start != _COMMON_PREFIX and vendor_facts(provider).never_prefixed)
    ):
        return f"this looks like a key of {owners[0]}, not of {provider}"
    return ""


def _owners_by_prefix(key: str) -> tuple[str, list[str]]:
    """The longest start that fits, and whose keys begin like that."""
    fitting = [item for starts in _KEY_PREFIXES.values() for item in starts if key.startswith(item)]
    start = max(fitting, key=len, default="")
    return start, [provider for provider, starts in _KEY_PREFIXES.items() if start in starts]


def _looks_like_a_key(text: str) -> bool:
    return bool(_owners_by_prefix(text)[0])


def _host(base_url: str) -> str:
    try:
        return urlsplit(base_url).hostname or ""
    except ValueError:
        return ""


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name that others resolve
        return False


def _is_near(host: str) -> bool:
    """Whether it is an address, or a name without dots, that means nothing outside this network."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return bool(host) and "." not in host


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
class KeySearch:
    """What this installation says of one provider, besides the keys in its ledger."""

    provider: str
    base_url: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, Secret] = field(default_factory=dict)  # that a gateway wants besides
    keys: tuple[FoundKey, ...] = ()  # in the order in which they are to be tried
    problem: UsageError | None = None  # with a key: then nothing further on was looked at

    @property
    def needs_key(self) -> bool:
        """Whether nobody is answered without a key."""
        return needs_key(self.provider, self.base_url)

    @property
    def is_keyless(self) -> bool:
        """Whether the answers are made here, by what Quire itself starts."""
        return vendor_facts(self.provider).keyless

    def without_default_credentials(self) -> "KeySearch":
        """The same, without what Google would find by itself, if there is such a thing."""
        others = (key for key in self.keys if key.name != DEFAULT_CREDENTIALS)
        return replace(self, keys=tuple(others))


class KeyPlaces(NamedTuple):
    """Where to look: what quire.toml says of the provider, the environment, quire.toml's folder."""

    table: Mapping[str, Json]
    environment: Mapping[str, str]
    folder: Path


def search_keys(
    provider: str, settings: Settings, environment: Mapping[str, str], url: str = ""
) -> KeySearch:
    """Look around as settings and environment say; `url` is that of one model, if it has its own.

    Raises SettingsInvalid where the environment names a place that is none.
    """
    table = settings.providers.get(provider, {})
    variables = vendor_facts(provider).option_variables
    said = {name: environment.get(variable, "") for name, variable in variables.items()}
    options = {
        name: value
        for name, value in {**said, **table}.items()
        if isinstance(value, str) and value and name not in _NOT_OPTIONS
    }
    place = url or base_url(settings, provider, environment)
    found = search_places(provider, KeyPlaces(table, environment, settings.folder), place, options)
    return replace(found, headers=_own_headers(provider, table, environment))


def _own_headers(
    provider: str, table: Mapping[str, Json], environment: Mapping[str, str]
) -> dict[str, Secret]:
    """The headers that quire.toml states; a value that begins with $ names a variable."""
    headers: dict[str, Secret] = {}
    for name, value in as_object(table.get("headers")).items():
        stated = str(value)
        variable = stated[1:] if stated.startswith("$") else ""
        if variable and not environment.get(variable):
            at = f"providers.{provider}.headers"
            raise SettingsInvalid(f"{at}: {name} is to come from {variable}, which is not set")
        headers[name] = Secret(environment[variable] if variable else stated)
    return headers


def search_places(
    provider: str, places: KeyPlaces, base_url: str = "", options: Mapping[str, str] = _NOTHING
) -> KeySearch:
    """Find a provider's keys outside the ledger; reads a file if quire.toml names one."""
    keys: tuple[FoundKey, ...] = ()
    problem = None
    if not vendor_facts(provider).keyless:
        try:
            keys = tuple(dict.fromkeys(_find_keys(provider, places)))
        except UsageError as error:
            problem = error
    return KeySearch(
        provider=provider, base_url=base_url, options=options, keys=keys, problem=problem
    )


def _find_keys(provider: str, places: KeyPlaces) -> Iterator[FoundKey]:
    """What quire.toml names must be there: else calls would go out on somebody else's bill."""
    named = places.table.get("key_env")
    if isinstance(named, str) and named:
        if not places.environment.get(named, "").strip():
            raise UsageError(f"quire.toml says that the key of {provider} is in {named}", "set it")
        yield _key_in_variable(provider, named, places.environment)
    path = places.table.get("key_file")
    if isinstance(path, str) and path:
        yield _key_in_file(provider, path, places.folder)
    for text in variables_of(provider):
        if text != named and places.environment.get(text, "").strip():
            yield _key_in_variable(provider, text, places.environment)
    if vendor_facts(provider).default_credentials:
        name, nobody = DEFAULT_CREDENTIALS, Secret("")
        yield FoundKey(provider, KeySource.ENVIRONMENT, name, nobody, digest_of(nobody))


def _key_in_variable(provider: str, name: str, environment: Mapping[str, str]) -> FoundKey:
    key = validate_key(environment[name], name)
    return FoundKey(provider, KeySource.ENVIRONMENT, name, key, digest_of(key))


def _key_in_file(provider: str, path: str, folder: Path) -> FoundKey:
    place = folder / Path(path).expanduser()
    try:
        if not place.is_file() and place.exists():  # a pipe would never end, and a folder is none
            raise UsageError(f"the key file {place} is not a file")
        with place.open("rb") as file:
            text = file.read(65536)
    except OSError as error:
        raise UsageError(f"the key file {place} cannot be read: {error.strerror}") from None
    key = validate_key(text.decode(errors="replace"), f"the key file {place}")
    return FoundKey(provider, KeySource.FILE, str(place), key, digest_of(key))
