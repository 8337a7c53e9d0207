"""Azure OpenAI: OpenAI's wire formats at one's own resource, with deployments for models."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from quire.domain.accounts import Account
from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.openai_formats import OpenAIFormats
from quire.providers.protocol import HttpRequest
from quire.providers.vendors import VENDORS
from quire.providers.wire import endpoint_url, headers


@dataclass(eq=False)
class Azure(OpenAIFormats):
    """OpenAI's wire formats as Azure serves them."""

    name: str = "azure"

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into OpenAI's words, for the deployment that bears the model's name."""
        base = call.wire.url or account.base_url
        if not base:
            raise ProviderError(
                "azure: no base URL is known;"
                " set AZURE_OPENAI_ENDPOINT to https://RESOURCE.openai.azure.com",
                remedy=Remedy.FIX_ACCOUNT,
                fault=CallFault.ADDRESS,
            )
        end, body = self.encode_body(call, account)
        url = endpoint_url(self.name, _resource_url(base), VENDORS[self.name].path, end)
        return HttpRequest(url, headers("api-key", account.key), body)


@lru_cache(maxsize=64)
def _resource_url(base: str) -> str:
    """Complete what Azure's portal shows, https://RESOURCE.openai.azure.com/ or …/openai."""
    facts = VENDORS["azure"]
    try:
        parts = urlsplit(base)
    except ValueError:
        return base
    if parts.path.rstrip("/") != facts.portal_path:
        return base
    return urlunsplit((parts.scheme, parts.netloc, facts.path, parts.query, ""))
