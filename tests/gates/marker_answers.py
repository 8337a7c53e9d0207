"""Answers that end in markers, and what the markers gate says of them."""

from quire.domain.data import Json, JsonObject
from quire.domain.gates import GateInput, Judgement, Verdict
from quire.domain.requests import Stop
from quire.gates.markers import MarkersGate

REASONING = "The evidence shows two strikes and one arrest."
LETTERS: dict[str, Json] = {"A": 1, "B": 2, "C": 3}
OPAQUE: dict[str, Json] = {"VcGZjk": 2, "dqqCdj": 1, "x81KwP": 3}
GATE = MarkersGate()


def decode(
    text: str, params: JsonObject, labels: JsonObject | None = None, stop: Stop = Stop.END
) -> Verdict:
    """Judge one answer for a task that was shown these identifiers."""
    part: dict[str, Json] = {} if labels is None else {"labels": labels}
    facts: JsonObject = {"parameters": {"scale_size": 3}, "part": part}
    return GATE.judge(GateInput(text, stop, None, None, facts), params)


def reason(verdict: Verdict) -> str:
    """Why an answer is refused, which must be said."""
    assert verdict.judgement is Judgement.RETRY, verdict
    assert verdict.data is None
    (said,) = verdict.reasons
    return said


def data(verdict: Verdict) -> dict[str, Json]:
    """What an accepted answer was decoded to."""
    assert verdict.judgement is Judgement.ACCEPT, verdict
    assert isinstance(verdict.data, dict)
    return verdict.data
