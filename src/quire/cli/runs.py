"""Commands that look at runs: which there are, their status, why tasks failed, what happened."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, Every, RunNumber, flag, option
from quire.cli.printing import (
    MOST_LISTED,
    Cell,
    Narrowing,
    cell_text,
    clip,
    model_label,
    moment,
    print_json,
    print_pairs,
    print_table,
    quantity,
    say,
    short_model_name,
    shorter,
    tell_cut,
)
from quire.cli.progress_words import print_stages
from quire.cli.run_summary import (
    incomplete_words,
    mean_pack_words,
    money_words,
    reused_words,
)
from quire.cli.session import engine_and_run, engine_for
from quire.domain.data import stored_json
from quire.domain.pricing import cost_words, dollars
from quire.domain.reasons import TaskErrorKind
from quire.domain.runs import Progress
from quire.domain.states import RunState, TaskState
from quire.domain.task_wording import span_text
from quire.domain.tasks import Failure
from quire.engine.json_views.run_views import failure_group_json, progress_json
from quire.engine.progress_words import outstanding_batches, plain_words
from quire.engine.status_json import incomplete_results

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine.queries import FailureGroup, RefusedAnswer, RunHead


_RUNS_NARROWING: tuple[Narrowing, ...] = (
    ("started", shorter),
    ("model", short_model_name),
    ("started", None),
    ("model", lambda name: clip(name, 16)),
    ("model", None),
)


def runs(
    context: typer.Context,
    limit: Annotated[int, option("N", "How many.", min=1)] = 20,
    every: Every = False,
    drafts: Annotated[bool, flag("Those that drafted schemas too.", "--drafts")] = False,
    as_json: AsJson = False,
) -> None:
    """List the runs, the newest first."""
    most = MOST_LISTED if every else limit
    with engine_for(context) as engine:
        listed = engine.queries.runs(most + 1, drafts=drafts)
        tell_cut(listed, most)
        found = [
            (engine.queries.head(run.id), engine.progress(run.id), engine.workers(run.id))
            for run in listed[:most]
        ]
    if as_json:
        print_json([progress_json(head, now, (), workers) for head, now, workers in found])
    elif not found:
        say("no runs yet; `quire run --schema SCHEMA` starts one")
    else:
        _print_runs(found)


def _print_runs(found: "Sequence[tuple[RunHead, Progress, int]]") -> None:
    """A table of runs, each with what it was told, how it stands, and how many serve it."""
    recipes = any(now.is_staged for _, now, _ in found)
    blocks = all(now.noun == "block" for _, now, _ in found)
    what, of = "recipe" if recipes else "schema", ">blocks" if blocks else ">tasks"
    costly = [head for head, now, _ in found if now.cost_pico or now.presumed_pico]
    simulated = [head for head in costly if head.is_simulated]
    apart = 0 < len(simulated) < len(costly)
    columns = (">run", "state", what, "*model", of, ">done", ">failed", ">cost")
    rows = (
        (
            head.id,
            now.standing,
            head.name,
            head.model.name + (f" +{len(head.models)}" if head.models else ""),
            now.total,
            now.done,
            now.failed,
            cost_words(now.cost_pico, now.cost_pico if apart and head.is_simulated else 0)
            + (f" + ≤ {dollars(now.presumed_pico)}" if now.presumed_pico else ""),
            Cell.of_moment(head.started_at),
        )
        for head, now, _ in found
    )
    print_table((*columns, "started"), rows, narrowing=_RUNS_NARROWING)
    if simulated and not apart:
        say("\nsimulated: no money was spent")


def status(
    context: typer.Context,
    run: RunNumber = None,
    policy: Annotated[
        bool, flag("Also the policy, each value with its source.", "--policy")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a run stands, and why nothing moves when nothing moves."""
    from quire.engine.run_time_left import read_time_left, time_left_json, time_left_words

    with engine_and_run(context, run) as (engine, number):
        head, now = engine.queries.head(number), engine.progress(number)
        why, workers = engine.stall_reasons(number), engine.workers(number)
        views = engine.batches(number) if now.batches else []
        own = engine.stage_policies(number) if policy else {}
        incomplete = incomplete_results(engine, now)
        left = read_time_left(engine, head, now, workers, views)
    if as_json:
        extra = {"policy": head.policy, "stage_policies": own} if policy else {}
        besides = {"incomplete": incomplete, "time_left": time_left_json(left)}
        print_json(progress_json(head, now, why, workers) | besides | extra)
        return
    pairs = _status_pairs(head, now, workers, views)
    print_pairs([*pairs, ("time left", time_left_words(left))])
    if now.is_staged:
        say()
        print_stages(now)
    lines = [*map(plain_words, why), *filter(None, [incomplete_words(now, incomplete)])]
    for no, line in enumerate(lines):
        say(line if no else f"\n{line}")
    if policy:
        say()
        rows = [(name, *_value_and_source(value)) for name, value in head.policy.items()]
        for stage, stage_policy in own.items():
            rows += [
                (name, cell_text(value), f"stage {stage}") for name, value in stage_policy.items()
            ]
        print_table(("policy", "value", "from"), rows)


def _status_pairs(
    head: "RunHead", now: Progress, workers: int, views: "Sequence[BatchView]"
) -> list[tuple[str, str]]:
    simulated = f" ({head.model.note})" if head.model.note else ""
    counts = ", ".join(f"{count:,} {state}" for state, count in now.counts.items())
    untouched = now.total - sum(now.counts.values())
    fate = "to come" if now.state == RunState.RUNNING else "never asked"
    blocks = ", ".join(part for part in (counts, untouched and f"{untouched:,} {fate}") if part)
    presumed = (
        f" + at most {dollars(now.presumed_pico)} presumed for calls whose outcome or usage is"
        " unknown"
        if now.presumed_pico
        else ""
    )
    return [
        (f"run {now.run_id}", now.standing),
        (head.kind, head.name),
        ("model", ", ".join([f"{head.model.name}{simulated}", *map(model_label, head.models)])),
        (f"{now.noun}s", f"{now.total:,}: {blocks}" if blocks else f"{now.total:,}"),
        ("limit", _limit_words(now)),
        (
            "packs",
            f"{now.packs:,} made, {mean_pack_words(now)} each on average,"
            f" {quantity(now.splits, 'split')}",
        ),
        ("calls", call_counts(now)),
        ("batches", outstanding_batches(now, workers, views)),
        ("tokens", f"{now.input_tokens:,} in, {now.output_tokens:,} out"),
        *([("cached", f"{now.cached_tokens:,} of the tokens in")] if now.cached_tokens else []),
        ("cost", f"{dollars(now.cost_pico)}{presumed}{' · simulated' * head.is_simulated}"),
        ("money", money_words(now.money) if now.money else ""),
        *([("reused", reused_words(now))] if now.reused else []),
        ("started", moment(head.started_at)),
        ("ended", moment(head.ended_at)),
    ]


def call_counts(now: Progress) -> str:
    """How many calls were answered, sent again and cut off."""
    counts = f"{now.calls:,} answered, {now.resent:,} sent again"
    return f"{counts}, {now.cut_off:,} cut off with their worker" if now.cut_off else counts


def _limit_words(now: Progress) -> str:
    if now.task_limit is None:
        return ""
    return f"{now.task_limit:,} {'tasks of its first stages' if now.is_staged else now.noun + 's'}"


def _value_and_source(value: object) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        return cell_text(value), ""
    setting = value.get("value")
    return ("–" if setting is None else cell_text(setting)), cell_text(value.get("source"))


TASKS_SHOWN = 5  # of each cause of failure
EXAMPLES_IN_JSON = 200  # whose refused answer is told, of each
TITLE, ANSWER = 32, 300  # characters of a document's title, and of a refused answer


def failures(
    context: typer.Context,
    run: RunNumber = None,
    blocked: Annotated[
        bool, flag("In their place, what is blocked by what failed.", "--blocked")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show why blocks failed, the commonest cause first; of a recipe by stage."""
    with engine_and_run(context, run) as (engine, number):
        groups = engine.queries.failures(number, blocked=blocked)
        now = engine.progress(number)
        shown = EXAMPLES_IN_JSON if as_json else 1
        examples = [failed.task_id for group in groups for failed in group.failures[:shown]]
        refused = {} if blocked else engine.queries.refused_answers(examples)
    if as_json:
        print_json([failure_group_json(group, refused, staged=now.is_staged) for group in groups])
        return
    hidden = 0 if blocked else now.counts.get(TaskState.BLOCKED, 0)
    if not groups:
        say(f"run {number} has no {'blocked' if blocked else 'failed'} {now.noun}s")
    else:
        _print_groups(groups, now)
        for group in groups if not blocked else ():
            _print_example(group.failures[0], refused[group.failures[0].task_id])
        first = groups[0].failures[0].task_id
        shows = f"quire prompt {first} shows what was asked"
        again = f"quire retry {number} asks again{' what failed' if blocked else ''}"
        say(f"\nnext: {again}" if blocked else f"\nnext: {shows}; {again}")
    if hidden:
        say(f"{hidden:,} more are blocked by these: quire failures {number} --blocked")


def _print_groups(groups: "list[FailureGroup]", now: Progress) -> None:
    rows = [
        (
            *([group.stage] if now.is_staged else []),
            len(group.failures),
            group.cause,
            _first_places(group.failures),
        )
        for group in groups
    ]
    first = ["stage"] if now.is_staged else []
    print_table((*first, f">{now.noun}s", "*cause", "*where"), rows)


def _print_example(failure: Failure, refused: "RefusedAnswer") -> None:
    """What the first of a group was answered, and what a critic said of it."""
    critique = _json_text(refused.critique)
    say()
    print_pairs(
        [
            (f"task {failure.task_id}", _place(failure)),
            ("why", failure.error if failure.error_kind == TaskErrorKind.TOO_LARGE else ""),
            ("refused", clip(_json_text(refused.record), ANSWER)),
            (refused.critic, clip(critique, ANSWER)),
        ]
    )


def _json_text(value: object) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _first_places(failures: Sequence[Failure]) -> str:
    """The first tasks of a cause, each with the document and the block that it is about."""
    more = len(failures) - TASKS_SHOWN
    listed = "; ".join(
        f"{failure.task_id}: {_place(failure)}" for failure in failures[:TASKS_SHOWN]
    )
    return f"{listed}; and {more:,} more" if more > 0 else listed


def _place(failure: Failure) -> str:
    document = clip(failure.title or failure.source, TITLE)
    if failure.block_index is not None:
        return f"{document}, block {failure.block_index}"
    if span := span_text(stored_json(failure.part)):
        return f"{document}, {clip(span, TITLE)}"
    if failure.reads is not None:
        return f"{document}, result of task {failure.reads}".removeprefix(", ")
    return document or failure.block_uid or "the run"
