"""Examples: three short contracts and a schema, for whoever wants to see it work first."""

from pathlib import Path
from typing import NamedTuple

from quire.domain.ids import DocumentId
from quire.engine.engine import Engine

FILES = Path(__file__).parent / "example_files"  # the same as in the repository's examples/
SCHEMA = "clauses"


class LoadedExample(NamedTuple):
    """What an example brought in."""

    documents: tuple[DocumentId, ...]
    schema: str


def load_example(engine: Engine) -> LoadedExample:
    """Bring the example's documents and schema in; once more changes nothing."""
    read = engine.uploads.ingest({file: file.name for file in sorted(FILES.glob("*.md"))})
    schema = engine.add_schema(FILES / f"{SCHEMA}.json", new_version=True)
    return LoadedExample(tuple(item.document_id for item in read.documents), schema.ref)
