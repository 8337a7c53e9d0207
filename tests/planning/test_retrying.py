"""Who goes again, in what company, at whose expense, and who has had enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.errors import CallFault, ProviderError, Remedy, Undecodable
from quire.domain.gates import Blame, Judgement, ResponseJudgement, Verdict
from quire.domain.policy import Policy
from quire.domain.reasons import HoldCause, HoldKind
from quire.planning.retrying import (
    Accept,
    AnswerStep,
    AskAgain,
    GiveUp,
    HoldRun,
    Lose,
    Refuse,
    Resend,
    Split,
    TaskTries,
    after_answer,
    after_error,
    after_refusal,
)
from tests.planning.examples import make_facts

GOOD = Verdict(Judgement.ACCEPT, data={"a": 1})
SKIPPED = Verdict(Judgement.RETRY, reasons=("model skipped this block",), blame=Blame.PACK)
WRONG = Verdict(Judgement.RETRY, reasons=("a: not a number", "b: missing"))
HOPELESS = Verdict(Judgement.FAIL, reasons=("cannot be answered",))
FRESH = TaskTries(tries=0, calls=1, pack_cap=0)


def steps(
    *verdicts: Verdict,
    task: TaskTries = FRESH,
    truncated: bool = False,
    max_output: int = 1_000,
    policy: Policy | None = None,
) -> list[AnswerStep]:
    """Decide for tasks that all stood alike; the model can write 8,192 tokens."""
    judged = ResponseJudgement(
        verdicts={str(n): v for n, v in enumerate(verdicts)}, truncated=truncated
    )
    found = after_answer(
        judged,
        dict.fromkeys(judged.verdicts, task),
        max_output=max_output,
        facts=make_facts(),
        policy=policy or Policy(),
    )
    assert list(found) == list(judged.verdicts)
    return list(found.values())


def provider_error(remedy: Remedy, retry_after: float | None = None) -> ProviderError:
    return ProviderError("it broke", remedy=remedy, retry_after=retry_after)


def test_an_accepted_answer_is_taken() -> None:
    assert steps(GOOD) == [Accept(data={"a": 1})]


def test_an_accepted_answer_is_taken_even_in_the_last_call() -> None:
    assert steps(GOOD, task=TaskTries(tries=2, calls=12, pack_cap=1)) == [Accept(data={"a": 1})]


def test_tasks_lost_in_company_go_again_at_half_size_for_free() -> None:
    found = steps(GOOD, SKIPPED, SKIPPED, SKIPPED)

    again = AskAgain(tries=0, pack_cap=2, output_floor=0, error="model skipped this block")
    assert found[1:] == [again] * 3


def test_the_last_one_lost_in_company_stands_alone_next() -> None:
    found = steps(GOOD, GOOD, GOOD, SKIPPED)[3]

    assert isinstance(found, AskAgain)
    assert (found.tries, found.pack_cap) == (0, 1)


def test_wrong_answers_do_not_count_towards_the_half() -> None:
    found = steps(WRONG, WRONG, WRONG, SKIPPED, SKIPPED)[4]

    assert isinstance(found, AskAgain)
    assert found.pack_cap == 1


def test_a_pack_cap_never_grows() -> None:
    found = steps(*[SKIPPED] * 10, task=TaskTries(tries=0, calls=2, pack_cap=3))[0]

    assert isinstance(found, AskAgain)
    assert found.pack_cap == 3


def test_a_wrong_answer_costs_a_try_and_keeps_the_company() -> None:
    found = steps(WRONG, GOOD, task=TaskTries(tries=1, calls=2, pack_cap=4))[0]

    assert found == AskAgain(
        tries=2, pack_cap=4, output_floor=0, error="a: not a number; b: missing"
    )


def test_a_task_skipped_alone_pays_a_try_and_stays_alone() -> None:
    assert steps(SKIPPED) == [
        AskAgain(tries=1, pack_cap=1, output_floor=0, error="model skipped this block")
    ]


def test_the_last_try_keeps_the_last_error() -> None:
    assert steps(SKIPPED, task=TaskTries(tries=2, calls=3, pack_cap=1)) == [
        GiveUp(tries=3, error="model skipped this block (3 tries)")
    ]


def test_a_policy_of_one_try_gives_up_at_the_first_wrong_answer() -> None:
    assert steps(WRONG, GOOD, policy=Policy(max_tries=1))[0] == GiveUp(
        tries=1, error="a: not a number; b: missing (1 try)"
    )


def test_a_failing_verdict_ends_the_task_at_once() -> None:
    assert steps(HOPELESS, GOOD)[0] == GiveUp(tries=1, error="cannot be answered")


def test_the_call_limit_ends_a_task_that_never_cost_a_try() -> None:
    assert steps(SKIPPED, GOOD, task=TaskTries(tries=0, calls=12, pack_cap=2))[0] == GiveUp(
        tries=0, error="model skipped this block (no acceptable answer in 12 calls)"
    )


def test_a_task_out_of_calls_does_not_count_towards_the_half() -> None:
    judged = ResponseJudgement(verdicts={"1": SKIPPED, "2": SKIPPED, "3": SKIPPED})
    spent = TaskTries(tries=0, calls=12, pack_cap=0)

    found = after_answer(
        judged,
        {"1": FRESH, "2": FRESH, "3": spent},
        max_output=1_000,
        facts=make_facts(),
        policy=Policy(),
    )

    assert [found["1"], found["2"]] == [
        AskAgain(tries=0, pack_cap=1, output_floor=0, error="model skipped this block")
    ] * 2


def test_a_lone_task_that_was_cut_off_gets_the_full_output_for_free() -> None:
    assert steps(SKIPPED, truncated=True) == [
        AskAgain(tries=0, pack_cap=1, output_floor=8_192, error="model skipped this block")
    ]


def test_a_lone_task_cut_off_at_the_full_output_pays_a_try() -> None:
    assert steps(SKIPPED, truncated=True, max_output=8_192) == [
        AskAgain(tries=1, pack_cap=1, output_floor=8_192, error="model skipped this block")
    ]


def test_a_pack_that_was_cut_off_is_halved_not_lengthened() -> None:
    found = steps(GOOD, SKIPPED, SKIPPED, truncated=True)[1]

    assert found == AskAgain(tries=0, pack_cap=1, output_floor=0, error="model skipped this block")


def test_a_task_that_no_longer_waits_gets_no_step_but_was_company() -> None:
    judged = ResponseJudgement(verdicts={"1": SKIPPED, "2": SKIPPED})

    found = after_answer(
        judged, {"2": FRESH}, max_output=1_000, facts=make_facts(), policy=Policy()
    )

    assert found == {
        "2": AskAgain(tries=0, pack_cap=1, output_floor=0, error="model skipped this block")
    }


def test_a_verdict_without_reasons_still_says_something() -> None:
    assert steps(Verdict(Judgement.FAIL)) == [GiveUp(tries=1, error="no acceptable answer")]


@given(st.integers(2, 40), st.integers(0, 20))
def test_halving_always_reaches_the_lone_task(tasks: int, existing: int) -> None:
    size, rounds = tasks, 0
    while size > 1:
        found = steps(*[SKIPPED] * size, task=TaskTries(tries=0, calls=1, pack_cap=existing))[0]
        assert isinstance(found, AskAgain)
        size, rounds = found.pack_cap, rounds + 1

    assert rounds <= 6


@pytest.mark.parametrize("remedy", [Remedy.RETRY, Remedy.WAIT])
def test_a_passing_error_releases_the_call_when_the_provider_says(remedy: Remedy) -> None:
    assert after_error(provider_error(remedy, 7.5), 10, 1, 0.5) == Resend(delay=7.5)


@pytest.mark.parametrize(
    ("attempt_no", "jitter", "delay"),
    [(1, 0.5, 1.0), (3, 0.5, 4.0), (6, 0.5, 30.0), (2_000, 0.5, 30.0), (1, 0.0, 0.05)],
)
def test_delays_grow_with_full_jitter_up_to_a_minute(
    attempt_no: int, jitter: float, delay: float
) -> None:
    assert after_error(provider_error(Remedy.RETRY), 1, attempt_no, jitter) == Resend(delay=delay)


def test_a_lost_call_is_lost_with_the_same_delay() -> None:
    assert after_error(provider_error(Remedy.LOST), 10, 2, 0.5) == Lose(delay=2.0)


@pytest.mark.parametrize("remedy", [Remedy.SPLIT, Remedy.FIX_REQUEST])
def test_a_refused_pack_is_halved(remedy: Remedy) -> None:
    assert after_error(provider_error(remedy), 5, 1, 0.5) == Split(pack_cap=3)


@pytest.mark.parametrize("remedy", [Remedy.SPLIT, Remedy.FIX_REQUEST])
def test_a_refused_lone_task_is_refused_with_the_reason(remedy: Remedy) -> None:
    assert after_error(provider_error(remedy), 1, 1, 0.5) == Refuse(error="it broke")


def test_an_account_that_needs_mending_holds_the_run() -> None:
    found = after_error(provider_error(Remedy.FIX_ACCOUNT), 5, 1, 0.5)

    assert found == HoldRun(cause=HoldCause.CALL_REFUSED)


def test_an_address_where_nobody_has_listened_for_long_holds_the_run() -> None:
    error = ProviderError("nothing listens", remedy=Remedy.RETRY, absent=True)

    assert after_error(error, 5, 1, 0.5) == HoldRun(cause=HoldCause.NOT_LISTENING)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (CallFault.ADDRESS, HoldCause.ADDRESS_WRONG),
        (CallFault.MODEL, HoldCause.MODEL_UNKNOWN),
        (CallFault.FORM, HoldCause.FORM_REFUSED),
    ],
)
def test_what_is_wrong_with_every_call_is_no_matter_of_keys(
    fault: CallFault, cause: HoldCause
) -> None:
    error = ProviderError("no", remedy=Remedy.FIX_ACCOUNT, fault=fault)

    assert after_error(error, 5, 1, 0.5) == HoldRun(cause=cause)
    assert cause.kind is not HoldKind.CREDENTIAL


def test_an_unreadable_answer_holds_and_is_not_asked_for_again() -> None:
    found = after_error(Undecodable("what is this"), 5, 1, 0.5)

    assert found == HoldRun(cause=HoldCause.ERROR_UNREADABLE)


def test_a_refused_task_pays_a_try_and_stays_alone() -> None:
    found = after_refusal(TaskTries(tries=0, calls=0, pack_cap=0), "too long", Policy())

    assert found == AskAgain(tries=1, pack_cap=1, output_floor=0, error="too long")


def test_a_task_refused_for_the_last_time_fails_with_the_reason() -> None:
    found = after_refusal(TaskTries(tries=2, calls=0, pack_cap=1), "too long", Policy())

    assert found == GiveUp(tries=3, error="too long (3 tries)")
