"""Commands of several experiments: compare what was run, or vary settings, run all and compare."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli import options as of
from quire.cli.live_progress import drive
from quire.cli.order_options import Budget, Wallet
from quire.cli.printing import note, print_json, print_table, quantity, say
from quire.cli.run_summary import exit_code
from quire.cli.session import HELD, engine_for, print_outcome, session
from quire.domain.data import Json
from quire.domain.pricing import dollars, from_usd
from quire.domain.states import RunState
from quire.kits.judge.experiment_views import experiment_view, opening_line, print_summary

if TYPE_CHECKING:
    from quire.engine import Engine
    from quire.kits.judge.comparison import ExperimentComparison

Which = Annotated[
    list[str], of.argument("RUN|FILE…", "Runs by number, or experiments' files; two or more.")
]
Folder = Annotated[Path, of.option("FOLDER", "Where the page and its files go.", "--to")]
Vary = Annotated[
    list[str],
    of.option(
        "SETTING=VALUE,VALUE",
        "A setting and its values; of a list, parts are joined by +, and none leaves it out;"
        " may be repeated, and all combinations are made.",
        "--vary",
    ),
]


def compare(
    context: typer.Context,
    which: Which,
    to: Folder = Path("comparison"),
    as_json: of.AsJson = False,
) -> None:
    """Compare experiments that were run: what varies, contrasts with intervals, a page."""
    from quire.kits.judge.chart_drawing import require_matplotlib

    require_matplotlib()  # before anything is read
    with engine_for(context) as engine:
        comparison = _read_comparison(engine, which)
    _write_page(context, comparison, to, as_json=as_json)


def _read_comparison(engine: "Engine", which: list[str]) -> "ExperimentComparison":
    from quire.kits.judge.comparison import compare_experiments
    from quire.kits.judge.experiment_runs import find_experiment_run, rows_of

    runs = [find_experiment_run(engine, name) for name in which]
    return compare_experiments([rows_of(engine, run) for run in dict.fromkeys(runs)])


def _write_page(
    context: typer.Context,
    comparison: "ExperimentComparison",
    to: Path,
    *,
    as_json: bool,
    **more: object,
) -> None:
    from quire.kits.judge.comparison_page import write_comparison

    written = write_comparison(comparison, to)
    clear = sum(bool(contrast.as_row()["excludes_zero"]) for contrast in comparison.contrasts)
    standing = sum(bool(contrast.stands_out) for contrast in comparison.contrasts)
    outcome = (
        f"compared {quantity(len(comparison.arms), 'experiment')}"
        f" by {quantity(len(comparison.contrasts), 'contrast')}, {clear:,} with intervals"
        f" without 0, {standing:,} of which stand out among so many; open {written[0]}"
    )
    facts = {"folder": str(to), "files": [str(path) for path in written], **more}
    print_outcome(context, as_json, {**facts, **comparison.as_json()}, outcome)


def sweep(  # noqa: PLR0913 - all that a person may say of a family
    context: typer.Context,
    *,
    file: Annotated[Path, of.argument("FILE", "The experiment that is varied.")],
    vary: Vary,
    to: Annotated[
        Path | None,
        of.option("FOLDER", "Where files and page go; by default FILE-sweep beside it.", "--to"),
    ] = None,
    plan: Annotated[
        bool, of.flag("Make the files, say what they cost, and stop.", "--plan")
    ] = False,
    wallet: Wallet = None,
    budget: Budget = None,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Vary settings of an experiment, run all combinations, and compare them; killed, it goes on.

    What does not differ is asked once: views, and the rubrics of one scale.
    """
    from quire.kits.judge.chart_drawing import require_matplotlib
    from quire.kits.judge.family_files import parse_variations, write_family

    require_matplotlib()  # before anything is paid for
    folder = to or file.parent / f"{file.stem}-sweep"
    paths = write_family(file, parse_variations(vary), folder)
    with engine_for(context, make=True) as engine:
        if plan:
            _print_plan(engine, paths, policy, as_json=as_json)
            return
        funds: dict[str, Any] = {"wallet": wallet, "budget": budget}
        code = _run_all(context, engine, paths, funds, policy)
        if code:
            raise typer.Exit(code)
        comparison = _read_comparison(engine, [str(path) for path in paths])
    experiments = [str(path) for path in paths]
    _write_page(context, comparison, folder, as_json=as_json, experiments=experiments)


def _print_plan(
    engine: "Engine", paths: list[Path], policy: dict[str, Json], *, as_json: bool
) -> None:
    """What each would cost if it were run alone, and together without what they share."""
    from quire.engine.json_views.plan_views import plan_json
    from quire.kits.judge.family_plans import plan_family

    family = plan_family(engine, paths, **policy)
    if as_json:
        print_json(
            {
                "experiments": [
                    {"file": str(member.path), "shared_usd": member.shared / 10**12}
                    | {"plan": plan_json(member.plan)}
                    for member in family
                ],
                "cost_usd": sum(member.to_pay for member in family) / 10**12,
            }
        )
        return
    rows = [
        [
            member.path.name,
            member.plan.tasks,
            *map(dollars, (member.plan.to_ask.cost, member.shared, member.to_pay)),
        ]
        for member in family
    ]
    print_table(("experiment", ">tasks", ">alone", ">shared", ">to pay"), rows)
    say()
    total = sum(member.to_pay for member in family)
    say(f"together {dollars(total)}; `quire judge sweep` without --plan runs them")


def _run_all(
    context: typer.Context,
    engine: "Engine",
    paths: list[Path],
    funds: dict[str, Any],
    policy: dict[str, Json],
) -> int:
    """Carry the experiments out, one after the other; the first code that is not 0 ends it."""
    from quire.kits.judge.experiment_runs import start_experiment

    left = None if funds["budget"] is None else from_usd(funds["budget"])
    for number, path in enumerate(paths, 1):
        if left == 0:
            note(f"quire: the budget is used up before {path.name}; give more with --budget")
            return HELD
        settings: dict[str, Any] = {**policy, "wallet": funds["wallet"]}
        if left is not None:
            settings["budget_usd"] = Decimal(left).scaleb(-12)
        handle = start_experiment(engine, path, **settings)
        view = experiment_view(engine, handle.id)
        start = view.with_planned_total(engine.progress(handle.id))
        opening = f"{number} of {len(paths)} · {opening_line(view, start, goes_on=handle.goes_on)}"
        if handle.progress().state == RunState.FINISHED:
            note(opening)
            interrupted = False
        else:
            interrupted = drive(context, engine, opening, start, transform=view.with_planned_total)
        now = view.with_planned_total(handle.progress())
        code = exit_code(now, interrupted=interrupted)
        if now.state != RunState.FINISHED:
            print_summary(context, view, now, code, engine.spend.forecast_cost(handle.id))
            return code or HELD
        if left is not None:
            left = max(0, left - now.cost_pico - now.presumed_pico)
        if not session(context).quiet:
            note(f"{path.name}: run {handle.id}, {dollars(now.cost_pico + now.presumed_pico)}")
    return 0
