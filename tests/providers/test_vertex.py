"""Vertex AI: calls go to the account's project and location; tokens come from google-auth."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers import vertex
from quire.providers.gemini import Gemini
from quire.providers.vertex import Vertex, access_token
from tests.providers.sample_calls import EVERY_FORM, KEY, account, make_call

VENDOR = Vertex()
MODEL = "vertex/gemini-3.8-flash"
END = "publishers/google/models/gemini-3.8-flash:generateContent"


def owned(**options: str) -> Any:
    return account("vertex", **{"project": "quire-1", **options})


@pytest.mark.parametrize("call", EVERY_FORM)
def test_the_body_is_the_one_that_gemini_takes(call: Call) -> None:
    assert VENDOR.encode(call, owned()).body == Gemini().encode(call, account("gemini")).body


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_a_location_has_its_own_host(location: str, host: str) -> None:
    sent = VENDOR.encode(make_call(MODEL), owned(location=location))

    assert sent.url == f"https://{host}/v1/projects/quire-1/locations/{location}/{END}"
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(sent)


def test_without_a_location_calls_go_to_the_global_one() -> None:
    assert "/locations/global/" in VENDOR.encode(make_call(MODEL), owned()).url


def test_calls_go_below_the_base_url() -> None:
    sent = VENDOR.encode(make_call(MODEL), owned(base_url="http://127.0.0.1:8000/"))

    assert sent.url == f"http://127.0.0.1:8000/v1/projects/quire-1/locations/global/{END}"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"project": ""}, "the project is missing; set GOOGLE_CLOUD_PROJECT"),
        ({"project": "a/b"}, "the project is no name of a project"),
        ({"location": "evil.example/"}, "the location is no name of a location"),
    ],
)
def test_a_token_is_not_sent_to_whatever_the_options_spell(
    options: dict[str, str], said: str
) -> None:
    with pytest.raises(ProviderError, match=said) as caught:
        VENDOR.encode(make_call(MODEL), owned(**options))

    error = caught.value
    assert (error.remedy, error.fault) == (Remedy.FIX_ACCOUNT, CallFault.ADDRESS)
    assert not error.bad_key


@pytest.fixture
def no_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine of which Google knows nothing."""
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    vertex._credentials.cache_clear()
    yield tmp_path
    vertex._credentials.cache_clear()


def test_a_machine_without_an_identity_is_told_what_to_do(no_identity: Path) -> None:
    with pytest.raises(ProviderError, match="gcloud auth application-default login") as caught:
        access_token()

    assert (caught.value.remedy, caught.value.bad_key) == (Remedy.FIX_ACCOUNT, True)


def test_a_file_that_holds_no_identity_is_told_without_what_it_holds(
    no_identity: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = no_identity / "key.json"
    place.write_text(json.dumps({"type": "service_account", "private_key": "s3cret-s3cret"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(place))

    with pytest.raises(ProviderError) as caught:
        access_token()

    assert "s3cret" not in str(caught.value)
