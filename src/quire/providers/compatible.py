"""Everybody who speaks OpenAI's Chat Completions: routers, vendors, and servers of one's own."""

from collections.abc import Mapping
from dataclasses import replace

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.models import StructuredOutput
from quire.domain.requests import Call, Reply
from quire.providers import error_codes
from quire.providers.openai_formats import encode_chat, read_chat
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.rate_headers import read_rates
from quire.providers.vendors import CHAT_PROFILES, PROFILES, ChatProfile, Profile
from quire.providers.wire import endpoint_url, headers, load, mapping, parse

__all__ = ["CHAT_PROFILES", "PROFILES", "ChatProfile", "Compatible", "Profile"]


class Compatible:
    """Chat Completions with the habits of one server."""

    decoder_version = 1

    def __init__(self, name: str = "compatible", profile: ChatProfile | None = None) -> None:
        """Take on the habits that go with a name, or others."""
        self.name = name
        self.profile = profile or CHAT_PROFILES[name]

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into the words that this server understands."""
        if call.wire.structured not in self.profile.structured:
            call = replace(call, wire=replace(call.wire, structured=StructuredOutput.TEXT))
        base = call.wire.url or account.base_url or self.profile.base_url
        if base and "://" not in base and self.profile.free:  # OLLAMA_HOST=127.0.0.1:11434
            base = f"http://{base}"
        return HttpRequest(
            endpoint_url(self.name, base, self.profile.path, "/chat/completions"),
            headers("Authorization", account.key, "Bearer "),
            encode_chat(call, self.profile.variant),
            self.profile.start_hint,
        )

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a completion, or raise Undecodable."""
        return read_chat(load(raw, body), free=self.profile.free)

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error."""
        if response.status == 403 and _is_flagged(response.body):  # a router's way to say no
            error_body = error_codes.read_error(response.body)
            message = error_codes.error_message(self.name, response.status, error_body)
            return ProviderError(message, remedy=Remedy.FIX_REQUEST)
        return error_codes.classify(self.name, response)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read what the headers say of our limits."""
        return read_rates(headers, requests_a_minute=self.profile.requests_a_minute)

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """A body that came with a 200 and is an error, as the error that it is."""
        if b'"error"' not in raw:
            return None
        body = mapping(parse(raw))
        error = error_codes.error_of(body)
        if not error or mapping(body.get("usage")):  # what was paid for is kept
            return None
        code = mapping(error).get("code")
        status = code if type(code) is int and 400 <= code <= 599 else 502
        return HttpResponse(status, {}, raw)


def _is_flagged(body: bytes) -> bool:
    metadata = mapping(mapping(mapping(parse(body)).get("error")).get("metadata"))
    return "flagged_input" in metadata or "reasons" in metadata
