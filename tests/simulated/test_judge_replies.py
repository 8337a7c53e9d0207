"""The simulated judge answers in the asked form, from the prompt alone, and with variety."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json, JsonObject
from quire.domain.gates import Judgement, Verdict
from quire.domain.requests import Call, Stop
from quire.gates.chain import GATES, judge_text
from quire.simulated.call_outcomes import REFUSAL, respond
from quire.simulated.fault_scripts import JUDGE_FAULTS, NO_FAULTS, Faults, parse_fault_script
from quire.simulated.judge_prompts import read_prompt
from tests.simulated.judge_calls import (
    AGREEMENT,
    QUALITY,
    RUBRIC,
    critic_prompt,
    judge_call,
    score_prompt,
)

LABELS: dict[str, Json] = {"aB3dE9": 1, "Q0zz1x": 2, "k2LmN8": 3}
FIVE: dict[str, Json] = {"kind": "rubric", "scale_size": 5}
VERDICT: dict[str, Json] = {"kind": "verdict", "method": "single"}
KINDS: list[tuple[str, dict[str, Json]]] = [
    (RUBRIC.format(5), FIVE),
    (RUBRIC.format("four"), {"kind": "rubric", "scale_size": 4}),
    (score_prompt(), VERDICT),
    (score_prompt(several=True, abstain=True), {**VERDICT, "method": "subset", "abstain": True}),
    (QUALITY, {"kind": "quality"}),
    (critic_prompt(), {"kind": "agreement"}),
]


def judge_reply(call: Call, params: JsonObject, faults: Faults = NO_FAULTS) -> Verdict:
    """Let the gate say what it thinks of the simulated answer."""
    outcome = respond(call, faults)
    assert outcome.stop is Stop.END
    uses = [(GATES["markers"], params)]
    return judge_text(outcome.text, outcome.stop, uses, None, {"part": {"labels": LABELS}})


@pytest.mark.parametrize(("user", "params"), KINDS)
def test_every_answer_has_the_asked_form(user: str, params: dict[str, Json]) -> None:
    for attempt in range(1, 60):
        verdict = judge_reply(judge_call(user, attempt=attempt), params)

        assert verdict.judgement is Judgement.ACCEPT, verdict


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9, 10, 12, 31])
def test_a_rubric_has_as_many_stages_as_are_asked_for(size: int) -> None:
    params: dict[str, Json] = {"kind": "rubric", "scale_size": size}

    verdict = judge_reply(judge_call(RUBRIC.format(size)), params)

    assert isinstance(verdict.data, dict)
    stages = verdict.data["stages"]
    assert isinstance(stages, list)
    labels = [stage["label"] for stage in stages]
    assert (labels[size // 2] == "Ambiguous / Mixed Evidence.") == bool(size % 2)


def test_the_same_attempt_of_the_same_model_answers_alike_and_others_differ() -> None:
    answers = {
        (model, attempt): respond(
            judge_call(RUBRIC.format(5), model=model, attempt=attempt), NO_FAULTS
        ).text
        for model in ("simulated/small", "simulated/large", "openai/gpt-6-luna")
        for attempt in range(1, 31)
    }
    again = respond(judge_call(RUBRIC.format(5), attempt=7), NO_FAULTS).text

    assert answers["simulated/small", 7] == again
    assert len(set(answers.values())) > 80


def test_at_temperature_zero_every_attempt_answers_alike() -> None:
    calls = (judge_call(score_prompt(), attempt=number, temperature=0) for number in range(1, 20))

    assert len({respond(call, NO_FAULTS).text for call in calls}) == 1


def test_verdicts_vary_in_size_and_stage_and_some_abstain() -> None:
    user = score_prompt(several=True, abstain=True)
    params: dict[str, Json] = {"kind": "verdict", "method": "subset", "abstain": True}
    sizes: Counter[int] = Counter()
    stages: Counter[int] = Counter()
    for model in ("a/one", "b/two", "c/three"):
        for attempt in range(1, 101):
            data = judge_reply(judge_call(user, model=model, attempt=attempt), params).data
            assert isinstance(data, dict)
            assert isinstance(data["decoded_scores"], list)
            sizes[len(data["decoded_scores"])] += 1
            stages.update(data["decoded_scores"])

    assert set(sizes) == {0, 1, 2, 3}
    assert 15 < sizes[0] < 80
    assert sizes[1] > sizes[2] > sizes[3]
    assert min(stages[item] for item in (1, 2, 3)) > 10


def test_nobody_abstains_who_may_not() -> None:
    texts = [respond(judge_call(score_prompt(), attempt=n), NO_FAULTS).text for n in range(300)]

    assert not [text for text in texts if "ABSTAIN" in text]


def test_what_the_material_says_is_never_what_is_asked() -> None:
    prompt = read_prompt("", score_prompt())

    assert prompt is not None
    assert (prompt.marker, prompt.identifiers) == ("VERDICT", ("aB3dE9", "Q0zz1x", "k2LmN8"))
    assert (prompt.several, prompt.abstain, prompt.concept) == (False, False, "Civic unrest")


def test_the_system_text_counts_before_the_message() -> None:
    prompt = read_prompt(AGREEMENT, score_prompt())

    assert prompt is not None
    assert prompt.marker == "EXPERT_AGREEMENT"


@pytest.mark.parametrize(
    "line",
    ["Write ABSTAIN if you cannot tell.", "VERDICT: ABSTAIN is allowed."],
)
def test_abstaining_is_allowed_where_it_is_offered(line: str) -> None:
    prompt = read_prompt("", f"{line}\n{score_prompt()}")

    assert prompt is not None
    assert prompt.abstain


@pytest.mark.parametrize("line", ["Do not write ABSTAIN.", "never ABSTAIN", "You may abstain."])
def test_abstaining_is_not_allowed_where_it_is_forbidden_or_not_named(line: str) -> None:
    prompt = read_prompt("", f"{line}\n{score_prompt()}")

    assert prompt is not None
    assert not prompt.abstain


@pytest.mark.parametrize("user", ["Summarise the end of it.", "Check the quality: is it good?"])
def test_other_prompts_get_plain_words(user: str) -> None:
    assert respond(judge_call(user), NO_FAULTS).text == f"simulated: {user}"


def test_marked_material_is_restated_where_plain_words_are_asked_for() -> None:
    user = "Clean the text between the marks.\n\n<<<text f00\nIt  rained\nall day.\ntext f00>>>"

    once = respond(judge_call(user), NO_FAULTS).text
    again = respond(judge_call(user.replace("It  rained\nall day.", once)), NO_FAULTS).text

    assert once == again == "simulated: It rained all day."


ACCEPTED = {"bold", "bullets"}
PASSING = {  # what cannot happen to an answer leaves it as it is
    "abstain_remark": ("RUBRIC", "QUALITY", "EXPERT_AGREEMENT"),
    "stage_number": ("RUBRIC", "QUALITY", "EXPERT_AGREEMENT"),
    "garbled_id": ("RUBRIC", "QUALITY", "EXPERT_AGREEMENT"),
    "comma_decimal": ("VERDICT", "RUBRIC"),  # commas part criteria, too
}


@pytest.mark.parametrize("fault", JUDGE_FAULTS)
@pytest.mark.parametrize(("user", "params"), KINDS)
def test_every_slip_is_forgiven_or_refused_and_never_misread(
    fault: str, user: str, params: dict[str, Json]
) -> None:
    prompt = read_prompt("", user)
    assert prompt is not None
    slips = parse_fault_script(f"{fault}=1")
    for attempt in range(1, 16):
        call = judge_call(user, attempt=attempt)

        right, slipped = judge_reply(call, params), judge_reply(call, params, slips)

        if fault in ACCEPTED or prompt.marker in PASSING.get(fault, ()):
            assert slipped == right
        elif fault == "abstain_remark" and prompt.abstain:
            assert isinstance(slipped.data, dict)
            assert slipped.data["abstained"] is True
        else:
            assert slipped.judgement is Judgement.RETRY, slipped


def test_a_slip_strikes_as_often_as_its_rate_and_alike_for_the_same_attempt() -> None:
    faults = parse_fault_script("missing_marker=0.1,seed=3")
    texts = [respond(judge_call(QUALITY, attempt=n), faults).text for n in range(1, 1001)]

    assert 70 < sum("\nQUALITY:" not in text for text in texts) < 130
    assert texts[41] == respond(judge_call(QUALITY, attempt=42), faults).text


def test_a_slip_and_a_refusal_may_strike_by_a_word_of_the_message() -> None:
    call = judge_call(score_prompt())

    assert "**VERDICT:**" in respond(call, parse_fault_script("bold@strikes were held")).text
    assert respond(call, parse_fault_script("bold@nothing")) == respond(call, NO_FAULTS)
    assert respond(call, parse_fault_script("refuse@strikes were held")).text == REFUSAL
    assert respond(call, parse_fault_script("refuse=1")).stop is Stop.REFUSAL


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_prompt_at_all_is_answered(system: str, evidence: str) -> None:
    for user in (score_prompt(evidence=evidence), evidence, f"{evidence}\n{QUALITY}"):
        assert respond(judge_call(user, system=system), NO_FAULTS).stop is Stop.END
