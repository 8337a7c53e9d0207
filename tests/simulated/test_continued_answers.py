"""A continued answer goes on after what was said, from any point, and ends with the whole."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.requests import Call, Role, Stop, Turn
from quire.simulated.call_outcomes import respond
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
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


LONG = replace(TEXT, user="Write about 300 words on the ferry.\nOutline:\n## For\n## Against\n")


def gone_on(faults: str, call: Call, share: float = 0.5) -> tuple[str, str, str]:
    """What was there, what was said next under these faults, and what should have been said."""
    whole = respond(call, NO_FAULTS).text
    so_far = whole[: round(share * len(whole))]
    return (
        so_far,
        respond(go_on(call, so_far), parse_fault_script(faults)).text,
        whole[len(so_far) :],
    )


def test_a_long_text_goes_on_in_pieces_to_its_end() -> None:
    whole, so_far = respond(LONG, NO_FAULTS).text, ""

    for _ in range(30):
        piece = respond(go_on(LONG, so_far), parse_fault_script("truncate_at=50"))
        so_far += piece.text
        if piece.stop is Stop.END:
            break

    assert so_far == whole


@pytest.mark.parametrize("call", [LONG, TEXT, RECORDS], ids=["long", "line", "records"])
def test_repeat_tail_says_the_last_lines_again_and_goes_on(call: Call) -> None:
    so_far, said, rest = gone_on("repeat_tail=1", call)

    assert said.endswith(rest)
    assert so_far.endswith(said.removesuffix(rest))
    assert len(said) > len(rest)


def test_start_again_says_everything_again() -> None:
    so_far, said, rest = gone_on("start_again=1", LONG)

    assert said == so_far + rest


def test_preamble_says_that_it_goes_on_and_puts_records_into_fences() -> None:
    _, said, rest = gone_on("preamble=1", LONG)
    _, fenced, of_record = gone_on("preamble=1", RECORDS)

    assert said == f"Continuing from where I left off:\n\n{rest}"
    assert fenced == f"Continuing from where I left off:\n```json\n{of_record}\n```"


def test_claim_complete_adds_nothing_to_what_is_there() -> None:
    assert (
        gone_on("claim_complete=1", LONG)[1] == "The answer above is complete. Nothing is missing."
    )


@pytest.mark.parametrize("call", [LONG, go_on(LONG, "## For")], ids=["first", "continued"])
def test_stop_silently_ends_in_the_middle_without_a_reason(call: Call) -> None:
    whole = respond(call, NO_FAULTS)
    said = respond(call, parse_fault_script("stop_silently=1"))

    assert said.stop is Stop.END
    assert whole.text.startswith(said.text)
    assert len(said.text) < len(whole.text)


@pytest.mark.parametrize("name", ["repeat_tail", "start_again", "preamble", "claim_complete"])
def test_a_first_answer_does_not_go_on_badly(name: str) -> None:
    assert respond(LONG, parse_fault_script(f"{name}=1")) == respond(LONG, NO_FAULTS)


def test_a_slip_strikes_by_a_word_of_what_was_asked_first() -> None:
    assert gone_on("start_again@ferry", LONG)[1].startswith("## For")
    assert not gone_on("start_again@bridge", LONG)[1].startswith("## For")
