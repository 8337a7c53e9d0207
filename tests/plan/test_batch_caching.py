"""Inside batches a prefix is kept in the form that costs least, and the numbers are told."""

import pytest

from quire.plan.batch_caching import HITS, PRIMED_HITS, batch_caching
from quire.providers.catalog import CATALOG, find_model

SONNET = CATALOG["anthropic/claude-sonnet-4-6"]  # $3; written 1.25 and 2 times, read a tenth
PREFIX = 25_000


def test_the_three_forms_are_computed_as_by_hand() -> None:
    found = batch_caching(SONNET, PREFIX, 100, True)

    # In batches: 1.5 in, 0.15 read, 1.875 and 3 written; a primer outside of them costs 6.
    uncached = 100 * PREFIX * 1.5
    short = 100 * PREFIX * (HITS * 0.15 + (1 - HITS) * 1.875)
    long = 99 * PREFIX * (PRIMED_HITS * 0.15 + (1 - PRIMED_HITS) * 3) + PREFIX * 6
    assert (found.uncached, found.cost) == (round(uncached), round(long))
    assert found.saving == round(uncached) - round(long)
    assert (found.mark, found.long_lived, found.primer) == (True, True, True)
    assert found.why == (
        "the long form with a primer: $3.7500 uncached, $1.6687 the short form,"
        " $1.2266 the long form with a primer, if 90% of the rows find it"
    )
    assert round(short) == 1_668_750


def test_few_calls_do_not_pay_for_the_long_form() -> None:
    few = batch_caching(SONNET, PREFIX, 20, True)

    assert (few.mark, few.long_lived, few.primer, few.hits) == (True, False, False, HITS)


def test_calls_that_go_before_anyway_make_the_primer_cheaper() -> None:
    assert not batch_caching(SONNET, PREFIX, 20, True).primer
    assert batch_caching(SONNET, PREFIX, 20, True, pilot=True).primer


def test_hits_that_were_seen_price_the_form_that_had_them() -> None:
    guessed = batch_caching(SONNET, PREFIX, 100, True)
    lucky = batch_caching(SONNET, PREFIX, 100, True, hits=1.0)
    never = batch_caching(SONNET, PREFIX, 100, True, hits=0.0)

    assert (lucky.primer, lucky.hits) == (guessed.primer, 1.0)
    assert lucky.cost == round(99 * PREFIX * 0.15 + PREFIX * 6)
    assert not never.mark


def test_where_the_provider_finds_prefixes_itself_nothing_is_written() -> None:
    found = batch_caching(CATALOG["gemini/gemini-3.6-flash"], PREFIX, 100, True)

    assert (found.mark, found.long_lived, found.primer, found.written) == (
        True,
        False,
        False,
        "input",
    )
    # 0.375 in batches, 0.0375 read
    assert found.cost == round(100 * PREFIX * (HITS * 0.0375 + (1 - HITS) * 0.375))


def test_openai_writes_cost_in_batches_too() -> None:
    newer = batch_caching(CATALOG["openai/gpt-6-luna"], PREFIX, 1_000, True)
    older = batch_caching(CATALOG["openai/gpt-5.4-mini"], PREFIX, 1_000, True)

    assert (newer.primer, newer.written) == (True, "written_short")  # it lives for half an hour
    assert (older.primer, older.written) == (False, "input")


@pytest.mark.parametrize(
    ("model", "prefix", "calls", "caches", "said"),
    [
        ("groq/openai/gpt-oss-20b", PREFIX, 100, True, "never both"),
        ("vertex/gemini-2.5-pro", PREFIX, 100, False, "no prefix inside batches"),
        ("anthropic/claude-sonnet-4-6", 1_000, 100, True, "fewer than the 1,024"),
        ("anthropic/claude-sonnet-4-6", PREFIX, 1, True, "nobody to share with"),
        ("mistral/mistral-large-4", PREFIX, 100, True, "keeps no prefix"),
        ("gemini/gemini-3.7-flash", PREFIX, 100, True, "no price is known"),
    ],
)
def test_it_is_off_where_it_cannot_pay(
    model: str, prefix: int, calls: int, caches: bool, said: str
) -> None:
    found = batch_caching(find_model(model), prefix, calls, caches)

    assert (found.mark, found.saving, found.hits) == (False, 0, 0.0)
    assert said in found.why
