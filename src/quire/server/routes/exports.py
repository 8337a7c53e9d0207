"""Routes about exports: a run's results as a file, streamed, and whether it has changed."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from quire.domain.ids import RunId
from quire.engine import row_filter
from quire.engine.export_streams import MEDIA_TYPES, ROWS, ExportRequest
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, Number, answer_json

router = APIRouter(tags=["exports"], dependencies=[requires(AccessRole.VIEWER)])
Word = Annotated[str | None, Query(max_length=200)]
Formats = Literal["jsonl", "csv", "tsv", "parquet", "xlsx"]


class ManifestShape(AnswerShape):
    """How an export stands: as long as the hash is the same, so is the file."""

    run: int
    stage: str
    schema_: str | None = Field(alias="schema", description="Its name; null: the answer is text.")
    schema_version: int | None = Field(description="Which version of it.")
    rows: dict[str, int] = Field(
        description="Rows by status, as the file says it.",
        examples=[{"accepted": 110, "confirmed": 10, "failed": 2}],
    )
    last_updated: str = Field(description="When something last happened to the run.")
    hash: str = Field(description="As long as it is the same, so is the file.")


@router.get(
    "/v1/runs/{run}/export",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {} for kind in MEDIA_TYPES.values()}}},
)
def export_run(
    engine: AskedEngine,
    run: Number,
    format: Formats = "jsonl",
    only: Annotated[str, Query(max_length=20, examples=["accepted"])] = "all",
    since: Word = None,
    stage: Word = None,
) -> Response:
    """Stream the results of a run's last stage, or of another; `stage=all` is every stage."""
    chosen = row_filter(only, since)
    asked = ExportRequest(engine.queries.must_get(run).id, format, chosen, stage)
    return StreamingResponse(
        engine.export_streams.open(asked),
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="run_{run}.{format}"'},
    )


@router.get(
    "/v1/runs/{run}/rows",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}}}},
)
def list_rows(
    engine: AskedEngine,
    run: Number,
    only: Annotated[str, Query(max_length=20)] = "all",
    since: Word = None,
    stage: Word = None,
) -> Response:
    """Stream a run's results as flat rows, a JSON object a line: what `run.rows()` gives."""
    number = engine.queries.must_get(run).id
    asked = ExportRequest(number, ROWS, row_filter(only, since), stage)
    rows = engine.export_streams.open(asked)
    return StreamingResponse(rows, media_type="application/x-ndjson")


@router.get("/v1/runs/{run}/export/manifest", response_model=ManifestShape)
def get_manifest(engine: AskedEngine, run: Number, stage: Word = None) -> Response:
    """Say how an export stands without writing it: cheap, to be asked before one is fetched."""
    return answer_json(engine.export_streams.manifest(RunId(run), stage))
