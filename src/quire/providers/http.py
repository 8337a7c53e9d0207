"""Calls over HTTP: a vendor's format over shared connections, and every failure classified."""

import re
from functools import lru_cache
from urllib.parse import quote

import orjson

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.requests import Call, Reply
from quire.providers.network_errors import host_of, wants_tls
from quire.providers.protocol import Classify, HttpRequest, HttpResponse, RawResponse, WireFormat
from quire.providers.transport import Transport
from quire.providers.wire import Headers, check_header_value, is_page

LONGEST_MESSAGE = 300

_LEAST_IN_ANSWERS = 8  # characters; a shorter key may be a word that an answer rightly has


_TLS_WANTED = re.compile(rb"(sent|request).{1,20}to (an )?HTTPS (port|server)", re.IGNORECASE)


class HttpProvider:
    """A vendor behind HTTP."""

    def __init__(self, vendor: WireFormat, transport: Transport) -> None:
        """Speak a vendor's format over a transport that others may share."""
        self.name = vendor.name
        self.decoder_version = vendor.decoder_version
        self._vendor = vendor
        self._transport = transport

    async def send(self, call: Call, account: Account) -> RawResponse:
        """Carry one call and return what came back, or raise ProviderError."""
        request = with_own_headers(encode_call(self._vendor, call, account), account)
        response = await self._transport.post(request)
        if 200 <= response.status < 300:
            hidden_error = self._vendor.error_in_success(response.body)
            if hidden_error is None:
                raw = redact_key(response.body, account)
                return RawResponse(raw, self._rates(response), response.problem)
            response = hidden_error._replace(headers=response.headers)
        raise refusal(self._vendor.classify, response, account, host_of(request.url))

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a raw body, or raise Undecodable."""
        return self._vendor.decode(raw, body)

    async def close(self) -> None:
        """Let go of connections; whoever shares the transport opens new ones when needed."""
        await self._transport.close()

    def _rates(self, response: HttpResponse) -> Rates | None:
        try:
            return self._vendor.rates(response.headers)
        except Exception:  # noqa: BLE001 - strange headers must not cost the answer they came with
            return None


def with_own_headers(request: HttpRequest, account: Account) -> HttpRequest:
    """The request with what the settings add to all that is sent there, in the place of ours."""
    if not account.headers:
        return request
    own = {
        name: check_header_value(value.reveal(), f"the header {name}")
        for name, value in account.headers.items()
    }
    names = {name.lower() for name in own}
    kept = {name: value for name, value in request.headers.items() if name.lower() not in names}
    return request._replace(headers=Headers({**kept, **own}))


def encode_call(vendor: WireFormat, call: Call, account: Account) -> HttpRequest:
    """Put a call into a vendor's words, or say why it cannot be written."""
    try:
        return vendor.encode(call, account)
    except ProviderError:
        raise
    except (TypeError, ValueError, LookupError, RecursionError) as error:  # a strange schema
        why = one_line(str(error))
    raise ProviderError(
        f"{vendor.name}: the call cannot be written as JSON: {why}"[:LONGEST_MESSAGE],
        remedy=Remedy.FIX_REQUEST,
    )


def one_line(text: str) -> str:
    """Somebody else's words as one line without anything that moves a cursor."""
    shown = "".join(name if name.isprintable() else " " for name in text[: 8 * LONGEST_MESSAGE])
    shown = " ".join(shown.split())
    return shown if len(shown) <= LONGEST_MESSAGE else shown[: LONGEST_MESSAGE - 1] + "…"


def refusal(
    classify: Classify, response: HttpResponse, account: Account, place: str
) -> ProviderError:
    """What the vendor says of an error, in one line, and never with the key in it."""
    if 300 <= response.status < 400:
        target = one_line(response.headers.get("location", "")).partition("?")[0]
        message = f"{response.status} from {place}: it points to {target or 'another place'}"
        message = account.key.redact(f"{message}; put that address into the base URL")
        return ProviderError(one_line(message), remedy=Remedy.FIX_ACCOUNT, fault=CallFault.ADDRESS)
    response = response._replace(body=_redact_headers(redact_key(response.body, account), account))
    error = classify(response)
    page, remedy = _is_page(response), error.remedy
    if page and remedy is Remedy.FIX_REQUEST:  # whoever shows pages has not read the call
        remedy = Remedy.FIX_ACCOUNT
    message, fault = str(error), CallFault.ADDRESS if page else error.fault
    if page:
        message = f"{response.status} from {place}: an HTML page, not an API answer"
    if response.status == 400 and _TLS_WANTED.search(response.body):  # nginx and Go say so
        return wants_tls(place)
    if page and remedy is Remedy.FIX_ACCOUNT:
        message += "; check the base URL, and what stands between here and there"
    return ProviderError(
        one_line(account.key.redact(message)),
        remedy=remedy,
        retry_after=error.retry_after,
        spent=error.spent and not page,
        bad_key=error.bad_key and not page,  # a page is from somebody who never saw the key
        fault=fault,
    )


def redact_key(body: bytes, account: Account) -> bytes:
    """Take our key out of what came back, however JSON writes it."""
    key = account.key.reveal()
    if len(key) < _LEAST_IN_ANSWERS:
        return body
    forms = _key_forms(key)
    return forms.sub(b"...", body) if forms.search(body) else body


def _redact_headers(body: bytes, account: Account) -> bytes:
    """Take out of a complaint what the settings' headers hold; an answer may rightly say it."""
    for secret in account.headers.values():
        if len(value := secret.reveal()) >= _LEAST_IN_ANSWERS:
            body = body.replace(value.encode(), b"...")
    return body


@lru_cache(maxsize=64)
def _key_forms(key: str) -> re.Pattern[bytes]:
    """One search for all its forms: bodies are long, and there are millions of them."""
    plain = orjson.dumps(key).decode()[1:-1]
    unicode = "".join(name if name.isalnum() else f"\\u{ord(name):04x}" for name in key)
    forms = (
        *(key, plain, plain.replace("/", "\\/"), unicode, plain.replace("+", "\\u002b")),
        *(quote(key, safe=""), quote(key)),  # in plain words, as part of an address
    )
    return re.compile(b"|".join(re.escape(form.encode()) for form in dict.fromkeys(forms)))


def _is_page(response: HttpResponse) -> bool:
    return "html" in response.headers.get("content-type", "").lower() or is_page(response.body)
