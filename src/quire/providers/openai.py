"""OpenAI: the Responses API, or Chat Completions where the account asks for it."""

from collections.abc import Mapping

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError
from quire.domain.requests import Call, Reply
from quire.providers import error_codes
from quire.providers.openai_formats import (
    ChatVariant,
    encode_chat,
    encode_responses,
    failed_response,
    read_either,
)
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.rate_headers import read_rates
from quire.providers.vendors import PROFILES
from quire.providers.wire import endpoint_url, headers, load

CHAT_VARIANT = ChatVariant(
    system_role="developer",
    limit="max_completion_tokens",
    marking="prompt_cache",
    extra={"store": False},
)


class OpenAI:
    """OpenAI's wire formats."""

    name = "openai"
    decoder_version = 1

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into OpenAI's words."""
        chat = account.options.get("api") == "chat"
        base = call.wire.url or account.base_url or PROFILES[self.name].base_url
        return HttpRequest(
            endpoint_url(self.name, base, "/v1", "/chat/completions" if chat else "/responses"),
            headers(
                "Authorization",
                account.key,
                "Bearer ",
                ("OpenAI-Organization", account.options.get("organization", "")),
                ("OpenAI-Project", account.options.get("project", "")),
            ),
            encode_chat(call, CHAT_VARIANT) if chat else encode_responses(call),
        )

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a body of either API, or raise Undecodable."""
        return read_either(load(raw, body))

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error."""
        return error_codes.classify(self.name, response)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read what the headers say of our limits."""
        return read_rates(headers)

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """A body that came with a 200 and is an error, as the error that it is."""
        return failed_response(raw)
