"""The route about limits: what models allow, as people say and as refusals taught."""

from fastapi import APIRouter, Response

from quire.engine.json_views.money_views import limit_version_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, answer_json

router = APIRouter(tags=["settings"])


class LimitsShape(AnswerShape):
    """The limits that are kept to, and what was learnt."""

    profiles: list[AnswerShape]
    learnt: list[AnswerShape]


@router.get("/v1/limits", response_model=LimitsShape, dependencies=[requires(AccessRole.VIEWER)])
def get_limits(engine: AskedEngine) -> Response:
    """Show the limits that are kept to, and what was learnt from refusals."""
    profiles = [limit_version_json(item) for item in engine.limits.newest()]
    pools = [pool._asdict() for pool in engine.limits.learnt()]
    return answer_json({"profiles": profiles, "learnt": pools})
