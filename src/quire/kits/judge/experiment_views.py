"""What is shown of an experiment's run: before it begins, and when it comes to rest."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import typer

from quire.cli.printing import SIMULATED, model_label, note, quantity, say
from quire.cli.run_summary import (
    continue_after_stop,
    requested_stop,
    spending_words,
    status_words,
    task_counts,
)
from quire.cli.session import HELD, INTERRUPTED, session
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.domain.states import RunState

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.kits.judge.experiment import Experiment


class ExperimentView(NamedTuple):
    """A run of an experiment, and how many tasks each stage will have if nothing fails."""

    run: RunId
    experiment: "Experiment"
    planned: dict[str, int]

    def with_planned_total(self, now: Progress) -> Progress:
        """How far it is of all that is planned, not only of what is known so far."""
        return replace(now, total=max(now.total, sum(self.planned.values())))


def experiment_view(engine: "Engine", run: RunId) -> ExperimentView:
    """What is shown of an experiment's run."""
    from quire.kits.judge.experiment_runs import experiment_run
    from quire.kits.judge.recipe import planned_tasks

    experiment = experiment_run(engine, run).experiment
    return ExperimentView(run, experiment, planned_tasks(experiment))


def opening_line(view: ExperimentView, now: Progress, *, goes_on: bool) -> str:
    """What is said before the work begins."""
    models = ", ".join(model_label(model) for model in view.experiment.models)
    about = f"{view.experiment.experiment_tag}, {quantity(now.total, 'task')} with {models}"
    if goes_on and now.state == RunState.FINISHED:
        again = "--new --no-reuse asks all of it, and pays"
        return f"run {view.run} has this already, nothing is asked again; {again}"
    if goes_on:
        stands = "is held" if now.holds else "goes on"
        return f"run {view.run} {stands}, {now.done:,} done so far: {about}"
    return f"run {view.run}: {about}"


def print_summary(
    context: typer.Context, view: ExperimentView, now: Progress, code: int, forecast: int | None
) -> None:
    """Say how it ended, what it cost beside its forecast, and what to do next."""
    quiet = session(context).quiet
    if not quiet:
        simulated = all(model.startswith(f"{SIMULATED}/") for model in view.experiment.models)
        words = f"{status_words(now, code)}: {count_words(now)}"
        say(f"run {now.run_id} {words}{' · simulated' * simulated}")
        say(f"  {spending_words(now, forecast)}")
    if now.state == RunState.RUNNING and not requested_stop(now):
        for hold in now.holds:
            note(f"quire: run {now.run_id} is held ({hold.kind.value}): {hold.detail}")
    for line in () if quiet else _next_steps(now, code):
        say(f"next: {line}")


def _next_steps(now: Progress, code: int) -> Iterator[str]:
    run = now.run_id
    if code == INTERRUPTED:
        yield f"the same command goes on, or quire attach {run}"
    elif code == HELD:
        yield f"quire status {run} says more; then quire resume {run} and the same command"
    elif requested_stop(now):
        yield continue_after_stop(run)
    elif now.spent:
        yield "the same command without --limit goes on"
    if now.failed:
        yield f"quire failures {run} says why some failed; quire retry {run} asks again"
    if now.state != RunState.RUNNING:
        yield f"quire judge export {run} --to tables, or quire judge report {run} --to report"


def count_words(now: Progress) -> str:
    """How far it is, and what there was nothing to ask about."""
    untouched = now.total - sum(now.counts.values())
    if untouched and now.state != RunState.RUNNING:  # there was nothing for a critic to judge
        return f"{task_counts(now)}, {untouched:,} never asked"
    return task_counts(now)
