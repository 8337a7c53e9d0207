"""Vendors: where each one is found, and by which variables the world names its keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from quire.domain.models import StructuredOutput
from quire.providers.openai_formats import ChatVariant

_ALL = tuple(StructuredOutput)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is usual for one vendor, or for one kind of server."""

    base_url: str = ""  # "" = somebody must say
    key_variable: str = ""  # "" = no key is usual
    url_variable: str = ""
    free: bool = False  # on one's own machine: nothing is billed, and usage may be left out
    structured: tuple[StructuredOutput, ...] = _ALL  # the ways to ask for JSON, best first
    start_hint: str = ""  # what to do where nothing listens


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatProfile(Profile):
    """The same, of somebody who speaks Chat Completions."""

    path: str = "/v1"  # of a base URL that has none
    requests_a_minute: bool = True  # x-ratelimit-limit-requests counts a minute, not a day
    variant: ChatVariant = field(default_factory=ChatVariant)


CHAT_PROFILES: Mapping[str, ChatProfile] = MappingProxyType(
    {
        "compatible": ChatProfile(),
        "openrouter": ChatProfile(
            base_url="https://openrouter.ai/api/v1",
            key_variable="OPENROUTER_API_KEY",
            path="/api/v1",
            variant=ChatVariant(marking="cache_control"),
        ),
        "mistral": ChatProfile(
            base_url="https://api.mistral.ai/v1",
            key_variable="MISTRAL_API_KEY",
            variant=ChatVariant(seed="random_seed"),
        ),
        "groq": ChatProfile(
            base_url="https://api.groq.com/openai/v1",
            key_variable="GROQ_API_KEY",
            url_variable="GROQ_BASE_URL",
            path="/openai/v1",
            requests_a_minute=False,
            variant=ChatVariant(limit="max_completion_tokens", strict_for="gpt-oss"),
        ),
        "vllm": ChatProfile(
            base_url="http://localhost:8000/v1",
            key_variable="VLLM_API_KEY",
            free=True,
            start_hint="start it with `vllm serve MODEL`",
        ),
        "ollama": ChatProfile(
            base_url="http://localhost:11434/v1",
            url_variable="OLLAMA_HOST",
            free=True,
            start_hint="start it with `ollama serve`",
            structured=(StructuredOutput.SCHEMA, StructuredOutput.JSON, StructuredOutput.TEXT),
        ),
        "llamacpp": ChatProfile(
            base_url="http://localhost:8080/v1",
            key_variable="LLAMA_API_KEY",
            free=True,
            start_hint="start it with `llama-server -m FILE`",
        ),
        "lmstudio": ChatProfile(
            base_url="http://localhost:1234/v1",
            free=True,
            start_hint="start the server in LM Studio",
            structured=(StructuredOutput.SCHEMA, StructuredOutput.TEXT),
        ),
        "local": ChatProfile(
            base_url="http://127.0.0.1:8901/v1",
            url_variable="QUIRE_LOCAL_URL",
            free=True,
            structured=(StructuredOutput.SCHEMA, StructuredOutput.TEXT),
            start_hint="start it with `quire local serve`",
        ),
    }
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "openai": Profile(
            base_url="https://api.openai.com/v1",
            key_variable="OPENAI_API_KEY",
            url_variable="OPENAI_BASE_URL",
        ),
        "azure": Profile(key_variable="AZURE_OPENAI_API_KEY", url_variable="AZURE_OPENAI_ENDPOINT"),
        **CHAT_PROFILES,
    }
)
