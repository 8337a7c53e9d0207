"""Ending: what is said, and with which exit code, when a run comes to rest."""

from typing import TYPE_CHECKING

from quire.cli.describing import progress_json
from quire.cli.edge import DONE, HELD, INTERRUPTED, SOME_FAILED
from quire.cli.outstanding import batches_out, stated, went_direct
from quire.cli.printing import SIMULATED, counted, note, print_json, say
from quire.cli.staging import summed_up
from quire.cli.watching import ended, goal
from quire.domain.ids import RunId
from quire.domain.money import dollars
from quire.domain.runs import HoldKind, Progress

if TYPE_CHECKING:
    from quire.engine import Engine

LOOKED_AT = 10_000  # events, the newest


def exit_code(now: Progress, *, interrupted: bool) -> int:
    """How a run stands, as an exit code."""
    if now.state == "running":
        if interrupted and (ended(now) < goal(now) or (now.recipe and not now.spent)):
            return INTERRUPTED
        if now.holds and not stopped_as_asked(now):
            return HELD
    return SOME_FAILED if now.failed or now.state == "cancelled" else DONE


def stopped_as_asked(now: Progress) -> str:
    """Where a run stopped because it was told to, in words; empty where more than that holds it."""
    asked = [hold.detail for hold in now.holds if hold.kind is HoldKind.STOP_AFTER]
    if now.state != "running" or len(asked) != len(now.holds) or not asked:
        return ""
    return asked[0].partition(";")[0]


def go_on_after_stop(run: RunId) -> str:
    """What lets a run go on that stopped because it was told to."""
    return f"quire resume {run}, then quire attach {run} or the same command without --stop-after"


def print_end_json(engine: "Engine", now: Progress, code: int) -> None:
    """Sum a run up for a program."""
    head, why = engine.look.head(now.run_id), engine.why(now.run_id)
    print_json(progress_json(head, now, why, engine.workers(now.run_id)) | {"exit_code": code})


def print_end(
    engine: "Engine",
    now: Progress,
    code: int,
    *,
    forecast: int | None,
    quiet: bool,
    new: bool = False,
) -> None:
    """Sum a run up and say what to do next; `new`: the same command would begin another."""
    run = now.run_id
    if not quiet:
        _sum_up(engine, now, code, forecast)
    if now.state == "running" and not stopped_as_asked(now):
        for hold in now.holds:
            note(f"quire: run {run} is held ({hold.kind.value}): {hold.detail}")
    if not quiet:
        if left := _left_out(now, code):
            say(left)
        for line in _next(now, code, new=new):
            say(f"next: {line}")


def _sum_up(engine: "Engine", now: Progress, code: int, forecast: int | None) -> None:
    run = now.run_id
    head = engine.look.head(run)
    simulated = head.model.provider == SIMULATED
    say(f"run {run} {_standing(now, code)}: {_blocks(now)}{' · simulated' * simulated}")
    if now.recipe:
        say(f"  {summed_up(now)}")
    say(f"  {_spending(now, forecast)}")
    for passed in _deadline(engine, run) if stated(head, "deadline") else ():
        say(f"  {passed}")
    told = went_direct(head, now) if code in (DONE, SOME_FAILED) else ""
    if told and not engine.batches(run):
        say(f"  {told}")


def _deadline(engine: "Engine", run: RunId) -> list[str]:
    """What a deadline that passed changed."""
    events = engine.look.events(run, LOOKED_AT)
    return [each.detail for each in events if each.kind == "deadline_passed"]


def _standing(now: Progress, code: int) -> str:
    if code == HELD:
        return "is held"
    if code == INTERRUPTED:
        return "was stopped"
    if stopped := stopped_as_asked(now):
        return stopped
    if now.state == "running":
        return f"reached its limit of {now.task_limit:,}" if now.task_limit else "is at rest"
    return "is done" if now.state == "finished" else "was cancelled"


def _blocks(now: Progress) -> str:
    noun = "task" if now.recipe else "block"
    parts = [f"{now.done:,} of {counted(now.total, noun)} done", f"{now.failed:,} failed"]
    for state in ("blocked", "cancelled"):
        if count := now.counts.get(state, 0):
            parts.append(f"{count:,} {state}")
    return ", ".join(parts)


def _spending(now: Progress, forecast: int | None) -> str:
    presumed = f" + at most {dollars(now.presumed)} presumed" if now.presumed else ""
    compared = f" ({_compared(now, forecast)})" if forecast is not None else ""
    parts = [
        counted(now.calls, "call"),
        f"{now.input_tokens:,} tokens in{_cached(now)}, {now.output_tokens:,} out",
        f"{dollars(now.cost)}{presumed}{compared}",
    ]
    if now.splits:
        parts.insert(1, counted(now.splits, "split"))
    if now.resent:
        parts.insert(1, f"{now.resent:,} sent again")
    return " · ".join(parts)


def _compared(now: Progress, forecast: int) -> str:
    """The forecast, and how far above or below it all was once it is paid."""
    if now.state != "finished":
        return f"forecast {dollars(forecast)}"
    from quire.plan.checking import told_off  # not for the commands that only look

    return told_off(forecast, now.cost)


def _cached(now: Progress) -> str:
    return f" ({now.cached_tokens:,} from the cache)" if now.cached_tokens else ""


def _left_out(now: Progress, code: int) -> str:
    """What providers still have when nobody works on a run any more."""
    if now.state != "running":
        return batches_out(now, workers=0)
    if code != INTERRUPTED or not now.batches:
        return ""
    out = counted(now.batches, "batch stays", "batches stay")
    it = "it" if now.batches == 1 else "them"
    return f"{out} with the provider; `quire attach {now.run_id}` comes back to {it}"


def _next(now: Progress, code: int, *, new: bool) -> list[str]:
    run = now.run_id
    said = []
    if code == INTERRUPTED:
        said.append(
            f"quire attach {run} goes on; the same command, with --new, would begin another run"
            if new
            else f"the same command goes on, or quire attach {run}"
        )
    stopped = code in (DONE, SOME_FAILED) and stopped_as_asked(now)
    if stopped:
        said.append(go_on_after_stop(run))
    elif now.state == "running" and now.task_limit is not None and code in (DONE, SOME_FAILED):
        said.append(f"the same command without --limit{' and --new' * new} goes on")
    if now.failed:
        said.append(f"quire failures {run} says why some failed; quire retry {run} asks again")
    if now.done and code in (DONE, SOME_FAILED):
        said.append(f"quire show {run}, or quire export {run} -o out.jsonl")
    if stale := sum(each.stale for each in now.stages):
        said.append(f"quire retry {run} --stale makes {stale:,} again that used what has changed")
    if code == HELD and (cure := _cure(now)):
        said.append(cure)
    return said


def _cure(now: Progress) -> str:
    """What lets a held run go on, as far as its holds do not say it themselves."""
    run, kinds = now.run_id, {hold.kind.value for hold in now.holds}
    told = [hold.detail for hold in now.holds]
    if any("the same command" in each for each in told):
        return ""
    if all(f"quire resume {run}" in each or f"quire retry {run}" in each for each in told):
        return f"after that, quire attach {run} goes on"
    if kinds == {"credential"}:
        return "mend that, then the same command tries again"
    if "unknown_submit" in kinds:
        return f"quire batches {run} shows which; then quire batches adopt ID says where it is"
    cure = "retry" if "undecodable" in kinds else "resume"
    return f"quire status {run}, then quire {cure} {run} and the same command"
