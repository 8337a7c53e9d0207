"""What is known of vendors' keys: the usual variables, what a key looks like, who needs none."""

import re
from difflib import get_close_matches
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit

from quire.domain.accounts import Secret
from quire.domain.errors import NotFound, UsageError

VARIABLES = MappingProxyType(
    {
        "anthropic": ("ANTHROPIC_API_KEY",),
        "openai": ("OPENAI_API_KEY",),
        "azure": ("AZURE_OPENAI_API_KEY",),
        "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "vertex": ("GOOGLE_ACCESS_TOKEN",),
        "mistral": ("MISTRAL_API_KEY",),
        "groq": ("GROQ_API_KEY",),
        "openrouter": ("OPENROUTER_API_KEY",),
        "compatible": ("COMPATIBLE_API_KEY",),
        "vllm": ("VLLM_API_KEY",),
        "ollama": ("OLLAMA_API_KEY",),
        "llamacpp": ("LLAMA_API_KEY",),
        "lmstudio": ("LMSTUDIO_API_KEY",),
    }
)
OPTIONS = MappingProxyType(  # what else the vendors' own tools read
    {
        "openai": {"organization": "OPENAI_ORG_ID", "project": "OPENAI_PROJECT_ID"},
        "vertex": {
            "project": "GOOGLE_CLOUD_PROJECT",
            "location": "GOOGLE_CLOUD_LOCATION",
            "bucket": "QUIRE_VERTEX_BUCKET",
        },
    }
)
IN_THIS_PROCESS = frozenset({"simulated", "local"})  # whom nobody asks for a key
ON_THIS_MACHINE = frozenset({"vllm", "ollama", "llamacpp", "lmstudio"})  # mostly without one
LONGEST_KEY = 8192  # characters; the tokens of clouds reach some thousands

_STARTS = {  # the longest that fits decides whose a key looks to be
    "anthropic": ("sk-ant-",),
    "openai": ("sk-",),
    "gemini": ("AIza", "AQ."),
    "vertex": ("ya29.",),
    "groq": ("gsk_",),
    "openrouter": ("sk-or-",),
}
_COMMON = "sk-"  # many have taken it over from OpenAI
_OF_ONE_KIND = frozenset({"azure", "mistral"})  # their keys are never like those above
# no longer than this, because keys of 32 letters are common, and no message should repeat one
_PROVIDER = re.compile(r"[a-z][a-z0-9_-]{0,19}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,29}")
_KEY = re.compile(r"[!-~]+")  # ASCII that can be seen: what may stand in a header


def variables_of(provider: str) -> tuple[str, ...]:
    """The variables where this vendor's own tools look for its key."""
    usual = re.sub(r"[^A-Z0-9]", "_", provider.upper())
    return VARIABLES.get(provider, (f"{usual}_API_KEY",))


def needs_key(provider: str, base_url: str) -> bool:
    """Whether nobody is answered without a key; servers of one's own mostly ask for none."""
    if provider in IN_THIS_PROCESS | ON_THIS_MACHINE:
        return False
    host = _host(base_url)
    return not (_is_here(host) or (provider == "compatible" and _is_near(host)))


def checked_key(text: str, where: str) -> Secret:
    """Take a key as it was typed or found, or say what is wrong with it, never repeating it."""
    key = text.strip()
    if not key:
        raise UsageError(f"{where} is empty")
    if len(key) > LONGEST_KEY:
        raise UsageError(f"{where} is {len(key):,} characters long; keys are much shorter")
    if not key.isascii():
        raise UsageError(f"{where} holds letters that no key has; was it copied as it is?")
    if not _KEY.fullmatch(key):
        raise UsageError(f"{where} holds a blank or a line break; was more than the key copied?")
    return Secret(key)


def checked_provider(text: str, others: frozenset[str] = frozenset()) -> str:
    """Take the name of a provider that has keys, or suggest the nearest."""
    known = VARIABLES.keys() | others
    if text in known:
        return text
    if not _PROVIDER.fullmatch(text) or _looks_like_a_key(text):
        raise UsageError("that is not the name of a provider; it goes before the key's own name")
    if text in IN_THIS_PROCESS:
        raise UsageError(f"{text} needs no key")
    near = get_close_matches(text, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
    raise NotFound(f"no provider is called {text}; {hint}")


def checked_name(text: str) -> str:
    """Take what somebody calls a key; a key itself in its place is not repeated."""
    if not _NAME.fullmatch(text) or _looks_like_a_key(text):
        raise UsageError(
            "the name of a key is at most 30 letters, digits, dots and dashes, and not the key"
        )
    return text


def doubt(provider: str, key: Secret) -> str:
    """Say why a key does not look like this vendor's; "" where it does, or where nobody knows."""
    start, owners = _looks_to_be_of(key.reveal())
    if provider in owners:
        return ""
    if provider in _STARTS and not owners:
        return (
            f"this does not look like a key of {provider}: those begin with {_STARTS[provider][0]}"
        )
    if owners and (provider in _STARTS or (start != _COMMON and provider in _OF_ONE_KIND)):
        return f"this looks like a key of {owners[0]}, not of {provider}"
    return ""


def _looks_to_be_of(key: str) -> tuple[str, list[str]]:
    """The longest start that fits, and whose keys begin like that."""
    fitting = [each for starts in _STARTS.values() for each in starts if key.startswith(each)]
    start = max(fitting, key=len, default="")
    return start, [provider for provider, starts in _STARTS.items() if start in starts]


def _looks_like_a_key(text: str) -> bool:
    return bool(_looks_to_be_of(text)[0])


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
