"""A vendor is one file and one row: rows are whole, and names stand nowhere else."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import quire
from quire.providers.provider_registry import load_class
from quire.providers.vendors import KEYED_PROVIDERS, PROVIDER_NAMES, VENDORS, vendor_facts

SOURCE = Path(quire.__file__).parent
# Words of other things, too: a place for runs, a kind of server, a kind of model.
NOT_ONLY_NAMES = {"local", "compatible", "simulated"}
SPECIFIC = {  # where else a name stands, and why
    ("providers/portable_schemas.py", "openai"): "a dialect of JSON Schema",
    ("providers/portable_schemas.py", "anthropic"): "a dialect of JSON Schema",
    (
        "providers/portable_schemas.py",
        "gemini",
    ): "a dialect, which Vertex speaks too",
    ("providers/object_store.py", "vertex"): "Google's storage, where Vertex keeps its batches",
    ("planning/routing.py", "openrouter"): "pure code, which no vendor's row reaches",
    ("planning/batch_caching.py", "anthropic"): "pure code, and runs keep no such fact",
    ("engine/doctor/setup_checks.py", "vertex"): "an extra to install",
    ("server/routes/keys.py", "anthropic"): "an example in the description of the API",
    ("engine/rehearsals.py", "vertex"): "what its rehearsal must be told",
}


def test_every_class_of_a_row_is_there_and_takes_the_name() -> None:
    places = {(name, row.wire_format) for name, row in VENDORS.items()}
    places |= {(name, row.batch_api) for name, row in VENDORS.items()}
    made = [load_class(place)(name) for name, place in sorted(places) if place]

    assert len(made) == len(VENDORS) - 1 + 7
    assert {getattr(item, "name", "") for item in made} == VENDORS.keys() - {"simulated"}


def test_whoever_has_batches_says_their_rules() -> None:
    for row in VENDORS.values():
        assert bool(row.batch_api) is (row.batch_rules is not None)
        assert row.same_models_as in ("", *VENDORS)


def test_people_see_names_in_the_order_that_they_know() -> None:
    assert ", ".join(PROVIDER_NAMES) == (
        "simulated, openai, azure, anthropic, gemini, vertex, openrouter, mistral, groq,"
        " compatible, vllm, ollama, llamacpp, lmstudio, local"
    )
    assert ", ".join(VENDORS) == (
        "openai, anthropic, gemini, vertex, azure, mistral, groq, openrouter, compatible, vllm,"
        " ollama, llamacpp, lmstudio, local, simulated"
    )
    assert ", ".join(KEYED_PROVIDERS) == (
        "anthropic, openai, azure, gemini, vertex, mistral, groq, openrouter, compatible, vllm,"
        " ollama, llamacpp, lmstudio"
    )


def test_a_name_that_nobody_bears_has_what_is_usual() -> None:
    assert (vendor_facts("nobody").name, vendor_facts("nobody").base_url) == ("nobody", "")


@pytest.mark.parametrize("name", sorted(VENDORS.keys() - NOT_ONLY_NAMES))
def test_a_name_stands_in_its_row_and_its_own_files_only(name: str) -> None:
    own = re.compile(rf"providers/(vendors|{name}(_\w+)?)\.py|rehearsal/.*")
    found = {
        path
        for path, strings in _strings_by_module().items()
        if not own.fullmatch(path) and name in strings
    }

    assert found == {path for path, vendor in SPECIFIC if vendor == name}


@pytest.mark.parametrize("name", ["mistral", "groq", "openrouter", "azure"])
def test_its_variables_and_addresses_stand_in_its_row_and_its_own_files_only(name: str) -> None:
    own = re.compile(rf"providers/(vendors|{name}(_\w+)?)\.py|rehearsal/.*")
    word = re.compile(rf"{name.upper()}_|\b{name}\.(ai|com)\b")
    found = [
        path
        for path, strings in _strings_by_module().items()
        if not own.fullmatch(path) and any(map(word.search, strings))
    ]

    assert found == []


@cache
def _strings_by_module() -> dict[str, set[str]]:
    return {
        path.relative_to(SOURCE).as_posix(): {
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for path in sorted(SOURCE.rglob("*.py"))
        if any(name in path.read_text("utf-8").lower() for name in VENDORS.keys() - NOT_ONLY_NAMES)
    }
