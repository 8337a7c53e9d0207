"""`quire models` lists models with their prices, shows one in full, and checks them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quire.domain.fallbacks import Fallback, FallbackPart
from quire.engine import open_engine
from quire.engine.model_list import check_models, read_model_list
from quire.providers.catalog import CATALOG, PRICED_ON, UNPRICED
from tests.cli.conftest import Quire

DAY_MADE = datetime.fromisoformat(f"{PRICED_ON}T12:00:00+00:00").astimezone(UTC)


def test_every_model_is_listed_with_its_prices_and_no_ledger_is_needed(
    quire: Quire, folder: Path
) -> None:
    lines = quire("models").stdout.splitlines()

    cells = {line.split()[0]: line.split()[1:] for line in lines if "/" in line.split(" ")[0]}
    assert [name for name in CATALOG if name not in cells] == []
    assert cells["anthropic/claude-sonnet-4-5"] == [
        *("200k/64k", "3+", "0.3", "3.75", "15+", "1.5/7.5", "1024", "tool", "2026-11-30"),
    ]
    assert max(map(len, lines[: lines.index("")])) <= 100
    assert list(folder.iterdir()) == []


def test_no_price_is_said_to_be_unknown_and_is_never_zero(quire: Quire) -> None:
    text = quire("models").stdout
    listed = {item["name"]: item for item in quire.json("models")}

    for name in UNPRICED:
        assert f"{name}: no price is known" in text
        assert listed[name]["price"] is None


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_a_narrow_screen_shows_fewer_columns_and_never_half_a_price(
    quire: Quire, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)

    text = quire("models", "gpt-5").stdout

    assert "…" not in text.partition("size:")[0]
    assert ("JSON" in text) == (width == "200")


def test_a_part_of_a_name_finds_all_that_contain_it(quire: Quire) -> None:
    names = [item["name"] for item in quire.json("models", "Haiku", "simulated/")]

    assert names == [
        *("anthropic/claude-haiku-5-5", "anthropic/claude-haiku-4-5"),
        *("simulated/small", "simulated/medium", "simulated/large", "simulated/embedder"),
    ]


def test_one_model_is_shown_in_full(quire: Quire) -> None:
    text = " ".join(quire("models", "openai/gpt-6-luna").stdout.split())

    assert "window 1,050,000 tokens" in text
    assert "in $0.1, cached $0.01, written $0.125, for long $0.25, out $0.5 per million" in text
    assert "with more than 272,000 tokens of input: in $0.2" in text
    assert "batch in $0.05" in text
    assert "the end of the prefix is marked, from 1,024 tokens on" in text
    assert f"known from catalog of {PRICED_ON}" in text


def test_a_model_is_found_by_its_alias_and_as_quire_toml_states_it(
    quire: Quire, folder: Path
) -> None:
    (folder / "quire.toml").write_text(
        '[aliases]\ncheap = "azure/mine"\n[models."azure/mine"]\nlike = "openai/gpt-5-mini"\n'
        "limits = { requests = 60 }\n"
    )

    (facts,) = quire.json("models", "cheap")
    text = quire("models", "cheap").stdout

    assert (facts["name"], facts["from"]) == ("azure/mine", "quire.toml")
    assert facts["price"]["input"] == 250_000
    assert "60 requests a minute" in text
    assert "cheap = azure/mine" in quire("models").stdout


def test_ones_own_machine_needs_no_table(quire: Quire) -> None:
    (facts,) = quire.json("models", "ollama/qwen3:8b")

    assert facts["price"]["input"] == 0
    assert "your own machine" in facts["note"]


def test_an_unknown_name_is_told_the_nearest_with_2(quire: Quire) -> None:
    result = quire("models", "anthropic/claude-opsu-5", code=2)

    assert "did you mean anthropic/claude-opus-5" in result.stderr
    assert result.stdout == ""


def test_mistakes_in_quire_toml_are_told_with_2(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").write_text('[models."azure/mine"]\nwindow = 9\n')

    assert "lacks max_output, input, output" in quire("models", code=2).stderr


def test_on_the_day_it_was_made_nothing_is_wrong_with_the_catalog(folder: Path) -> None:
    model_list = read_model_list()

    checked = check_models(model_list, model_list.known, DAY_MADE)

    assert (checked.problems, checked.age_days) == ((), 0)
    assert checked.compared == len(CATALOG) - 5  # the simulated ones, and that of this machine
    assert any("gpt-5-mini will be shut down on 2026-12-11" in line for line in checked.remarks)


def test_time_makes_prices_wrong_models_vanish_and_the_catalog_old(folder: Path) -> None:
    model_list = read_model_list()

    problems = check_models(model_list, model_list.known, DAY_MADE + timedelta(days=91)).problems

    assert "openai/gpt-5-mini was shut down on 2026-12-11" in problems
    assert (
        "gemini/gemini-3.8-flash: input costs 0.75 in the catalog, and 1.5 in genai-prices"
        in problems
    )
    assert "the catalog is 91 days old: a newer Quire has newer prices" in problems


def test_what_is_wrong_ends_with_1(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").write_text('[aliases]\ncheap = "openai/gpt-9"\n')

    result = quire("models", "--check", code=1)
    printed = quire.json("models", "--check", code=1)

    assert "aliases.cheap: nothing is known of openai/gpt-9; state it" in result.stdout
    assert printed["made"] == PRICED_ON
    assert any("aliases.cheap" in item for item in printed["problems"])


def test_ones_own_prices_are_not_compared(quire: Quire, folder: Path) -> None:
    (folder / "quire.toml").write_text('[models."openai/gpt-5.2"]\ninput = 0.5\n')
    model_list = read_model_list()

    assert (
        check_models(
            model_list, {"openai/gpt-5.2": model_list.known["openai/gpt-5.2"]}, DAY_MADE
        ).compared
        == 0
    )


def test_a_weaker_way_is_shown_with_the_model_and_can_be_forgotten(quire: Quire) -> None:
    quire("init")
    fallback, said = Fallback(FallbackPart.STRUCTURED, "text"), "vllm 400: response_format"
    with open_engine() as engine, engine.ledger.transaction() as tx:
        tx.fallbacks.set_fallback("vllm/odd", "http://here/v1", fallback, said, DAY_MADE)

    shown = " ".join(quire("models", "vllm/odd").stdout.split())
    gone = quire("models", "vllm/odd", "--forget").stdout
    bare = quire("models", "--forget", code=2)

    assert f"fallback at http://here/v1 since {PRICED_ON}: the form of its answers is" in shown
    assert said in shown
    assert "vllm/odd: 1 weaker way forgotten" in gone
    assert "fallback" not in quire("models", "vllm/odd").stdout
    assert "--forget needs a model" in bare.stderr
