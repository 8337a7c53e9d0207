"""A plan as it is printed: every way in a row, the reasons, and what to type."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import SCHEMA, Quire
from tests.world import METADATA, sentences

SONNET = "anthropic/claude-sonnet-4-6"


@pytest.fixture
def quire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Quire:
    """The commands, with 600 blocks and a schema of long instructions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    typed = Quire()
    said = "Read every block with care, and twice. " * 500
    long = {**METADATA, "title": "long", "prompt_config": {"system_instructions": said}}
    (tmp_path / "notes.txt").write_text("\n\n".join(sentences(600)))
    (tmp_path / "long.json").write_text(json.dumps(long))
    typed("ingest", "notes.txt")
    typed("schema", "add", "long.json")
    return typed


def test_all_ways_are_told_and_the_cheapest_with_its_command(quire: Quire) -> None:
    lines = quire("plan", "--schema", "long", "--model", SONNET).stdout.splitlines()

    assert [line.split("  ")[0] for line in lines[4:10]] == [
        "one per call",
        "one per call + cached",
        "packed",
        "packed + cached",
        "packed + batch",
        "packed + cached + batch",
    ]
    assert lines[9].endswith("≤ 24 h")
    assert lines[11] == "the prefix alone, in batches, if 90% of the rows find it:"
    assert re.match(r"  \$[0-9.]+ not cached$", lines[12])
    assert re.match(r"  \$[0-9.]+ the short form with a primer \(if as many", lines[13])
    assert re.match(r"  \$[0-9.]+ the long form with a primer \(taken\)$", lines[14])
    assert lines[15] == (
        "recommended: packed + cached + batch, up to 10 blocks per call"
        " (`quire run --route batch` does so)"
    )
    assert lines[16].startswith("batches take up to 24 hours; sooner: packed + cached, $")
    assert lines[16].endswith("(`quire run`)")


@pytest.mark.parametrize(("width", "left_out"), [("100", []), ("80", ["of it cached", "saving"])])
def test_on_narrow_screens_columns_give_way_but_no_number_is_cut(
    quire: Quire, monkeypatch: pytest.MonkeyPatch, width: str, left_out: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)

    lines = quire("plan", "--schema", "long", "--model", SONNET).stdout.splitlines()

    assert [item for item in ("of it cached", "saving") if item not in lines[2]] == left_out
    assert "…" not in "".join(lines[2:10])
    assert max(map(len, lines[2:10])) <= int(width)


def test_a_plan_for_programs_says_the_same(quire: Quire) -> None:
    printed = json.loads(
        quire("plan", "--schema", "long", "--model", SONNET, "--route", "auto", "--json").stdout
    )

    assert printed["route"]["lane"] == "batch"
    assert printed["expected"] == printed["recommended"] == "packed + cached + batch"
    assert printed["batch_caching"]["primer"] is True
    assert [item["taken"] for item in printed["batch_caching"]["forms"]] == [False, False, True]
    last = printed["variants"][-1]
    assert (last["requests"], last["batched_requests"], last["seconds"]) == (60, 55, 86_400)


def test_what_is_answered_is_no_part_of_what_is_to_be_paid(quire: Quire) -> None:
    asked = ("--schema", "long", "--model", "simulated/large", "--pack-size", "10")
    quire("run", *asked)

    screen = quire("plan", *asked).stdout
    printed = json.loads(quire("plan", *asked, "--json").stdout)

    assert "of 600 blocks 600 are answered already" in screen
    assert re.search(r"expected of `quire run`: nothing, \$0; all of it anew would be \$\d", screen)
    money = ("tasks", "calls", "low_usd", "cost_usd", "high_usd", "least_budget_usd")
    assert printed["asked"] == {**dict.fromkeys(money, 0), "variants": []}
    assert printed["expected_usd"] > 0


def test_a_route_that_cannot_be_is_told(quire: Quire) -> None:
    said = quire(
        "plan", "--schema", "long", "--model", "gemini/gemini-3.7-flash", "--route", "batch"
    ).stdout

    assert "no price is known of gemini/gemini-3.7-flash in batches" in said
    assert "(`quire run` does so)" in said


def test_time_is_told_where_limits_are_stated(quire: Quire, tmp_path: Path) -> None:
    (tmp_path / "quire.toml").write_text(f'[models."{SONNET}"]\nlimits = {{ requests = 50 }}\n')

    lines = quire("plan", "--schema", "long", "--model", SONNET).stdout.splitlines()

    assert lines[4].endswith(" 14 min")
    assert lines[6].endswith(" 85 s")


def test_blocks_that_hold_up_the_rest_for_as_long_as_a_batch_takes_are_told(quire: Quire) -> None:
    asked = ("plan", "--schema", "long", "--model", SONNET, "--route", "batch")
    printed = "the first 50 blocks go in a batch of their own"

    assert printed not in quire(*asked).stdout  # in packs they are few calls, and go direct
    alone = quire(*asked, "--no-packing").stdout
    assert printed in alone
    assert "with --min-batch-size 51 they go direct" in alone
    assert "≤ 48 h" in alone  # one after the other
    assert printed not in quire(*asked, "--no-packing", "--min-batch-size", "51").stdout
    few = quire(*asked, "--min-batch-size", "5").stdout  # 5 calls, then 55
    assert printed in few
    assert "with --min-batch-size 6 they go direct" in few


def test_no_smallest_batch_is_advised_that_sends_everything_direct(
    quire: Quire, tmp_path: Path
) -> None:
    (tmp_path / "few.txt").write_text("\n\n".join(sentences(90)))
    quire("ingest", "few.txt")
    asked = ("plan", "--schema", "long", "--model", SONNET, "--route", "batch", "--no-packing")

    printed = quire(*asked, "--document", "few.txt").stdout

    assert "the first 50 blocks go in a batch of their own" in printed
    assert "--min-batch-size" not in printed


def test_auto_says_which_way_it_goes_and_why(quire: Quire) -> None:
    asked = ("plan", "--schema", "long", "--model", SONNET, "--route", "auto")

    found = quire(*asked).stdout
    assert re.search(r"^auto goes in batches: \$[0-9.]+ in batches, \$[0-9.]+ direct$", found, re.M)
    soon = quire(*asked, "--deadline", "30m").stdout
    assert "auto goes direct: the deadline leaves less than an hour (it is 30 min after" in soon
    later = quire(*asked, "--deadline", "2h").stdout
    said = r"^what is not back 2 h after the start goes direct, for at most (\$[0-9.]+) more$"
    (most,) = re.findall(said, later, re.M)
    assert f"{most} direct" in later


def test_batches_that_cost_more_are_not_recommended(quire: Quire, tmp_path: Path) -> None:
    said = "Read every block with care, and twice. " * 2_600
    dear = {**METADATA, "title": "dear", "prompt_config": {"system_instructions": said}}
    (tmp_path / "dear.json").write_text(json.dumps(dear))
    (tmp_path / "few.txt").write_text("\n\n".join(sentences(200)))
    quire("ingest", "few.txt")
    quire("schema", "add", "dear.json")
    asked = ("plan", "--schema", "dear", "--model", "anthropic/claude-haiku-5-5", "--no-packing")

    printed = quire(*asked, "--document", "few.txt", "--route", "batch").stdout

    assert "packed" not in printed
    assert (
        "recommended: one per call + cached (`quire run --route direct --no-packing` does so)"
    ) in printed
    assert re.search(r"^in batches it costs \$[0-9.]+, direct \$[0-9.]+: more calls", printed, re.M)


def test_a_plan_says_so_where_runs_count_other_tokens(quire: Quire, tmp_path: Path) -> None:
    model = "openai/gpt-5.6-luna"
    numbers = [" ".join(str(n * i * 7919) for i in range(40)) for n in range(1, 60)]
    (tmp_path / "numbers.txt").write_text("\n\n".join(numbers))
    quire("ingest", "numbers.txt")
    asked = ("plan", "--schema", "long", "--model", model, "--document")

    printed = quire(*asked, "numbers.txt").stdout
    (line,) = [name for name in printed.splitlines() if "the model's own tokenizer" in name]
    (setting,) = re.findall(r"token_factor = [0-9.]+", line)
    (tmp_path / "quire.toml").write_text(f'[models."{model}"]\n{setting}\n')
    assert "the model's own tokenizer" not in quire(*asked, "numbers.txt").stdout


def test_calls_to_openrouter_go_steadily_unless_a_layer_says_otherwise(
    quire: Quire, tmp_path: Path
) -> None:
    model = "openrouter/openai/gpt-5.4-mini"
    facts = f'[models."{model}"]\nwindow = 100_000\nmax_output = 8_000\n'
    facts += "input = 1.0\noutput = 2.0\n"
    (tmp_path / "quire.toml").write_text(facts)
    asked = ("--schema", "long", "--model", model)
    said = "calls to openrouter go steadily (paced), at most four at a time, unless told otherwise"

    def lane(*flags: str) -> str:
        return str(json.loads(quire("plan", *asked, *flags, "--json").stdout)["route"]["lane"])

    assert f"{said}; --route direct goes at once" in quire("plan", *asked).stdout
    assert (lane(), lane("--route", "direct"), lane("--route", "auto")) == (
        "paced",
        "direct",
        "paced",
    )
    quire("run", *asked, "--detach")
    assert json.loads(quire("status", "1", "--policy", "--json").stdout)["policy"]["route"] == {
        "value": "paced",
        "source": "built-in",
    }
    (tmp_path / "quire.toml").write_text(f'[policy]\nroute = "direct"\n{facts}')
    assert lane() == "direct"


def test_a_record_may_be_of_a_document_and_larger_ones_are_compressed(
    quire: Quire, folder: Path
) -> None:
    long = "\n\n".join(f"Sentence {number} says that pears ripen late." for number in range(5000))
    (folder / "long.txt").write_text(long)
    (folder / "short.md").write_text("# A\n\nOne.\n")
    quire("ingest", "long.txt", "short.md")
    named = ("--document", "long.txt", "--document", "short.md")
    asked = ("--schema", SCHEMA, "--model", "simulated/small", *named)

    said = quire("plan", *asked, "--per", "document").stdout

    assert said.startswith("2 documents · schema clauses · a record per document · simulated/small")
    assert (
        "1 of 2 prompts do not fit the window of simulated/small: what is shown is compressed"
        in said
    )
    planned = quire.json("plan", *asked, "--per", "document")
    assert (planned["per"], planned["blocks"], planned["compressed"]) == ("document", 2, 1)
    refused = quire("run", *asked, "--per", "page", code=2).stderr
    assert "none of these documents has pages" in refused


def test_types_of_blocks_are_given_with_commas_or_again(quire: Quire, folder: Path) -> None:
    (folder / "a.md").write_text("# A\n\nOne.\n\n- two\n- three\n")
    quire("ingest", "a.md")
    asked = ("plan", "--schema", SCHEMA, "--model", "simulated/small", "--document", "a.md")

    counts = [
        quire.json(*asked, *flags)["blocks"]
        for flags in (
            ("--block-type", "heading"),
            ("--block-type", "heading,list_item"),
            ("--block-type", "heading", "--block-type", "paragraph"),
        )
    ]

    assert counts == [1, 3, 2]
    assert "no type of block 'tble'" in quire(*asked, "--block-type", "tble", code=2).stderr
    both = quire(*asked, "--block-type", "heading", "--per", "document", code=2).stderr
    assert "go with a schema that is asked of every block" in both
