"""The command that lists a run's results by number, or writes them as a tree of readable files."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, Every, Only, OnlyStage, RunNumber, Since, option
from quire.cli.printing import (
    MOST_LISTED,
    clip,
    file_watcher,
    note,
    print_json,
    print_list,
    quantity,
    say,
    tell_cut,
)
from quire.cli.session import SOME_FAILED, engine_and_run, session
from quire.domain.ids import RunId
from quire.domain.plain_text import plain_text

if TYPE_CHECKING:
    from quire.engine import ResultTree
    from quire.engine.lineage import ListedResult

MOST_LEFT = 10  # files named that were left as they are
TITLE = 40  # characters


def results(
    context: typer.Context,
    run: RunNumber = None,
    *,
    to: Annotated[
        str | None, option("DIR", "Write them as readable files, with an index.", "--to")
    ] = None,
    stage: OnlyStage = None,
    only: Only = "accepted",
    since: Since = None,
    limit: Annotated[int, option("N", "How many are listed.", min=1)] = 100,
    every: Every = False,
    as_json: AsJson = False,
) -> None:
    """List a run's accepted results by number, or write them as readable files (--to DIR)."""
    from quire.engine import row_filter

    chosen = row_filter(only, since)
    with engine_and_run(context, run) as (engine, number):
        if to is None:
            most = MOST_LISTED if every else limit
            found = engine.lineages.results_of_run(number, stage, most + 1, chosen)
            _print_results(number, found, most, as_json=as_json)
            return
        with file_watcher("writing", session(context).quiet) as watch:
            tree = engine.commands.write_results(number, to, stage, watch, chosen)
    if as_json:
        print_json({"run": number, **asdict(tree), "folder": str(tree.folder)})
    else:
        _tell(number, tree, quiet=session(context).quiet)
    if tree.left:
        raise typer.Exit(SOME_FAILED)


def _print_results(
    run: RunId, found: "Sequence[ListedResult]", most: int, *, as_json: bool
) -> None:
    tell_cut(found, most)
    found = found[:most]
    rows = (
        (row.result, row.stage, row.task, row.model, clip(row.about, TITLE), ", ".join(row.marks))
        for row in found
    )
    nothing = f"run {run} has no results yet; `quire status {run}` says how it stands"
    columns = (">result", "stage", ">task", "model", "~about", "*notes")
    print_list(as_json, [row._asdict() for row in found], nothing, columns, rows)


def _tell(run: RunId, tree: "ResultTree", *, quiet: bool) -> None:
    for path in tree.left[:MOST_LEFT]:
        note(f"left as it is, because it is not as Quire wrote it: {plain_text(path)}")
    if len(tree.left) > MOST_LEFT:
        note(f"and {len(tree.left) - MOST_LEFT:,} more; --json names all")
    if quiet:
        return
    parts = [f"{tree.written:,} written", f"{tree.unchanged:,} unchanged"]
    parts += [f"{tree.removed:,} removed"] if tree.removed else []
    parts += [quantity(len(tree.left), "left as it is", "left as they are")] if tree.left else []
    say(f"run {run}: {quantity(tree.results, 'result')} in {tree.folder}: {', '.join(parts)}")
