"""The command that audits: a random sample is marked blind, and tells how often it is wrong."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from quire.cli.key_reader import clear_screen, has_terminal, read_key
from quire.cli.options import AsJson, OnlyStage, RunNumber, flag, option
from quire.cli.printing import note, print_json, print_table, say
from quire.cli.review import Reviewer, reviewer_name
from quire.cli.review_screen import print_source
from quire.cli.session import engine_and_run
from quire.domain.audits import (
    AuditHead,
    AuditItem,
    AuditMark,
    AuditReport,
    AuditVerdict,
    FieldRate,
)
from quire.domain.data import plain_json
from quire.domain.errors import UsageError

if TYPE_CHECKING:
    from quire.engine import Engine

MARK_KEYS = {"y": AuditMark.RIGHT, "n": AuditMark.WRONG, "u": AuditMark.UNSURE}
SAID = {
    AuditVerdict.MET: "tolerance met",
    AuditVerdict.MISSED: "tolerance missed",
    AuditVerdict.GO_ON: "go on",
}


SAMPLE, TOLERANCE = 200, 0.02


class AskedSample(NamedTuple):
    """Which sample is meant: the same words are the same audit."""

    size: int
    tolerance: float
    stage: str | None
    seed: int

    @property
    def is_unsaid(self) -> bool:
        """Whether nothing but perhaps a stage was said."""
        return self == AskedSample(SAMPLE, TOLERANCE, self.stage, 0)


def audit(
    context: typer.Context,
    run: RunNumber = None,
    *,
    sample: Annotated[int, option("N", "How many results.", min=1)] = SAMPLE,
    tolerance: Annotated[float, option("SHARE", "Wrong values that are good enough.")] = TOLERANCE,
    stage: OnlyStage = None,
    seed: Annotated[int, option("N", "Which sample; the same draws the same.", min=0)] = 0,
    who: Reviewer = None,
    report: Annotated[bool, flag("Only show what was found so far.", "--report")] = False,
    yes: Annotated[bool, flag("Draw the sample also without a terminal.", "--yes")] = False,
    as_json: AsJson = False,
) -> None:
    """Mark a random sample of results, field by field: y right, n wrong, u unsure, b back, q quit.

    The same command goes on where it was left. Model, critics and decisions are not shown.
    --report without --sample shows the newest audit.
    """
    with engine_and_run(context, run) as (engine, number):
        asked = AskedSample(sample, tolerance, stage, seed)
        marks = has_terminal() and not (report or as_json)
        name = reviewer_name(engine, who) if marks else who or engine.settings.reviewer
        head = _open_audit(engine, number, asked, name, draws=marks or yes)
        if marks:
            _mark_items(engine, head.id, name)
        elif not (report or as_json):
            note("no terminal to press keys in: this is what was found so far")
        found = engine.review.audit_report(head.id)
    if as_json:
        print_json({**_json_head(found), "fields": found.fields})
    else:
        print_report(found)


def _open_audit(
    engine: "Engine", run: int, asked: AskedSample, who: str, *, draws: bool
) -> AuditHead:
    """The audit of these words; who only looks draws none."""
    words = asked._asdict()
    if draws:
        return engine.review.start_audit(run, **words, who=who)
    if head := engine.review.find_audit(run, **words):
        return head
    drawn = [it for it in engine.review.audits(run) if asked.stage in (None, it.stage)]
    if drawn and asked.is_unsaid:
        return drawn[-1]
    said = "".join(f"; --sample {it.size} --tolerance {it.tolerance:g} is" for it in drawn[-1:])
    raise UsageError(
        f"no such sample of run {run} is drawn yet{said}",
        "mark one in a terminal, or add --yes to draw it now",
    )


def _json_head(report: AuditReport) -> dict[str, object]:
    return {
        "audit": report.head,
        "verdict": report.verdict,
        "complete": report.complete,
        "may_stop": report.may_stop,
    }


def _mark_items(engine: "Engine", audit: int, who: str) -> None:
    """One item after the other, until all are marked, enough is known, or somebody leaves."""
    was_asked, earlier = False, None
    try:
        while (item := earlier or engine.review.next_audit_item(audit)) is not None:
            found, left = engine.review.audit_report(audit), ""
            if found.may_stop and not (was_asked or earlier):
                left = _ask_to_go_on(found)
            marks = {} if left else _mark_fields(item, found)
            was_asked, earlier = not left and (was_asked or (found.may_stop and not earlier)), None
            if "q" in (left, marks):
                return
            if isinstance(marks, str) or left:
                earlier = engine.review.audit_item(audit, max(0, item.no - 1))
            else:
                engine.review.mark(audit, item.no, marks, who)
    except EOFError:
        return


def _ask_to_go_on(found: AuditReport) -> str:
    """Show that enough is known; the key that does not go on, or ""."""
    clear_screen()
    print_report(found)
    say("\nenough is known: q stops here, b goes back, any other key goes on")
    key = read_key()
    return key if key in ("q", "b") else ""


def _mark_fields(item: AuditItem, found: AuditReport) -> dict[str, AuditMark] | str:
    """A mark for every field of an item, or the key that left it: q, or b at its first field."""
    marks: dict[str, AuditMark] = {}
    while len(marks) < len(item.fields):
        _print_item(item, marks, found)
        key = read_key()
        if key == "q" or (key == "b" and not marks and item.no):
            return key
        if key == "b" and marks:
            marks.popitem()
        elif key in MARK_KEYS:
            marks[item.fields[len(marks)].name] = MARK_KEYS[key]
    return marks


def _print_item(item: AuditItem, marks: dict[str, AuditMark], found: AuditReport) -> None:
    clear_screen()
    say(
        f"audit {item.audit_id} · {found.head.stage} · item {item.no + 1} of {found.head.size}"
        f" · {SAID[found.verdict]} · y right, n wrong, u unsure, b back, q quit"
    )
    say()
    print_source(item.source)
    for text in item.inputs:
        say(f"from {text.stage}: {text.text}")
    say()
    for place, view in enumerate(item.fields):
        mark = marks.get(view.name, "")
        pointer = "›" if place == len(marks) else " "
        value = view.value if isinstance(view.value, str) else plain_json(view.value)
        say(f"{pointer} {view.name}: {value}  {mark}".rstrip())


def _error_words(rate: FieldRate) -> str:
    """The share of wrong values; with unsure ones, between none and all of them wrong."""
    total = rate.right + rate.wrong + rate.unsure
    if rate.unsure:
        return f"{rate.wrong / total:.1%} – {(rate.wrong + rate.unsure) / total:.1%}"
    return "–" if rate.rate is None else f"{rate.rate:.1%}"


def print_report(report: AuditReport) -> None:
    """How often each field is wrong, with both intervals."""
    head = report.head
    say(
        f"audit {head.id} of {head.stage}, run {head.run_id}: {head.marked} of {head.size} marked,"
        f" drawn from {head.population:,} with seed {head.seed}; tolerance {head.tolerance:g}"
    )
    said = {**SAID, AuditVerdict.GO_ON: "not shown"} if report.complete else SAID
    rows = [
        (
            rate.field,
            str(rate.right),
            str(rate.wrong),
            str(rate.unsure),
            _error_words(rate),
            f"{rate.low:.1%} – {rate.high:.1%}",
            f"{rate.sequence_low:.1%} – {rate.sequence_high:.1%}",
            said[rate.verdict],
        )
        for rate in report.fields
    ]
    columns = [">right", ">wrong", ">unsure", ">error", "95 % at the end", "95 % at any look"]
    print_table(["field", *columns, "verdict"], rows)
    say(f"\n{said[report.verdict]}{_final_words(report)}")


def _final_words(report: AuditReport) -> str:
    """What the end of an audit says, once nothing is left to mark."""
    if not report.complete:
        return ""
    if report.verdict != AuditVerdict.GO_ON:
        return ": all are marked, this is final"
    if report.is_whole:
        return ": all are marked, and too many are unsure to say; this is final"
    return ": all are marked, and they are too few to say; this is final, a larger --sample tells"
