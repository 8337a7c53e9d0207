"""The view of an item: a result beside its source, its critics and its history, in one reading."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from quire.domain.data import Json, JsonObject, as_object, stored_json
from quire.domain.errors import NotFound
from quire.domain.gates import ReadingNote
from quire.domain.ids import TaskId
from quire.domain.quotes import Quote, split_notes
from quire.domain.recipes import Stage
from quire.domain.reviews import (
    CriticWord,
    FieldView,
    InputText,
    NeighbourBlock,
    ResultVersion,
    ReviewItem,
    SourceText,
    reasons_from_bits,
)
from quire.domain.states import ReviewState, TaskState
from quire.domain.task_wording import note_text
from quire.gates.null_fields import allows_null
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import from_micros, from_micros_or_none
from quire.ledger.tables.inbox import ReviewRow, VersionRow
from quire.pipeline.commands.again_costs import reject_cost
from quire.pipeline.run_spec import RunSpec
from quire.planning.critic_standing import critic_standing
from quire.planning.prompt_variables import result_text
from quire.planning.spans import span_of_part

BESIDE = 2  # blocks shown before and after
MOST_VERSIONS = 50
MOST_DECISIONS = 100
MOST_TEXT = 200_000  # characters of a document that a result is about as a whole
NEWEST = 2**62  # before which all decisions are
THOUSAND = 1000


def must_get_row(tx: Transaction, task: TaskId) -> ReviewRow:
    """A task, or that there is none."""
    row = tx.inbox.review_row(task)
    if row is None:
        raise NotFound(f"there is no task {task}; `quire review RUN --list` shows their numbers")
    return row


def review_item(tx: Transaction, spec: RunSpec, task: TaskId, now: datetime) -> ReviewItem:
    """All that a page shows of one result."""
    row = must_get_row(tx, task)
    stage, data = spec.stages[row.stage_id], stored_json(row.data)
    notes, quotes = split_notes(stored_json(row.notes))
    lease = tx.reviews.leases_of_tasks([task], now).get(task)
    return ReviewItem(
        run_id=row.run_id,
        task_id=task,
        result_id=row.result_id,
        stage=stage.name,
        state=TaskState(row.state),
        review_state=ReviewState(row.review_state) if row.review_state else None,
        reviewer=row.reviewer,
        reviewed_at=from_micros_or_none(row.reviewed_at),
        stale_since=from_micros_or_none(row.stale_since),
        model=spec.models[row.model_no].name,
        data=data,
        fields=tuple(field_views(stage, data, tuple(quotes))),
        quotes=tuple(quotes),
        notes=tuple(note_text(ReadingNote(**note)) for note in notes),  # type: ignore[arg-type]
        source=source_text(tx, row),
        inputs=input_texts(tx, task),
        critics=tuple(_critic_words(tx, spec, task)),
        score=None if row.score is None else row.score / THOUSAND,
        reasons=reasons_from_bits(row.reasons or 0),
        versions=tuple(map(_to_version, tx.inbox.versions_of_task(task, MOST_VERSIONS))),
        decisions=tuple(tx.reviews.decisions_of_task(row.run_id, task, NEWEST, MOST_DECISIONS)),
        reject_cost=reject_cost(tx, spec, stage.name, [task]),
        held_by=lease.who if lease else None,
        held_until=lease.until if lease else None,
        undoable=tx.reviews.last_decision(task),
    )


def field_views(stage: Stage, data: Json, quotes: tuple[Quote, ...] = ()) -> Iterator[FieldView]:
    """The fields of a record with what may stand in them; of free text, what is there."""
    values = as_object(data)
    known: Mapping[str, JsonObject] = stage.schema.properties if stage.schema else {}
    body = stage.schema.record_schema if stage.schema else {}
    required = body.get("required")
    needed = required if isinstance(required, list) else []
    for name in dict.fromkeys((*known, *values)):
        rules = as_object(known.get(name, {}))
        choices = rules.get("enum")
        yield FieldView(
            name=name,
            type=_type_of(rules, values.get(name)),
            choices=tuple(choices) if isinstance(choices, list) else (),
            nullable=allows_null(rules) if rules else False,
            required=name in needed,
            description=str(rules.get("description") or ""),
            value=values.get(name),
            schema=rules,
            quotes=tuple(quote for quote in quotes if _is_about(quote, name)),
        )


def _is_about(quote: Quote, name: str) -> bool:
    path = f"/{name.replace('~', '~0').replace('/', '~1')}"
    return quote.path == path or quote.path.startswith(f"{path}/")


def _type_of(rules: JsonObject, value: Json) -> str:
    """The type of a field, null aside: as the schema says, or as its value is."""
    stated = rules.get("type")
    kinds = stated if isinstance(stated, list) else [stated]
    for kind in kinds:
        if isinstance(kind, str) and kind != "null":
            return kind
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, Mapping) else "string"


def source_text(tx: Transaction, row: ReviewRow) -> SourceText | None:
    """What a result is about: its block among others, or a document."""
    if row.block_id is not None and (block := tx.inbox.source_of_block(row.block_id)):
        index = block.block_index
        first, last = max(0, index - BESIDE), index + BESIDE
        near = [
            NeighbourBlock(block_index=number, block_type=kind, content=content)
            for number, kind, content in tx.inbox.neighbour_blocks(block.document_id, first, last)
        ]
        return SourceText(
            document_id=block.document_id,
            title=block.title,
            block_index=index,
            block_type=block.block_type,
            headings=tuple(stored_json(block.headings)),
            content=block.content,
            source_type=block.source_type,
            before=tuple(item for item in near if item.block_index < index),
            after=tuple(item for item in near if item.block_index > index),
        )
    return None if row.document_id is None else _whole_document(tx, row)


def _whole_document(tx: Transaction, row: ReviewRow) -> SourceText | None:
    assert row.document_id is not None
    title, _ = tx.subjects.document_titles([row.document_id]).get(row.document_id, ("", ""))
    span = span_of_part(as_object(stored_json(row.part)))
    if span is not None:  # a section, or a page
        texts = [text for _, text in tx.subjects.texts_between(row.document_id, *span)]
        content = "\n\n".join(texts)
    else:
        content = tx.subjects.document_texts([row.document_id]).get(row.document_id, "")
    return SourceText(
        document_id=row.document_id,
        title=title,
        block_index=None,
        block_type="document",
        headings=(),
        content=content[:MOST_TEXT],
    )


def input_texts(tx: Transaction, task: TaskId) -> tuple[InputText, ...]:
    """The results that one was made from, in words."""
    rows = tx.subjects.inputs_of_tasks([task]).get(task, [])
    return tuple(
        InputText(
            task_id=row.input_task_id, stage=row.stage, text=result_text(stored_json(row.data))
        )
        for row in rows
        if row.data is not None and row.result_id is not None
    )


def _critic_words(tx: Transaction, spec: RunSpec, task: TaskId) -> Iterator[CriticWord]:
    for word in tx.results.critiques_of_tasks([task]).get(task, []):
        if word.state != TaskState.DONE or word.data is None:
            continue
        data = stored_json(word.data)
        standing = critic_standing(spec.stage_named(word.stage), data)
        yield CriticWord(
            stage=word.stage,
            model=spec.models[word.model_no].name,
            score=standing.score,
            objects=standing.objects,
            data=data,
            text=result_text(data),
        )


def _to_version(row: VersionRow) -> ResultVersion:
    return ResultVersion(
        result_id=row.result_id,
        version=row.version,
        origin=row.origin,
        data=stored_json(row.data),
        review_state=ReviewState(row.review_state),
        reviewer=row.reviewer,
        reviewed_at=from_micros_or_none(row.reviewed_at),
        created_at=from_micros(row.created_at),
        superseded_at=from_micros_or_none(row.superseded_at),
    )
