"""The chain of gates: one verdict, whatever the model wrote and whoever wrote the gates."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from quire.domain.data import Json, JsonObject
from quire.domain.gates import Blame, GateInput, Judgement, Verdict
from quire.domain.requests import Stop
from quire.gates.chain import GATES, GateChain, gate_versions, judge_data, judge_text

MARKERS: GateChain = [(GATES["markers"], {"kind": "agreement"})]
STRICT: GateChain = [
    *MARKERS,
    (GATES["rules"], {"rules": [{"field": "expert_agreement_prob", "min": 0.5}]}),
]


@dataclass(frozen=True)
class PluginGate:
    """A gate of somebody else."""

    says: Callable[[GateInput], Verdict]
    name: str = "mine"
    version: str = "7"

    def mistakes(self, params: JsonObject) -> list[str]:
        """Take any parameters."""
        del params
        return []

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Say what it was made to say."""
        del params
        return self.says(answer)


def judge_with(
    uses: GateChain, text: str = "Thus.\nEXPERT_AGREEMENT: 0.8", stop: Stop = Stop.END
) -> Verdict:
    """Judge one answer."""
    return judge_text(text, stop, uses, None, {})


def break_down(_answer: GateInput) -> Verdict:
    """Fail as code fails."""
    raise LookupError("no such thing")


def test_the_first_gate_reads_and_the_next_one_judges_what_was_read() -> None:
    assert judge_with(STRICT).data == {"reasoning": "Thus.", "expert_agreement_prob": 0.8}
    assert judge_with(STRICT, "Thus.\nEXPERT_AGREEMENT: 0.3").reasons == (
        "expert_agreement_prob: 0.3 is below 0.5",
    )


def test_a_gate_after_one_that_refuses_is_not_asked() -> None:
    assert judge_with([*MARKERS, (PluginGate(break_down), {})], "Thus.").reasons == (
        "answer has no line that begins with EXPERT_AGREEMENT:",
    )


@pytest.mark.parametrize(
    ("text", "stop", "said"),
    [
        ("I cannot  help.", Stop.REFUSAL, "model refused: I cannot help."),
        ("", Stop.REFUSAL, "model refused"),
        (" \n", Stop.END, "empty answer"),
        ("", Stop.LENGTH, "answer was cut off"),
        ("Thus.\nEXPERT_AGREEMENT: 0.8", Stop.LENGTH, "answer was cut off"),
        ("Thus \ud800", Stop.END, "half of a surrogate pair in the text"),
    ],
)
def test_an_answer_that_did_not_arrive_whole_is_judged_by_no_gate(
    text: str, stop: Stop, said: str
) -> None:
    verdict = judge_with([(PluginGate(break_down), {})], text, stop)

    assert verdict == Verdict(Judgement.RETRY, None, (said,), Blame.PACK)


@pytest.mark.parametrize(
    ("says", "said"),
    [
        (break_down, "gate mine broke: LookupError: no such thing"),
        (lambda _: None, "gate mine broke: AttributeError"),
        (lambda _: Verdict(Judgement.ACCEPT), "gave no data"),
        (
            lambda _: Verdict(Judgement.ACCEPT, {1, 2}),  # type: ignore[arg-type]
            "gate mine broke: TypeError",
        ),
        (lambda _: Verdict(Judgement.ACCEPT, {"a": float("nan")}), "gate mine broke: ValueError"),
        (lambda _: Verdict(Judgement.ACCEPT, {"a": "\ud800"}), "broke: UnicodeEncodeError"),
        (
            lambda _: Verdict("perhaps"),  # type: ignore[arg-type]
            "gate mine broke: ValueError",
        ),
        (lambda _: Verdict(Judgement.RETRY), "gate mine did not say why"),
        (lambda _: Verdict(Judgement.RETRY, None, ("x" * 999,)), "x" * 239 + "…"),
    ],
)
def test_a_plugins_gate_that_breaks_costs_a_try_and_nothing_else(
    says: Callable[[GateInput], Verdict], said: str
) -> None:
    verdict = judge_with([(PluginGate(says), {})])

    assert (verdict.judgement, verdict.data, verdict.blame) == (Judgement.RETRY, None, Blame.TASK)
    assert said in verdict.reasons[0]


def test_a_later_gate_that_accepts_without_data_changes_none() -> None:
    uses: GateChain = [*MARKERS, (PluginGate(lambda _: Verdict(Judgement.ACCEPT)), {})]

    assert judge_with(uses).data == {"reasoning": "Thus.", "expert_agreement_prob": 0.8}


def test_a_gate_may_fail_a_task_for_good() -> None:
    uses: GateChain = [(PluginGate(lambda _: Verdict(Judgement.FAIL, None, ("never",))), {})]

    assert judge_with(uses) == Verdict(Judgement.FAIL, None, ("never",))


def test_records_of_a_pack_are_judged_by_the_later_gates_alone() -> None:
    rules: GateChain = [(GATES["rules"], {"rules": [{"field": "x", "max": 3}]})]

    assert judge_data({"x": 2}, rules, None, {}) == Verdict(Judgement.ACCEPT, {"x": 2})
    assert judge_data({"x": 4}, rules, None, {}).reasons == ("x: 4 is above 3",)
    assert judge_data({"x": 4}, [], None, {}) == Verdict(Judgement.ACCEPT, {"x": 4})


def test_what_judged_an_answer_is_named_with_its_versions() -> None:
    assert gate_versions(STRICT) == "markers/7+rules/1"
    assert gate_versions([(GATES["json"], {}), (PluginGate(break_down), {})]).endswith("+mine/7")


def test_without_gates_the_text_is_the_data() -> None:
    assert judge_with([], " words ").data == {"text": "words"}


def test_the_gates_that_come_with_quire_take_their_names() -> None:
    assert {name: gate.name for name, gate in GATES.items()} == {
        name: name for name in ("json", "text", "markers", "rules")
    }
    assert GATES["json"].mistakes({}) == []
    assert GATES["json"].mistakes({"strict": True}) == ["strict is not a parameter; there are none"]


SCHEMA: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
}


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        '[{"x": 1}]',
        '{"results": [{"block_uid": "1k", "x": 1}]}',
        'Here it is:\n```json\n{"x": 1}\n```\nDone.',
        '{"x": 1} That is all.',
    ],
)
def test_a_single_answer_in_json_is_read_with_its_wrappings(text: str) -> None:
    verdict = judge_text(text, Stop.END, [(GATES["json"], {})], SCHEMA, {})

    assert verdict == Verdict(Judgement.ACCEPT, {"x": 1})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x is 1", "answer is not JSON"),
        ('{"x": 1', "answer is not JSON: "),
        ('{"x": 1, "x": 2}', "answer is not JSON: "),
        ('{"x": NaN}', "answer is not JSON: "),
        ('{"x": "one"}', '/x: "one" is not of type "integer"'),
        ('{"x": 1}\n{"x": 2}', "response holds more than one answer"),
        ("[1, 2]", "answer is not one JSON object"),
        ("[" * 100_000, "answer is not JSON: "),
        ('{"x": ' + "9" * 2_000 + "}", "the record holds a number too large to keep"),
    ],
)
def test_a_single_answer_that_is_not_one_right_object_is_refused(text: str, said: str) -> None:
    verdict = judge_text(text, Stop.END, [(GATES["json"], {})], SCHEMA, {})

    assert verdict.judgement is Judgement.RETRY
    assert verdict.reasons[0].startswith(said)


def test_without_a_schema_any_object_will_do() -> None:
    assert judge_text('{"y": 2}', Stop.END, [(GATES["json"], {})], None, {}).data == {"y": 2}
