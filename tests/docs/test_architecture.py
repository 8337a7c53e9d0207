"""ARCHITECTURE.md says what the code is: its folders, modules, layers, tables, points and tests."""

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.dispatch.runtime import BATCH_POINTS, POINTS
from quire.domain.reasons import HoldKind
from quire.domain.states import LIFECYCLES
from quire.ledger.statements import migrations
from tests.docs import command_page, http_page, key_page, modules, python_page, table_page
from tests.docs.pages import ROOT, spans

PAGE = ROOT / "ARCHITECTURE.md"
WALK = ROOT / "docs" / "walk.md"
CRASH_POINTS = ROOT / "docs" / "crash_points.md"
GLOSSARY = ROOT / "docs" / "glossary.md"


def test_every_package_folder_is_named() -> None:
    named = set(spans(PAGE))

    assert [path.name for path in modules.folders() if f"{path.name}/" not in " ".join(named)] == []


def test_the_page_is_short_enough_to_be_read() -> None:
    text = PAGE.read_bytes()

    assert (len(text) <= 30_000, text.count(b"\n") <= 350) == (True, True)


@pytest.mark.parametrize(
    ("page", "write"),
    [
        (modules.PAGE, modules.module_page),
        (command_page.PAGE, command_page.command_page),
        (key_page.PAGE, key_page.key_page),
        (python_page.PAGE, python_page.python_page),
        (table_page.PAGE, table_page.table_page),
        (http_page.PAGE, http_page.http_page),
    ],
    ids=["modules", "commands", "keys", "python", "tables", "http"],
)
def test_what_is_written_from_the_code_is_as_the_code_is(
    page: Path, write: Callable[[], str]
) -> None:
    assert page.read_text("utf-8") == write(), "write it anew: make docs"


def test_every_function_on_the_walk_and_every_file_on_the_first_page_exists() -> None:
    text = WALK.read_text("utf-8") + (ROOT / "README.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.py)(?:::([\w.]+))?`", text)
    missing = [place for place in named if not _is_defined(modules.SOURCE / place[0], place[1])]

    assert len(named) > 60
    assert missing == []


def test_the_layers_are_those_that_the_build_checks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = project["tool"]["importlinter"]["contracts"][0]

    assert " > ".join(contract["layers"]) in " ".join(PAGE.read_text().split())


def test_every_table_is_described() -> None:
    tables = re.findall(r"CREATE TABLE (\w+)", "".join(migrations("sqlite").values()))

    assert [table for table in tables if f"| `{table}` |" not in PAGE.read_text()] == []


def test_every_point_where_a_process_may_die_is_described() -> None:
    points = (*POINTS, *BATCH_POINTS)

    assert [point for point in points if f"| `{point}` |" not in CRASH_POINTS.read_text()] == []


def test_every_test_that_is_named_as_proof_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE.read_text())

    assert len(named) > 20
    assert [item for item in named if not _defines(*item)] == []


def test_the_glossary_explains_every_noun_with_a_lifecycle_and_every_hold() -> None:
    text = GLOSSARY.read_text()
    nouns = [lifecycle.noun for lifecycle in LIFECYCLES]
    holds = [kind.value for kind in HoldKind]

    assert [noun for noun in nouns if f"**{noun}**" not in text] == []
    assert [hold for hold in holds if f"`{hold}`" not in text] == []


def _defines(path: str, test: str) -> bool:
    file = ROOT / path
    return file.is_file() and f"def {test}(" in file.read_text()


def _is_defined(file: Path, name: str) -> bool:
    """Whether a module defines a function or a class; `Class.method` is looked for in the class."""
    scope: list[ast.stmt] = ast.parse(file.read_text("utf-8")).body if file.is_file() else []
    for part in name.split(".") if name else ():
        found = [
            node
            for node in scope
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == part
        ]
        if not found:
            return False
        scope = found[0].body
    return file.is_file()
