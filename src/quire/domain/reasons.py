"""Reasons: why something waits, is held, failed or happened, as kinds with named fields."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


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
    RUN_FINISHED = "run_finish"
    RUN_CANCELLED = "run_cancel"
    STAGE_STARTED = "stage_started"
    HELD = "held"
    PAUSED = "paused"
    RESUMED = "resumed"
    CANCEL_ASKED = "cancel_asked"
    STOP_AFTER_ASKED = "stop_after_asked"
    RETRIED = "retried"
    RERUN = "rerun"
    REGATED = "regated"
    WAIVED = "waived"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    KEY_REFUSED = "key_refused"
    DEADLINE_PASSED = "deadline_passed"
    BATCH_SUBMITTED = "batch_submitted"
    BATCH_UNKNOWN = "batch_unknown"
    BATCH_ABSENT = "batch_absent"
    BATCH_MADE_TWICE = "batch_made_twice"
    BATCH_ENDED = "batch_ended"
    BATCH_COLLECTED = "batch_collected"
    BATCH_ABANDONED = "batch_abandoned"
    BATCH_CANCEL_ASKED = "batch_cancel_asked"
    RECOUNTED = "recounted"  # the tallies of a run
    EXAMINED = "examined"  # a trial, taken back at once


class ResumeCause(StrEnum):
    """Why a run that was held goes on."""

    BY_HAND = "by_hand"
    NONE_FAILED = "none_failed"
    ALL_WAIVED = "all_waived"
    SAME_ORDER = "same_order"
