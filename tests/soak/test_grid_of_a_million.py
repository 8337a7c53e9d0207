"""A run with a million results: pages of its grid, its inbox and its lists all cost the same."""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quire.domain.ids import RunId
from quire.domain.reviews import InboxFilter, InboxOrder
from quire.engine import Engine
from quire.engine.context import make_context
from quire.engine.result_pages import MOST_LOOKED_AT, ResultFilter
from quire.ledger.ledger import open_ledger
from quire.review.inbox import SCAN
from quire.settings import Settings
from tests.ledger.crowd import FIRST, PACK, fill_decisions, fill_ledger, fill_lists

pytestmark = pytest.mark.soak

RESULTS = 1_000_000
SECONDS = 2.0  # for a page, on a machine that does much else; a whole read takes minutes

MOST_BYTES = 64 * 1024 * 1024  # that Python holds for two pages at most; a million take gigabytes
MOST_COUNTED = 10_000  # of each reason


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine on a ledger with a million results, each decided about, and as many failures."""
    place = str(tmp_path / "quire.db")
    ledger = open_ledger(place, durable=False)
    run = fill_ledger(ledger, 2 * RESULTS)
    fill_lists(ledger, run, RESULTS)
    fill_decisions(ledger, run, RESULTS)
    with Engine(make_context(Settings(ledger=place), ledger)) as opened:
        yield opened


def test_pages_of_a_million_results_are_there_at_once(
    engine: Engine, tell: Callable[[str], None]
) -> None:
    pages = engine.result_pages
    ways = {
        "opened": (ResultFilter(), True),
        "by text that is nowhere": (ResultFilter(text="nowhere to be found"), False),
        "by state": (ResultFilter(only="accepted"), True),
        "by the state of the later half": (ResultFilter(only="failed"), True),
        "by a state that none has": (ResultFilter(only="cancelled"), False),
        "by a field that none has": (ResultFilter(fields={"word_count": "7"}), False),
    }
    for name, (chosen, has_rows) in ways.items():
        began = time.perf_counter()
        page = pages.page(1, chosen=chosen)
        further = pages.page(1, chosen=chosen, after=page.next) if page.next else page
        took = time.perf_counter() - began
        tell(f"a page {name}: {took:.3f} s for two, {page.looked_at:,} tasks looked at")

        assert max(page.looked_at, further.looked_at) <= MOST_LOOKED_AT
        assert took < SECONDS
        assert (bool(page.rows), bool(further.rows)) == (has_rows, has_rows), name

    began = time.perf_counter()
    strip = engine.pack_strips.make(1)
    tell(f"the strip of {strip.packs:,} packs: {time.perf_counter() - began:.2f} s")
    assert strip.packs == RESULTS // 10
    assert len(strip.bins) <= 600


def test_the_inbox_of_a_million_results_is_there_at_once(
    engine: Engine, tell: Callable[[str], None]
) -> None:
    review = engine.review
    for words in (
        "",
        "reason=repaired",
        "without=stale",
        "text=nowhere",
        "field.word_count=7",
        "score<=0.5",
        f"document={FIRST}",
        *(f"order={order}" for order in InboxOrder),
    ):
        chosen = InboxFilter.parse(words)
        tracemalloc.start()
        began = time.perf_counter()
        page = review.inbox(1, chosen)
        further = review.inbox(1, chosen, after=page.next) if page.next else page
        took = time.perf_counter() - began
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        looked = max(page.looked_at, further.looked_at)
        tell(f"inbox {words!r}: {took:.3f} s for two pages, {looked:,} looked at, {most:,} bytes")

        assert looked <= SCAN, words
        assert most < MOST_BYTES, words

    began = time.perf_counter()
    counts = review.counts(1)
    tell(f"counts: {time.perf_counter() - began:.3f} s, {counts.left:,} left")
    assert counts.left >= MOST_COUNTED


def test_lists_beside_a_million_results_are_there_at_once(
    engine: Engine, tell: Callable[[str], None]
) -> None:
    middle = FIRST + RESULTS // PACK // 2
    lists: dict[str, Callable[[], object]] = {
        "documents": lambda: engine.listings.documents(2 * FIRST, 51),
        "documents further on": lambda: engine.listings.documents(FIRST + RESULTS // 2, 51),
        "titles to jump to": lambda: engine.listings.newest_titles(5_000),
        "documents in use": lambda: engine.listings.count_usual(10_001)[0],
        "calls": lambda: engine.queries.requests(RunId(1), 0, 51),
        "calls further on": lambda: engine.queries.requests(RunId(1), middle, 51),
        "events": lambda: engine.queries.events(RunId(1), 200),
        "failures": lambda: engine.queries.failures(RunId(1)),
        "decisions": lambda: engine.review.decisions(1).decisions,
    }
    for name, look in lists.items():
        began = time.perf_counter()
        found = look()
        took = time.perf_counter() - began
        tell(f"{name}: {took:.3f} s")

        assert took < SECONDS, name
        assert found, name  # an empty list is read quickly, and says nothing
