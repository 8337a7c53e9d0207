"""The command that holds runs against gold: how right they are, field by field."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.order_options import StageName
from quire.cli.printing import clip, note, print_json, print_table, quantity, say
from quire.cli.session import engine_for, resolve_run
from quire.domain.data import Json
from quire.domain.errors import UsageError

if TYPE_CHECKING:
    from quire.engine import AccuracyReport, RunAccuracy, RunDifference, ShareEstimate

MOST_CASES, MOST_CONFUSED, MOST_NAMED = 5, 4, 5


_Runs = Annotated[
    list[int] | None, argument("RUN", "One run, or several side by side; else the newest.")
]
_Gold = Annotated[
    str | None,
    option("FILE", "Rows that are right: csv, jsonl …; else what people reviewed.", "--gold"),
]


def score(
    context: typer.Context,
    runs: _Runs = None,
    *,
    gold: _Gold = None,
    key: Annotated[
        str | None,
        option("COLUMN", "The column of gold that names rows; file=source matches paths.", "--key"),
    ] = None,
    match: Annotated[
        list[str] | None,
        option("FIELD=HOW", "exact, normalised, numeric:0.01 or set; repeatable.", "--match"),
    ] = None,
    stage: StageName = None,
    to: Annotated[
        Path | None, option("DIR", "Write a page with plots, and the figures, there.", "--to")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how right runs are: accuracy, precision and recall of each field, and the worst rows."""
    with engine_for(context) as engine:
        numbers = runs or [resolve_run(engine, None)]
        report = engine.score(
            [resolve_run(engine, number) for number in numbers],
            gold,
            key=key,
            match=_read_matches(match or ()),
            stage=stage,
        )
        page = engine.accuracy_reports.write_page(report, to) if to else None
    if as_json:
        print_json(report.as_json() | ({"page": str(page)} if page else {}))
        return
    _print_report(report)
    if page:
        say(f"\n{page} shows it with plots and the worst cases")


def _read_matches(words: Sequence[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for field, equals, how in pairs:
        if not (field and equals and how):
            raise UsageError(f"--match takes FIELD=HOW, such as amount=numeric:0.01, not {field!r}")
    return {field: how for field, _, how in pairs}


def _print_report(report: "AccuracyReport") -> None:
    simulated = " · simulated" if report.simulated else ""
    for no, run in enumerate(report.runs):
        silent = run.rows - run.answered
        without = f", {silent:,} without an answer" if silent else ""
        if no:
            say()
        say(f"{run.label} against {report.gold}: {quantity(run.rows, 'row')}{without}{simulated}")
        say()
        _print_fields(run)
        _print_confusion(run)
    for difference in report.differences:
        _print_difference(difference)
    _print_cases(report.runs[0])
    _print_leftovers(report)


def _share(found: "ShareEstimate") -> str:
    return f"{100 * found.share:.1f} %" if found.of else "–"


def _interval(found: "ShareEstimate") -> str:
    return f"{100 * found.low:.0f}–{100 * found.high:.0f}" if found.of else ""


def _print_fields(run: "RunAccuracy") -> None:
    columns = (
        *("~field", "compared", ">right", ">of", ">accuracy", ">95 %"),
        *(">precision", ">recall", ">F1"),
    )
    rows: list[list[object]] = [
        [
            field.name,
            str(field.rule),
            f"{field.accuracy.hits:,}",
            f"{field.accuracy.of:,}",
            _share(field.accuracy),
            _interval(field.accuracy),
            _share(field.precision),
            _share(field.recall),
            f"{field.f1:.3f}",
        ]
        for field in run.fields
    ]
    if len(run.fields) > 1:
        whole = run.whole
        rows.append(
            [
                *("all fields", "", f"{whole.hits:,}", f"{whole.of:,}"),
                *(_share(whole), _interval(whole), "", "", ""),
            ]
        )
    print_table(columns, rows, narrowing=(("F1", None), ("compared", None)))


def _print_confusion(run: "RunAccuracy") -> None:
    for field in run.fields:
        wrong = {both: count for both, count in field.confusion.items() if both[0] != both[1]}
        if wrong:
            say(f"\n{field.name}: {_describe_confusion(wrong)}")


def _describe_confusion(wrong: Mapping[tuple[str, str], int]) -> str:
    common = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{meant} answered as {said} {count:,}×" for (meant, said), count in common]
    more = f" and {len(words) - MOST_CONFUSED} more kinds" if len(words) > MOST_CONFUSED else ""
    return ", ".join(words[:MOST_CONFUSED]) + more


def _print_difference(found: "RunDifference") -> None:
    say(f"\n{found.second} beside {found.first}, on {quantity(found.rows, 'common row')}\n")
    print_table(
        ("~field", ">first", ">second", ">difference", ">95 %", ">p", ">p, adjusted"),
        [
            [
                field.field or "all fields",
                _share(field.first),
                _share(field.second),
                f"{100 * field.excess.share:+.1f}",
                f"{100 * field.excess.low:+.0f} to {100 * field.excess.high:+.0f}",
                f"{field.p_value:.2g}",
                f"{field.adjusted_p_value:.2g}",
            ]
            for field in found.fields
        ],
    )


def _print_cases(run: "RunAccuracy") -> None:
    if not run.cases:
        return
    wrong = quantity(len(run.cases), "row")
    say(f"\n{wrong} with something wrong, the worst first, of {run.label}:")
    for case in run.cases[:MOST_CASES]:
        say(f"  {clip(case.pair.name, 24)} (task {case.pair.task_id}): {clip(case.pair.text, 36)}")
        if case.pair.answer is None:
            say(f"    {case.pair.status}: {clip(case.pair.error or 'no answer', 66)}")
            continue
        for field, answer, gold in case.wrong:
            said, right = clip(_value_text(answer), 30), clip(_value_text(gold), 30)
            say(f"    {field}: {said}, gold says {right}")


def _value_text(value: Json) -> str:
    """A text as it is, anything else as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _print_leftovers(report: "AccuracyReport") -> None:
    """What of gold counted for nothing, so that nobody thinks it did."""
    if report.unmatched:
        named = ", ".join(report.unmatched[:MOST_NAMED])
        more = len(report.unmatched) - MOST_NAMED
        rest = f" and {more:,} more" if more > 0 else ""
        rows = quantity(len(report.unmatched), "gold row")
        note(f"{rows} of names that no row of a run has: {named}{rest}")
    if report.shared:
        named = ", ".join(report.shared[:MOST_NAMED])
        rows = quantity(len(report.shared), "gold row")
        note(f"{rows} of names that several rows have, of which the first counts: {named}")
    if report.ignored:
        note(f"columns of gold that are no fields: {', '.join(report.ignored)}")
