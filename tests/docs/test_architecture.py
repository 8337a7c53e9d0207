"""ARCHITECTURE.md says what the code is: its folders, modules, layers, tables, points and tests."""

import re
import tomllib

from quire.dispatch.outside import BATCH_POINTS, POINTS
from quire.domain.runs import HoldKind
from quire.domain.states import LIFECYCLES
from quire.ledger.statements import migrations
from tests.docs.modules import PAGE, drawn, folders, written
from tests.docs.pages import ROOT, spans

GLOSSARY = ROOT / "docs" / "glossary.md"


def test_every_package_folder_is_named() -> None:
    named = set(spans(PAGE))

    assert [each.name for each in folders() if f"{each.name}/" not in " ".join(named)] == []


def test_every_module_is_listed_with_its_sentence() -> None:
    assert written() == drawn(), "write the list anew: python -m tests.docs.modules"


def test_the_layers_are_those_that_the_build_checks() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = told["tool"]["importlinter"]["contracts"][0]

    assert " > ".join(contract["layers"]) in " ".join(PAGE.read_text().split())


def test_every_table_is_described() -> None:
    tables = re.findall(r"CREATE TABLE (\w+)", "".join(migrations("sqlite").values()))

    assert [each for each in tables if f"| `{each}` |" not in PAGE.read_text()] == []


def test_every_point_where_a_process_may_die_is_described() -> None:
    points = (*POINTS, *BATCH_POINTS)

    assert [each for each in points if f"| `{each}` |" not in PAGE.read_text()] == []


def test_every_test_that_is_named_as_proof_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE.read_text())

    assert len(named) > 20
    assert [each for each in named if not _defines(*each)] == []


def test_the_glossary_explains_every_noun_with_a_lifecycle_and_every_hold() -> None:
    text = GLOSSARY.read_text()
    nouns = [each.noun for each in LIFECYCLES]
    holds = [each.value for each in HoldKind]

    assert [each for each in nouns if f"**{each}**" not in text] == []
    assert [each for each in holds if f"`{each}`" not in text] == []


def _defines(path: str, test: str) -> bool:
    file = ROOT / path
    return file.is_file() and f"def {test}(" in file.read_text()
