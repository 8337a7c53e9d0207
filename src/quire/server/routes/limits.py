"""The route about limits: what models allow, as people say and as refusals taught."""

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import Field

from quire.engine.json_views.money_views import limit_version_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, answer_json

router = APIRouter(tags=["settings"])


class ProfileShape(AnswerShape):
    """What people say that a model allows in a minute; null: nothing."""

    profile: str = Field(description="Its name.", examples=["default"])
    model: str
    version: int = Field(description="Which version of the profile.")
    requests: int | None
    input: int | None = Field(description="Input tokens.")
    output: int | None = Field(description="Output tokens.")
    total: int | None = Field(description="Input and output tokens together.")
    batch_tokens: int | None = Field(description="Tokens in batches that are not worked off.")
    batch_jobs: int | None = Field(description="Batches that are not worked off.")
    set_at: datetime = Field(description="When it was set.")


class LearntShape(AnswerShape):
    """What the refusals of a provider taught."""

    model: str
    requests: int = Field(description="A minute, about.")


class LimitsShape(AnswerShape):
    """The limits that are kept to, and what was learnt."""

    profiles: list[ProfileShape] = Field(description="The newest version of every profile.")
    learnt: list[LearntShape] = Field(description="What refusals taught, and has not lapsed.")


@router.get("/v1/limits", response_model=LimitsShape, dependencies=[requires(AccessRole.VIEWER)])
def get_limits(engine: AskedEngine) -> Response:
    """Show the limits that are kept to, and what was learnt from refusals."""
    profiles = [limit_version_json(item) for item in engine.limits.newest()]
    pools = [pool._asdict() for pool in engine.limits.learnt()]
    return answer_json({"profiles": profiles, "learnt": pools})
