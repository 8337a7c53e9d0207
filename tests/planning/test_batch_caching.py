"""Inside batches a prefix is kept in the form that costs least, and the numbers are told."""

from dataclasses import replace

import pytest

from quire.planning.batch_caching import HITS, choose_batch_caching, whole_hits
from quire.providers.catalog import CATALOG, find_model
from quire.rehearsal.prompt_cache import CachePoint, PromptCache
from quire.rehearsal.server_state import BATCH_HITS

SONNET = CATALOG["anthropic/claude-sonnet-4-6"]  # $3; written 1.25 and 2 times, read a tenth
PREFIX = 25_000
USD = 10**6  # picodollars a token, where a million of them cost a dollar


def test_it_is_computed_as_by_hand() -> None:
    alone = choose_batch_caching(SONNET, PREFIX, 100, True)
    after = choose_batch_caching(SONNET, PREFIX, 100, True, pilot=True)

    # In batches: 1.5 in, 0.15 read, 3 written for an hour; a call before writes for 6, not 3.75
    uncached, rows = round(100 * PREFIX * 1.5 * USD), round(PREFIX * (90 * 0.15 + 10 * 3) * USD)
    assert (alone.uncached, alone.cost) == (uncached, rows)
    assert (after.uncached, after.cost) == (uncached, rows + PREFIX * 2.25 * USD)
    assert after.saving == after.uncached - after.cost
    assert (alone.mark, alone.long_lived, alone.primer) == (True, True, False)
    assert (after.mark, after.long_lived, after.primer) == (True, True, True)
    assert alone.why == (
        "the long form: $3.7500 uncached, $1.0875 the long form, if 90% of the rows find it"
    )
    assert after.why == (
        "the long form with a primer: $3.7500 uncached, $1.1438 the long form with a primer,"
        " if 90% of the rows find it"
    )


def test_every_form_is_priced_and_the_one_that_is_taken_marked() -> None:
    alone = choose_batch_caching(SONNET, PREFIX, 100, True)
    after = choose_batch_caching(SONNET, PREFIX, 100, True, pilot=True)
    itself = choose_batch_caching(CATALOG["gemini/gemini-3.6-flash"], PREFIX, 100, True)

    short = round(PREFIX * (90 * 0.15 + 10 * 1.875) * USD)
    assert [form[:3] for form in alone.forms] == [
        ("not cached", alone.uncached, False),
        ("the short form", short, False),
        ("the long form", alone.cost, True),
        ("the long form with a primer", alone.cost + PREFIX * 6 * USD, False),
    ]
    assert [form[:3] for form in after.forms] == [
        ("not cached", after.uncached, False),
        ("the short form with a primer", short, False),
        ("the long form with a primer", after.cost, True),
    ]
    assert "five minutes" in after.forms[1].remark
    assert [form[:3] for form in itself.forms] == [
        ("not cached", itself.uncached, False),
        ("found by the provider itself", itself.cost, True),
    ]


def test_where_no_form_pays_none_is_taken() -> None:
    assert SONNET.batch_price is not None
    dear = replace(SONNET.batch_price, written_long=20 * SONNET.batch_price.input)
    found = choose_batch_caching(replace(SONNET, batch_price=dear), PREFIX, 100, True)

    assert [form.name for form in found.forms if form.taken] == ["not cached"]
    assert len(found.forms) == 4


def test_a_row_finds_the_prefix_or_does_not() -> None:
    assert [whole_hits(rows, HITS) for rows in (0, 1, 2, 10, 11, 19, 20, 1_000)] == [
        0,
        0,
        1,
        9,
        9,
        17,
        18,
        900,
    ]
    assert whole_hits(7, 1.0) == 7


@pytest.mark.parametrize("share", [0.3, 0.7, 0.9, 0.98])
def test_rows_of_a_rehearsal_find_it_as_often_as_is_expected(share: float) -> None:
    cache, point = PromptCache(share), CachePoint(b"prefix", 1_000, "1h", free=False, step=1)
    found = 0
    for rows in range(1, 200):
        found += cache.look_up_for_batch_row([point], 0.0).cached > 0
        cache.keep([point], 0.0)
        assert found == whole_hits(rows, share)


def test_the_plan_and_the_rehearsal_assume_the_same() -> None:
    assert HITS == BATCH_HITS


def test_what_a_run_does_depends_neither_on_how_many_rows_come_nor_on_what_was_seen() -> None:
    for calls in (1, 2, 30, 10_000):
        for hits in (None, 0.0, 0.5, 1.0):
            found = choose_batch_caching(SONNET, PREFIX, calls, True, hits=hits)
            assert (found.mark, found.long_lived) == (True, True)


def test_hits_that_were_seen_change_the_price() -> None:
    lucky = choose_batch_caching(SONNET, PREFIX, 100, True, hits=1.0)
    never = choose_batch_caching(SONNET, PREFIX, 100, True, hits=0.0)

    assert lucky.cost == round(100 * PREFIX * 0.15 * USD)
    assert never.cost == 100 * PREFIX * 3 * USD
    assert never.saving < 0


def test_where_the_provider_finds_prefixes_itself_nothing_is_written() -> None:
    found = choose_batch_caching(CATALOG["gemini/gemini-3.6-flash"], PREFIX, 100, True, pilot=True)

    assert (found.mark, found.long_lived, found.primer, found.miss_price) == (
        True,
        False,
        False,
        "input",
    )
    # 0.375 in batches, 0.0375 read
    assert found.cost == round(PREFIX * (90 * 0.0375 + 10 * 0.375) * USD)


def test_openai_writes_cost_in_batches_too() -> None:
    newer = choose_batch_caching(CATALOG["openai/gpt-6-luna"], PREFIX, 1_000, True)
    older = choose_batch_caching(CATALOG["openai/gpt-5.4-mini"], PREFIX, 1_000, True)

    assert (newer.long_lived, newer.miss_price) == (False, "written_short")  # it lives half an hour
    assert (older.long_lived, older.miss_price) == (False, "input")


@pytest.mark.parametrize(
    ("model", "prefix", "caches", "said"),
    [
        ("groq/openai/gpt-oss-20b", PREFIX, True, "never both"),
        ("vertex/gemini-2.5-pro", PREFIX, False, "no prefix inside batches"),
        ("anthropic/claude-sonnet-4-6", 1_000, True, "fewer than the 1,024"),
        ("mistral/mistral-large-4", PREFIX, True, "keeps no prefix"),
        ("gemini/gemini-3.7-flash", PREFIX, True, "no price is known"),
    ],
)
def test_it_is_off_where_it_cannot_pay(model: str, prefix: int, caches: bool, said: str) -> None:
    found = choose_batch_caching(find_model(model), prefix, 100, caches)

    assert (found.mark, found.saving, found.hits) == (False, 0, 0.0)
    assert said in found.why
