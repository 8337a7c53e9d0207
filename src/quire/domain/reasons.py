"""Reasons: why something waits, is held, failed or happened, as kinds with named fields."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from quire.domain.ids import TaskId


class WaitKind(StrEnum):
    """Why a stage has not begun."""

    UPSTREAM = "upstream"  # a stage that it reads is not there yet
    STOP_AFTER = "stop_after"  # the run is to stop before it
    PLUGIN = "plugin"  # a package that brought its grouping is not installed here


class StageWait(NamedTuple):
    """What a stage waits for."""

    kind: WaitKind
    stage: str = ""  # that it waits for, or that the run stops after
    problem: str = ""  # of a plugin


Fields = Mapping[str, str | int]  # of a reason, by name


class EventKind(StrEnum):
    """What happened to a run that is worth telling a person."""

    RUN_STARTED = "run_started"
    RUN_FINISHED = "run_finished"
    RUN_CANCELLED = "run_cancelled"
    LIMIT_CHANGED = "limit_changed"  # the same order was given for more, or for fewer
    PROGRESS = "progress"  # in steps, not with every answer
    REUSED = "reused"  # results of an earlier run
    STAGE_STARTED = "stage_started"
    HELD = "held"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"  # the last worker that served it, before it was through
    WORKER_LOST = "worker_lost"  # killed, or silent for too long
    WENT_ON = "went_on"  # with a new worker, after it was stopped or its worker was lost
    CANCEL_ASKED = "cancel_asked"
    STOP_AFTER_ASKED = "stop_after_asked"
    RETRIED = "retried"
    RERUN = "rerun"
    REGATED = "regated"
    WAIVED = "waived"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    UNDONE = "undone"
    KEY_REFUSED = "key_refused"
    USAGE_ESTIMATED = "usage_estimated"  # the provider does not say what calls used
    EMBEDDER_FAILED = "embedder_failed"  # passages are ranked by shared words instead
    ANSWER_ODD = "answer_odd"  # in no vendor's form
    FELL_BACK = "fell_back"  # to a weaker way, for a part of all calls that a server refuses
    PROVIDER_WAITS = "provider_waits"  # it asked not to be called for long
    DEADLINE_PASSED = "deadline_passed"
    BATCH_SUBMITTED = "batch_submitted"
    BATCH_UNKNOWN = "batch_unknown"
    BATCH_ABSENT = "batch_absent"
    BATCH_MADE_TWICE = "batch_made_twice"
    BATCH_ENDED = "batch_ended"
    BATCH_COLLECTED = "batch_collected"
    BATCH_UNANSWERED = "batch_unanswered"  # nothing but errors came of it
    BATCH_ABANDONED = "batch_abandoned"
    BATCH_CANCEL_ASKED = "batch_cancel_asked"
    OVERDRAWN = "overdrawn"  # what was in flight cost more than there was
    RECOUNTED = "recounted"  # the tallies of a run
    EXAMINED = "examined"  # a trial, taken back at once


class ResumeCause(StrEnum):
    """Why a run that was held goes on."""

    BY_HAND = "by_hand"
    NONE_FAILED = "none_failed"
    ALL_WAIVED = "all_waived"
    SAME_ORDER = "same_order"
    RETRIED = "retried"
    BATCH_SETTLED = "batch_settled"  # it is known what became of it
    DECODED = "decoded"  # what nobody could read was read after all
    FUNDED = "funded"  # there is money again


class StopCause(StrEnum):
    """Why a worker stopped before what it worked on was through."""

    INTERRUPT = "interrupt"  # Ctrl-C, or a notebook's stop button
    TERMINATE = "terminate"  # by a signal, as supervisors and logouts send it
    HANGUP = "hangup"  # its terminal was closed, or the connection to it
    PROGRAM = "program"  # the program that it works in asked for it
    ERROR = "error"  # something unforeseen ended it


class HoldKind(StrEnum):
    """Why a run does not go on; each is lifted by its own cure."""

    USER = "user"
    FUNDS = "funds"
    CREDENTIAL = "credential"
    STOP_AFTER = "stop_after"
    FAILURES = "failures"  # of tasks
    REFUSED = "refused"  # by the provider: a batch as a whole, or one answer after the other
    PLUGIN = "plugin"  # what a recipe names is not installed, or broke
    UNKNOWN_SUBMIT = "unknown_submit"
    UNDECODABLE = "undecodable"
    ADDRESS = "address"  # where calls go: nobody, or somebody else, answers there
    MODEL = "model"  # nobody there knows it
    FORM = "form"  # of calls: what is sent with each of them is not taken


# lifted when the order is given again: what was wrong is mended elsewhere, and may be by then
MENDED_OUTSIDE = (HoldKind.CREDENTIAL, HoldKind.ADDRESS, HoldKind.MODEL, HoldKind.FORM)


class HoldRemedy(StrEnum):
    """What lets a held run go on, once what it names is mended."""

    RESUME = "resume"  # or a retry: the hold says which, and a worker must be started then
    SAME_COMMAND = "same_command"  # which begins to work at once
    ADOPT = "adopt"  # a person says where a batch is
    PAY = "pay"  # there must be more money


class HoldCause(StrEnum):
    """What exactly holds a run."""

    PAUSED = "paused"
    STOP_AFTER = "stop_after"
    EARLY_FAILURES = "early_failures"  # among the first tasks of a run
    FIRST_CALLS_FAILED = "first_calls_failed"  # nothing that came was acceptable
    TASKS_FAILING = "tasks_failing"  # too many of the last ones
    ANSWERS_FAILING = "answers_failing"  # too many of the last ones
    COST_OVER_FORECAST = "cost_over_forecast"  # of the last answers
    EXACT_FAILURES = "exact_failures"  # in a run that is to be exact
    WALLET_EMPTY = "wallet_empty"  # it does not cover the next call
    BUDGET_SPENT = "budget_spent"  # it does not cover the next call
    NO_KEY = "no_key"
    KEY_NOT_SENT = "key_not_sent"  # and the provider wants one
    CALL_REFUSED = "call_refused"  # in a way that only a person can mend
    PROVIDER_WAITS = "provider_waits"  # it asked not to be called for long
    NOTHING_SUCCEEDED = "nothing_succeeded"  # only errors ever came from a model
    CALLS_REFUSED = "calls_refused"  # all of them, for what nothing that we know explains
    ANSWERS_LOST = "answers_lost"  # only dropped connections and timeouts come, which may be billed
    NOT_LISTENING = "not_listening"  # nobody at the address
    ADDRESS_WRONG = "address_wrong"
    ADDRESS_INVALID = "address_invalid"  # what a setting names is none
    MODEL_UNKNOWN = "model_unknown"
    FORM_REFUSED = "form_refused"
    BATCH_KEY_MISSING = "batch_key_missing"
    BATCH_UNREACHABLE = "batch_unreachable"  # with the only key that may ask for it
    BATCH_REFUSED = "batch_refused"
    NO_BATCHES = "no_batches"  # at this address
    BATCH_UNKNOWN = "batch_unknown"
    BATCH_FOREIGN = "batch_foreign"
    PLUGIN = "plugin"
    ANSWERS_ODD = "answers_odd"  # in no vendor's form, one after the other
    ANSWER_UNREADABLE = "answer_unreadable"
    ERROR_UNREADABLE = "error_unreadable"
    LINES_UNREADABLE = "lines_unreadable"  # of a batch

    @property
    def kind(self) -> HoldKind:
        """What lifts the hold."""
        return _KINDS_OF_CAUSES[self]

    @property
    def remedy(self) -> HoldRemedy:
        """What lets the run go on."""
        if self in (HoldCause.NO_KEY, HoldCause.ADDRESS_INVALID, HoldCause.FORM_REFUSED):
            return HoldRemedy.SAME_COMMAND
        return _REMEDIES_OF_KINDS.get(self.kind, HoldRemedy.RESUME)


_REMEDIES_OF_KINDS = {
    HoldKind.UNKNOWN_SUBMIT: HoldRemedy.ADOPT,
    HoldKind.FUNDS: HoldRemedy.PAY,
}
_KINDS_OF_CAUSES = {
    HoldCause.PAUSED: HoldKind.USER,
    HoldCause.STOP_AFTER: HoldKind.STOP_AFTER,
    HoldCause.EARLY_FAILURES: HoldKind.FAILURES,
    HoldCause.FIRST_CALLS_FAILED: HoldKind.FAILURES,
    HoldCause.TASKS_FAILING: HoldKind.FAILURES,
    HoldCause.ANSWERS_FAILING: HoldKind.FAILURES,
    HoldCause.COST_OVER_FORECAST: HoldKind.FAILURES,
    HoldCause.EXACT_FAILURES: HoldKind.FAILURES,
    HoldCause.WALLET_EMPTY: HoldKind.FUNDS,
    HoldCause.BUDGET_SPENT: HoldKind.FUNDS,
    HoldCause.NO_KEY: HoldKind.CREDENTIAL,
    HoldCause.KEY_NOT_SENT: HoldKind.CREDENTIAL,
    HoldCause.CALL_REFUSED: HoldKind.CREDENTIAL,
    HoldCause.PROVIDER_WAITS: HoldKind.REFUSED,
    HoldCause.NOTHING_SUCCEEDED: HoldKind.REFUSED,
    HoldCause.CALLS_REFUSED: HoldKind.REFUSED,
    HoldCause.ANSWERS_LOST: HoldKind.REFUSED,
    HoldCause.NOT_LISTENING: HoldKind.ADDRESS,
    HoldCause.ADDRESS_WRONG: HoldKind.ADDRESS,
    HoldCause.ADDRESS_INVALID: HoldKind.ADDRESS,
    HoldCause.MODEL_UNKNOWN: HoldKind.MODEL,
    HoldCause.FORM_REFUSED: HoldKind.FORM,
    HoldCause.BATCH_KEY_MISSING: HoldKind.CREDENTIAL,
    HoldCause.BATCH_UNREACHABLE: HoldKind.CREDENTIAL,
    HoldCause.BATCH_REFUSED: HoldKind.REFUSED,
    HoldCause.NO_BATCHES: HoldKind.REFUSED,
    HoldCause.BATCH_UNKNOWN: HoldKind.UNKNOWN_SUBMIT,
    HoldCause.BATCH_FOREIGN: HoldKind.UNKNOWN_SUBMIT,
    HoldCause.PLUGIN: HoldKind.PLUGIN,
    HoldCause.ANSWERS_ODD: HoldKind.REFUSED,
    HoldCause.ANSWER_UNREADABLE: HoldKind.UNDECODABLE,
    HoldCause.ERROR_UNREADABLE: HoldKind.UNDECODABLE,
    HoldCause.LINES_UNREADABLE: HoldKind.UNDECODABLE,
}


class TaskErrorKind(StrEnum):
    """Why a task failed, is blocked, or goes again."""

    GATES = "gates"  # refused its answer
    REFUSED = "refused"  # by the provider
    NO_ANSWER = "no_answer"  # to so many calls
    ODD_ANSWER = "odd_answer"  # so often: in no vendor's form
    BATCH_FAILED = "batch_failed"  # in so many batches
    CALL_FAILED = "call_failed"  # so often, while others were answered
    CRITIC_OBJECTED = "critic_objected"
    CRITIC_UNDECIDABLE = "critic_undecidable"  # what the critic said decides nothing
    CRITIC_FAILED = "critic_failed"
    REGATED = "regated"  # refused by the gates as they are now
    REJECTED = "rejected"  # by a person
    BLOCKED = "blocked"  # by what it reads
    UNREAD = "unread"  # there is nothing that it could read
    TEMPLATE = "template"  # it cannot be put into words
    TOO_LARGE = "too_large"  # its prompt is known not to fit the model's window
    UNKNOWN_MODEL = "unknown_model"


OBJECTIONS = (TaskErrorKind.CRITIC_OBJECTED, TaskErrorKind.CRITIC_UNDECIDABLE)
CRITIC_ERRORS = (*OBJECTIONS, TaskErrorKind.CRITIC_FAILED)


class TaskError(NamedTuple):
    """What stands against a task."""

    kind: TaskErrorKind
    text: str = ""  # what others said: gates, a provider, a critic, a person
    stage: str = ""  # the critic, or the stage of the task that blocks it
    task: TaskId | None = None  # that blocks it
    times: int = 0  # that it was sent
    tokens: int = 0  # that its prompt would take
    room: int = 0  # tokens that a prompt may take
    compressed: int = 0  # texts of it that were shortened
    tokens_before: int = 0  # that its prompt took then


class BatchTrouble(StrEnum):
    """What is the matter with a batch that is not looked at again at once."""

    NONE = "none"
    REFUSED = "refused"
    SUBMIT_UNKNOWN = "submit_unknown"
    WORKER_GONE = "worker_gone"
    KEY_BUSY = "key_busy"  # another batch of the same key is not settled yet
    KEY_MISSING = "key_missing"
    NEEDS_PERSON = "needs_person"
    NOT_FOUND_YET = "not_found_yet"
    EARLIER_FOUND = "earlier_found"  # an earlier submission of it was made
    LISTING_UNSURE = "listing_unsure"
    POLL_FAILED = "poll_failed"
    PROVIDER_SAID = "provider_said"
