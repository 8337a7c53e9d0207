"""Chains: whether an answer that is not whole is gone on with, or ends as it stands."""

from typing import NamedTuple

from quire.domain.continuation import AnswerPiece, Gap, may_declare
from quire.domain.gates import CUT_OFF, Blame, Judgement, ResponseJudgement, Verdict
from quire.domain.requests import AnsweredAttempt, Stop
from quire.domain.states import TaskState
from quire.domain.task_wording import ended_text, gap_text, limit_text
from quire.domain.tasks import Member
from quire.pipeline.answers.judging import GivenAnswer, judge_pieces, whole_answer
from quire.pipeline.contexts import LaneContext
from quire.planning.continuation import ChainStep, after_piece
from quire.planning.sizing import prompt_room

INSTRUCTION_TOKENS = 150  # of the words that ask to go on, at most


class ChainMove(NamedTuple):
    """What is said of an answer, and the piece that it is, if it is gone on with."""

    judged: ResponseJudgement
    piece: AnswerPiece | None = None


def next_move(
    given: GivenAnswer, member: Member, judged: ResponseJudgement, *, last: bool
) -> ChainMove:
    """Decide about the answer to a lone task; of most there is nothing to decide."""
    context, answered, chain = given.context, given.answered, given.chain
    policy = context.policy
    usual = judged.clean and not chain and not _may_declare(context)
    if usual or not policy.max_continuations or answered.stop is Stop.REFUSAL:
        return ChainMove(_say_limit(given, judged))
    whole = whole_answer(given)
    if whole.gap is None:
        return ChainMove(_fail_if_cut(given, judged))
    step = after_piece(
        continued=len(chain), added=whole.added, fits=_fits(context, answered), policy=policy
    )
    if step is ChainStep.GO_ON:
        return _go_on(given, member, whole.gap, last=last)
    if not chain and answered.max_output < context.facts.max_output:
        return ChainMove(judged)  # more room is all it needs
    ended = judge_pieces(given, [member])
    if step is not ChainStep.FULL:
        return ChainMove(ended)
    capped = len(chain) >= policy.max_continuations
    return ChainMove(_fail_refused(ended, ended_text(whole.gap, len(chain) + 1, capped=capped)))


def _may_declare(context: LaneContext) -> bool:
    """Whether records of a stage can say that they are not complete."""
    schema = context.stage.schema
    return schema is not None and may_declare(schema.properties)


def _fits(context: LaneContext, answered: AnsweredAttempt) -> bool:
    """Whether all that was said, and the question, still leave room for an answer."""
    facts = context.facts
    return facts.window_guessed or answered.next_input + INSTRUCTION_TOKENS <= prompt_room(facts)


def _go_on(given: GivenAnswer, member: Member, gap: Gap, *, last: bool) -> ChainMove:
    if not last or member.state != TaskState.PACKED:  # another call about it is out
        return ChainMove(_refuse(member, CUT_OFF))
    no, attempt = len(given.chain), given.answered.attempt_id
    piece = AnswerPiece(member.task_id, member.version, no, attempt, gap)
    return ChainMove(_refuse(member, f"{gap_text(gap)}; the next call goes on"), piece)


def _refuse(member: Member, reason: str) -> ResponseJudgement:
    return ResponseJudgement(
        {member.wire_id: Verdict(Judgement.RETRY, None, (reason,), Blame.PACK)}
    )


def _fail_refused(judged: ResponseJudgement, reason: str) -> ResponseJudgement:
    """Asked again, it would only end where it has ended."""
    return judged._replace(
        verdicts={
            uid: verdict
            if verdict.judgement is Judgement.ACCEPT
            else verdict._replace(judgement=Judgement.FAIL, reasons=(reason,))
            for uid, verdict in judged.verdicts.items()
        }
    )


def _fail_if_cut(given: GivenAnswer, judged: ResponseJudgement) -> ResponseJudgement:
    """Fail where nothing came before the limit, as of tools: asked again, nothing would come."""
    if not _is_cut_for_good(given):
        return judged
    return _fail_refused(judged, limit_text(given.answered.max_output))


def _is_cut_for_good(given: GivenAnswer) -> bool:
    """Whether an answer was cut off, and no other call would have more room."""
    cut_off = given.answered.stop is Stop.LENGTH
    return cut_off and given.answered.max_output >= given.context.facts.max_output


def _say_limit(given: GivenAnswer, judged: ResponseJudgement) -> ResponseJudgement:
    """Say at which limit an answer was cut off, where no other call would have more room."""
    if not _is_cut_for_good(given):
        return judged
    reasons = (limit_text(given.answered.max_output),)
    return judged._replace(
        verdicts={
            uid: verdict._replace(reasons=reasons)
            if verdict.blame is Blame.PACK and verdict.judgement is Judgement.RETRY
            else verdict
            for uid, verdict in judged.verdicts.items()
        }
    )
