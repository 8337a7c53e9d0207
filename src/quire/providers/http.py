"""Calls over HTTP: a vendor's format over shared connections, and every failure classified."""

import re

from quire.domain.accounts import Account, Rates
from quire.domain.data import JsonObject
from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.requests import Call, Reply
from quire.providers.network_errors import host_of, wants_tls
from quire.providers.protocol import Classify, HttpRequest, HttpResponse, RawResponse, WireFormat
from quire.providers.redaction import redact_answer, redact_complaint, redact_words
from quire.providers.transport import Transport
from quire.providers.wire import Headers, check_header_value, is_page

LONGEST_MESSAGE = 300

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
                raw = redact_answer(response.body, account)
                return RawResponse(raw, self._rates(response), response.problem)
            response = response._replace(status=hidden_error.status, body=hidden_error.body)
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


_OF_ONE_CALL = (403, 404)  # may be what a firewall or moderator says of one text; a 401 is not


def refusal(
    classify: Classify, response: HttpResponse, account: Account, place: str
) -> ProviderError:
    """What the vendor says of an error, in one line, and never with a secret in it."""
    if 300 <= response.status < 400:
        location = redact_words(response.headers.get("location", ""), account)
        target = one_line(location).partition("?")[0]
        message = f"{response.status} from {place}: it points to {target or 'another place'}"
        message += "; put that address into the base URL"
        return ProviderError(one_line(message), remedy=Remedy.FIX_ACCOUNT, fault=CallFault.ADDRESS)
    response = response._replace(body=redact_complaint(response.body, account))
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
    shown = ProviderError(
        one_line(redact_words(message, account)),
        remedy=remedy,
        retry_after=error.retry_after,
        spent=error.spent and not page,
        bad_key=error.bad_key and not page,  # a page is from somebody who never saw the key
        fault=fault,
    )
    shown.refusal = None if page else error.refusal
    shown.of_rate, shown.unexplained = error.of_rate, error.unexplained and not page
    shown.may_concern_one = (
        remedy is Remedy.FIX_ACCOUNT
        and not shown.spent
        and (response.status in _OF_ONE_CALL or error.remedy is Remedy.FIX_REQUEST)
    )
    return shown


def _is_page(response: HttpResponse) -> bool:
    return "html" in response.headers.get("content-type", "").lower() or is_page(response.body)
