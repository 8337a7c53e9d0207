"""Every statement in the `.sql` files is valid, is used, and stays within its workspace."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import psycopg
import pytest

import quire
from quire.ledger.ledger import Ledger
from quire.ledger.statements import Statement, load
from tests.ledger.raw import Raw

SOURCE = Path(quire.__file__).parent
DIALECTS = ("sqlite", "postgres")
ROOTS = {"documents", "blocks", "schemas", "runs", "lanes", "tasks", "events", "commands"}
ROOTS |= {"credentials", "probes", "webhooks", "wallets", "sources"}
ROOTS |= {"reviews", "review_leases", "audits"}

# Statements that name no workspace although they read or write a root table, and why they may.
BY_KEY = {
    "note_tasks": "rows of tasks whose keys were read within the workspace",
    "note_questions": "the same",
    "follow_tasks": "the same",
    "open_attempts_of_workers": "a dead worker is ended once, for every workspace",
    "take_wallet": "of a wallet whose key was read within the workspace, or of a dead worker",
    "change_balance": "of a wallet whose key was read within the workspace, or of a dead worker",
    "funds_of_run": "a run's own wallet, whose workspace is the run's",
    "last_documents_id": "keys are shared by all workspaces",
    "last_blocks_id": "keys are shared by all workspaces",
    "last_tasks_id": "keys are shared by all workspaces",
}

_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)")
_WORKSPACE = re.compile(r":workspace\b|%\(workspace\)s|\bworkspace_id\b")
_PARAMETER = re.compile(r"%\((\w+)\)s")


def test_every_statement_compiles(ledger: Ledger, raw: Raw) -> None:
    broken = {}
    for name, statement in load(ledger.dialect).items():
        try:
            _compile(raw, statement)
        except Exception as error:  # noqa: BLE001 - each driver has its own
            broken[name] = str(error)

    assert broken == {}


def test_every_bulk_insert_compiles_as_a_copy(postgres_ledger: Ledger) -> None:
    copies = [statement.copy for statement in load("postgres").values() if statement.copy]
    with psycopg.connect(postgres_ledger.url) as connection:
        for text in copies:
            with connection.cursor().copy(text):  # no rows
                pass

    assert len(copies) > 5


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_on_a_root_table_names_the_workspace(dialect: str) -> None:
    silent = {
        name
        for name, statement in load(dialect).items()
        if ROOTS & set(_TABLE.findall(statement.text)) and not _WORKSPACE.search(statement.text)
    }

    assert silent == BY_KEY.keys() & load(dialect).keys()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_statement_that_reads_two_root_tables_names_the_workspace_of_each(dialect: str) -> None:
    """Keys are shared by all workspaces, so a join alone does not keep them apart."""
    careless = {
        name
        for name, statement in load(dialect).items()
        if name not in BY_KEY and len(_WORKSPACE.findall(statement.text)) < _roots_read(statement)
    }

    assert careless == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_used(dialect: str) -> None:
    words = _words_in_source()
    ids = {f"last_{table}_id" for table in words}

    assert {name for name in load(dialect) if name not in words | ids} == set()


def test_both_databases_know_the_same_statements_but_for_how_keys_are_taken() -> None:
    sqlite, postgres = load("sqlite").keys(), load("postgres").keys()

    assert {name for name in sqlite ^ postgres if not re.fullmatch(r"last_\w+_id", name)} == {
        "next_ids"
    }


def test_both_databases_return_the_same_columns() -> None:
    sqlite, postgres = load("sqlite"), load("postgres")
    both = sqlite.keys() & postgres.keys()

    assert {name: _columns(sqlite[name]) for name in both} == {
        name: _columns(postgres[name]) for name in both
    }


def _compile(raw: Raw, statement: Statement) -> None:
    if raw.dialect == "postgres":
        names = list(dict.fromkeys(_PARAMETER.findall(statement.text)))
        text = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", statement.text)
        raw.rows(f"PREPARE {statement.name} AS {text}")
    else:
        text = re.sub(r"[?](\d+)", r":p\1", statement.text)
        raw.rows(f"EXPLAIN {text}", **_nulls(statement))


def _nulls(statement: Statement) -> dict[str, object]:
    names = re.findall(r"(?<![:\w]):(\w+)", statement.text)
    lists = set(re.findall(r"json_each\(:(\w+)\)", statement.text))
    count = len(statement.columns) + len(statement.same)
    numbered = {f"p{number}": None for number in range(1, count + 1)}
    return numbered | {name: "[]" if name in lists else None for name in names}


def _roots_read(statement: Statement) -> int:
    tables = re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", statement.text)
    return sum(table in ROOTS for table in tables)


def _columns(statement: Statement) -> tuple[str, tuple[str, ...]]:
    """What a statement selects or returns, and what each of its rows must have."""
    selected = re.match(r"SELECT (.*?)\s+FROM ", statement.text, re.DOTALL)
    returned = re.search(r" RETURNING (.*)$", statement.text, re.DOTALL)
    found = selected or returned
    shown = re.sub(r"\bBIGINT\b", "INTEGER", found[1]) if found else ""
    return _PARAMETER.sub(r":\1", shown), statement.columns


@cache
def _words_in_source() -> set[str]:
    sources = (SourceFileLoader(str(path), str(path)) for path in SOURCE.rglob("*.py"))
    return {word for source in sources for word in _words_in(source.get_code(source.name)) if word}


def _words_in(value: object) -> Iterator[str]:
    """All strings in what a module was compiled to, which is kept and takes no parsing."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | frozenset | CodeType):
        for inner in value.co_consts if isinstance(value, CodeType) else value:
            yield from _words_in(inner)
