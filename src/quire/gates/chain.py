"""The chain of gates: the first reads the answer, each further one judges what was read."""

from collections.abc import Sequence
from typing import TypeAlias

from quire.domain.data import Json, JsonObject, canonical_json
from quire.domain.gates import Answer, Gate
from quire.domain.requests import Stop
from quire.domain.results import Blame, Judgement, Verdict

Uses: TypeAlias = Sequence[tuple[Gate, JsonObject]]

_LONGEST_REASON = 240
_LONGEST_QUOTE = 200


def judge_text(
    text: str, stop: Stop, uses: Uses, record_schema: JsonObject | None, facts: JsonObject
) -> Verdict:
    """Judge a call's one answer; why the model stopped is read before what it wrote."""
    if lost := _lost(text, stop):
        return Verdict(Judgement.RETRY, None, (lost,), Blame.PACK)
    return _pass(Answer(text, stop, None, record_schema, facts), uses)


def judge_data(
    data: Json, uses: Uses, record_schema: JsonObject | None, facts: JsonObject
) -> Verdict:
    """Judge one record that has been read and validated; its text is the record itself."""
    if not uses:
        return Verdict(Judgement.ACCEPT, data)
    return _pass(Answer(canonical_json(data), Stop.END, data, record_schema, facts), uses)


def gate_versions(uses: Uses) -> str:
    """Name what judged an answer, such as markers/1+rules/1."""
    return "+".join(
        gate.version if gate.version.startswith(gate.name) else f"{gate.name}/{gate.version}"
        for gate, _params in uses
    )


def _lost(text: str, stop: Stop) -> str:
    if stop is Stop.REFUSAL:
        quote = _clipped(" ".join(text.split()), _LONGEST_QUOTE)
        return f"model refused: {quote}" if quote else "model refused"
    if stop is Stop.LENGTH:
        return "answer was cut off"
    if not text.strip():
        return "empty answer"
    return "" if _encodable(text) else "half of a surrogate pair in the text"


def _pass(answer: Answer, uses: Uses) -> Verdict:
    for gate, params in uses:
        verdict = _ask(gate, answer, params)
        if verdict.judgement is not Judgement.ACCEPT:
            return verdict
        answer = answer._replace(data=verdict.data)
    data: Json = answer.data  # type: ignore[assignment]  # every gate's data has been checked
    return Verdict(Judgement.ACCEPT, {"text": answer.text.strip()} if data is None else data)


def _ask(gate: Gate, answer: Answer, params: JsonObject) -> Verdict:
    """Ask one gate; one that breaks costs its task a try and nobody else anything."""
    try:
        verdict = gate.judge(answer, params)
        return _checked(gate, answer, verdict)
    except Exception as error:  # noqa: BLE001 - a stranger's gate may raise anything
        said = _clipped(f"{type(error).__name__}: {error}", _LONGEST_REASON)
        return Verdict(Judgement.RETRY, None, (f"gate {gate.name} broke: {said}",))


def _checked(gate: Gate, answer: Answer, verdict: Verdict) -> Verdict:
    """Hold a gate to its word: a verdict, with JSON if it accepts and with reasons if not."""
    judgement, blame = Judgement(verdict.judgement), Blame(verdict.blame)
    if judgement is Judgement.ACCEPT:
        if verdict.data is None and answer.data is None:
            raise ValueError("it accepted the answer and gave no data")
        if verdict.data is None:  # it had nothing to change
            return verdict._replace(data=answer.data)  # type: ignore[arg-type]  # checked before
        if verdict.data is not answer.data:
            canonical_json(verdict.data).encode()
        return verdict
    reasons = tuple(_clipped(str(reason), _LONGEST_REASON) for reason in verdict.reasons)
    return Verdict(judgement, None, reasons or (f"gate {gate.name} did not say why",), blame)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
