"""A run's status and its end: as JSON, in a few lines with what to do next, as an exit code."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quire.cli.live_progress import ended_count, goal
from quire.cli.printing import SIMULATED, model_label, note, print_json, quantity, say
from quire.cli.progress_words import (
    direct_reason,
    filled_stage,
    policy_value,
    stages_summary,
)
from quire.cli.session import DONE, HELD, INTERRUPTED, SOME_FAILED
from quire.domain.ids import RunId
from quire.domain.pricing import dollars
from quire.domain.reasons import MENDED_OUTSIDE, EventKind, HoldKind, HoldRemedy
from quire.domain.runs import Progress
from quire.domain.states import RunState, TaskState
from quire.domain.wording import stop_text
from quire.engine.json_views.run_views import mean_pack, progress_json
from quire.engine.progress_words import outstanding_batches
from quire.engine.status_json import incomplete_results

if TYPE_CHECKING:
    from quire.domain.wallets import RunMoney
    from quire.engine import Engine
    from quire.engine.queries import RunHead


def money_words(money: "RunMoney") -> str:
    """What a run may spend, in one line."""
    budget = [] if money.budget is None else [f"budget {dollars(money.budget)}"]
    wallet = [f"wallet {money.wallet}"] if money.wallet else []
    spent, reserved, left = map(dollars, (money.spent, money.reserved, money.left))
    return ", ".join([*budget, *wallet, f"{spent} spent, {reserved} reserved, {left} left"])


def model_labels(head: "RunHead") -> str:
    """Who is asked, all of them."""
    return ", ".join(model_label(name) for name in (head.model.name, *head.models))


def mean_pack_words(now: Progress) -> str:
    """The same in words."""
    mean = mean_pack(now)
    return f"{mean:g} {now.noun if mean == 1 else now.noun + 's'}"


MAX_EVENTS_READ = 10_000  # events, the newest


def exit_code(now: Progress, *, interrupted: bool) -> int:
    """How a run stands, as an exit code."""
    if now.state == RunState.RUNNING:
        if interrupted and (ended_count(now) < goal(now) or (now.is_staged and not now.spent)):
            return INTERRUPTED
        if now.holds and not requested_stop(now):
            return HELD
    return SOME_FAILED if now.failed or now.state == RunState.CANCELLED else DONE


def requested_stop(now: Progress) -> str:
    """Where a run stopped because it was told to, in words; empty where more than that holds it."""
    kinds = {hold.kind for hold in now.holds}
    if now.state != RunState.RUNNING or kinds != {HoldKind.STOP_AFTER}:
        return ""
    stage = now.holds[0].fields.get("stage")
    return stop_text(str(stage)) if stage else "stopped as asked"


def continue_after_stop(run: RunId) -> str:
    """What lets a run go on that stopped because it was told to."""
    return f"quire resume {run}, then quire attach {run} or the same command without --stop-after"


def incomplete_words(now: Progress, incomplete: Mapping[str, int]) -> str:
    """The same in words, with what helps; empty where all are whole."""
    count = sum(incomplete.values())
    if not count:
        return ""
    are = quantity(count, "result", "results") + (" is" if count == 1 else " are")
    return (
        f"{are} incomplete ({', '.join(incomplete)}): quire results {now.run_id} marks which; more"
        " max_tokens or max_continuations help"
    )


def print_end_json(engine: "Engine", now: Progress, code: int) -> None:
    """Sum a run up for a program."""
    head, why = engine.queries.head(now.run_id), engine.stall_reasons(now.run_id)
    extra = {"incomplete": incomplete_results(engine, now), "exit_code": code}
    print_json(progress_json(head, now, why, engine.workers(now.run_id)) | extra)


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
    if now.state == RunState.RUNNING and not requested_stop(now):
        for hold in now.holds:
            note(f"quire: run {run} is held ({hold.kind.value}): {hold.detail}")
    if not quiet:
        if left := _outstanding_note(now, code):
            say(left)
        for line in _next_steps(now, code, new=new):
            say(f"next: {line}")


def _sum_up(engine: "Engine", now: Progress, code: int, forecast: int | None) -> None:
    run = now.run_id
    head = engine.queries.head(run)
    simulated = head.model.provider == SIMULATED
    say(f"run {run} {status_words(now, code)}: {task_counts(now)}{' · simulated' * simulated}")
    if now.is_staged:
        say(f"  {stages_summary(now)}")
        if incomplete := incomplete_words(now, incomplete_results(engine, now)):
            say(f"  {incomplete}")
    say(f"  {spending_words(now, forecast)}")
    for passed in _deadline_events(engine, run) if policy_value(head, "deadline") else ():
        say(f"  {passed}")
    reason = direct_reason(head, now) if code in (DONE, SOME_FAILED) else ""
    if reason and not engine.batches(run):
        say(f"  {reason}")


def _deadline_events(engine: "Engine", run: RunId) -> list[str]:
    """What a deadline that passed changed."""
    events = engine.queries.events(run, MAX_EVENTS_READ)
    return [event.detail for event in events if event.kind == EventKind.DEADLINE_PASSED]


def status_words(now: Progress, code: int) -> str:
    """How a run stands, or how it ended."""
    if code == HELD:
        return "is held"
    if code == INTERRUPTED:
        return "was stopped"
    if stopped := requested_stop(now):
        return stopped
    if now.state == RunState.RUNNING:
        return f"reached its limit of {now.task_limit:,}" if now.task_limit else "is at rest"
    return "is done" if now.state == RunState.FINISHED else "was cancelled"


def task_counts(now: Progress) -> str:
    """How many of its tasks are through."""
    parts = [f"{now.done:,} of {quantity(now.total, now.noun)} done", f"{now.failed:,} failed"]
    for state in (TaskState.BLOCKED, TaskState.CANCELLED):
        if count := now.counts.get(state, 0):
            parts.append(f"{count:,} {state}")
    return ", ".join(parts)


def spending_words(now: Progress, forecast: int | None) -> str:
    """What a run took so far, beside what it was forecast to."""
    presumed = f" + at most {dollars(now.presumed_pico)} presumed" if now.presumed_pico else ""
    compared = f" ({_forecast_comparison(now, forecast)})" if forecast is not None else ""
    parts = [
        quantity(now.calls, "call"),
        f"{now.input_tokens:,} tokens in{_cached_words(now)}, {now.output_tokens:,} out",
        f"{dollars(now.cost_pico)}{presumed}{compared}",
    ]
    if now.splits:
        parts.insert(1, quantity(now.splits, "split"))
    if now.resent:
        parts.insert(1, f"{now.resent:,} sent again")
    if now.reused:
        parts.append(reused_words(now))
    return " · ".join(parts)


def reused_words(now: Progress) -> str:
    """How many answers were there before, and what those had cost."""
    return f"{now.reused:,} answered before: {dollars(now.saved_pico)} saved"


def _forecast_comparison(now: Progress, forecast: int) -> str:
    """The forecast, and how far above or below it all was once it is paid."""
    if now.state != RunState.FINISHED:
        return f"forecast {dollars(forecast)}"
    from quire.engine import describe_forecast_error  # not for the commands that only look

    return describe_forecast_error(forecast, now.cost_pico)


def _cached_words(now: Progress) -> str:
    return f" ({now.cached_tokens:,} from the cache)" if now.cached_tokens else ""


def _outstanding_note(now: Progress, code: int) -> str:
    """What providers still have when nobody works on a run any more."""
    if now.state != RunState.RUNNING:
        return outstanding_batches(now, workers=0)
    if code != INTERRUPTED or not now.batches:
        return ""
    out = quantity(now.batches, "batch stays", "batches stay")
    it = "it" if now.batches == 1 else "them"
    return f"{out} with the provider; `quire attach {now.run_id}` comes back to {it}"


def _next_steps(now: Progress, code: int, *, new: bool) -> list[str]:
    run = now.run_id
    said = []
    if code == INTERRUPTED:
        said.append(
            f"quire attach {run} goes on; the same command, with --new, would begin another run"
            if new
            else f"the same command goes on, or quire attach {run}"
        )
    stopped = code in (DONE, SOME_FAILED) and requested_stop(now)
    if stopped:
        said.append(continue_after_stop(run))
    elif (
        now.state == RunState.RUNNING and now.task_limit is not None and code in (DONE, SOME_FAILED)
    ):
        said.append(f"the same command without --limit{' and --new' * new} goes on")
    if now.failed:
        said.append(f"quire failures {run} says why some failed; quire retry {run} asks again")
    if now.done and code in (DONE, SOME_FAILED):
        files = f" quire results {run} --to DIR," if now.is_staged else ""
        filled = filled_stage(now)
        of = f"{run} --stage {filled.name}" if filled else f"{run}"
        said.append(f"quire show {of},{files} or quire export {of} -o out.jsonl")
    if stale := sum(stage.stale for stage in now.stages):
        said.append(f"quire retry {run} --stale makes {stale:,} again that used what has changed")
    if code == HELD and (remedy := _hold_remedy(now)):
        said.append(remedy)
    return said


def _hold_remedy(now: Progress) -> str:
    """What lets a held run go on, as far as its holds do not say it themselves."""
    run, kinds = now.run_id, {hold.kind for hold in now.holds}
    remedies = {hold.cause and hold.cause.remedy for hold in now.holds}
    if HoldRemedy.SAME_COMMAND in remedies:
        return ""
    if remedies <= {HoldRemedy.RESUME, HoldRemedy.PAY}:
        return f"after that, quire attach {run} goes on"
    if kinds <= set(MENDED_OUTSIDE):
        return "mend that, then the same command tries again"
    if HoldKind.UNKNOWN_SUBMIT in kinds:
        return f"quire batches {run} shows which; then quire batches adopt ID says where it is"
    command = "retry" if HoldKind.UNDECODABLE in kinds else "resume"
    return f"quire status {run}, then quire {command} {run} and the same command"
