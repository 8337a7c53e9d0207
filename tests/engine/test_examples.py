"""The example that a first visit may load."""

from pathlib import Path

from quire.engine import open_engine
from quire.engine.examples import FILES, load_example

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_example_is_that_of_the_repository() -> None:
    for file in FILES.iterdir():
        folder = EXAMPLES if file.suffix == ".json" else EXAMPLES / "contracts"
        assert file.read_text() == (folder / file.name).read_text()


def test_loading_it_again_changes_nothing(tmp_path: Path) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        first, again = load_example(engine), load_example(engine)

        assert first == again
        assert len(first.documents) == len(engine.documents()) == 3
        assert [schema.ref for schema in engine.schemas()] == ["clauses"]
