"""The route that brings an example in, to be clicked through."""

from fastapi import APIRouter
from pydantic import BaseModel

from quire.engine.examples import load_example
from quire.server.access import AccessRole, AskedEngine, requires

router = APIRouter(tags=["documents"])


class ExampleAnswer(BaseModel):
    """What was brought in."""

    documents: list[int]
    schema_name: str


@router.post("/v1/examples", dependencies=[requires(AccessRole.OPERATOR)])
def post_example(engine: AskedEngine) -> ExampleAnswer:
    """Bring in three short contracts and the schema `clauses`; once more changes nothing."""
    loaded = load_example(engine)
    return ExampleAnswer(documents=[*loaded.documents], schema_name=loaded.schema)
