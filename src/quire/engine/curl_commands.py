"""Curl commands: a call as anybody can make it by hand, with a variable where the key stands."""

import shlex

from quire.domain.accounts import Account, Secret
from quire.domain.errors import Error
from quire.domain.ids import AttemptId, RequestId
from quire.domain.requests import Call
from quire.engine.context import EngineContext
from quire.engine.request_texts import request_text
from quire.ledger.tables.views import RequestView
from quire.pipeline.contexts import LaneContext
from quire.providers.provider_registry import make_wire_format
from quire.providers.vendors import VENDORS

KEY = "YOUR-KEY-STANDS-HERE"  # what is encoded in the place of a key
VARIABLE = "$API_KEY"


def curl_command(context: EngineContext, request: RequestId) -> str:
    """A request as a command for a shell; "" where it does not go over HTTP, or was purged."""
    with context.ledger.snapshot() as tx:
        view = tx.views.get_request(request)
        lane = view and context.contexts.any_of_stage(tx, view.run_id, view.stage_id)
        text = view and request_text(tx, context.contexts, view)
    if not view or not lane or not text or not _goes_over_http(lane):
        return ""
    call = _call_of(lane, view)
    try:
        wire = make_wire_format(lane.facts.provider)
        account = Account(provider=lane.facts.provider, credential="", key=Secret(KEY))
        http = wire.encode(
            Call(**call | {"user": text.user, "turns": text.turns}),  # type: ignore[arg-type]
            account,
        )
    except Error:  # some vendors need more than a key to know where they are
        return ""
    lines = [f"curl {shlex.quote(http.url)}"]
    for name, value in http.headers.items():
        lines.append(f'-H "{name}: {value.replace(KEY, VARIABLE)}"')
    lines.append(f"-d {shlex.quote(http.body.decode())}")
    return " \\\n  ".join(lines)


def _goes_over_http(lane: LaneContext) -> bool:
    vendor = VENDORS.get(lane.facts.provider)
    return vendor is not None and bool(vendor.wire_format)


def _call_of(lane: LaneContext, view: RequestView) -> dict[str, object]:
    return {
        "attempt_id": AttemptId(0),
        "model": lane.facts.name,
        "system": lane.prefix.system,
        "output_schema": lane.prefix.output_schema or None,
        "params": lane.request_head(view.max_output).params,
        "wire": lane.facts.wire,
    }
