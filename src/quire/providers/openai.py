"""OpenAI: the Responses API, or Chat Completions where the account asks for it."""

from dataclasses import dataclass

from quire.domain.accounts import Account
from quire.domain.requests import Call
from quire.providers.openai_formats import OpenAIFormats
from quire.providers.protocol import HttpRequest
from quire.providers.vendors import VENDORS
from quire.providers.wire import endpoint_url, headers


@dataclass(eq=False)
class OpenAI(OpenAIFormats):
    """OpenAI's wire formats."""

    name: str = "openai"

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into OpenAI's words."""
        facts = VENDORS[self.name]
        base = call.wire.url or account.base_url or facts.base_url
        end, body = self.encode_body(call, account)
        return HttpRequest(
            endpoint_url(self.name, base, facts.path, end),
            headers(
                "Authorization",
                account.key,
                "Bearer ",
                ("OpenAI-Organization", account.options.get("organization", "")),
                ("OpenAI-Project", account.options.get("project", "")),
            ),
            body,
        )
