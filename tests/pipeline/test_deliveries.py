"""The outbox: filled with the event, taken by one worker at a time, left to the next."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache

import pytest

from quire.accounts.encryption import Box
from quire.accounts.webhook_secrets import make_secret, make_uid, seal_secret
from quire.domain.accounts import Secret
from quire.domain.ids import RunId
from quire.domain.notifications import Notification, OutboxEvent, notification_body
from quire.domain.reasons import EventKind, HoldCause, ResumeCause
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.tables.webhooks import NewWebhook
from quire.pipeline.answers.deliveries import (
    MOST_TRIES,
    SignedDelivery,
    claim_deliveries,
    record_failure,
    record_success,
    retry_wait,
)
from tests.ledger.factories import NOW, new_run


@cache
def box() -> Box:
    """What secrets are sealed in; its key takes long to derive."""
    return Box(Secret("a secret key for tests"))


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    opened = open_ledger(ledger_url, durable=False)
    yield opened
    opened.close()


def add_webhook(ledger: Ledger, *wanted: Notification, run: RunId | None = None) -> int:
    with ledger.transaction() as tx:
        uid = make_uid()
        sealed = seal_secret(tx, box(), uid, make_secret())
        return tx.webhooks.add_webhook(NewWebhook(uid, "http://x/", wanted, run, sealed), NOW)


def claim(ledger: Ledger, seconds: float = 0) -> list[SignedDelivery]:
    moment = NOW + timedelta(seconds=seconds)
    with ledger.transaction() as tx:
        return claim_deliveries(tx, box, moment)


def tell_pause_and_resume(ledger: Ledger, run: RunId) -> None:
    with ledger.transaction() as tx:
        tx.events.add_event(run, EventKind.PAUSED, NOW)
        tx.events.add_event(run, EventKind.RESUMED, NOW, cause=ResumeCause.BY_HAND)
        tx.events.add_event(run, EventKind.STAGE_STARTED, NOW, stage="not for programs")


def test_an_event_that_is_taken_back_is_told_to_nobody(ledger: Ledger) -> None:
    add_webhook(ledger)
    place = new_run(ledger)
    claimed = claim(ledger)
    assert [item.delivery.event.kind for item in claimed] == [EventKind.RUN_STARTED]
    with ledger.transaction() as tx:
        record_success(tx, claimed[0].delivery, NOW)

    with suppress(ZeroDivisionError), ledger.transaction() as tx:
        tx.events.add_event(place.run, EventKind.PAUSED, NOW)
        raise ZeroDivisionError

    assert claim(ledger) == []


def test_one_worker_delivers_and_the_next_goes_on_when_it_died(ledger: Ledger) -> None:
    place = new_run(ledger)
    webhook = add_webhook(ledger)
    tell_pause_and_resume(ledger, place.run)

    (first,) = claim(ledger)
    assert claim(ledger, 59) == []
    (again,) = claim(ledger, 61)

    assert (first.name, first.body) == (again.name, again.body)
    with ledger.transaction() as tx:
        record_success(tx, again.delivery, NOW)
    (after,) = claim(ledger, 62)
    assert after.delivery.event.kind == EventKind.RESUMED
    assert after.name != first.name
    with ledger.snapshot() as tx:
        (known,) = tx.webhooks.list_webhooks()
    assert (known.id, known.waiting, known.delivered) == (webhook, 1, 1)


def test_only_what_is_wanted_comes_into_the_outbox(ledger: Ledger) -> None:
    place = new_run(ledger)
    add_webhook(ledger, Notification.RESUMED, Notification.FAILED)
    other = new_run(ledger, name="b.txt")
    add_webhook(ledger, Notification.PAUSED, run=other.run)
    tell_pause_and_resume(ledger, place.run)

    assert [item.delivery.event.kind for item in claim(ledger)] == [EventKind.RESUMED]


def test_tries_are_further_apart_each_time_and_come_to_an_end(ledger: Ledger) -> None:
    place = new_run(ledger)
    add_webhook(ledger)
    tell_pause_and_resume(ledger, place.run)
    at, waits = 0.0, []
    for _ in range(MOST_TRIES):
        (taken,) = claim(ledger, at)
        with ledger.transaction() as tx:
            record_failure(tx, taken.delivery, "no", NOW + timedelta(seconds=at))
            waits.append((tx.webhooks.list_webhooks()[0].next_at - NOW).total_seconds() - at)
        at += waits[-1]

    assert waits == [5, 15, 45, 135, 405, 1215, 3600, 3600]
    (after,) = claim(ledger, at)
    assert after.delivery.event.kind == EventKind.RESUMED
    assert retry_wait(10**6) == timedelta(hours=1)


def test_a_webhook_that_is_removed_is_told_nothing(ledger: Ledger) -> None:
    place = new_run(ledger)
    webhook = add_webhook(ledger)
    tell_pause_and_resume(ledger, place.run)

    with ledger.transaction() as tx:
        assert tx.webhooks.remove_webhook(webhook)

    assert claim(ledger) == []


def test_no_text_of_an_event_leaves() -> None:
    problem = "he wrote: the secret word"
    fields: dict[str, str | int] = {"cause": HoldCause.CALL_REFUSED, "problem": problem, "run": 7}
    event = OutboxEvent(5, NOW, EventKind.HELD, fields, RunId(7))

    body = notification_body("name", event).decode()

    assert "secret word" not in body
    assert '"data":{"cause":"call_refused","hold":"credential"}' in body
    assert '"type":"paused"' in body
