"""The parts of an engine, and the calls that stay on the engine itself."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import quire
from tests.world import World

PARTS = ("library", "orders", "forecasts", "queries", "commands", "batches", "keys", "doctor")
FOLDER = Path(quire.__file__).parent / "engine"
UNTYPED = {"local_servers.py"}  # options of a rehearsal's server, which checks them itself
MODULES = sorted(path for path in FOLDER.rglob("*.py") if path.name not in UNTYPED)

OLD_CALLS = {
    "library": "ingest add_parsed documents purge add_schema schemas",
    "forecasts": "plan_documents",
    "queries": "progress workers stall_reasons rows stage_policies editable_data",
    "commands": "pause resume cancel stop_after export retry rerun regate approve edit reject"
    " waive",
}


@pytest.fixture
def here(world: Callable[..., World]) -> World:
    return world()


def test_an_engine_is_made_of_parts_around_one_context(here: World) -> None:
    parts = [getattr(here.engine, name) for name in PARTS]

    assert len({type(part) for part in parts}) == len(PARTS)
    assert all(part._context is here.engine.context for part in parts)


@pytest.mark.parametrize("part", OLD_CALLS)
def test_what_scripts_ask_the_engine_itself_is_what_its_parts_do(here: World, part: str) -> None:
    for name in OLD_CALLS[part].split():
        assert getattr(here.engine, name) == getattr(getattr(here.engine, part), name)


def test_batches_can_be_called_as_well_as_asked(here: World) -> None:
    assert here.engine.batches() == []
    assert here.engine.batch == here.engine.batches.get
    assert here.engine.batch_lines == here.engine.batches.lines
    assert here.engine.cancel_batch == here.engine.batches.cancel
    assert here.engine.adopt_batch == here.engine.batches.adopt
    assert here.engine.batch_absent == here.engine.batches.mark_absent


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_public_signature_of_the_engine_says_any(module: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (not node.name.startswith("_") or node.name.startswith("__"))
    ]
    arguments = [
        node
        for function in functions
        for node in ast.walk(function.args)
        if isinstance(node, ast.arg)
    ]
    written = [*(node.annotation for node in arguments), *(node.returns for node in functions)]
    hints = [hint for hint in written if hint is not None]

    assert [hint.lineno for hint in hints if "Any" in names(hint)] == []


def names(hint: ast.expr) -> set[str]:
    """The names that a type is written with."""
    return {node.id for node in ast.walk(hint) if isinstance(node, ast.Name)}
