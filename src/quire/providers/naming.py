"""Names of models: who answers, what it is called there, and whether the machine is one's own."""

import re
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from quire.domain.errors import UsageError

COMPATIBLE = "compatible"
OWN_MACHINE = ("vllm", "ollama", "llamacpp", "lmstudio", "local")
STATED = (COMPATIBLE, "azure", "openrouter")  # whose names say nothing of window and price
PROVIDERS = (
    *("openai", "anthropic", "gemini", "vertex", "azure", "mistral", "groq", "openrouter"),
    *(COMPATIBLE, *OWN_MACHINE, "simulated"),
)

_HERE = ("localhost", "127.0.0.1", "::1")
_START = re.compile("@https?://", re.IGNORECASE)


class Address(NamedTuple):
    """What a server calls a model, and where the server is."""

    id: str  # "" = the part of our name after the slash
    url: str  # "" = where its provider is found


def provider_of(name: str) -> str:
    """The part of a name that says who answers."""
    return name.partition("/")[0]


def address(name: str) -> Address:
    """Take `compatible/MODEL@URL` apart; other names have no address in them."""
    provider, _, rest = name.partition("/")
    start = _START.search(rest)
    if start is None:
        return Address("", "")
    model, url = rest[: start.start()], rest[start.start() + 1 :].rstrip("/")
    parts = _split(url)
    if "?" in url or "#" in url or (parts is not None and "@" in parts.netloc):
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts else "http://HOST"
        raise UsageError(
            "a key does not belong in a model's name, nor anything after ? or #: names are written"
            f" down in many places; write compatible/{model}@{place}/v1 and set key_env"
            " in [providers.compatible] of quire.toml"
        )
    if provider != COMPATIBLE:
        raise UsageError(
            f"only compatible/MODEL@URL has an address in it; write {provider}/{model}, and where"
            f" it is as base_url in [providers.{provider}] of quire.toml"
        )
    if not model or parts is None or not parts.hostname:
        raise UsageError(f"{name!r} names no server; write compatible/MODEL@http://HOST/v1")
    return Address(model, url)


def is_own_machine(name: str) -> bool:
    """Whether calls to it go to a machine of the user's own, where nobody sends a bill."""
    found = address(name)
    if provider_of(name) in OWN_MACHINE:
        return bool(name.partition("/")[2])
    parts = _split(found.url)
    return parts is not None and parts.hostname in _HERE


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number shows itself only here
    except ValueError:
        return None
    return parts
