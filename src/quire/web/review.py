"""The review page: the inbox of a run, one item open beside its source, and what was decided."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from quire.domain.data import Json
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import RunId
from quire.domain.reviews import (
    LOW_SCORE_BELOW,
    NONE,
    CriticWord,
    InboxCounts,
    InboxFilter,
    InboxLine,
    InboxOrder,
    InboxPage,
    ReviewDecision,
    ReviewItem,
    ReviewReason,
)
from quire.engine import Engine
from quire.export.result_selection import find_result_source
from quire.server.access import AccessRole, AskedEngine
from quire.server.json_answers import LARGEST, Cursor, Number
from quire.server.reviewers import Viewer
from quire.web.pages import render
from quire.web.source_panes import SourcePane, make_source_pane

router = APIRouter()
LINES = 50  # of an inbox that are shown at first, and with each look further
LOOKS = 5  # at parts of an inbox in which the filter took nothing, before a person is asked
SCORE = "score"  # the field that stands beside a critic's name already
EXCERPT = 120  # characters of a block in the list
MOST_ITEMS = 12  # that a script may ask for at once
ORDERS = {
    InboxOrder.NEED: "needs most first",
    InboxOrder.OLDEST: "oldest first",
    InboxOrder.NEWEST: "newest first",
    InboxOrder.SCORE: "lowest score first",
    InboxOrder.DOCUMENT: "as in the documents",
}
Words = Annotated[str, Query(max_length=4000)]


class LineView(NamedTuple):
    """What the list shows of an item."""

    task_id: int
    stage: str
    title: str
    block_index: int | None
    reasons: tuple[ReviewReason, ...]
    review_state: str
    reviewer: str | None
    excerpt: str
    held_by: str | None


class FieldChange(NamedTuple):
    """A field that a decision changed."""

    name: str
    before: Json
    after: Json


class DecisionView(NamedTuple):
    """A decision, and what it changed."""

    decision: ReviewDecision
    changes: tuple[FieldChange, ...]


class Objection(NamedTuple):
    """A critic that speaks of a result, and what it says besides its score."""

    critic: CriticWord
    said: Json
    fields: tuple[str, ...]  # that it names, where it is against the result


class ItemView(NamedTuple):
    """An item as the page shows it."""

    item: ReviewItem
    critics: tuple[Objection, ...]
    source: SourcePane | None
    line: LineView
    decisions: tuple[DecisionView, ...]
    editable: dict[str, Json]  # what the script makes the editor of


class ReasonTab(NamedTuple):
    """A filter by one reason, with how many items it is the first reason of."""

    kind: str
    words: str
    filter: str
    number: int
    chosen: bool


@router.get("/runs/{run}/review")
def show_review(  # noqa: PLR0913 - each is a part of the address
    request: Request,
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    *,
    filter: Words = "",
    item: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    order: Annotated[str, Query(max_length=20)] = "",
    field: Annotated[str, Query(max_length=200)] = "",
    value: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    """Show what wants a person, and the first of it that nobody is at.

    An order, and a field with its value, are what the form adds to the filter.
    """
    if order or (field and value):
        return RedirectResponse(f"?{urlencode({'filter': _add(filter, order, field, value)})}", 303)
    listed = _list_inbox(engine, run, filter)
    free = next((line.task_id for line in listed.page.lines if not line.held_by), None)
    shown = item or free
    counts = engine.review.counts(run)
    words = ["quire", "review", str(run), *(["--filter", filter] if filter else [])]
    return render(
        request,
        "review.html",
        principal,
        run=engine.queries.head(RunId(run)),
        lines=[_line_view(line) for line in listed.page.lines],
        next=listed.page.next,
        filter=filter,
        terminal=shlex.join(words),
        problem=listed.problem,
        counts=counts,
        wanting=counts.left - counts.by_reason.get(NONE, 0),
        view=_item_view(engine, run, shown) if shown else None,
        may_decide=principal.role >= AccessRole.REVIEWER,
        **_filter_choices(engine, run, listed.chosen, counts),
    )


class ListedInbox(NamedTuple):
    """A part of an inbox, or what is wrong with its filter."""

    chosen: InboxFilter
    page: InboxPage
    problem: str


def _list_inbox(engine: Engine, run: int, words: str) -> ListedInbox:
    chosen = InboxFilter()
    try:
        chosen = InboxFilter.parse(words)
        return ListedInbox(chosen, _look(engine, run, chosen), "")
    except NotFound:
        raise
    except UsageError as error:
        return ListedInbox(chosen, InboxPage(lines=(), next=None, looked_at=0), str(error))


def _filter_choices(
    engine: Engine, run: int, chosen: InboxFilter, counts: InboxCounts
) -> dict[str, Any]:
    """What the form and the tabs offer."""
    return {
        "chosen": chosen,
        "all_of_these": replace(chosen, reason=None).as_text(),
        "orders": ORDERS,
        "fields": _field_names(engine, run),
        "tabs_of_reasons": _reason_tabs(chosen, counts),
        "reviews": _review_tabs(chosen),
    }


@router.get("/runs/{run}/review/lines")
def show_lines(
    request: Request,
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    filter: Words = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """The next lines of the list, for the script."""
    page = _look(engine, run, InboxFilter.parse(filter), cursor)
    lines = [_line_view(line) for line in page.lines]
    return render(request, "review_lines.html", principal, lines=lines, next=page.next)


@router.get("/runs/{run}/review/items")
def show_items(
    request: Request, run: Number, principal: Viewer, engine: AskedEngine, tasks: Words
) -> HTMLResponse:
    """Items, for the script, which has them before they are wanted."""
    numbers = [int(number) for number in tasks.split(",") if re.fullmatch("[0-9]{1,18}", number)]
    views = [_item_view(engine, run, number) for number in dict.fromkeys(numbers[:MOST_ITEMS])]
    head = engine.queries.head(RunId(run))
    return render(request, "review_items.html", principal, run=head, views=views)


@router.get("/runs/{run}/decisions")
def show_decisions(
    request: Request,
    run: Number,
    principal: Viewer,
    engine: AskedEngine,
    task: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    cursor: Cursor = None,
) -> HTMLResponse:
    """Show what people decided: who, when, before and after."""
    page = engine.review.decisions(run, task=task, after=cursor, limit=LINES)
    undoable = engine.review.undoable(page.decisions)
    return render(
        request,
        "decisions.html",
        principal,
        run=engine.queries.head(RunId(run)),
        task=task,
        decisions=[_decision_view(decision) for decision in page.decisions],
        next=page.next,
        cursor=cursor,
        bulks=_newest_of_bulks(page.decisions, undoable),
        undoable=undoable,
        may_decide=principal.role >= AccessRole.REVIEWER,
    )


def _newest_of_bulks(decisions: Sequence[ReviewDecision], undoable: set[int]) -> set[int]:
    """Of what was decided at once, the newest decision on a page that can be taken back."""
    newest: dict[int, int] = {}
    for decision in decisions:
        if decision.bulk is not None and decision.id in undoable:
            newest.setdefault(decision.bulk, decision.id)
    return set(newest.values())


def _add(words: str, order: str, field: str, value: str) -> str:
    """A filter with an order and a field's value; one that cannot be read stays, to be mended."""
    try:
        found = InboxFilter.parse(words)
        found = replace(found, order=InboxOrder(order)) if order in ORDERS else found
        if field and value:
            (added,) = InboxFilter.parse([f"field.{field}={value}"]).fields.items()
            found = replace(found, fields={**found.fields, added[0]: added[1]})
        return found.as_text()
    except UsageError:
        return words


def _field_names(engine: Engine, run: int) -> list[str]:
    """The fields that the results of a run may have."""
    with engine.ledger.snapshot() as tx:
        stages = find_result_source(tx, RunId(run)).recipe.stages
    named = (stage.schema.properties for stage in stages if stage.schema and not stage.critic)
    return list(dict.fromkeys(name for names in named for name in names))


def _look(engine: Engine, run: int, chosen: InboxFilter, cursor: str | None = None) -> InboxPage:
    """The next lines; a narrow filter may take nothing of a part, so some parts are looked at."""
    page = engine.review.inbox(run, chosen, after=cursor, limit=LINES)
    for _ in range(LOOKS):
        if page.lines or page.next is None:
            break
        page = engine.review.inbox(run, chosen, after=page.next, limit=LINES)
    return page


def _line_view(line: InboxLine) -> LineView:
    return LineView(
        line.task_id,
        line.stage,
        line.title,
        line.block_index,
        line.reasons,
        line.review_state,
        line.reviewer,
        line.excerpt,
        line.held_by,
    )


def _item_view(engine: Engine, run: int, task: int) -> ItemView:
    item = engine.review.item(task)
    if item.run_id != run:
        raise NotFound(f"run {run} has no task {task}; it belongs to run {item.run_id}")
    source = item.source
    line = LineView(
        item.task_id,
        item.stage,
        source.title if source else "",
        source.block_index if source else None,
        item.reasons,
        item.review_state or "rejected",
        item.reviewer,
        source.content[:EXCERPT] if source else "",
        item.held_by,
    )
    return ItemView(
        item=item,
        critics=tuple(_read_critic(critic, item) for critic in item.critics),
        source=make_source_pane(source, item.fields),
        line=line,
        decisions=tuple(_decision_view(decision) for decision in item.decisions),
        editable=_editable(item),
    )


def _read_critic(critic: CriticWord, item: ReviewItem) -> Objection:
    """What a critic said, its score said once, and the fields that it names if it is against."""
    said = critic.data
    if isinstance(said, Mapping) and critic.score is not None:
        said = {name: part for name, part in said.items() if name != SCORE}
    against = critic.objects or (critic.score is not None and critic.score < LOW_SCORE_BELOW)
    named = [
        field.name
        for field in item.fields
        if against and re.search(rf"(?<!\w){re.escape(field.name)}(?!\w)", critic.text)
    ]
    return Objection(critic, said, tuple(named))


def _editable(item: ReviewItem) -> dict[str, Json]:
    fields: list[Json] = [
        {
            "name": field.name,
            "nullable": field.nullable,
            "required": field.required,
            "schema": field.schema,
        }
        for field in item.fields
    ]
    return {"data": item.data, "fields": fields}


def _decision_view(decision: ReviewDecision) -> DecisionView:
    before, after = decision.before, decision.after
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return DecisionView(decision, ())
    names = dict.fromkeys([*before, *after])
    changes = (FieldChange(name, before.get(name), after.get(name)) for name in names)
    return DecisionView(decision, tuple(pair for pair in changes if pair.before != pair.after))


def _reason_tabs(chosen: InboxFilter, counts: InboxCounts) -> list[ReasonTab]:
    return [
        ReasonTab(
            reason.value,
            reason.value.replace("_", " "),
            replace(chosen, reason=reason).as_text(),
            counts.by_reason.get(reason.value, 0),
            chosen.reason == reason,
        )
        for reason in ReviewReason
        if counts.by_reason.get(reason.value, 0) or chosen.reason == reason
    ]


def _review_tabs(chosen: InboxFilter) -> list[ReasonTab]:
    """The same filter over what is undecided, approved, edited, or all of it."""
    return [
        ReasonTab(words, words, replace(chosen, review=words).as_text(), 0, chosen.review == words)
        for words in ("unreviewed", "approved", "edited", "any")
    ]
