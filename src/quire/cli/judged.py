"""What is said of judge experiments: how far they are, what they cost, what to do next."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import typer

from quire.cli.describing import progress_json
from quire.cli.edge import HELD, INTERRUPTED
from quire.cli.ending import stopped_as_asked
from quire.cli.opening import session
from quire.cli.printing import SIMULATED, counted, named, note, say
from quire.domain.ids import RunId
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.kits.judge.experiment import Experiment


class Shown(NamedTuple):
    """A run of an experiment, and how many tasks each stage will have if nothing fails."""

    run: RunId
    experiment: "Experiment"
    planned: dict[str, int]

    def whole(self, now: Progress) -> Progress:
        """How far it is of all that is planned, not only of what is known so far."""
        return replace(now, total=max(now.total, sum(self.planned.values())))


def shown_run(engine: "Engine", run: RunId) -> Shown:
    """What is shown of an experiment's run."""
    from quire.engine.judging import experiment_run
    from quire.kits.judge.recipe import planned_tasks

    experiment = experiment_run(engine, run).experiment
    return Shown(run, experiment, planned_tasks(experiment))


def beginning(shown: Shown, now: Progress, *, goes_on: bool) -> str:
    """What is said before the work begins."""
    models = ", ".join(named(each) for each in shown.experiment.models)
    about = f"{shown.experiment.experiment_tag}, {counted(now.total, 'task')} with {models}"
    if goes_on and now.state == "finished":
        return f"run {shown.run} has this already, nothing is asked again (--new asks, and pays)"
    if goes_on:
        stands = "is held" if now.holds else "goes on"
        return f"run {shown.run} {stands}, {now.done:,} done so far: {about}"
    return f"run {shown.run}: {about}"


def sum_up(context: typer.Context, shown: Shown, now: Progress, code: int) -> None:
    """Say how it ended and what to do next."""
    quiet = session(context).quiet
    if not quiet:
        simulated = all(each.startswith(f"{SIMULATED}/") for each in shown.experiment.models)
        words = f"{_standing(now, code)}: {tasks_through(now)}"
        say(f"run {now.run_id} {words}{' · simulated' * simulated}")
        say(f"  {spent(now)}")
    if now.state == "running" and not stopped_as_asked(now):
        for hold in now.holds:
            note(f"quire: run {now.run_id} is held ({hold.kind.value}): {hold.detail}")
    for line in () if quiet else _next(now, code):
        say(f"next: {line}")


def _standing(now: Progress, code: int) -> str:
    if now.state != "running":
        return "is done" if now.state == "finished" else "was cancelled"
    at_rest = stopped_as_asked(now) or "is at rest"
    return {HELD: "is held", INTERRUPTED: "was stopped"}.get(code, at_rest)


def _next(now: Progress, code: int) -> Iterator[str]:
    run = now.run_id
    if code == INTERRUPTED:
        yield f"the same command goes on, or quire attach {run}"
    elif code == HELD:
        yield f"quire status {run} says more; then quire resume {run} and the same command"
    elif stopped_as_asked(now):
        yield f"quire resume {run}, then the same command"
    if now.failed:
        yield f"quire failures {run} says why some failed; quire retry {run} asks again"
    if now.state != "running":
        yield f"quire judge export {run} --to tables, or quire judge report {run} --to report"


def about_experiment(experiment: "Experiment") -> list[tuple[str, str]]:
    """What an experiment is, line by line."""
    drawn = (
        f"{counted(experiment.samples, 'sample')} of {counted(len(experiment.models), 'model')},"
        f" {counted(len(experiment.evidence), 'piece')} of evidence"
        f" in {counted(experiment.bundle_count, 'bundle')}"
    )
    return [
        ("experiment", f"{experiment.experiment_tag} ({experiment.task_type})"),
        ("concept", experiment.concept),
        ("models", ", ".join(named(each) for each in experiment.models)),
        ("design", f"{drawn}, {experiment.evidence_view}, {experiment.scale_size} stages"),
    ]


def tasks_through(now: Progress) -> str:
    """How many tasks are through."""
    parts = [f"{now.done:,} of {counted(now.total, 'task')} done", f"{now.failed:,} failed"]
    for state in ("blocked", "cancelled"):
        if count := now.counts.get(state, 0):
            parts.append(f"{count:,} {state}")
    untouched = now.total - sum(now.counts.values())
    if untouched and now.state != "running":  # there was nothing for a critic to judge
        parts.append(f"{untouched:,} never asked")
    return ", ".join(parts)


def spent(now: Progress) -> str:
    """What it took so far."""
    presumed = f" + at most {dollars(now.presumed)} presumed" if now.presumed else ""
    again = f", {now.resent:,} sent again" if now.resent else ""
    return (
        f"{counted(now.calls, 'call')} answered{again} · {now.input_tokens:,} tokens in,"
        f" {now.output_tokens:,} out · {dollars(now.cost)}{presumed}"
    )


def stage_rows(shown: Shown, now: Progress) -> Iterator[list[object]]:
    """How far each stage is."""
    for stage in now.stages:
        done, failed = stage.count("done"), stage.count("failed")
        blocked, cancelled = stage.count("blocked"), stage.count("cancelled")
        owed = stage.expanded - done - failed - blocked - cancelled
        planned = shown.planned.get(stage.name, 0)
        yield [stage.name, planned, stage.expanded, done, failed, blocked, owed]


def experiment_json(engine: "Engine", shown: Shown, now: Progress) -> dict[str, object]:
    """All that `quire judge status` says, for a program."""
    head, why = engine.look.head(shown.run), engine.why(shown.run)
    experiment = shown.experiment
    return progress_json(head, now, why, engine.workers(shown.run)) | {
        "experiment_tag": experiment.experiment_tag,
        "task_type": experiment.task_type,
        "models": list(experiment.models),
        "planned": shown.planned,
        "stages": {each.name: dict(each.counts) for each in now.stages},
    }
