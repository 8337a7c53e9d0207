"""Vertex AI: Google's models in a project of one's own, with a token instead of a key."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError, Remedy, SettingsInvalid
from quire.domain.requests import Call, Reply
from quire.providers.google import Form, classify_google, encode_content, place, read_content
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.reading import load
from quire.providers.writing import headers, model_id

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

VERSION = "v1"
EVERYWHERE = "global"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"

_SEVERAL_REGIONS = ("us", "eu")
_LOCATION = re.compile(r"[a-z0-9-]{1,63}")  # it becomes a part of the host that is sent the token
_PROJECT = re.compile(r"[a-z0-9.:-]{1,100}")


class Vertex:
    """Google's models, as Cloud projects reach them."""

    name = "vertex"
    decoder_version = 1

    def __init__(self, form: Form | None = None) -> None:
        """Write schemas as usual, or in a form that somebody else has to read first."""
        self._form = form

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into contents, addressed to the account's project and location."""
        end = f"/publishers/google/models/{quote(model_id(call), safe='')}:generateContent"
        return HttpRequest(
            project_at(account, call.wire.url, end),
            headers("Authorization", account.key, "Bearer "),
            encode_content(call, self._form),
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


def project_at(account: Account, base: str = "", end: str = "") -> str:
    """Where something of the account's project is found, in its location."""
    project = _option(account, "project", _PROJECT, "")
    location = _option(account, "location", _LOCATION, EVERYWHERE)
    base = base or account.base_url or _home(location)
    return place("vertex", base, VERSION, f"/projects/{project}/locations/{location}{end}")


def access_token() -> str:
    """Fetch a token of this machine's own Google identity, or the one that is still good.

    It asks the network and blocks, and the token lasts about an hour: whoever makes an account
    calls this again before then.
    """
    try:
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request
    except ImportError:
        raise SettingsInvalid(
            "vertex: google-auth is not installed; install quire[vertex], or give a token"
        ) from None
    try:
        credentials = _credentials()
        if not credentials.valid:
            credentials.refresh(Request())  # type: ignore[no-untyped-call]  # google's own
    except GoogleAuthError as error:
        raise ProviderError(
            f"vertex: no token for this machine's Google identity ({type(error).__name__});"
            " run `gcloud auth application-default login`, or give a token",
            remedy=Remedy.FIX_ACCOUNT,
            bad_key=True,
        ) from None
    return str(credentials.token)


@lru_cache(maxsize=1)
def _credentials() -> "Credentials":
    import google.auth

    credentials, _project = google.auth.default(scopes=[SCOPE])
    return credentials


def _home(location: str) -> str:
    if location == EVERYWHERE:
        return "https://aiplatform.googleapis.com"
    if location in _SEVERAL_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def _option(account: Account, name: str, form: re.Pattern[str], usual: str) -> str:
    value = account.options.get(name) or usual
    if not form.fullmatch(value):
        what = f"is no name of a {name}" if value else "is missing"
        raise ProviderError(
            f"vertex: the {name} {what}; set GOOGLE_CLOUD_{name.upper()}",
            remedy=Remedy.FIX_ACCOUNT,
        )
    return value
