"""A continued answer goes on after what was said, from any point, and ends with the whole."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.requests import Call, Role, Stop, Turn
from quire.simulated.call_outcomes import respond
from quire.simulated.fault_scripts import NO_FAULTS
from tests.simulated.calls import make_call

FIELDS: dict[str, Json] = {"topic": {"type": "string"}}
RECORDS = make_call(["Clause one binds Party 1.", "Über 5 € – nichts."], FIELDS)
WORDS = " ".join(f"word{n}" for n in range(60))
TEXT = replace(make_call([], {}), user=f"Say {WORDS}.", output_schema=None)


def go_on(call: Call, so_far: str) -> Call:
    """Ask to go on with an answer to a call."""
    turns = (Turn(Role.USER, call.user), Turn(Role.ASSISTANT, so_far))
    return replace(call, user="Continue where you stopped.", turns=turns)


@pytest.mark.parametrize("call", [RECORDS, TEXT])
@given(share=st.floats(0, 1))
def test_an_answer_goes_on_from_any_point(call: Call, share: float) -> None:
    whole = respond(call, NO_FAULTS).text
    so_far = whole[: round(share * len(whole))]

    rest = respond(go_on(call, so_far), NO_FAULTS)

    assert so_far + rest.text == whole
    assert rest.stop is Stop.END


def test_all_that_was_said_before_is_billed() -> None:
    asked = go_on(TEXT, "simulated: Say word0")
    sent = asked.system + asked.turns[0].text + asked.turns[1].text + asked.user

    assert respond(asked, NO_FAULTS).usage.input == -(-len(sent.encode()) // 4)


def test_history_is_no_answer_that_goes_on() -> None:
    asked = replace(go_on(TEXT, "Hello."), user=TEXT.user)

    assert respond(asked, NO_FAULTS).text == respond(TEXT, NO_FAULTS).text


def test_what_was_said_otherwise_is_gone_on_with_after_its_end() -> None:
    whole = respond(TEXT, NO_FAULTS).text
    at = len(whole) // 2

    assert respond(go_on(TEXT, f"Well: {whole[:at]}"), NO_FAULTS).text == whole[at:]
