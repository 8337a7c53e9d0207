"""A schema that names its model as its vendor does runs as it is."""

import json
from pathlib import Path

from tests.cli.conftest import Quire
from tests.rehearsed.conftest import Serve
from tests.world import METADATA

CONFIG = {
    "system_instructions": "You read documents with care.",
    "per_block_prompt": "Describe this block.",
    "model": "claude-sonnet-4-5-20250929",
    "temperature": 0.2,
    "max_tokens_per_block": 2000,
    "max_batch_size": 15,
}


def test_a_dated_model_in_a_schema_is_asked_as_it_is_written_and_priced_as_its_family(
    serve: Serve, quire: Quire, tmp_path: Path
) -> None:
    server = serve()
    (tmp_path / "dated.json").write_text(
        json.dumps({**METADATA, "title": "dated", "prompt_config": CONFIG})
    )

    planned = quire.json("plan", "--schema", "dated.json")
    family = quire.json("plan", "--schema", "dated.json", "--model", "claude-sonnet-4-5")
    done = quire.json("run", "--schema", "dated.json")

    assert done["done"] == 30
    assert {entry.model for entry in server.entries()} == {CONFIG["model"]}
    assert planned["model"] == f"anthropic/{CONFIG['model']}"
    assert planned["variants"] == family["variants"]
