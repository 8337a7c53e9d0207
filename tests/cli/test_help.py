"""Help is quick, complete, and has an example for every command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from quire.domain.version import VERSION
from tests.cli.conftest import Quire
from tests.docs.command_page import command_page

COMMANDS = [
    *("init", "ingest", "documents", "schema", "plan", "run", "work", "runs", "status", "show"),
    *("export", "failures", "prompt", "ledger", "events", "pause", "resume", "cancel", "retry"),
    *("stop-after", "waive", "rerun", "regate", "approve", "reject", "edit", "lineage", "results"),
    *(
        "aside",
        "purge",
        "models",
        "probe",
        "doctor",
        "version",
        "schema add",
        "schema list",
        "schema show",
    ),
    *("attach", "batches", "batches list", "batches show", "batches cancel", "batches adopt"),
    *("webhooks", "webhooks add", "webhooks list", "webhooks remove", "webhooks test"),
    *("keys", "keys add", "keys list", "keys test", "keys remove"),
    *("recipe", "recipe list", "recipe check", "recipe show", "recipe graph", "recipe new"),
    *(
        "judge",
        "judge init",
        "judge plan",
        "judge run",
        "judge status",
        "judge export",
        "judge report",
    ),
    *("review", "audit", "decisions", "undo"),
    *("rehearse", "rehearse serve", "rehearse run", "local", "local install", "local serve"),
]
HEAVY = {
    *("sqlite3", "psycopg", "psycopg_pool", "asyncio", "orjson", "jiter", "jsonschema_rs"),
    *("mdit_py_plugins", "http", "ssl", "httpx", "uvicorn", "starlette"),
}
HEAVY_PARTS = {
    *("engine.engine", "ledger", "providers", "dispatch", "pipeline", "recipes", "planning"),
    *("gates", "sources", "simulated", "export", "accounts", "rehearsal", "local"),
}
# Who asks for the whole help wants a line of every kit, and for it the module with its commands.
KIT_PARTS = {
    "quire.kits",
    "quire.kits.judge",
    "quire.kits.judge.commands",
    "quire.kits.judge.experiment_views",
    "quire.kits.judge.family_commands",
}
LIST_IMPORTS = """
import json, sys
from quire.cli import main
try:
    main()
except SystemExit:
    print("\\n" + json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_in_its_help(quire: Quire, command: str) -> None:
    result = quire(*command.split(), "--help")

    assert f"Example: quire {command}" in " ".join(result.stdout.split())


def test_the_help_names_every_command(quire: Quire) -> None:
    text = quire("--help").stdout

    assert [name for name in COMMANDS if f"│ {name.split()[0]} " not in text] == []


def test_no_command_at_all_shows_the_help(quire: Quire) -> None:
    assert quire().stdout == quire("--help").stdout


@pytest.mark.parametrize("args", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_no_provider_database_or_web_package(args: list[str], folder: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-c", LIST_IMPORTS, *args], capture_output=True, text=True, check=True
    ).stdout

    imported = set(json.loads(printed.splitlines()[-1]))
    assert imported & HEAVY == set()
    assert imported & {f"quire.{part}" for part in HEAVY_PARTS} == set()
    kits = {name for name in imported if name.startswith("quire.kits")}
    assert kits == (KIT_PARTS if args == ["--help"] else set())


def test_the_version_is_shown_in_three_ways(quire: Quire) -> None:
    assert quire("version").stdout == quire("--version").stdout == f"quire {VERSION}\n"
    assert quire.json("version") == {"version": VERSION}


def test_batches_are_listed_beside_status(quire: Quire) -> None:
    lines = [line.strip(" │").split(" ")[0] for line in quire("--help").stdout.splitlines()]

    assert lines[lines.index("status") + 1] == "batches"


def test_help_shows_how_to_go_in_batches(quire: Quire) -> None:
    assert "--route auto --deadline 2h" in quire("plan", "--help").stdout
    assert "--route batch --deadline 2h --detach" in quire("run", "--help").stdout
    assert "quire batches RUN" in quire("batches", "--help").stdout


@pytest.mark.parametrize("args", ["", "run", "batches", "batches show", "judge run"])
def test_help_lists_itself_as_the_flag_that_it_is(quire: Quire, args: str) -> None:
    assert "<bool>" not in quire(*args.split(), "--help").stdout


def test_no_word_of_the_help_is_taken_for_markup() -> None:
    eaten = [line for line in command_page().splitlines() if Text.from_markup(line).plain != line]

    assert eaten == []


def test_help_names_all_places_of_a_reviewers_name(quire: Quire) -> None:
    said = " ".join(quire("undo", "--help").stdout.replace("│", " ").split())

    assert "else QUIRE_REVIEWER, or review.name of quire.toml." in said


def test_help_says_what_needs_which_extra(quire: Quire) -> None:
    said = " ".join(quire("ingest", "--help").stdout.split())

    assert "with the extra files also rst, docx, pdf, xlsx, pptx" in said
    assert "with the extra frames also parquet" in said
