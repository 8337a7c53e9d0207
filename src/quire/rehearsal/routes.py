"""Which path is whose: the endpoints of all vendors, under every prefix they are known by."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from quire.rehearsal.batch_jobs import HOUR
from quire.rehearsal.exchange import Exchange, ResponsePlan
from quire.rehearsal.vendor_apis.anthropic import AnthropicEndpoint, MessagesEndpoint
from quire.rehearsal.vendor_apis.anthropic_batch_endpoints import MOST_BYTES as MOST_MESSAGES
from quire.rehearsal.vendor_apis.anthropic_batch_endpoints import AnthropicBatchEndpoint
from quire.rehearsal.vendor_apis.embedding_endpoints import (
    EmbeddingsEndpoint,
    GoogleEmbeddingsEndpoint,
)
from quire.rehearsal.vendor_apis.gemini import GeminiEndpoint, GenerateEndpoint
from quire.rehearsal.vendor_apis.gemini_batch_endpoints import MOST_BYTES as MOST_OF_GOOGLE
from quire.rehearsal.vendor_apis.gemini_batch_endpoints import (
    GeminiBatchEndpoint,
    GeminiFileEndpoint,
)
from quire.rehearsal.vendor_apis.openai import OpenAIEndpoint
from quire.rehearsal.vendor_apis.openai_batch_endpoints import (
    MOST_BYTES,
    OpenAIBatchEndpoint,
    OpenAIFileEndpoint,
)
from quire.rehearsal.vendor_apis.openai_call_endpoints import ChatEndpoint, ResponsesEndpoint
from quire.rehearsal.vendor_protocol import (
    ApiProblem,
    CallEndpoint,
    IncomingRequest,
    ProblemKind,
    VendorEndpoint,
)

Action: TypeAlias = Callable[[Exchange, bytes], ResponsePlan]

_VERSIONS = "{version:v1|v1beta|v1beta1}"
_VERTEX = f"/{_VERSIONS}/projects/{{project}}/locations/{{location}}/publishers/google/models"
_MOUNTS = {  # prefix -> whose models are asked for there
    "/v1": ("openai",),
    "/openai/v1": ("azure", "groq"),
    "/api/v1": ("openrouter",),
}
_BATCHING = {  # prefix -> the most rows in a batch, and seconds of its window
    "/v1": (50_000, 24 * HOUR),
    "/openai/v1": (100_000, 7 * 24 * HOUR),
}
_ANTHROPIC = AnthropicEndpoint()
_GOOGLE = GeminiEndpoint("google", "gemini", "vertex")


class ServerRoute(NamedTuple):
    """A path and what is done there."""

    method: str
    path: str
    endpoint: str
    vendor: VendorEndpoint | None  # None: whoever the request's headers speak to
    action: Action
    most_bytes: int = 0  # bytes of a body that goes to disk; 0: it stays in memory, as calls do
    batches: bool = False  # batches that are due are carried out before this is answered


def routes() -> list[ServerRoute]:
    """Every path that the server knows."""
    messages = MessagesEndpoint()
    made = [
        *_gemini_batch_routes(
            GeminiBatchEndpoint(*_GOOGLE.providers), GeminiFileEndpoint(*_GOOGLE.providers)
        ),
        _call_route("/v1/messages", messages),
        ServerRoute(
            "POST",
            "/v1/messages/count_tokens",
            "count_tokens",
            messages,
            lambda exchange, raw: exchange.count_tokens(messages.read_for_counting, raw),
        ),
        *_anthropic_batch_routes(AnthropicBatchEndpoint()),
    ]
    for prefix, providers in _MOUNTS.items():
        made += _openai_routes(prefix, providers)
    for prefix, (most, longest) in _BATCHING.items():
        providers = _MOUNTS[prefix]
        batches = OpenAIBatchEndpoint(*providers, most_rows=most, longest=longest)
        made += _openai_batch_routes(prefix, batches, OpenAIFileEndpoint(*providers))
    google = GenerateEndpoint("google", "gemini", "vertex")
    vertex = GenerateEndpoint("vertex", "google", "gemini", vertex=True)
    made += [
        _call_route(f"/{_VERSIONS}/models/{{model}}:generateContent", google),
        _call_route(f"{_VERTEX}/{{model}}:generateContent", vertex),
        _call_route(
            f"/{_VERSIONS}/models/{{model}}:batchEmbedContents",
            GoogleEmbeddingsEndpoint("google", "gemini"),
        ),
        *_model_routes("/v1beta/models", _GOOGLE),
    ]
    return _merge_shared_paths(made)


def _openai_routes(prefix: str, providers: tuple[str, ...]) -> list[ServerRoute]:
    """OpenAI's calls and models, under one prefix."""
    chat = ChatEndpoint(*providers, lax="openrouter" in providers)
    return [
        _call_route(f"{prefix}/responses", ResponsesEndpoint(*providers)),
        _call_route(f"{prefix}/chat/completions", chat),
        _call_route(f"{prefix}/embeddings", EmbeddingsEndpoint(*providers)),
        *_model_routes(f"{prefix}/models", None if prefix == "/v1" else OpenAIEndpoint(*providers)),
    ]


def refuse_path(exchange: Exchange, raw: bytes) -> ResponsePlan:
    """Answer a request to a path that nobody has."""
    request_line = f"{exchange.incoming.method} {exchange.incoming.path}"[:200]
    raise ApiProblem(ProblemKind.NO_PATH, f"Invalid URL ({request_line})")


def refuse_too_large(exchange: Exchange, raw: bytes) -> ResponsePlan:
    """Answer a request whose body nobody reads to its end."""
    raise ApiProblem(ProblemKind.TOO_LARGE, "the body is too large")


def refuse_unreadable(exchange: Exchange, raw: bytes) -> ResponsePlan:
    """Answer a request whose body cannot be unpacked."""
    raise ApiProblem(ProblemKind.NOT_JSON, "the body cannot be read")


def guess_vendor(incoming: IncomingRequest) -> VendorEndpoint:
    """Guess the vendor that a request is meant for, by its headers and its path."""
    headers = incoming.headers
    if "anthropic-version" in headers or "x-api-key" in headers:
        return _ANTHROPIC
    if "x-goog-api-key" in headers or "key" in incoming.query:
        return _GOOGLE
    if incoming.path.startswith(("/v1beta", "/v1/projects/")):
        return _GOOGLE
    if incoming.path.startswith("/v1/messages"):
        return _ANTHROPIC
    return OpenAIEndpoint("openai")


def _call_route(path: str, endpoint: CallEndpoint) -> ServerRoute:
    def action(exchange: Exchange, raw: bytes) -> ResponsePlan:
        return exchange.answer_call(endpoint, raw)

    return ServerRoute("POST", path, endpoint.endpoint_name, endpoint, action)


def _openai_batch_routes(
    prefix: str, batches: OpenAIBatchEndpoint, files: OpenAIFileEndpoint
) -> list[ServerRoute]:
    """OpenAI's files and batches."""

    def make_route(method: str, path: str, action: Action, most_bytes: int = 0) -> ServerRoute:
        endpoint, vendor = path.split("/")[1], batches if path.startswith("/b") else files
        waits = (method, path) not in (("POST", "/files"), ("POST", "/batches"))
        return ServerRoute(method, f"{prefix}{path}", endpoint, vendor, action, most_bytes, waits)

    return [
        make_route("POST", "/files", files.create, MOST_BYTES),
        make_route("GET", "/files", files.list_all),
        make_route("GET", "/files/{file}", files.retrieve),
        make_route("GET", "/files/{file}/content", files.content),
        make_route("DELETE", "/files/{file}", files.delete),
        make_route("POST", "/batches", batches.create),
        make_route("GET", "/batches", batches.list_all),
        make_route("GET", "/batches/{batch}", batches.retrieve),
        make_route("POST", "/batches/{batch}/cancel", batches.cancel),
    ]


def _anthropic_batch_routes(batches: AnthropicBatchEndpoint) -> list[ServerRoute]:
    """Anthropic's batches."""

    def make_route(method: str, end: str, action: Action, most_bytes: int = 0) -> ServerRoute:
        path = f"/v1/messages/batches{end}"
        return ServerRoute(method, path, "batches", batches, action, most_bytes, batches=True)

    return [
        make_route("POST", "", batches.create, MOST_MESSAGES),
        make_route("GET", "", batches.list_all),
        make_route("GET", "/{batch}", batches.retrieve),
        make_route("DELETE", "/{batch}", batches.delete),
        make_route("POST", "/{batch}/cancel", batches.cancel),
        make_route("GET", "/{batch}/results", batches.results),
    ]


def _gemini_batch_routes(
    batches: GeminiBatchEndpoint, files: GeminiFileEndpoint
) -> list[ServerRoute]:
    """Gemini's files and batches, under each of its versions."""

    def make_route(method: str, path: str, action: Action, most_bytes: int = 0) -> ServerRoute:
        kind = "files" if "/files" in path else "batches"
        return ServerRoute(method, path, kind, batches, action, most_bytes, batches=True)

    return [
        route
        for version in ("v1", "v1beta")
        for route in (
            make_route("POST", f"/upload/{version}/files", files.upload, MOST_OF_GOOGLE),
            make_route("GET", f"/download/{version}/files/{{file}}:download", files.content),
            make_route("GET", f"/{version}/files/{{file}}:download", files.content),
            make_route("GET", f"/{version}/files", files.list_all),
            make_route("GET", f"/{version}/files/{{file}}", files.retrieve),
            make_route("DELETE", f"/{version}/files/{{file}}", files.delete),
            make_route("POST", f"/{version}/models/{{model}}:batchGenerateContent", batches.create),
            make_route("GET", f"/{version}/batches", batches.list_all),
            make_route("GET", f"/{version}/batches/{{batch}}", batches.retrieve),
            make_route("DELETE", f"/{version}/batches/{{batch}}", batches.delete),
            make_route("POST", f"/{version}/batches/{{batch}}:cancel", batches.cancel),
        )
    ]


def _merge_shared_paths(made: list[ServerRoute]) -> list[ServerRoute]:
    """Let each path be there once; where Google shares one, headers say whose a request is."""
    found: dict[tuple[str, str], ServerRoute] = {}
    for route in made:
        place = (route.method, route.path)
        found[place] = _route_by_headers(found[place], route) if place in found else route
    return list(found.values())


def _route_by_headers(google: ServerRoute, other: ServerRoute) -> ServerRoute:
    def action(exchange: Exchange, raw: bytes) -> ResponsePlan:
        whose = google if guess_vendor(exchange.incoming) is _GOOGLE else other
        return whose.action(exchange, raw)

    return other._replace(vendor=None, action=action)


def _model_routes(path: str, vendor: VendorEndpoint | None) -> list[ServerRoute]:
    single = f"{path}/{{model:[^:]+}}"
    return [
        ServerRoute("GET", path, "models", vendor, lambda exchange, _: exchange.list_models()),
        ServerRoute("GET", single, "models", vendor, lambda exchange, _: exchange.describe_model()),
    ]
