"""Wording: reasons in words, for screen, log and JSON alike; nothing decides by what it says."""

from quire.domain.reasons import StageWait, WaitKind


def wait_text(wait: StageWait | None) -> str:
    """What a stage waits for; empty where it waits for nothing."""
    match wait:
        case None:
            return ""
        case StageWait(WaitKind.UPSTREAM, stage):
            return f"waits for {stage}"
        case StageWait(WaitKind.STOP_AFTER, stage):
            return f"the run stops after {stage}"
        case _:
            return wait.problem
