"""Who answers: every name has its provider, made once, when it is first needed."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec

import pytest

from quire.domain.accounts import Account, Secret
from quire.domain.errors import ProviderError, UnknownModel
from quire.providers.provider_registry import Providers
from quire.providers.transport import Transport
from quire.providers.vendors import PROVIDER_NAMES
from tests.providers.sample_calls import make_call
from tests.providers.servers import answering, talking


@pytest.mark.parametrize("name", PROVIDER_NAMES)
def test_every_name_has_a_provider(name: str) -> None:
    providers = Providers()

    provider = providers.get(name)

    assert provider.name == name
    assert provider.decoder_version >= 1
    assert providers.get(name) is provider
    asyncio.run(providers.close())


def test_a_name_that_nobody_bears_says_who_there_is() -> None:
    with pytest.raises(UnknownModel, match="nobody answers for nobody/…; there are simulated"):
        Providers().get("nobody")


BATCHING = ("openai", "azure", "anthropic", "gemini", "vertex", "mistral", "groq")


@pytest.mark.parametrize("name", PROVIDER_NAMES)
def test_whoever_has_batches_that_can_be_found_again_has_them_made_once(name: str) -> None:
    providers = Providers()

    batching = providers.batch_api(name)

    assert (batching is not None) is (name in BATCHING)
    assert batching is None or batching.name == name
    assert providers.batch_api(name) is batching


def test_all_share_one_way_out_and_it_is_closed_with_them() -> None:
    async def work() -> None:
        providers = Providers()
        http = providers.http_client()
        await providers.close()
        assert providers.http_client() is http
        await providers.close()

    asyncio.run(work())


def test_a_date_to_come_again_is_counted_by_our_clock_where_the_answer_has_no_date() -> None:
    raw = (
        b"HTTP/1.1 429 Too Many\r\nContent-Length: 2\r\n"
        b"Retry-After: Sun, 15 Nov 2026 12:00:30 GMT\r\n\r\n{}"
    )

    async def work() -> None:
        providers = Providers(now=lambda: datetime(2026, 11, 15, 12, tzinfo=UTC))
        async with talking(answering(raw)) as port:
            at = f"http://127.0.0.1:{port}/v1"
            account = Account(provider="openai", credential="", key=Secret("k"), base_url=at)
            try:
                await providers.get("openai").send(make_call(), account)
            finally:
                await providers.close()

    with pytest.raises(ProviderError) as caught:
        asyncio.run(work())

    assert caught.value.retry_after == 30.0


def test_closing_twice_is_as_good_as_once() -> None:
    async def work() -> None:
        providers = Providers()
        provider, http = providers.get("openai"), providers.http_client()
        assert isinstance(http, Transport)
        session = http._open_session()

        await providers.close()
        closed_once = session.closed
        await providers.close()

        assert closed_once
        assert session.closed
        assert providers.get("openai") is not provider
        assert http._open_session() is not session  # whoever calls once more has connections again
        await providers.close()

    asyncio.run(work())


def test_a_vendors_file_is_imported_only_when_it_is_needed() -> None:
    script = (
        "import sys\n"
        "from quire.providers.provider_registry import Providers\n"
        "Providers().get('simulated')\n"
        "print([name for name in sys.modules if name == 'aiohttp' or name.startswith('quire.pr')])"
    )

    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert "aiohttp" not in shown
    assert "quire.providers.openai" not in shown
    assert find_spec("quire.providers.openai") is not None
