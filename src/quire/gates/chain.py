"""The chain of gates: the first reads an answer, others judge it; and the built-in gates."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from quire.domain.data import Json, JsonObject, canonical_json
from quire.domain.gates import (
    CUT_OFF,
    EMPTY,
    Blame,
    Gate,
    GateInput,
    Judgement,
    ReadingNote,
    Verdict,
    clip,
    refusal_reason,
)
from quire.domain.requests import Stop
from quire.gates.gate_parameters import refers_to_inputs
from quire.gates.markers import MarkersGate
from quire.gates.rules import RulesGate
from quire.gates.single_json import JsonGate
from quire.gates.text import TextGate
from quire.gates.thoughts import split_thoughts

GateChain: TypeAlias = Sequence[tuple[Gate, JsonObject]]

_LONGEST_REASON = 240


def judge_answer_text(text: str, stop: Stop, uses: GateChain, facts: JsonObject) -> Verdict:
    """Judge a call's one answer in the model's words; its thoughts before it are no part of it."""
    if stop is not Stop.END:
        return judge_text(text, stop, uses, None, facts)
    spoken = split_thoughts(text)
    if spoken.problem:
        return Verdict(Judgement.RETRY, None, (spoken.problem,), Blame.PACK)
    return judge_text(spoken.text, stop, uses, None, facts, thought=spoken.thought)


def judge_text(
    text: str,
    stop: Stop,
    uses: GateChain,
    record_schema: JsonObject | None,
    facts: JsonObject,
    *,
    thought: str = "",
) -> Verdict:
    """Judge words as they are; why the model stopped is read before what it wrote."""
    if unusable := _unusable_reason(text, stop):
        return Verdict(Judgement.RETRY, None, (unusable,), Blame.PACK)
    return _run_chain(GateInput(text, stop, None, record_schema, facts, thought), uses)


def judge_data(
    data: Json, uses: GateChain, record_schema: JsonObject | None, facts: JsonObject
) -> Verdict:
    """Judge one record that has been read and validated; its text is the record itself."""
    if not uses:
        return Verdict(Judgement.ACCEPT, data)
    return _run_chain(GateInput(canonical_json(data), Stop.END, data, record_schema, facts), uses)


def reads_a_form(uses: GateChain) -> bool:
    """Whether the first gate can tell an answer from other words, by the form it must have."""
    return bool(uses) and isinstance(uses[0][0], JsonGate | MarkersGate)


def reads_inputs(uses: GateChain) -> bool:
    """Whether a gate looks at results that the task reads; verdicts look for their rubric."""
    return any(
        refers_to_inputs(params)
        or (isinstance(gate, MarkersGate) and params.get("kind") == "verdict")
        for gate, params in uses
    )


def gate_versions(uses: GateChain) -> str:
    """Name what judged an answer, such as markers/1+rules/1."""
    return "+".join(
        gate.version if gate.version.startswith(gate.name) else f"{gate.name}/{gate.version}"
        for gate, _params in uses
    )


def _unusable_reason(text: str, stop: Stop) -> str:
    if stop is Stop.REFUSAL:
        return refusal_reason(text)
    if stop is Stop.LENGTH:
        return CUT_OFF
    if not text.strip():
        return EMPTY
    return "" if _is_encodable(text) else "half of a surrogate pair in the text"


def _run_chain(answer: GateInput, uses: GateChain) -> Verdict:
    notes: tuple[ReadingNote, ...] = ()
    for gate, params in uses:
        verdict = _ask_gate(gate, answer, params)
        if verdict.judgement is not Judgement.ACCEPT:
            return verdict
        answer = answer._replace(data=verdict.data)
        notes += verdict.notes
    data = {"text": answer.text.strip()} if answer.data is None else answer.data
    return Verdict(Judgement.ACCEPT, data, notes=notes)


def _ask_gate(gate: Gate, answer: GateInput, params: JsonObject) -> Verdict:
    """Ask one gate; one that breaks costs its task a try and nobody else anything."""
    try:
        verdict = gate.judge(answer, params)
        return _check_verdict(gate, answer, verdict)
    except Exception as error:  # noqa: BLE001 - a plugin's gate may raise anything
        said = clip(f"{type(error).__name__}: {error}", _LONGEST_REASON)
        return Verdict(Judgement.RETRY, None, (f"gate {gate.name} broke: {said}",))


def _check_verdict(gate: Gate, answer: GateInput, verdict: Verdict) -> Verdict:
    """Hold a gate to its word: a verdict, with JSON if it accepts and with reasons if not."""
    judgement, blame = Judgement(verdict.judgement), Blame(verdict.blame)
    if judgement is Judgement.ACCEPT:
        if verdict.data is None and answer.data is None:
            raise ValueError("it accepted the answer and gave no data")
        if verdict.data is None:  # it had nothing to change
            return verdict._replace(data=answer.data)
        if verdict.data is not answer.data:
            canonical_json(verdict.data).encode()
        return verdict
    reasons = tuple(clip(str(reason), _LONGEST_REASON) for reason in verdict.reasons)
    return Verdict(judgement, None, reasons or (f"gate {gate.name} did not say why",), blame)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_BUILTIN_GATES: tuple[Gate, ...] = (JsonGate(), TextGate(), MarkersGate(), RulesGate())

GATES: Mapping[str, Gate] = MappingProxyType({gate.name: gate for gate in _BUILTIN_GATES})
