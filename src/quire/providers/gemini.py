"""Gemini: Google's developer API, with a key."""

from collections.abc import Mapping
from urllib.parse import quote

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError
from quire.domain.requests import Call, Reply
from quire.providers.google import classify_google, encode_content, place, read_content
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.reading import load
from quire.providers.writing import headers, model_id

HOME = "https://generativelanguage.googleapis.com"
VERSION = "v1beta"  # has every field that v1 has, and the preview models besides


class Gemini:
    """Google's models, as developers reach them."""

    name = "gemini"
    decoder_version = 1

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into contents."""
        base = call.wire.url or account.base_url or HOME
        end = f"/models/{quote(model_id(call), safe='')}:generateContent"
        return HttpRequest(
            place(self.name, base, VERSION, end),
            headers("x-goog-api-key", account.key),
            encode_content(call),
        )

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read the first candidate."""
        return read_content(self.name, load(raw, body))

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error."""
        return classify_google(self.name, response)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Learn nothing: Google's headers do not speak of limits."""
        return None

    def failed(self, raw: bytes) -> HttpResponse | None:
        """None: it sends no errors with a 200."""
        return None
