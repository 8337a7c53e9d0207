"""The retry policy and its backoff: what follows a judged answer, or a call that went wrong.

All that can go wrong with a call is one of two things, and they are decided apart. An *answer* came
(`after_answer`): it was paid for, and each of its tasks is judged by itself. A task whose own
answer was wrong loses a try; one that was skipped, mixed up or cut off in company loses none and
goes again in a smaller pack, because its neighbours or the length were to blame; one that was cut
off alone is gone on with (`planning/continuation.py`), or gets all the room there is. *No answer*
came (`after_error`): the whole call is decided by its remedy. What was surely not carried out goes
again as it is, for nothing; what may have been carried out is lost, goes again, and stays counted
as spent; what is too large or refused is halved, until a lone task is left to be charged; what is
refused for the form of all calls goes again in a weaker one (`planning/fallbacks.py`); what no
other call could do better holds the run for a person.

Two things could run away. A call that fails at once could be sent in a tight circle: hence a delay
that doubles with every sending, spread by chance so that many calls do not come back in step, and
never below a floor, even where the provider says "at once". And a task could circle at no cost in
tries, since company is always to blame: hence `max_calls`, which counts every answered call it rode
in. Waits that a provider asks for are kept, up to a day.

Everything here is a pure function of what was seen; the jitter is an argument. The steps are
values, and the verbs that write them down have no rules of their own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from quire.domain.data import Json
from quire.domain.errors import CallFault, ProviderError, Remedy, Undecodable
from quire.domain.fallbacks import Fallback
from quire.domain.gates import Blame, Judgement, ResponseJudgement, Verdict
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.domain.quantities import quantity
from quire.domain.reasons import HoldCause
from quire.planning.packing import half_of

SHORTEST_DELAY = 0.05
LONGEST_DELAY = 60.0
LONGEST_WAIT = 86_400.0
AT_ONCE = 0.05  # seconds; a wait as short as this is none
ODD_ANSWER_DELAY = 1.0  # seconds
ODD_ANSWERS_TO_HOLD = 3  # to calls about different tasks, among so many of a run's last answers:
ODD_ANSWER_WINDOW = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTries:
    """Where a task stood when its call was answered."""

    tries: int  # wrong answers of its own, so far
    calls: int  # answered calls it rode in, this one included
    pack_cap: int  # 0 = none


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """The task has its answer."""

    data: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """The task goes into another call."""

    tries: int
    pack_cap: int  # 0 = none
    output_floor: int  # at least this max_tokens from now on; 0 leaves the floor as it was
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The task fails, with the last error kept."""

    tries: int
    error: str


AnswerStep: TypeAlias = Accept | AskAgain | GiveUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend:
    """The same call goes out again after a delay; it was not carried out."""

    delay: float  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Lose:
    """The same call goes out again after a delay; this attempt may still have been carried out."""

    delay: float  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The tasks go again in smaller company, at no cost in tries."""

    pack_cap: int
    one_alone: bool = False  # the first of them by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The call's only task was refused: `after_refusal` says what that costs it."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRun:
    """Nothing like this call can work until a person has acted."""

    cause: HoldCause


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDown:
    """The same call goes out again at once, written in a weaker way; it was not carried out."""

    fallback: Fallback | None  # None: others took it while this call was out


ErrorStep: TypeAlias = Resend | Lose | Split | Refuse | StepDown | HoldRun


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What the whole response means for each of its tasks."""

    alone: bool  # the request carried one task
    truncated: bool
    may_grow: bool  # the model could write more than it was allowed to
    half_cap: int  # the pack_cap for those that were lost in company
    max_output: int  # of the model


def after_answer(
    judged: ResponseJudgement,
    tasks: Mapping[str, TaskTries],
    *,
    max_output: int,
    facts: ModelFacts,
    policy: Policy,
) -> dict[str, AnswerStep]:
    """Decide for each of `tasks`, by wire id: those that still wait for an answer of this call.

    `max_output` is what the request allowed the model to write.
    """
    blamed_on_pack = sum(
        verdict.judgement is Judgement.RETRY and verdict.blame is Blame.PACK
        for wire_id, verdict in judged.verdicts.items()
        if wire_id in tasks and tasks[wire_id].calls < policy.max_calls
    )
    answer = _Answer(
        alone=len(judged.verdicts) == 1,
        truncated=judged.truncated,
        may_grow=max_output < facts.max_output,
        half_cap=half_of(blamed_on_pack),
        max_output=facts.max_output,
    )
    return {
        wire_id: _next_step(judged.verdicts[wire_id], tries, answer, policy)
        for wire_id, tries in tasks.items()
    }


def after_error(
    error: ProviderError,
    tasks: int,
    attempt_no: int,
    jitter: float,
    weaker: StepDown | None = None,
) -> ErrorStep:
    """Decide about a call that brought no answer; `jitter` is drawn from [0, 1) by the caller.

    `weaker` is the way that is left for a call whose form was refused.
    """
    if isinstance(error, Undecodable):  # paid for and kept: asking again would pay twice
        return HoldRun(cause=HoldCause.ERROR_UNREADABLE)
    match error.remedy:
        case Remedy.RETRY | Remedy.WAIT if error.absent:
            return HoldRun(cause=HoldCause.NOT_LISTENING)
        case Remedy.RETRY | Remedy.WAIT:
            return Resend(delay=backoff_seconds(error, attempt_no, jitter))
        case Remedy.LOST:
            return Lose(delay=backoff_seconds(error, attempt_no, jitter))
        case Remedy.SPLIT | Remedy.FIX_REQUEST:  # halving isolates the culprit of either
            return Split(pack_cap=half_of(tasks)) if tasks > 1 else Refuse(error=str(error))
        case Remedy.FIX_ACCOUNT:
            return weaker or HoldRun(cause=FAULT_CAUSES[error.fault])
        case never:
            assert_never(never)


FAULT_CAUSES = {
    None: HoldCause.CALL_REFUSED,
    CallFault.ADDRESS: HoldCause.ADDRESS_WRONG,
    CallFault.MODEL: HoldCause.MODEL_UNKNOWN,
    CallFault.FORM: HoldCause.FORM_REFUSED,
}


def delay_after_odd_answer(times: int) -> float | None:
    """After how many seconds a call goes again that got so many answers in no vendor's form.

    Once may be a hiccup of somebody on the way; twice may be due to what is asked: None, for its
    tasks are to go in smaller company.
    """
    return ODD_ANSWER_DELAY if times <= 1 else None


def count_disjoint(calls: Iterable[frozenset[int]]) -> int:
    """How many of these calls have nothing in common: so many things, at least, are to blame.

    Packs that one block was in, halved again and again, are blamed on it, and count as one.
    """
    chosen: set[int] = set()
    count = 0
    for tasks in sorted(calls, key=len):
        if chosen.isdisjoint(tasks):
            chosen |= tasks
            count += 1
    return count


def after_refusal(task: TaskTries, error: str, policy: Policy) -> AskAgain | GiveUp:
    """Charge a try to a task whose own call was refused; it stays alone."""
    again = AskAgain(tries=task.tries + 1, pack_cap=1, output_floor=0, error=error)
    return _limit_tries(again, task, policy)


def _next_step(verdict: Verdict, task: TaskTries, answer: _Answer, policy: Policy) -> AnswerStep:
    match verdict.judgement:
        case Judgement.ACCEPT:
            return Accept(data=verdict.data)
        case Judgement.FAIL:
            return GiveUp(tries=task.tries + 1, error=_reason(verdict))
        case Judgement.RETRY:
            return _limit_tries(_ask_again(verdict, task, answer), task, policy)
        case never:
            assert_never(never)


def _ask_again(verdict: Verdict, task: TaskTries, answer: _Answer) -> AskAgain:
    tries, pack_cap, output_floor = task.tries + 1, task.pack_cap, 0
    if answer.alone and answer.truncated:
        output_floor, pack_cap = answer.max_output, 1
        if answer.may_grow:  # our limit was too low; that is not the task's fault
            tries = task.tries
    elif verdict.blame is Blame.PACK and answer.alone:
        pack_cap = 1  # whatever makes it fail alone would fail its company too
    elif verdict.blame is Blame.PACK:
        tries = task.tries
        pack_cap = min(task.pack_cap or answer.half_cap, answer.half_cap)
    error = _reason(verdict)
    return AskAgain(tries=tries, pack_cap=pack_cap, output_floor=output_floor, error=error)


def _limit_tries(again: AskAgain, task: TaskTries, policy: Policy) -> AskAgain | GiveUp:
    if again.tries >= policy.max_tries:
        noun = "try" if again.tries == 1 else "tries"
        return GiveUp(tries=again.tries, error=f"{again.error} ({again.tries} {noun})")
    if task.calls >= policy.max_calls:
        error = f"{again.error} (no acceptable answer in {quantity(task.calls, 'call')})"
        return GiveUp(tries=again.tries, error=error)
    return again


def _reason(verdict: Verdict) -> str:
    return "; ".join(verdict.reasons) or "no acceptable answer"


def backoff_seconds(error: ProviderError, attempt_no: int, jitter: float) -> float:
    """After how many seconds a call goes again that was sent so often."""
    usual = max(SHORTEST_DELAY, jitter * min(LONGEST_DELAY, 2.0 ** min(attempt_no, 6)))
    if error.of_rate:  # the rate that is learnt holds it back, with all the others
        return max(SHORTEST_DELAY, jitter)
    if error.retry_after is None:
        return usual
    if error.retry_after < AT_ONCE:  # "at once" again and again would never end
        return max(usual, error.retry_after)
    return min(error.retry_after, LONGEST_WAIT)  # a person may look tomorrow
