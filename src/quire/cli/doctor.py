"""The command that says what is wrong, and what to do about it."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, flag
from quire.cli.printing import print_json, print_table, quantity, say
from quire.cli.session import DONE, SOME_FAILED, session
from quire.domain.plain_text import plain_text

if TYPE_CHECKING:
    from quire.engine.doctor.findings import Finding

_MARKS = {"ok": "ok", "warning": "!", "problem": "✗"}


def doctor(
    context: typer.Context,
    offline: Annotated[bool, flag("Ask no provider.", "--offline")] = False,
    fix: Annotated[bool, flag("Correct tallies that are wrong.", "--fix")] = False,
    as_json: AsJson = False,
) -> None:
    """Look for what is wrong: keys, database, clock, disk, limits, workers, runs, tallies.

    Leaves with 0 where all is well or only warnings were found, with 1 where there are problems.
    Providers are asked for something that costs nothing. Without --fix nothing is written.
    """
    from quire.engine.doctor.checkup import (
        examine_folder,
        is_well,
    )  # loads the database: not for --help

    settings = session(context)
    findings = examine_folder(settings.ledger, offline=offline, fix=fix)
    if as_json:
        print_json(_findings_json(findings))
    else:
        _print_findings(findings, quiet=settings.quiet)
    raise typer.Exit(DONE if is_well(findings) else SOME_FAILED)


def _findings_json(findings: "list[Finding]") -> dict[str, object]:
    return {
        "problems": _count_findings(findings, "problem"),
        "warnings": _count_findings(findings, "warning"),
        "checks": [
            {
                "area": finding.area,
                "standing": finding.severity.value,
                "said": plain_text(finding.message),
                "fix": plain_text(finding.fix),
            }
            for finding in findings
        ],
    }


def _print_findings(findings: "list[Finding]", *, quiet: bool) -> None:
    visible = [finding for finding in findings if finding.severity != "ok" or not quiet]
    rows = [(_MARKS[problem.severity], problem.area, _finding_line(problem)) for problem in visible]
    if rows:
        print_table(("", "check", "*what was found"), rows)
    if not quiet:
        say()
        counts = ((_count_findings(findings, noun), noun) for noun in ("problem", "warning"))
        parts = [quantity(count, noun) for count, noun in counts if count]
        say(", ".join(parts) or f"all is well: {quantity(len(findings), 'line')}, none to act on")


def _finding_line(finding: "Finding") -> str:
    """What was found and what to do, unless that was part of it."""
    return finding.message + (f" → {finding.fix}" if finding.fix and not finding.names_fix else "")


def _count_findings(findings: "list[Finding]", status: str) -> int:
    return sum(finding.severity == status for finding in findings)
