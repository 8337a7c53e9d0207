"""Everybody who speaks OpenAI's Chat Completions: routers, vendors, and servers of one's own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.domain.models import StructuredOutput
from quire.domain.requests import Call, Reply
from quire.providers import error_codes
from quire.providers.embedding_formats import EMBEDDINGS_PATH, encode_passages, read_embeddings
from quire.providers.event_streams import load_answer
from quire.providers.openai_formats import encode_chat, read_chat
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.rate_headers import read_rates
from quire.providers.vendors import VENDORS, VendorFacts
from quire.providers.wire import endpoint_url, headers, mapping, parse


@dataclass(eq=False)
class Compatible:
    """Chat Completions with the habits of one server."""

    name: str = "compatible"
    decoder_version = 2

    @property
    def facts(self) -> VendorFacts:
        """The habits that go with the name."""
        return VENDORS[self.name]

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into the words that this server understands."""
        facts = self.facts
        if call.wire.structured not in facts.structured:
            call = replace(call, wire=replace(call.wire, structured=StructuredOutput.TEXT))
        base = call.wire.url or account.base_url or facts.base_url
        if base and "://" not in base and facts.own_machine:  # OLLAMA_HOST=127.0.0.1:11434
            base = f"http://{base}"
        end, body = "/chat/completions", b""
        if call.passages:
            end, body = EMBEDDINGS_PATH, encode_passages(call, facts.embeddings)
        return HttpRequest(
            endpoint_url(self.name, base, facts.path, end),
            headers("Authorization", account.key, "Bearer "),
            body or encode_chat(call, facts.chat),
            facts.start_hint,
        )

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a completion, or raise Undecodable."""
        read = load_answer(raw, body)
        return read_embeddings(read) or read_chat(read, free=self.facts.own_machine)

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error."""
        if response.status == 403 and _is_flagged(response.body):  # a router's way to say no
            error_body = error_codes.read_error(response.body)
            message = error_codes.error_message(self.name, response.status, error_body)
            return ProviderError(message, remedy=Remedy.FIX_REQUEST)
        return error_codes.classify(self.name, response)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read what the headers say of our limits."""
        return read_rates(headers, requests_a_minute=self.facts.requests_a_minute)

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """A body that came with a 200 and is an error, as the error that it is."""
        if b'"error"' not in raw:
            return None
        body = mapping(parse(raw))
        error = error_codes.error_of(body)
        if not error or mapping(body.get("usage")) or _holds_answer(body):  # paid for, so kept
            return None
        code = mapping(error).get("code")
        status = code if type(code) is int and 400 <= code <= 599 else 502
        return HttpResponse(status, {}, raw)


def _holds_answer(body: JsonObject) -> bool:
    """Whether something was said or given to a tool, whatever is complained of beside it."""
    return isinstance(body.get("choices"), list) and bool(read_chat(body).text.strip())


def _is_flagged(body: bytes) -> bool:
    metadata = mapping(mapping(mapping(parse(body)).get("error")).get("metadata"))
    return "flagged_input" in metadata or "reasons" in metadata
