"""Azure OpenAI: OpenAI's wire formats at one's own resource, with deployments for models."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy
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
from quire.providers.wire import endpoint_url, headers, load

CHAT_VARIANT = ChatVariant(
    system_role="developer", limit="max_completion_tokens", marking="prompt_cache"
)
PATH = "/openai/v1"


class Azure:
    """OpenAI's wire formats as Azure serves them."""

    name = "azure"
    decoder_version = 1

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into OpenAI's words, for the deployment that bears the model's name."""
        base = call.wire.url or account.base_url
        if not base:
            raise ProviderError(
                "azure: no base URL is known;"
                " set AZURE_OPENAI_ENDPOINT to https://RESOURCE.openai.azure.com",
                remedy=Remedy.FIX_ACCOUNT,
            )
        chat = account.options.get("api") == "chat"
        end = "/chat/completions" if chat else "/responses"
        return HttpRequest(
            endpoint_url(self.name, _resource_url(base), PATH, end),
            headers("api-key", account.key),
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


@lru_cache(maxsize=64)
def _resource_url(base: str) -> str:
    """Complete what Azure's portal shows, https://RESOURCE.openai.azure.com/ or …/openai."""
    try:
        parts = urlsplit(base)
    except ValueError:
        return base
    if parts.path.rstrip("/") != "/openai":
        return base
    return urlunsplit((parts.scheme, parts.netloc, PATH, parts.query, ""))
