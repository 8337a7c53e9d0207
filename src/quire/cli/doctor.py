"""The command that says what is wrong, and what to do about it."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.edge import DONE, SOME_FAILED
from quire.cli.opening import session
from quire.cli.options import AsJson
from quire.cli.printing import counted, plain, print_json, print_table, say

if TYPE_CHECKING:
    from quire.engine.examining.findings import Finding

_MARKS = {"ok": "ok", "warning": "!", "problem": "✗"}


def doctor(
    context: typer.Context,
    offline: Annotated[
        bool, typer.Option("--offline", metavar="", help="Ask no provider.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", metavar="", help="Correct tallies that are wrong.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look for what is wrong: keys, database, clock, disk, limits, workers, runs, tallies.

    Leaves with 0 where all is well or only warnings were found, with 1 where there are problems.
    Providers are asked for something that costs nothing. Without --fix nothing is written.
    """
    from quire.engine.doctor import examine_here, is_well  # loads the database: not for --help

    told = session(context)
    findings = examine_here(told.ledger, offline=offline, mending=fix)
    if as_json:
        print_json(_as_json(findings))
    else:
        _tell(findings, quiet=told.quiet)
    raise typer.Exit(DONE if is_well(findings) else SOME_FAILED)


def _as_json(findings: "list[Finding]") -> dict[str, object]:
    return {
        "problems": _number(findings, "problem"),
        "warnings": _number(findings, "warning"),
        "checks": [
            {
                "area": each.area,
                "standing": each.standing.value,
                "said": plain(each.said),
                "fix": plain(each.fix),
            }
            for each in findings
        ],
    }


def _tell(findings: "list[Finding]", *, quiet: bool) -> None:
    shown = [each for each in findings if each.standing != "ok" or not quiet]
    rows = [(_MARKS[each.standing], each.area, _line(each)) for each in shown]
    if rows:
        print_table(("", "check", "*what was found"), rows)
    if not quiet:
        say()
        problems, warnings = _number(findings, "problem"), _number(findings, "warning")
        parts = [
            *([counted(problems, "problem")] if problems else []),
            *([counted(warnings, "warning")] if warnings else []),
        ]
        say(", ".join(parts) or f"all is well: {counted(len(findings), 'line')}, none to act on")


def _line(finding: "Finding") -> str:
    """What was found and what to do, unless that was part of it."""
    commands = re.findall(r"`[^`]+`", finding.fix)
    known = bool(commands) and all(each in finding.said for each in commands)
    return finding.said + (f" → {finding.fix}" if finding.fix and not known else "")


def _number(findings: "list[Finding]", standing: str) -> int:
    return sum(each.standing == standing for each in findings)
