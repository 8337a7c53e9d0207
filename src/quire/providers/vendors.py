"""Vendors: one row for each says its name, URL, variables, key shape, APIs, batches and limits.

A row is data, and read at every start: nothing of the vendors' own files is imported here. Those
are named as "module:Class" in this package, and `provider_registry.py` imports them when needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from quire.domain.batches import BatchLookup, BatchRules, PollCadence
from quire.domain.data import Json
from quire.domain.embeddings import EmbeddingRules
from quire.domain.models import StructuredOutput

_CADENCE = PollCadence(first=30.0, later=120.0, after=600.0)
_RULES = BatchRules(calls=50_000, size=200_000_000, lookup=BatchLookup.TAG, cadence=_CADENCE)
_EMBEDDINGS = EmbeddingRules(
    passages=256, size=200_000, compact=True
)  # of 2,048 and 300,000 tokens
_OWN_EMBEDDINGS = EmbeddingRules(passages=32, size=32_000)  # what servers of one's own take at once
_GOOGLE_RULES = replace(_RULES, size=1_000_000_000, cadence=PollCadence(120.0, 300.0, 1_200.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatVariant:
    """Where one server's Chat Completions differ from another's."""

    system_role: Literal["developer", "system"] = "system"
    limit: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    seed: Literal["seed", "random_seed"] = "seed"
    strict_for: str = ""  # only models with this in their name bind answers strictly
    # How a prefix is marked for its cache, where that must be said at all.
    marking: Literal["", "prompt_cache", "cache_control"] = ""
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)  # sent with every call


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheckCall:
    """The vendor's cheapest call that a wrong key does not get through."""

    header: str = "Authorization"
    scheme: str = "Bearer "
    path: str = "/models"
    query: str = ""
    versions: tuple[str, ...] = ()  # one of which may end a base URL already; else the first is put
    headers: tuple[tuple[str, str], ...] = ()
    # A header, and the account's option that it carries.
    option_headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFacts:
    """What is known of one vendor, or of one kind of server."""

    name: str  # the part of a model's name before the slash
    wire_format: str = "compatible:Compatible"
    batch_api: str = ""  # "" = it has none that we would use
    batch_rules: BatchRules | None = None
    # What goes with every file of calls, besides its use.
    upload_fields: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""  # "" = somebody must say
    path: str = "/v1"  # of a base URL that has none
    portal_path: str = ""  # what its portal shows in the place of the path
    url_variables: tuple[str, ...] = ()  # each as the vendor's own client reads it
    listen_port: int = 0  # its variable says where to listen: the port that is left out there
    key_variables: tuple[str, ...] = ()
    # What else the vendor's own tools read.
    option_variables: Mapping[str, str] = field(default_factory=dict)
    key_prefixes: tuple[str, ...] = ()  # how its keys begin; () = nobody knows
    never_prefixed: bool = False  # a prefix of another's is proof that a key is not its own
    key_check: KeyCheckCall | None = KeyCheckCall()  # None: nothing there costs nothing
    default_credentials: bool = False  # Google's own search finds a key, too
    own_machine: bool = False  # nobody sends a bill; keys are rare, and usage may be left out
    keyless: bool = False  # what Quire itself starts: nobody asks for a key
    keyless_nearby: bool = False  # on this network it mostly asks for no key
    start_hint: str = ""  # what to do where nothing listens
    start_command: str = ""
    chat: ChatVariant = ChatVariant()
    structured: tuple[StructuredOutput, ...] = tuple(StructuredOutput)  # ways to ask for JSON
    seed: Literal["taken", "by chat", "refused"] = "taken"  # "by chat": only with api = "chat"
    hottest: float = 2.0  # the highest temperature that it takes
    requests_a_minute: bool = True  # x-ratelimit-limit-requests counts a minute, not a day
    statement_needed: bool = False  # the names of its models say nothing of window and price
    same_models_as: str = ""  # another vendor, whose models it has in its own house
    single_discount: bool = False  # one for batches and one for cached input never add up
    forwards_cache_marks: bool = False
    exact_tokenizer: bool = False  # quire[tokens] counts as its models do
    genai_prices_id: str = ""  # what genai-prices calls it; "" = it does not know it
    embeddings: EmbeddingRules | None = None  # None: it makes none, or not in a form we speak


_ROWS = (
    VendorFacts(
        name="openai",
        embeddings=_EMBEDDINGS,
        wire_format="openai:OpenAI",
        batch_api="openai_batches:OpenAIBatches",
        batch_rules=_RULES,
        base_url="https://api.openai.com/v1",
        url_variables=("OPENAI_BASE_URL",),
        key_variables=("OPENAI_API_KEY",),
        option_variables={"organization": "OPENAI_ORG_ID", "project": "OPENAI_PROJECT_ID"},
        key_prefixes=("sk-",),
        key_check=KeyCheckCall(
            option_headers={"OpenAI-Organization": "organization", "OpenAI-Project": "project"}
        ),
        chat=ChatVariant(
            system_role="developer",
            limit="max_completion_tokens",
            marking="prompt_cache",
            extra={"store": False},
        ),
        exact_tokenizer=True,
        seed="by chat",
        genai_prices_id="openai",
    ),
    VendorFacts(
        name="anthropic",
        wire_format="anthropic:Anthropic",
        batch_api="anthropic_batches:AnthropicBatches",
        batch_rules=replace(
            _RULES,
            calls=100_000,
            size=255_000_000,  # of 256 MB; what stands around and between the calls counts too
            lookup=BatchLookup.ROWS,
            separator=b",",
        ),
        base_url="https://api.anthropic.com",
        url_variables=("ANTHROPIC_BASE_URL",),
        key_variables=("ANTHROPIC_API_KEY",),
        key_prefixes=("sk-ant-",),
        key_check=KeyCheckCall(
            header="x-api-key",
            scheme="",
            query="limit=1",
            versions=("/v1",),
            headers=(("anthropic-version", "2023-06-01"),),
            option_headers={"anthropic-workspace-id": "workspace"},
        ),
        seed="refused",
        hottest=1.0,  # its client 0.125 says so; from 2.0 on it offers none at all
        genai_prices_id="anthropic",
    ),
    VendorFacts(
        name="gemini",
        embeddings=EmbeddingRules(passages=100, size=60_000),
        wire_format="gemini:Gemini",
        batch_api="gemini:GeminiBatches",
        # Half of the 2 GB that it takes: a job that outlasts its time gives nothing back at all.
        batch_rules=replace(_GOOGLE_RULES, calls=100_000, window=48 * 3600.0),
        base_url="https://generativelanguage.googleapis.com",
        url_variables=("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"),
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_prefixes=("AIza", "AQ."),
        key_check=KeyCheckCall(
            header="x-goog-api-key", scheme="", query="pageSize=1", versions=("/v1", "/v1beta")
        ),
        genai_prices_id="google",
    ),
    VendorFacts(
        name="vertex",
        wire_format="vertex:Vertex",
        batch_api="vertex:VertexBatches",
        # Up to 72 hours of waiting, then 24 of work.
        batch_rules=replace(_GOOGLE_RULES, calls=200_000, window=96 * 3600.0, caches=False),
        base_url="https://aiplatform.googleapis.com",  # of the location "global"
        url_variables=("GOOGLE_VERTEX_BASE_URL",),
        key_variables=("GOOGLE_ACCESS_TOKEN",),
        option_variables={
            "project": "GOOGLE_CLOUD_PROJECT",
            "location": "GOOGLE_CLOUD_LOCATION",
            "bucket": "QUIRE_VERTEX_BUCKET",
        },
        key_prefixes=("ya29.",),
        key_check=None,
        default_credentials=True,
        same_models_as="gemini",
        single_discount=True,
    ),
    VendorFacts(
        name="azure",
        embeddings=_EMBEDDINGS,
        wire_format="azure:Azure",
        batch_api="openai_batches:OpenAIBatches",
        # A day is a target: nothing expires, and an end must be asked for.
        batch_rules=replace(_RULES, calls=100_000, window=0.0),
        # A resource holds 500 files that are kept for ever, and 10,000 that go after a fortnight.
        upload_fields={"expires_after[seconds]": "1209600", "expires_after[anchor]": "created_at"},
        path="/openai/v1",
        portal_path="/openai",
        url_variables=("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"),
        key_variables=("AZURE_OPENAI_API_KEY",),
        never_prefixed=True,
        seed="by chat",
        key_check=KeyCheckCall(header="api-key", scheme=""),
        chat=ChatVariant(
            system_role="developer", limit="max_completion_tokens", marking="prompt_cache"
        ),
        statement_needed=True,
        same_models_as="openai",
        exact_tokenizer=True,
    ),
    VendorFacts(
        name="mistral",
        embeddings=EmbeddingRules(passages=64, size=16_000),
        batch_api="mistral_batches:MistralBatches",
        # In one place they say a million calls.
        batch_rules=replace(_RULES, calls=100_000, size=500_000_000),
        base_url="https://api.mistral.ai/v1",
        url_variables=("MISTRAL_BASE_URL",),
        key_variables=("MISTRAL_API_KEY",),
        never_prefixed=True,
        chat=ChatVariant(seed="random_seed"),
        hottest=1.5,  # stated nowhere; answered so (422, "less than or equal to 1.5") in 2025
        genai_prices_id="mistral",
    ),
    VendorFacts(
        name="groq",
        batch_api="openai_batches:OpenAIBatches",
        # Their documentation says 200 MB, their client 100; no call is cheaper for being cached.
        batch_rules=replace(_RULES, size=100_000_000, caches=False),
        base_url="https://api.groq.com/openai/v1",
        path="/openai/v1",
        url_variables=("GROQ_BASE_URL",),
        key_variables=("GROQ_API_KEY",),
        key_prefixes=("gsk_",),
        requests_a_minute=False,
        chat=ChatVariant(limit="max_completion_tokens", strict_for="gpt-oss"),
        genai_prices_id="groq",
    ),
    VendorFacts(  # it has batches, but neither tag, lookup nor cancelling: calls are better paced
        name="openrouter",
        embeddings=EmbeddingRules(passages=64, size=60_000),
        base_url="https://openrouter.ai/api/v1",
        path="/api/v1",
        url_variables=("OPENROUTER_BASE_URL",),
        key_variables=("OPENROUTER_API_KEY",),
        key_prefixes=("sk-or-",),
        key_check=KeyCheckCall(path="/key"),  # its models are no secret
        chat=ChatVariant(marking="cache_control"),
        statement_needed=True,
        forwards_cache_marks=True,
    ),
    VendorFacts(
        name="compatible",
        embeddings=_OWN_EMBEDDINGS,
        key_variables=("COMPATIBLE_API_KEY",),
        keyless_nearby=True,
        statement_needed=True,
    ),
    VendorFacts(
        name="vllm",
        embeddings=_OWN_EMBEDDINGS,
        base_url="http://localhost:8000/v1",
        url_variables=("VLLM_BASE_URL",),
        key_variables=("VLLM_API_KEY",),
        own_machine=True,
        start_hint="start it with `vllm serve MODEL`",
        start_command="`vllm serve MODEL`",
    ),
    VendorFacts(
        name="ollama",
        embeddings=_OWN_EMBEDDINGS,
        base_url="http://localhost:11434/v1",
        url_variables=("OLLAMA_HOST",),
        listen_port=11_434,
        key_variables=("OLLAMA_API_KEY",),
        own_machine=True,
        start_hint="start it with `ollama serve`",
        start_command="`ollama serve`",
        structured=(StructuredOutput.SCHEMA, StructuredOutput.JSON, StructuredOutput.TEXT),
    ),
    VendorFacts(
        name="llamacpp",
        embeddings=_OWN_EMBEDDINGS,
        base_url="http://localhost:8080/v1",
        url_variables=("LLAMACPP_BASE_URL",),
        key_variables=("LLAMA_API_KEY",),
        own_machine=True,
        start_hint="start it with `llama-server -m FILE`",
        start_command="`llama-server -m MODEL.gguf`",
    ),
    VendorFacts(
        name="lmstudio",
        embeddings=_OWN_EMBEDDINGS,
        base_url="http://localhost:1234/v1",
        url_variables=("LMSTUDIO_BASE_URL",),
        key_variables=("LMSTUDIO_API_KEY",),
        own_machine=True,
        start_hint="start the server in LM Studio",
        start_command="`lms server start`",
        structured=(StructuredOutput.SCHEMA, StructuredOutput.TEXT),
    ),
    VendorFacts(
        name="local",
        base_url="http://127.0.0.1:8901/v1",
        url_variables=("QUIRE_LOCAL_URL",),
        key_check=None,
        own_machine=True,
        keyless=True,
        start_hint="start it with `quire local serve`",
        start_command="`quire local serve`",
        structured=(StructuredOutput.SCHEMA, StructuredOutput.TEXT),
    ),
    VendorFacts(
        name="simulated", wire_format="", key_check=None, keyless=True, embeddings=_EMBEDDINGS
    ),
)
VENDORS: Mapping[str, VendorFacts] = MappingProxyType({row.name: row for row in _ROWS})


def _names(*first: str) -> tuple[str, ...]:
    """All names in the order of the rows, some of them before the others."""
    return tuple(dict.fromkeys((*first, *VENDORS)))


# Both are shown to people, who know them in this order; a new row takes its place by itself.
PROVIDER_NAMES = _names(
    *("simulated", "openai", "azure", "anthropic", "gemini", "vertex", "openrouter")
)
KEYED_PROVIDERS = tuple(
    name for name in _names("anthropic", "openai", "azure") if VENDORS[name].key_variables
)


def vendor_facts(name: str) -> VendorFacts:
    """The row of a name; of one that nobody bears, what is usual."""
    return VENDORS.get(name) or VendorFacts(name=name)
