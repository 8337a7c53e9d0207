"""Object stores for files that a provider reads and writes: Google's Cloud Storage."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, urlencode

from quire.domain.accounts import Account
from quire.domain.errors import ProviderError, Remedy
from quire.providers.batch_requests import ApiCaller
from quire.providers.google import google_classifier
from quire.providers.protocol import HttpClient, HttpRequest
from quire.providers.wire import endpoint_url, headers, items, text

BASE_URL = "https://storage.googleapis.com"
SCHEME = "gs://"
MOST_PAGES = 1_000

_URI = re.compile(r"gs://(?P<bucket>[a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/(?P<name>.*))?")


class ObjectStore(Protocol):
    """Files by their address, gs://bucket/name."""

    async def put(self, path: Path, uri: str) -> None:
        """Bring a file there, in the place of what may be there already."""

    def lines(self, uri: str) -> AsyncGenerator[bytes]:
        """Read a file line by line; raise where it broke off."""

    async def names(self, prefix: str) -> Sequence[str]:
        """Every file whose address begins so, in order."""

    async def delete(self, uri: str) -> None:
        """Delete a file; that there is none is no error."""


OpenStore: TypeAlias = Callable[[HttpClient, Account], ObjectStore]


class ObjectAddress(NamedTuple):
    """An address in its parts."""

    bucket: str
    name: str


def parse_uri(uri: str) -> ObjectAddress:
    """Take an address apart, or say that it is none."""
    found = _URI.fullmatch(uri)
    if found is None or ".." in uri.split("/"):
        raise ProviderError(
            f"vertex: {uri[:100]!r} is no address in Cloud Storage; it must begin with gs://",
            remedy=Remedy.FIX_ACCOUNT,
        )
    return ObjectAddress(found["bucket"], found["name"] or "")


class CloudStorage:
    """Google's Cloud Storage, as whoever the account's token is for."""

    def __init__(self, http: HttpClient, account: Account) -> None:
        """Go through a client; the option `storage` says where, if not to Google's own."""
        account = replace(account, headers={})  # those are for whoever answers the calls
        self._caller = ApiCaller(http, google_classifier(account.provider), account)
        self._base = account.options.get("storage") or BASE_URL

    async def put(self, path: Path, uri: str) -> None:
        """Bring a file there in one request."""
        at = parse_uri(uri)
        request = self._request(
            f"/upload/storage/v1/b/{quote(at.bucket, safe='')}/o",
            {"uploadType": "media", "name": at.name},
            method="POST",
        )
        await self._caller.ask(request, (path,), f"the bucket {SCHEME}{at.bucket}")

    def lines(self, uri: str) -> AsyncGenerator[bytes]:
        """Read a file line by line."""
        request = self._request(_object_path(uri), {"alt": "media"})
        return self._caller.lines(request, uri)

    async def names(self, prefix: str) -> Sequence[str]:
        """List files, page by page."""
        at = parse_uri(prefix)
        found: list[str] = []
        asked = {"prefix": at.name, "fields": "items/name,nextPageToken"}
        for _ in range(MOST_PAGES):
            request = self._request(f"/storage/v1/b/{quote(at.bucket, safe='')}/o", asked)
            body = await self._caller.ask_json(request, missing=prefix)
            names = (text(item.get("name")) for item in items(body.get("items")))
            found += [f"{SCHEME}{at.bucket}/{name}" for name in names if name]
            page = text(body.get("nextPageToken"))
            if not page:
                return sorted(found)
            asked = {**asked, "pageToken": page}
        raise ProviderError(f"vertex: {prefix} has too many files", remedy=Remedy.RETRY)

    async def delete(self, uri: str) -> None:
        """Delete a file."""
        await self._caller.delete(self._request(_object_path(uri), method="DELETE"))

    def _request(
        self, path: str, query: Mapping[str, str] | None = None, method: str = "GET"
    ) -> HttpRequest:
        asked = f"?{urlencode(query)}" if query else ""
        url = endpoint_url("vertex", self._base, "", path) + asked
        named = headers("Authorization", self._caller.account.key, "Bearer ")
        return HttpRequest(url, named, b"", method=method)


def _object_path(uri: str) -> str:
    at = parse_uri(uri)
    return f"/storage/v1/b/{quote(at.bucket, safe='')}/o/{quote(at.name, safe='')}"
