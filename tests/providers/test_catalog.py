"""The catalog knows its models, and says what to type where it does not."""

import re
import tomllib
from dataclasses import replace
from datetime import date, datetime
from importlib.resources import files

import pytest

from quire.domain.errors import SettingsInvalid, UnknownModel, UsageError
from quire.domain.models import CacheMarking, ModelFacts, Price, StructuredOutput
from quire.domain.pricing import price_at
from quire.providers.catalog import (
    CATALOG,
    PRICED_ON,
    RETIRED,
    UNPRICED,
    facts_from_table,
    facts_from_tables,
    find_model,
)
from quire.providers.model_facts import is_own_machine
from quire.providers.price_check import PriceDifference, price_differences
from quire.providers.vendors import VENDORS
from quire.settings.settings_file import settings_mistakes

# Where genai-prices is known to be wrong, or to mean something else. None today.
KNOWN_DIFFERENCES: set[PriceDifference] = set()


def refusal(name: str, **others: dict[str, str]) -> str:
    with pytest.raises(UnknownModel) as caught:
        find_model(name, **others)  # type: ignore[arg-type]
    return str(caught.value)


def test_the_simulated_models_have_the_stated_windows_outputs_and_prices() -> None:
    small, large = find_model("simulated/small"), find_model("simulated/large")

    assert (small.window, small.max_output) == (32_000, 8_192)
    assert (large.window, large.max_output) == (200_000, 16_384)
    assert small.price == Price(
        input=250_000, output=2_000_000, cached=25_000, written_short=312_500, written_long=500_000
    )
    assert {small.note, large.note} == {"simulated: no model is called, no money is spent"}


def test_no_vendors_model_is_free_and_none_reads_or_batches_dearer_than_usual() -> None:
    for facts in CATALOG.values():
        if is_own_machine(facts.name):
            continue
        for price in (facts.price, *(tier.price for tier in facts.tiers)):
            assert 0 < price.cached <= price.input <= price.written_short <= price.written_long
            assert price.output == 0 if facts.embeds else price.input < price.output
        batch = facts.batch_price
        if batch is not None:
            assert 0 < batch.cached <= batch.input < facts.price.input
            assert batch.output * 2 == facts.price.output


def test_every_model_is_whole() -> None:
    for facts in CATALOG.values():
        assert 0 < facts.max_output <= facts.window
        assert facts.max_input is None or facts.max_input < facts.window
        assert facts.provider in VENDORS
        assert [tier.above for tier in facts.tiers] == sorted({item.above for item in facts.tiers})
        assert ModelFacts.from_json(facts.as_json()) == facts
        if facts.retires:
            assert date.fromisoformat(facts.retires) > date.fromisoformat(PRICED_ON)


def test_the_file_obeys_the_rules_of_quire_toml() -> None:
    tables = tomllib.loads(files("quire.providers").joinpath("catalog.toml").read_text("utf-8"))

    assert settings_mistakes({"models": tables["models"]}) == []


def test_prices_are_what_vendors_publish() -> None:
    luna = find_model("openai/gpt-6-luna")
    haiku = find_model("anthropic/claude-haiku-5-5")

    assert price_at(luna, 272_000).input == 100_000
    assert price_at(luna, 272_001) == Price(
        input=200_000, output=750_000, cached=20_000, written_short=250_000, written_long=500_000
    )
    assert luna.batch_price == Price(
        input=50_000, output=250_000, cached=5_000, written_short=62_500, written_long=125_000
    )
    assert price_at(haiku, 100_001).output == 2_500_000
    assert (luna.max_input, luna.window) == (922_000, 1_050_000)


@pytest.mark.parametrize(
    ("name", "structured", "marking", "sampling", "thinks", "factor"),
    [
        ("anthropic/claude-opus-5-5", "schema", "breakpoint", False, True, 1.3),
        ("anthropic/claude-haiku-5-5", "tool", "breakpoint", False, False, 1.3),
        ("anthropic/claude-haiku-4-5", "tool", "breakpoint", True, False, 1.0),
        ("openai/gpt-6-luna", "schema", "breakpoint", False, True, 1.0),
        ("openai/gpt-5-mini", "schema", "automatic", False, True, 1.0),
        ("openai/gpt-4o", "schema", "automatic", True, False, 1.0),
        ("gemini/gemini-3.8-flash", "schema", "automatic", False, True, 1.0),
    ],
)
def test_models_are_spoken_to_as_they_understand(
    name: str, structured: str, marking: str, sampling: bool, thinks: bool, factor: float
) -> None:
    facts = find_model(name)

    assert (facts.wire.structured, facts.wire.marking) == (structured, marking)
    assert (facts.wire.sampling, facts.thinking > 0) == (sampling, thinks)
    assert facts.token_factor == factor


def test_a_cache_that_costs_nothing_to_fill_is_written_at_the_price_of_input() -> None:
    for name in ("openai/gpt-5-mini", "gemini/gemini-2.5-pro"):
        price = find_model(name).price
        assert price.written_short == price.written_long == price.input


def test_googles_cached_price_is_halved_in_batches_or_not_as_published() -> None:
    newer, older = find_model("gemini/gemini-3.8-flash"), find_model("gemini/gemini-2.5-pro")

    assert newer.batch_price is not None
    assert older.batch_price is not None
    assert newer.batch_price.cached * 2 == newer.price.cached
    assert older.batch_price.cached == older.price.cached
    assert find_model("gemini/gemini-3.7-flash").batch_price is None


def test_genai_prices_agrees_as_of_the_day_the_catalog_was_made() -> None:
    found = price_differences(
        CATALOG.values(), datetime.fromisoformat(f"{PRICED_ON}T00:00:00+00:00")
    )

    assert found is not None
    assert set(found) == KNOWN_DIFFERENCES


def test_the_second_opinion_sees_a_price_that_changes_on_a_day() -> None:
    flash = CATALOG["gemini/gemini-3.8-flash"]

    found = price_differences([flash], datetime.fromisoformat("2027-01-02T00:00:00+00:00"))

    assert found is not None
    assert PriceDifference(flash.name, "input", 750_000, 1_500_000) in found
    assert "doubles" in flash.note


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("small", "simulated/small"),
        ("Large", "simulated/large"),
        ("simulated/smal", "simulated/small"),
        ("simulate/small", "simulated/small"),
        ("anthropic/claude-sonet-5", "anthropic/claude-sonnet-5"),
        ("claude-sonet-5", "anthropic/claude-sonnet-5"),
        ("groq/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        ("openai/gpt5-mini", "openai/gpt-5-mini"),
        ("fable", "anthropic/claude-fable-5-1"),
    ],
)
def test_a_near_miss_is_told_the_full_name(typed: str, meant: str) -> None:
    assert f"no model is called '{typed}'; did you mean {meant}" in refusal(typed)


@pytest.mark.parametrize("address", ["127.0.0.1:8911/v1", "localhost:80", "llm.example.org/v1"])
def test_an_address_without_http_is_told_as_that(address: str) -> None:
    said = refusal(f"compatible/my-model@{address}")

    assert "names no server: an address begins with http://" in said
    assert f"write compatible/my-model@http://{address}" in said


def test_a_provider_that_nobody_knows_is_told_which_there_are() -> None:
    said = refusal("acme/brain-9000")

    assert "providers are openai, anthropic, gemini" in said
    assert "compatible/MODEL@URL" in said


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("claude-opus-5", "anthropic/claude-opus-5"),
        ("CLAUDE-HAIKU-4.5", "anthropic/claude-haiku-4-5"),
        ("Anthropic/Claude-Haiku-4.5", "anthropic/claude-haiku-4-5"),
        ("claude-4.5-haiku", "anthropic/claude-haiku-4-5"),
        ("claude-haiku-4-5-latest", "anthropic/claude-haiku-4-5"),
        ("Mistral-Small-Latest", "mistral/mistral-small-latest"),
        ("gpt-5-4-mini", "openai/gpt-5.4-mini"),
        ("openai/gpt-5-4", "openai/gpt-5.4"),
        ("vertex/gemini-3-8-flash", "vertex/gemini-3.8-flash"),
    ],
)
def test_a_name_that_means_one_model_is_taken_however_it_is_written(
    written: str, meant: str
) -> None:
    assert find_model(written) == find_model(meant)
    assert find_model("mine", aliases={"mine": written}) == find_model(meant)


@pytest.mark.parametrize(
    ("written", "family"),
    [
        ("anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("openai/gpt-5-mini-2025-08-07", "openai/gpt-5-mini"),
        ("openai/gpt-5.4-2026-01-01", "openai/gpt-5.4"),
        ("vertex/gemini-3.8-flash-20260101", "vertex/gemini-3.8-flash"),
    ],
)
def test_a_dated_name_is_sent_as_written_and_priced_as_its_family(
    written: str, family: str
) -> None:
    assert find_model(written) == replace(find_model(family), name=written)


def test_a_dated_name_is_found_without_its_vendor_and_in_the_users_own_facts() -> None:
    own = facts_from_tables(
        {
            "openai/gpt-9": {"window": 9_000, "max_output": 900, "input": 7, "output": 8},
            "openai/gpt-5-mini": {"url": "http://here/v1", "id": "deployed"},
        }
    )

    assert find_model("claude-haiku-4-5-20251001").name == "anthropic/claude-haiku-4-5-20251001"
    assert find_model("gpt-9", own) is own["openai/gpt-9"]
    assert find_model("gpt-9-2026-12-01", own).price == own["openai/gpt-9"].price
    dated = find_model("gpt-5-mini-2025-08-07", own)
    assert (dated.wire.url, dated.wire.id) == ("http://here/v1", "")
    stated = facts_from_table("openai/gpt-5-mini-2025-08-07", {"max_output": 77})
    assert (stated.max_output, stated.window) == (77, CATALOG["openai/gpt-5-mini"].window)


def test_what_is_no_date_or_no_single_model_is_not_taken() -> None:
    own = facts_from_tables({"azure/gpt-5-mini": {"like": "openai/gpt-5-mini"}})

    with pytest.raises(UnknownModel, match="did you mean openai/gpt-5-mini or azure/gpt-5-mini"):
        find_model("gpt-5-mini", own)
    for name in ("openai/gpt-5-2026-13-01", "openai/gpt-5-20269999", "claude-sonnet-5-4", "small"):
        refusal(name)
    assert "costs more than the later ones" in refusal("gpt-4o-2024-05-13")
    assert "nothing is known of azure/gpt-5-mini-2025-08-07" in refusal(
        "azure/gpt-5-mini-2025-08-07"
    )


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("anthropic/claude-haiku-5", "anthropic/claude-haiku-5-5"),
        ("anthropic/claude-haiku-5-5-20261301", "anthropic/claude-haiku-5-5"),
        ("claude-haiku-5", "anthropic/claude-haiku-5-5"),
    ],
)
def test_whoever_names_half_a_version_is_asked_for_the_whole_before_any_price(
    slip: str, meant: str
) -> None:
    said = refusal(slip)

    assert f"did you mean {meant}? if it is new, state it in quire.toml" in said


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        *((name, name) for name in UNPRICED),
        ("azure/mine", "azure/mine"),
        ("openrouter/acme/x", "openrouter/acme/x"),
        ("compatible/x@http://h:1/v1", "compatible/x@http://h:1/v1"),
        ("openai/gpt-9", "openai/gpt-9"),
        ("gpt-9", "openai/gpt-9"),
        ("claude-opus-7", "anthropic/claude-opus-7"),
        ("openai/gpt-9-2026-12-01", "openai/gpt-9-2026-12-01"),
    ],
)
def test_of_an_unknown_model_one_line_says_what_to_state(written: str, stated: str) -> None:
    said = refusal(written)
    keys = re.findall(r"(\w+) = \?", said)

    assert len(said.splitlines()) == 1
    assert f'[models."{stated}"]: window = ?' in said
    assert find_model(written, facts_from_tables({stated: dict.fromkeys(keys, 9)})).window == 9


def test_a_model_that_is_known_elsewhere_is_stated_with_one_line() -> None:
    said = refusal("openrouter/anthropic/claude-sonnet-4.5")

    assert 'like = "anthropic/claude-sonnet-4-5" where it is that model elsewhere' in said


def test_a_model_that_was_shut_down_says_when() -> None:
    assert "openai/o1 was shut down on 2026-10-23" in refusal("openai/o1")
    for name in ("claude-3-5-sonnet-latest", "anthropic/claude-3.5-sonnet"):
        assert "anthropic/claude-3-5-sonnet was shut down on 2025-10-22" in refusal(name)
    assert "gpt-4-turbo-2024-04-09 was shut down" in refusal("gpt-4-turbo-2024-04-09")
    assert not RETIRED.keys() & CATALOG.keys()


def test_the_users_own_facts_and_aliases_come_first() -> None:
    mine = facts_from_table("simulated/small", {"window": 9_000})

    assert find_model("simulated/small", {"simulated/small": mine}) is mine
    assert find_model("s", {mine.name: mine}, {"s": "simulated/small"}) is mine
    assert "did you mean cheap?" in refusal("chaep", aliases={"cheap": "simulated/small"})


def test_googles_models_are_found_in_vertex_too_with_one_discount_at_a_time() -> None:
    here, there = find_model("gemini/gemini-3.8-flash"), find_model("vertex/gemini-3.8-flash")

    assert (there.name, there.price) == ("vertex/gemini-3.8-flash", here.price)
    assert there.batch_price is not None
    assert here.batch_price is not None
    assert there.batch_price.input == here.batch_price.input
    assert there.batch_price.cached == here.price.cached


@pytest.mark.parametrize(
    "name",
    [
        *("vllm/qwen", "ollama/qwen3:8b", "llamacpp/x", "lmstudio/org/x", "local/tiny"),
        *("compatible/x@http://localhost:8000/v1", "compatible/x@http://127.0.0.1/v1"),
        "compatible/x@http://[::1]:8000/v1",
    ],
)
def test_ones_own_machine_is_free_and_says_so(name: str) -> None:
    facts = find_model(name)

    assert facts.price == Price(input=0, output=0, cached=0, written_short=0, written_long=0)
    assert (facts.window, facts.max_output) == (8_192, 2_048)
    assert facts.window_guessed
    assert facts.wire.structured is StructuredOutput.SCHEMA
    assert "your own machine: free" in facts.note


def test_the_address_of_a_compatible_model_is_in_its_name() -> None:
    facts = find_model("compatible/org/m@b@http://localhost:8000/v1/")

    assert (facts.wire.id, facts.wire.url) == ("org/m@b", "http://localhost:8000/v1")


@pytest.mark.parametrize("name", ["compatible/x@http://", "compatible/@http://h", "ollama/"])
def test_a_name_without_a_model_or_a_server_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        find_model(name)


def test_a_key_in_a_name_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="a key does not belong") as caught:
        find_model("compatible/x@http://me:s3cret@host/v1")

    assert "s3cret" not in str(caught.value)


def test_models_may_be_like_each_other_but_not_in_a_ring() -> None:
    made = facts_from_tables(
        {"azure/b": {"like": "azure/a", "window": 50_000}, "azure/a": {"like": "openai/gpt-5-mini"}}
    )

    assert list(made) == ["azure/b", "azure/a"]
    assert made["azure/b"].window == 50_000
    assert made["azure/a"].price == CATALOG["openai/gpt-5-mini"].price
    with pytest.raises(SettingsInvalid, match="in a ring"):
        facts_from_tables({"azure/b": {"like": "azure/a"}, "azure/a": {"like": "azure/b"}})
    with pytest.raises(SettingsInvalid, match=r"did you mean openai/gpt-5-mini"):
        facts_from_tables({"azure/b": {"like": "openai/gpt5-mini"}})


def test_in_another_house_marks_dates_and_strange_batches_are_left_behind() -> None:
    made = facts_from_tables(
        {
            "azure/mine": {"like": "openai/gpt-6-luna"},
            "openrouter/anthropic/old": {"like": "anthropic/claude-sonnet-4-5"},
        }
    )
    azure, router = made.values()

    assert azure.wire.marking is CacheMarking.AUTOMATIC
    assert azure.batch_price == CATALOG["openai/gpt-6-luna"].batch_price
    assert router.batch_price is None
    assert router.wire.marking is CacheMarking.BREAKPOINT
    assert (router.retires, router.note) == ("", "like anthropic/claude-sonnet-4-5")
