"""Purging a document: its words leave every file; money, counts and neighbours stay."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import Conflict, NotFound, ProviderError, Remedy, UsageError
from quire.domain.requests import Call
from quire.providers.protocol import RawResponse
from tests.world import OneProvider, Scripted, World, sentences

Worlds = Callable[..., World]

SECRET = "Zanzibar-7731"


def two_documents(here: World) -> None:
    here.ingest([f"{SECRET} is the word of block {i}." for i in range(5)], name="secret")
    here.ingest(sentences(5), name="open")


def everything_on_disk(here: World) -> bytes:
    """All bytes of a SQLite ledger, its log included; of PostgreSQL, all its tables as text."""
    if "://" not in here.url:
        folder = Path(here.url).parent
        return b"".join(path.read_bytes() for path in folder.glob("quire.db*"))
    import psycopg

    with psycopg.connect(here.url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        rows = [
            connection.execute(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {name} t")
            for (name,) in tables.fetchall()
        ]
        return "".join(row.fetchone()[0] for row in rows).encode()  # type: ignore[index]


def test_a_purged_document_leaves_no_word_behind(world: Worlds) -> None:
    here = world()
    two_documents(here)
    here.run(pack_size=4, ledger="full")
    assert SECRET.encode() in everything_on_disk(here)

    here.engine.purge("secret")

    assert SECRET.encode() not in everything_on_disk(here)


def test_what_persons_wrote_and_rejected_is_erased_too(world: Worlds) -> None:
    here = world()
    here.ingest([f"{SECRET} is the word.", "Another block."], name="secret")
    run, review = here.run(), here.engine.review
    first, second = (line.task_id for line in review.inbox(run.id).lines)
    data = {**dict(review.item(first).data), "first_40_chars": SECRET}  # type: ignore[arg-type]
    review.edit(first, data, "Ada", note=f"it says {SECRET}")
    review.undo(first, "Ada")
    review.reject(second, f"where is {SECRET}?", "Ada")
    run.wait()
    assert SECRET.encode() in everything_on_disk(here)

    here.engine.purge("secret")

    assert SECRET.encode() not in everything_on_disk(here)
    decisions = review.decisions(run.id).decisions
    assert [(it.move, it.before, it.note) for it in decisions] == [
        ("reject", None, ""),
        ("undo", None, ""),
        ("edit", None, ""),
    ]


def test_what_was_erased_wants_nobody_any_more(world: Worlds) -> None:
    here = world()
    two_documents(here)
    run, review = here.run(), here.engine.review
    lines = {line.task_id: line.title for line in review.inbox(run.id).lines}
    erased = [task for task, title in lines.items() if title == "secret"]
    review.approve(erased[0], "Ada")
    assert 0 < len(erased) < len(lines)

    here.engine.purge("secret")

    left = [line.task_id for line in review.inbox(run.id).lines]
    counts = review.counts(run.id)
    assert left == [task for task, title in lines.items() if title != "secret"]
    assert (counts.left, counts.decided) == (len(left), 0)


class Quoting(Scripted):
    """Refuses every call, and says of what."""

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Refuse it."""
        raise ProviderError(f"not allowed: {call.user[-200:]}", remedy=Remedy.FIX_REQUEST)


def test_what_a_provider_complained_of_is_erased_too(world: Worlds) -> None:
    here = world()
    here.model = Quoting()
    here.engine.context.providers = OneProvider(here.model)
    here.ingest([f"{SECRET} is the word."], name="secret")
    here.run(max_tries=1)
    assert SECRET.encode() in everything_on_disk(here)

    here.engine.purge("secret")

    assert SECRET.encode() not in everything_on_disk(here)


def test_money_and_counts_stay_and_neighbours_keep_their_results(world: Worlds) -> None:
    here = world()
    two_documents(here)
    run = here.run(pack_size=10)
    before = run.progress()

    document, purged = here.engine.purge("secret")

    after = run.progress()
    assert (document.title, purged.requests) == ("secret", 1)
    assert (after.cost_pico, after.calls, after.counts) == (
        before.cost_pico,
        before.calls,
        before.counts,
    )
    assert [(row["title"], row["status"]) for row in run.rows()] == [("open", "accepted")] * 5


def test_a_purged_request_says_so_and_shows_nothing(world: Worlds) -> None:
    here = world()
    two_documents(here)
    run = here.run(pack_size=10)
    here.engine.purge("secret")

    view = here.engine.queries.exchange(here.engine.queries.requests(run.id)[0].id)

    assert view.request.purged
    assert view.user is None
    assert [attempt.raw for attempt in view.attempts] == [None]


def test_purging_before_anything_was_sent_owes_only_the_rest(world: Worlds) -> None:
    here = world()
    two_documents(here)
    run = here.start(pack_size=3)
    here.engine.pause(run.id)
    here.engine.work(lambda: run.progress().expanded == 10)

    here.engine.purge("secret")
    run.resume()
    ended = run.wait()

    assert ended.counts == {"done": 5, "cancelled": 5}
    assert here.model.blocks == 5


def test_the_same_content_can_be_ingested_again(world: Worlds) -> None:
    here = world()
    two_documents(here)
    here.engine.purge("secret")

    two_documents(here)

    assert sorted(document.title for document in here.engine.documents()) == ["open", "secret"]


def test_a_document_whose_call_is_out_is_not_purged_yet(world: Worlds) -> None:
    here = world(faults="hang=1", grace=0.1)
    two_documents(here)
    run = here.start(pack_size=10)
    refused: list[str] = []

    def purge_while_out() -> bool:
        if here.model.calls == 0:
            return False
        with pytest.raises(Conflict, match="is out") as raised:
            here.engine.purge("secret")
        refused.append(str(raised.value))
        here.engine.stop()
        return True

    here.engine.work(purge_while_out)

    assert len(refused) == 1
    assert run.progress().done == 0


def test_purging_nothing_or_too_much_says_so(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2), name="one/twin")
    here.ingest(sentences(3), name="two/twin")

    with pytest.raises(NotFound, match="there is no document"):
        here.engine.purge("nobody")
    with pytest.raises(UsageError, match="means several documents"):
        here.engine.purge("twin.txt")
