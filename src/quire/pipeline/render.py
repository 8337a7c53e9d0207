"""Render: what is said of some tasks, read from the ledger and put into words."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quire.domain.errors import TemplateFailed
from quire.domain.groupings import Driver
from quire.domain.ids import DocumentId, ResultId, TaskId
from quire.domain.lineage import InputRow, SubjectRow
from quire.domain.recipes import Stage
from quire.domain.requests import Kind
from quire.ledger.ledger import Transaction
from quire.pipeline.told import Asking, Told
from quire.plan.prompting import Judged, Material, Read, Shown, content
from quire.plan.rendering import prefix

Used = Mapping[TaskId, Sequence[ResultId | None]]  # by ordinal of the input

Critiques = Mapping[TaskId, str]  # why earlier answers were refused, in the place of the present


class Rendered(NamedTuple):
    """Some tasks in words."""

    rows: dict[TaskId, SubjectRow]
    contents: dict[TaskId, str]
    used: dict[TaskId, list[ResultId | None]]  # what each was made from
    failed: dict[TaskId, str]  # who cannot be put into words, and why


class _Library(NamedTuple):
    """Documents and results that some tasks speak of."""

    documents: dict[DocumentId, Shown]
    inputs: dict[TaskId, list[InputRow]]
    shown: dict[TaskId, list[DocumentId]]
    judged: dict[TaskId, Judged]


def render(
    tx: Transaction,
    told: Told,
    asking: Asking,
    tasks: Sequence[TaskId],
    used: Used | None = None,
    critiques: Critiques | None = None,
) -> Rendered:
    """Put tasks into words, from what is current or from what was used and said before."""
    rows = tx.subjects.rows(tasks) if tasks else []
    if critiques is not None:
        rows = [_refused(row, critiques.get(row.id, "")) for row in rows]
    library = _gather(tx, told, asking, rows, used, critiques)
    done = Rendered({each.id: each for each in rows}, {}, {}, {})
    for row in rows:
        try:
            done.contents[row.id] = content(
                _material(told, asking.stage, row, library),
                asking.item,
                asking.stage.prompt,
                records=asking.stage.schema is not None,
            )
        except TemplateFailed as error:
            done.failed[row.id] = str(error)
        done.used[row.id] = [each.result_id for each in library.inputs.get(row.id, ())]
    return done


def _refused(row: SubjectRow, critique: str) -> SubjectRow:
    """A task as it was when an earlier answer had been refused for this reason; "": none had."""
    kind = Kind.REPAIR if critique else Kind.ANSWER
    return row._replace(next_kind=kind.value, error=critique)


def _gather(
    tx: Transaction,
    told: Told,
    asking: Asking,
    rows: Sequence[SubjectRow],
    used: Used | None,
    critiques: Critiques | None,
) -> _Library:
    tasks = [row.id for row in rows]
    inputs = tx.subjects.inputs(tasks) if asking.stage.upstream and tasks else {}
    if used is not None and inputs:
        inputs = _as_used(tx, inputs, used)
    shown = tx.subjects.shown(tasks) if tasks else {}
    wanted = {row.document_id for row in rows if row.document_id is not None}
    wanted |= {each for documents in shown.values() for each in documents}
    wanted |= {e.document_id for many in inputs.values() for e in many if e.document_id is not None}
    documents = _documents(tx, asking, sorted(wanted)) if wanted else {}
    judged: dict[TaskId, Judged] = {}
    if asking.stage.critic and tasks:
        judged = _judged(tx, told, asking.stage, tasks, critiques)
    return _Library(documents, inputs, shown, judged)


def _as_used(
    tx: Transaction, inputs: dict[TaskId, list[InputRow]], used: Used
) -> dict[TaskId, list[InputRow]]:
    """The inputs with the results that were used, current or not."""
    ids = {each for results in used.values() for each in results if each is not None}
    data = tx.subjects.data(sorted(ids))
    return {
        task: [
            row._replace(result_id=result, data=data.get(result) if result else None)
            for row, result in zip(rows, used.get(task, ()), strict=False)
        ]
        for task, rows in inputs.items()
    }


def _documents(
    tx: Transaction, asking: Asking, ids: Sequence[DocumentId]
) -> dict[DocumentId, Shown]:
    item = asking.item
    titles = tx.subjects.titles(ids)
    in_full = item is None or bool(item.names & {"document", "documents"})
    texts = tx.subjects.texts(ids) if in_full else {}
    return {
        each: Shown(title=title, name=locator, text=texts.get(each, ""))
        for each, (title, locator) in titles.items()
    }


def _judged(
    tx: Transaction,
    told: Told,
    critic: Stage,
    critics: Sequence[TaskId],
    critiques: Critiques | None,
) -> dict[TaskId, Judged]:
    """What critics judge: the question is put into the same words again, from what it used."""
    rows = tx.subjects.judged(critics)
    above = told.askings[critic.of]
    used = {each.task_id: json.loads(each.used) for each in rows if each.used}
    asked = render(tx, told, above, [each.task_id for each in rows], used, critiques).contents
    system = prefix(above.stage).system
    prompt = above.stage.prompt if above.stage.schema is not None else ""
    return {
        each.critic_id: Judged(
            asked="\n\n".join(filter(None, [prompt, asked.get(each.task_id, "")])),
            system=system,
            answer=each.answer if above.stage.schema is None else each.data or "",
            data=json.loads(each.data or "null"),
        )
        for each in rows
    }


def _material(told: Told, stage: Stage, row: SubjectRow, library: _Library) -> Material:
    inputs = library.inputs.get(row.id, [])
    own = library.documents.get(row.document_id) if row.document_id is not None else None
    shown = [
        _with_views(library.documents[each], each, inputs)
        for each in library.shown.get(row.id, ())
        if each in library.documents
    ]
    return Material(
        row=row,
        parameters=told.recipe.parameters,
        model=told.models[row.model_no].name,
        part=told.part(row.part),
        document=own,
        documents=shown,
        inputs=_named_inputs(told, stage, inputs, library.documents),
        of="" if stage.critic else stage.of,
        judged=library.judged.get(row.id),
    )


def _with_views(shown: Shown, document: DocumentId, inputs: Iterable[InputRow]) -> Shown:
    """A document with what earlier stages made of it."""
    views = {
        each.stage: _read(each, {}, ()).text
        for each in inputs
        if each.document_id == document and each.data is not None
    }
    return Shown(title=shown.title, name=shown.name, text=shown.text, views=views)


def _named_inputs(
    told: Told, stage: Stage, rows: Sequence[InputRow], documents: Mapping[DocumentId, Shown]
) -> dict[str, Read | Sequence[Read]]:
    names = [each.name for each in told.models]
    found: dict[str, list[Read]] = defaultdict(list)
    for each in rows:
        if each.data is not None:
            found[each.stage].append(_read(each, documents, names))
    named: dict[str, Read | Sequence[Read]] = {}
    for name in stage.upstream:
        reads = found.get(name, [])
        if reads_many(told, stage, name):
            named[name] = reads
        elif reads:
            named[name] = reads[0]
    return named


def _read(row: InputRow, documents: Mapping[DocumentId, Shown], models: Sequence[str]) -> Read:
    shown = documents.get(row.document_id) if row.document_id is not None else None
    return Read(
        data=json.loads(row.data or "null"),
        document=shown.title if shown else "",
        model=models[row.model_no] if models else "",
        sample=row.sample,
    )


def reads_many(told: Told, stage: Stage, needed: str) -> bool:
    """Whether a task of this stage reads several results of that one: then templates get a list."""
    if stage.of == needed:
        return False
    about = told.driver_of(stage)
    above = next(each for each in told.recipe.stages if each.name == needed)
    if about is Driver.ONCE:
        return True
    if above.samples > 1 or len(told.models_of(above)) > 1:
        return True
    if about is Driver.RESULT:
        return told.driver_of(above) in (Driver.BLOCK, Driver.DOCUMENT) and needed not in (
            told.ancestors_of(stage)
        )
    return about is Driver.DOCUMENT and told.driver_of(above) is Driver.BLOCK
