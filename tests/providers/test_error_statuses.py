"""A status without words means the same whoever sends it."""

import pytest

from quire.domain.errors import Remedy
from quire.providers.anthropic import Anthropic
from quire.providers.gemini import Gemini
from quire.providers.openai import OpenAI
from quire.providers.protocol import HttpResponse, WireFormat

VENDORS: tuple[WireFormat, ...] = (OpenAI(), Anthropic(), Gemini())


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (301, Remedy.FIX_ACCOUNT),
        (401, Remedy.FIX_ACCOUNT),
        (402, Remedy.FIX_ACCOUNT),
        (403, Remedy.FIX_ACCOUNT),
        (404, Remedy.FIX_ACCOUNT),
        (405, Remedy.FIX_ACCOUNT),
        (407, Remedy.FIX_ACCOUNT),
        (408, Remedy.RETRY),
        (409, Remedy.RETRY),
        (410, Remedy.FIX_ACCOUNT),
        (413, Remedy.SPLIT),
        (418, Remedy.FIX_REQUEST),
        (429, Remedy.WAIT),
        (499, Remedy.RETRY),
        (500, Remedy.RETRY),
        (503, Remedy.WAIT),
        (529, Remedy.WAIT),
    ],
)
def test_a_status_means_the_same_at_every_vendor(status: int, remedy: Remedy) -> None:
    found = [vendor.classify(HttpResponse(status, {}, b"")).remedy for vendor in VENDORS]

    assert found == [remedy] * len(VENDORS)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_complaint_in_plain_words_is_shown(vendor: WireFormat) -> None:
    error = vendor.classify(HttpResponse(503, {}, b"upstream connect error,\n reset"))

    assert "upstream connect error, reset" in str(error)


@pytest.mark.parametrize("body", [b"", b"\x00\x01", "Käse".encode("utf-16"), b"<html>No</html>"])
def test_what_is_no_plain_text_is_not_shown(body: bytes) -> None:
    assert "no reason given" in str(VENDORS[0].classify(HttpResponse(503, {}, body)))


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_429_that_says_nothing_more_is_a_matter_of_rates(vendor: WireFormat) -> None:
    plain = b'{"error": {"message": "Too Many Requests"}}'
    at_once = b'{"error": {"message": "Too many concurrent requests"}}'

    assert vendor.classify(HttpResponse(429, {}, plain)).of_rate
    assert not vendor.classify(HttpResponse(429, {}, at_once)).of_rate
    assert not vendor.classify(HttpResponse(429, {"retry-after": "3"}, plain)).of_rate
    assert not vendor.classify(HttpResponse(503, {}, plain)).of_rate
