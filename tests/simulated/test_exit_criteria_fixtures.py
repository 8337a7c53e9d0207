"""The inputs of the exit criteria, and the examples, are what benchmarks take them for."""

import json
from pathlib import Path

import pytest
from jsonschema_rs import validator_for
from markdown_it import MarkdownIt

from quire.domain.data import Json
from quire.simulated.field_values import read_block_text
from quire.simulated.record_filler import compile_filler

ROOT = Path(__file__).parents[2]
CRITERIA = ROOT / "tests" / "fixtures" / "exit_criteria"
SCHEMAS = [CRITERIA / "extract.json", CRITERIA / "revise.json", ROOT / "examples" / "clauses.json"]


def schema_in(path: Path) -> dict[str, Json]:
    body: dict[str, Json] = json.loads(path.read_text())
    return body


def test_the_document_has_29_blocks_of_headings_and_paragraphs() -> None:
    tokens = MarkdownIt().parse((CRITERIA / "document.md").read_text())
    opened = [token.type for token in tokens if token.level == 0 and token.nesting == 1]

    assert len(opened) == 29
    assert set(opened) == {"heading_open", "paragraph_open"}


@pytest.mark.parametrize("name", ["extract", "revise"])
def test_the_instructions_have_about_1600_tokens(name: str) -> None:
    config = schema_in(CRITERIA / f"{name}.json")["prompt_config"]
    assert isinstance(config, dict)

    assert 1_550 <= len(str(config["system_instructions"]).encode()) / 4 <= 1_650


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_the_simulated_model_can_satisfy_the_schema_for_every_block(path: Path) -> None:
    schema = {key: item for key, item in schema_in(path).items() if key != "prompt_config"}
    fill, valid = compile_filler(schema), validator_for(schema).is_valid
    blocks = (CRITERIA / "document.md").read_text().split("\n\n")

    assert all(valid(fill(read_block_text(block))) for block in blocks)
    assert set(schema_in(path)["properties"]) == set(fill(read_block_text("word")))  # type: ignore[arg-type]
