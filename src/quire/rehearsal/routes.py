"""Which path is whose: the endpoints of all vendors, under every prefix they are known by."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.row import HOUR
from quire.rehearsal.dialects.anthropic import Anthropic
from quire.rehearsal.dialects.chat import Chat
from quire.rehearsal.dialects.dialect import Dialect, Incoming, Vendor
from quire.rehearsal.dialects.gemini import Gemini
from quire.rehearsal.dialects.generate import Generate
from quire.rehearsal.dialects.messages import Messages
from quire.rehearsal.dialects.openai import OpenAI
from quire.rehearsal.dialects.responses import Responses
from quire.rehearsal.endpoints.anthropic_batches import MOST_BYTES as MOST_MESSAGES
from quire.rehearsal.endpoints.anthropic_batches import MessageBatches
from quire.rehearsal.endpoints.gemini_batches import GeminiBatches
from quire.rehearsal.endpoints.gemini_files import MOST_BYTES as MOST_OF_GOOGLE
from quire.rehearsal.endpoints.gemini_files import GeminiFiles
from quire.rehearsal.endpoints.openai_batches import Batches
from quire.rehearsal.endpoints.openai_files import MOST_BYTES, Files
from quire.rehearsal.exchange import Decision, Exchange

Act: TypeAlias = Callable[[Exchange, bytes], Decision]

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
_ANTHROPIC = Anthropic()
_GOOGLE = Gemini("google", "gemini", "vertex")


class Route(NamedTuple):
    """A path and what is done there."""

    method: str
    path: str
    endpoint: str
    vendor: Vendor | None  # None: whoever the request's headers speak to
    act: Act
    most: int = 0  # bytes of a body that goes to disk; 0: it stays in memory, as calls do
    batches: bool = False  # batches that are due are carried out before this is answered


def routes() -> list[Route]:
    """Every path that the server knows."""
    messages = Messages()
    made = [
        *_google_batches(GeminiBatches(*_GOOGLE.providers), GeminiFiles(*_GOOGLE.providers)),
        _calls("/v1/messages", messages),
        Route(
            "POST",
            "/v1/messages/count_tokens",
            "count_tokens",
            messages,
            lambda exchange, raw: exchange.counted(messages.count, raw),
        ),
        *_message_batches(MessageBatches()),
    ]
    for prefix, providers in _MOUNTS.items():
        made += [
            _calls(f"{prefix}/responses", Responses(*providers)),
            _calls(f"{prefix}/chat/completions", Chat(*providers, lax="openrouter" in providers)),
            *_listings(f"{prefix}/models", None if prefix == "/v1" else OpenAI(*providers)),
        ]
    for prefix, (most, longest) in _BATCHING.items():
        providers = _MOUNTS[prefix]
        batches = Batches(*providers, most_rows=most, longest=longest)
        made += _batches(prefix, batches, Files(*providers))
    google = Generate("google", "gemini", "vertex")
    vertex = Generate("vertex", "google", "gemini", vertex=True)
    return _told_apart(
        [
            *made,
            _calls(f"/{_VERSIONS}/models/{{model}}:generateContent", google),
            _calls(f"{_VERTEX}/{{model}}:generateContent", vertex),
            *_listings("/v1beta/models", _GOOGLE),
        ]
    )


def nowhere(exchange: Exchange, raw: bytes) -> Decision:
    """Answer a request to a path that nobody has."""
    shown = f"{exchange.incoming.method} {exchange.incoming.path}"[:200]
    raise Problem(Trouble.NO_PATH, f"Invalid URL ({shown})")


def too_large(exchange: Exchange, raw: bytes) -> Decision:
    """Answer a request whose body nobody reads to its end."""
    raise Problem(Trouble.TOO_LARGE, "the body is too large")


def unreadable(exchange: Exchange, raw: bytes) -> Decision:
    """Answer a request whose body cannot be unpacked."""
    raise Problem(Trouble.NOT_JSON, "the body cannot be read")


def spoken_to(incoming: Incoming) -> Vendor:
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
    return OpenAI("openai")


def _calls(path: str, dialect: Dialect) -> Route:
    def act(exchange: Exchange, raw: bytes) -> Decision:
        return exchange.called(dialect, raw)

    return Route("POST", path, dialect.endpoint, dialect, act)


def _batches(prefix: str, batches: Batches, files: Files) -> list[Route]:
    """OpenAI's files and batches."""

    def about(method: str, path: str, act: Act, most: int = 0) -> Route:
        endpoint, vendor = path.split("/")[1], batches if path.startswith("/b") else files
        waits = (method, path) not in (("POST", "/files"), ("POST", "/batches"))
        return Route(method, f"{prefix}{path}", endpoint, vendor, act, most, waits)

    return [
        about("POST", "/files", files.create, MOST_BYTES),
        about("GET", "/files", files.every),
        about("GET", "/files/{file}", files.one),
        about("GET", "/files/{file}/content", files.content),
        about("DELETE", "/files/{file}", files.delete),
        about("POST", "/batches", batches.create),
        about("GET", "/batches", batches.every),
        about("GET", "/batches/{batch}", batches.one),
        about("POST", "/batches/{batch}/cancel", batches.cancel),
    ]


def _message_batches(batches: MessageBatches) -> list[Route]:
    """Anthropic's batches."""

    def about(method: str, end: str, act: Act, most: int = 0) -> Route:
        path = f"/v1/messages/batches{end}"
        return Route(method, path, "batches", batches, act, most, batches=True)

    return [
        about("POST", "", batches.create, MOST_MESSAGES),
        about("GET", "", batches.every),
        about("GET", "/{batch}", batches.one),
        about("DELETE", "/{batch}", batches.delete),
        about("POST", "/{batch}/cancel", batches.cancel),
        about("GET", "/{batch}/results", batches.results),
    ]


def _google_batches(batches: GeminiBatches, files: GeminiFiles) -> list[Route]:
    """Gemini's files and batches, under each of its versions."""

    def about(method: str, path: str, act: Act, most: int = 0) -> Route:
        kind = "files" if "/files" in path else "batches"
        return Route(method, path, kind, batches, act, most, batches=True)

    return [
        route
        for version in ("v1", "v1beta")
        for route in (
            about("POST", f"/upload/{version}/files", files.upload, MOST_OF_GOOGLE),
            about("GET", f"/download/{version}/files/{{file}}:download", files.content),
            about("GET", f"/{version}/files/{{file}}:download", files.content),
            about("GET", f"/{version}/files", files.every),
            about("GET", f"/{version}/files/{{file}}", files.one),
            about("DELETE", f"/{version}/files/{{file}}", files.delete),
            about("POST", f"/{version}/models/{{model}}:batchGenerateContent", batches.create),
            about("GET", f"/{version}/batches", batches.every),
            about("GET", f"/{version}/batches/{{batch}}", batches.one),
            about("DELETE", f"/{version}/batches/{{batch}}", batches.delete),
            about("POST", f"/{version}/batches/{{batch}}:cancel", batches.cancel),
        )
    ]


def _told_apart(made: list[Route]) -> list[Route]:
    """Let each path be there once; where Google shares one, headers say whose a request is."""
    found: dict[tuple[str, str], Route] = {}
    for route in made:
        place = (route.method, route.path)
        found[place] = _either(found[place], route) if place in found else route
    return list(found.values())


def _either(google: Route, other: Route) -> Route:
    def act(exchange: Exchange, raw: bytes) -> Decision:
        whose = google if spoken_to(exchange.incoming) is _GOOGLE else other
        return whose.act(exchange, raw)

    return other._replace(vendor=None, act=act)


def _listings(path: str, vendor: Vendor | None) -> list[Route]:
    def one(exchange: Exchange, raw: bytes) -> Decision:
        return exchange.described()

    def every(exchange: Exchange, raw: bytes) -> Decision:
        return exchange.listing()

    return [
        Route("GET", path, "models", vendor, every),
        Route("GET", f"{path}/{{model:[^:]+}}", "models", vendor, one),
    ]
