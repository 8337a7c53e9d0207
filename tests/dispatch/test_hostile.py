"""Providers, decoders and moments that misbehave: no answer is lost and no run stalls."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from quire.dispatch.courier import Courier
from quire.dispatch.ledger_thread import LedgerThread
from quire.dispatch.loop_context import LoopContext, ProviderLookup
from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.data import JsonObject
from quire.domain.errors import LedgerUnavailable, ProviderError, Remedy
from quire.domain.ids import WorkerId
from quire.domain.models import Usage
from quire.domain.requests import Call, Reply, Stop
from quire.domain.states import RunState
from quire.engine.keys import worker_accounts
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.providers.protocol import RawResponse
from tests.pipeline.test_money import assert_counts_agree
from tests.world import Scripted, World, sentences, until_rest

Worlds = Callable[..., World]


class BrokenDecoder(Scripted):
    """Its decoder has a bug."""

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Fail as code fails."""
        raise KeyError("usage")


class ImpossibleUsage(Scripted):
    """Reports more tokens than there are."""

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read, with a number no database holds."""
        return Reply(text="{}", stop=Stop.END, usage=Usage(input=2**70))


@pytest.mark.parametrize("model", [BrokenDecoder, ImpossibleUsage])
def test_a_decoder_that_fails_costs_no_answer(world: Worlds, model: type[Scripted]) -> None:
    here = world()
    here.ingest(sentences(5))
    here.engine.providers.provider = broken = model()  # type: ignore[attr-defined]

    run = here.run(pack_size=5)

    assert broken.calls == 1
    assert [hold.kind for hold in run.progress().holds] == ["undecodable"]
    request = here.engine.queries.requests(run.id)[0].id
    assert here.engine.queries.exchange(request).attempts[0].raw


def test_a_provider_that_asks_to_wait_for_ever_does_not_kill_the_worker(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    run = here.start(pack_size=5)

    class Endless(Scripted):
        """Asks for an impossible wait."""

        async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
            here.engine.stop()
            raise ProviderError("busy", remedy=Remedy.WAIT, retry_after=float("inf"))

    here.engine.providers.provider = Endless()  # type: ignore[attr-defined]
    until_rest(run)

    assert run.progress().counts == {"packed": 5}
    with here.engine.ledger.snapshot() as tx:
        moment = tx.requests.next_lane_moment(run.id)
    assert moment is not None
    assert moment - here.runtime.now() < timedelta(days=2)


def test_what_send_returns_must_be_bytes(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))

    class Odd(Scripted):
        """Returns nothing at first."""

        async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
            sent = await super().send(call, account)
            return sent if len(self.packs) > 1 else RawResponse(None)  # type: ignore[arg-type]

    here.engine.providers.provider = Odd()  # type: ignore[attr-defined]
    assert here.run(pack_size=5).progress().done == 5


def test_calls_claimed_by_a_commit_of_unknown_outcome_go_out_after_all(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world(lease=0.6)
    here.ingest(sentences(20))
    run = here.start(pack_size=2, concurrency=2)
    transaction = here.engine.ledger.transaction
    failed: list[int] = []

    class Uncertain:
        """Commits, and says that it did not; once, after a claim."""

        def __init__(self) -> None:
            self._real = transaction()

        def __enter__(self) -> Transaction:
            self._tx = self._real.__enter__()
            return self._tx

        def __exit__(self, *error: object) -> bool | None:
            claimed = self._tx.requests.count_calls_in_flight(run.id)
            done = self._real.__exit__(*error)  # type: ignore[arg-type]
            if claimed and not failed and here.model.calls >= 2:
                failed.append(claimed)
                raise LedgerUnavailable("the answer to COMMIT was lost")
            return done

    monkeypatch.setattr(here.engine.ledger, "transaction", Uncertain)
    ended = run.wait()

    assert failed
    assert (ended.done, here.model.calls) == (20, 10)
    assert_counts_agree(here, run.id)


def test_a_worker_that_was_declared_dead_claims_nothing_under_its_old_name(world: Worlds) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(8))
    run = here.start(pack_size=1, concurrency=2)
    now = here.runtime.now()
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, now)
        (lane,) = tx.requests.lanes_of_run(run.id)
        prepare(tx, contexts, contexts.of_lane(tx, lane), now)
        dead, alive = (tx.workers.add_worker("here", 1, "0", now) for _ in range(2))
        tx.workers.end_workers([dead], now)

    async def sent_by(worker: WorkerId) -> int:
        thread = LedgerThread(here.engine.ledger)
        accounts = worker_accounts(here.engine.settings, {})
        known = here.engine.providers
        lookup = ProviderLookup(known.get, known.batch_api, known.http_client)
        courier = Courier(LoopContext(contexts, lookup, accounts, here.runtime, thread))
        exchanged = await courier.step(worker, now)
        await courier.wait_until_idle()
        thread.close()
        return exchanged.sent

    assert asyncio.run(sent_by(dead)) == 0
    assert asyncio.run(sent_by(alive)) == 2


def test_a_callback_that_raises_loses_no_answer(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    run = here.start(pack_size=1, concurrency=4)

    def watch(progress: object) -> None:
        if here.model.calls > 4:
            raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        run.wait(watch)

    assert run.progress().done == here.model.calls
    assert run.progress().presumed_pico == 0


def test_an_export_follows_links_and_writes_into_pipes(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(sentences(3))
    run = here.run()
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.write_text("old")
    link.symlink_to(real)

    run.export(str(link))

    assert link.is_symlink()
    assert len(real.read_text().splitlines()) == 3


def test_a_retry_after_a_purge_owes_only_what_is_still_here(world: Worlds) -> None:
    here = world(faults="wrong@says")
    here.ingest(sentences(3), name="gone")
    here.ingest([f"x {sentence}" for sentence in sentences(2)], name="kept")
    run = here.run(max_tries=1)
    here.engine.purge("gone")

    better = world()

    assert better.engine.get(run.id).retry() == 2
    assert better.engine.get(run.id).wait().state == RunState.FINISHED
