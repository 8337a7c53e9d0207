"""An answer that nobody can read is paid for: it is kept, and read again by a mended decoder."""

from collections.abc import Callable

import pytest

from quire.domain.data import JsonObject
from quire.domain.errors import Undecodable
from quire.domain.requests import Reply
from quire.providers.anthropic import Anthropic
from quire.providers.gemini import Gemini
from quire.providers.http import HttpProvider
from quire.providers.openai import OpenAI
from quire.providers.protocol import WireFormat
from quire.providers.provider_registry import Providers
from quire.providers.transport import Transport
from quire.rehearsal.exchange import GARBAGE
from tests.cli.conftest import Quire
from tests.rehearsed.conftest import Rehearse, Serve
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, Rehearsed
from tests.world import sentences

VENDOR: dict[str, Callable[[], WireFormat]] = {OPENAI: OpenAI, ANTHROPIC: Anthropic, GEMINI: Gemini}
WORD = b"UNHEARD"  # what the old decoder has never heard of


class One(Providers):
    """Who answers: always the same vendor, over real connections."""

    def __init__(self, vendor: WireFormat) -> None:
        """Speak a vendor's words."""
        super().__init__()
        self._provider = HttpProvider(vendor, Transport())

    def get(self, name: str) -> HttpProvider:
        """The vendor."""
        assert name == self._provider.name
        return self._provider

    async def close(self) -> None:
        """Close its connections."""
        await self._provider.close()


def old(asks: str) -> WireFormat:
    """A vendor's file as it was before some word was in use."""
    vendor = VENDOR[asks]()
    known = vendor.decode

    def decode(raw: bytes, body: JsonObject | None = None) -> Reply:
        if WORD in raw:
            raise Undecodable("there is a word in it that is new")
        return known(raw, body)

    vendor.decode = decode  # type: ignore[method-assign]
    return vendor


def mended(asks: str) -> WireFormat:
    """The same file once somebody has mended it."""
    vendor = VENDOR[asks]()
    vendor.decoder_version += 1
    return vendor


def speaking(here: Rehearsed, vendor: WireFormat) -> Rehearsed:
    """The engine, with this vendor's file."""
    here.engine.context.providers = One(vendor)
    return here


@pytest.mark.parametrize("asks", VENDOR)
def test_a_mended_decoder_reads_what_was_kept_without_a_second_call(
    rehearse: Rehearse, ledger_url: str, asks: str
) -> None:
    here = speaking(rehearse(asks, url=ledger_url), old(asks))
    here.ingest([f"{WORD.decode()} block.", *sentences(29)])
    run = here.run(pack_size=1, concurrency=4)
    held = run.progress()
    assert [hold.kind.value for hold in held.holds] == ["undecodable"]
    assert held.presumed_pico > 0
    kept = [attempt for attempt in here.attempts(run.id) if attempt.error]
    assert [view.raw is not None and WORD.decode() in view.raw for view in kept] == [True]
    here.close()
    later = speaking(rehearse(asks, url=ledger_url, server=here.server), mended(asks))

    ended = later.engine.drive(run.id)

    assert (ended.state, ended.done, ended.holds) == ("finished", 30, ())
    assert here.server.stats()["requests"] == 30  # one for each block, and no more
    assert (ended.cost_pico, ended.presumed_pico) == (here.bill(), 0)
    assert later.engine.rows(run.id)[0]["first_40_chars"] == "UNHEARD block."


def test_the_same_decoder_again_changes_nothing_and_asks_nobody(rehearse: Rehearse) -> None:
    here = speaking(rehearse(), old(OPENAI))
    here.ingest([WORD.decode(), *sentences(3)])
    run = here.run(pack_size=1)
    asked = here.server.stats()["requests"]

    again = here.engine.drive(run.id)

    assert [hold.kind.value for hold in again.holds] == ["undecodable"]
    assert here.server.stats()["requests"] == asked


def test_what_was_out_when_the_unreadable_answer_came_is_not_lost(rehearse: Rehearse) -> None:
    here = speaking(rehearse(latency="0.1"), old(OPENAI))
    here.ingest([WORD.decode(), *sentences(19)])

    run = here.run(pack_size=1, concurrency=20)

    ended, answered = run.progress(), here.server.stats()["answered"]
    assert ended.done == answered - 1
    assert ended.calls == answered
    assert ended.cost_pico <= here.bill() <= ended.cost_pico + ended.presumed_pico


def test_pages_are_kept_and_the_command_line_says_what_to_do(quire: Quire, serve: Serve) -> None:
    server = serve(faults="garbage=1")
    run = ("run", "-s", "metadata", "-m", OPENAI, "--limit", "20")

    held = quire(*run, code=4)

    assert "run 1 is held: 0 of 30 blocks done" in held.stdout
    (line,) = [name for name in held.stderr.splitlines() if "is held (refused)" in name]
    assert "an HTML page came in the place of an answer; check the base URL" in line
    assert "`quire resume 1`" in line
    attempts = quire.json("ledger", "--request", "1")["attempts"]
    assert {attempt["raw"] for attempt in attempts} == {GARBAGE.decode()}
    server.change_faults("")
    quire("resume", "1")
    quire(*run)
    status = quire.json("status")
    assert (status["done"], status["presumed_usd"]) == (20, 0)


def test_an_answer_with_counts_that_cannot_be_is_kept_and_read_by_a_mended_decoder(
    rehearse: Rehearse,
) -> None:
    class Wild(OpenAI):
        def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
            reply = super().decode(raw, body)
            return reply._replace(usage=reply.usage._replace(output=-1))

    here = speaking(rehearse(), Wild())
    here.ingest(sentences(5))
    run = here.run()
    assert run.progress().presumed_pico > 0

    speaking(here, mended(OPENAI)).engine.drive(run.id)

    ended = run.progress()
    assert (ended.done, ended.cost_pico, ended.presumed_pico) == (5, here.bill(), 0)
    assert here.server.stats()["requests"] == 1
