"""local/smollm2 is found, free, and says how to start it, without any settings."""

import asyncio
import dataclasses
from pathlib import Path

import pytest

from quire.accounts.key_search import search_keys
from quire.domain.accounts import Account, Secret
from quire.domain.errors import ProviderError, Remedy, SettingsInvalid
from quire.domain.models import Price, StructuredOutput
from quire.local.install import MODEL
from quire.local.model_server import HOST, PORT, WINDOW, bind
from quire.providers.catalog import find_model
from quire.providers.compatible import Compatible
from quire.providers.http import HttpProvider
from quire.providers.transport import Transport
from quire.settings import Settings, read_settings
from tests.providers.sample_calls import make_call

NAME = f"local/{MODEL}"


def test_the_catalog_knows_it_as_it_is_served() -> None:
    facts = find_model(NAME)

    assert facts.window == WINDOW
    assert facts.price == Price(input=0, output=0, cached=0, written_short=0, written_long=0)
    assert facts.wire.structured is StructuredOutput.SCHEMA


def test_without_settings_it_is_where_the_server_listens() -> None:
    nobody = Account(provider="local", credential="", key=Secret(""))

    request = Compatible("local").encode(make_call(NAME), nobody)

    assert request.url == f"http://{HOST}:{PORT}/v1/chat/completions"
    assert "Authorization" not in request.headers


def test_the_environment_and_quire_toml_name_another_place(tmp_path: Path) -> None:
    environment = {"QUIRE_LOCAL_URL": "http://127.0.0.1:9000/v1"}
    (tmp_path / "quire.toml").write_text('[providers.local]\nbase_url = "http://box:1/v1"\n')

    places = search_keys("local", Settings(ledger=""), environment)
    written = search_keys("local", read_settings(tmp_path, environment, ()), environment)

    assert (places.base_url, places.needs_key) == ("http://127.0.0.1:9000/v1", False)
    assert written.base_url == "http://box:1/v1"
    with pytest.raises(SettingsInvalid, match="QUIRE_LOCAL_URL must be an address"):
        search_keys("local", Settings(ledger=""), {"QUIRE_LOCAL_URL": "9000"})


def test_where_nothing_listens_the_line_says_what_to_type() -> None:
    with bind(0) as bound:
        port = bound.getsockname()[1]
    account = Account(
        provider="local", credential="", key=Secret(""), base_url=f"http://{HOST}:{port}/v1"
    )

    async def send() -> None:
        provider = HttpProvider(Compatible("local"), Transport())
        try:
            await provider.send(make_call(NAME), account)
        finally:
            await provider.close()

    with pytest.raises(ProviderError) as caught:
        asyncio.run(send())

    message = f"nothing listens at {HOST}:{port}; start it with `quire local serve`"
    assert (str(caught.value), caught.value.remedy) == (message, Remedy.FIX_ACCOUNT)


def test_a_forced_tool_is_never_asked_of_it() -> None:
    nobody = Account(provider="local", credential="", key=Secret(""))
    call = make_call(NAME)
    call = dataclasses.replace(
        call, wire=dataclasses.replace(call.wire, structured=StructuredOutput.TOOL)
    )

    assert b'"tools"' not in Compatible("local").encode(call, nobody).body
