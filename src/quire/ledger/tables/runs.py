"""Runs and their stages: what was ordered, how it stands, the wishes about it, and its probes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, plain_json, stored_json
from quire.domain.errors import NotFound
from quire.domain.ids import DocumentId, RunId, StageId
from quire.domain.models import ModelFacts
from quire.domain.runs import Run, RunStage, Wishes
from quire.domain.states import RUN, STAGE, RunMove, StageMove, StageState
from quire.ledger.stored_values import from_micros, row_reader, to_micros
from quire.ledger.tables.table import Table

_to_run = row_reader(Run)

_to_wishes = row_reader(Wishes)


class ProbeQuestion(NamedTuple):
    """What a probe holds for, and nothing besides."""

    schema_uid: str
    model: str
    params: str  # canonical JSON


class ProbeRecord(NamedTuple):
    """What a probe recommends, with all that it measured."""

    size: int  # blocks per call
    report: JsonObject


class Runs(Table):
    """The workspace's runs."""

    def add_run(
        self,
        key: bytes,
        snapshots: tuple[JsonObject, JsonObject, JsonObject],
        limit: int | None,
        now: datetime,
        person: str = "",
    ) -> RunId:
        """Add a run with the recipe, model and policy it is told, and who started it."""
        recipe, model, policy = (plain_json(json_object) for json_object in snapshots)
        rows = self._run(
            "add_run",
            key=key,
            recipe=recipe,
            model=model,
            policy=policy,
            state=str(RUN.start),
            task_limit=limit,
            now=to_micros(now),
            person=person,
        )
        return RunId(rows[0][0])

    def add_run_documents(
        self,
        run: RunId,
        documents: Sequence[DocumentId],
        names: Mapping[DocumentId, str] = MappingProxyType({}),
    ) -> None:
        """Fix the run's inputs and their order, each with the recipe's name for its set."""
        rows = [
            (run, ordinal, document, names.get(document, ""))
            for ordinal, document in enumerate(documents)
        ]
        self._connection.insert_many("add_run_documents", rows)

    def inputs_of_run(self, run: RunId) -> list[tuple[DocumentId, str]]:
        """A run's documents in order, each with the name of the input it belongs to."""
        return self._run("inputs_of_run", run=run)

    def add_run_blocks(self, run: RunId, blocks: Sequence[tuple[int, int]]) -> None:
        """Ask about these blocks only: the document's ordinal among the inputs, and the index."""
        self._connection.insert_many("add_run_blocks", [(run, *block) for block in blocks])

    def set_block_types(self, run: RunId, types: Sequence[str]) -> None:
        """Note that its blocks are all that there are of these types."""
        self._change("set_block_types", id=run, types=",".join(types))

    def newest_run_of_key(self, key: bytes, person: str = "") -> RunId | None:
        """The newest run of the same order that was not cancelled, and that nobody else pays."""
        return self._one(itemgetter(0), "newest_run_of_key", key=key, person=person)

    def lock_key(self, key: bytes) -> None:
        """Let equal orders happen one after the other."""
        self._connection.run("lock_key", key=int.from_bytes(key[:8], "big", signed=True))

    def set_policy(self, run: RunId, policy: JsonObject) -> None:
        """Change what a run was told about how fast it may go."""
        self._change("set_policy", id=run, policy=plain_json(policy))

    def set_model(self, run: RunId, model: JsonObject) -> None:
        """Change what a run was told of its model's limits, and of how it is spoken to."""
        self._change("set_model", id=run, model=plain_json(model))

    def get_run(self, run: RunId) -> Run | None:
        """One run."""
        return self._one(_to_run, "get_run", id=run)

    def must_get_run(self, run: RunId) -> Run:
        """One run that somebody named."""
        found = self.get_run(run)
        if found is None:
            raise NotFound(f"there is no run {run}; `quire runs` lists them")
        return found

    def models_of_run(self, run: Run) -> list[ModelFacts]:
        """The models that a run was told about, by number: its own, then the further ones."""
        further = self._connection.run("models_of_run", run=run.id)
        snapshots = [run.model, *(stored_json(facts) for _, _, facts in further)]
        return [ModelFacts.from_json(item) for item in snapshots]

    def list_runs(self, limit: int, *, drafts: bool = True) -> list[Run]:
        """The newest runs first."""
        return [_to_run(row) for row in self._run("list_runs", limit=limit, drafts=int(drafts))]

    def list_whole_runs(self, limit: int) -> list[Run]:
        """The newest runs about whole documents."""
        return [_to_run(row) for row in self._run("list_whole_runs", limit=limit)]

    def count_blocks_of_documents(self, documents: Sequence[DocumentId]) -> int:
        """How many blocks some documents have together."""
        if not documents:
            return 0
        return sum(int(row[0]) for row in self._run("count_blocks_of_documents", ids=documents))

    def newest_run(self) -> RunId | None:
        """The newest run that is no part of a probe."""
        rows = self._run("newest_run")
        return RunId(rows[0][0]) if rows else None

    def running_wishes(self) -> list[Wishes]:
        """What is wanted of every running run."""
        return [_to_wishes(row) for row in self._run("running_wishes")]

    def wishes_of_run(self, run: RunId) -> Wishes | None:
        """What is wanted of one run now; None if it does not run."""
        return self._one(_to_wishes, "wishes_of_run", id=run)

    def count_run_inputs(self, run: RunId) -> tuple[int, int]:
        """How many documents and blocks a run is over."""
        documents, blocks, sampled = self._run("count_run_inputs", run=run)[0]
        return documents, sampled or blocks

    def lock_run(self, run: RunId) -> None:
        """Let commands on this run happen one after the other."""
        self._change("lock_run", id=run)

    def move_run(self, name: RunMove, run: RunId, now: datetime) -> bool:
        """Make a move; says whether the run was where the move starts."""
        ended = None if RUN.targets[name] == RUN.start else to_micros(now)
        moved = self._move("move_run", RUN, name, ids=[run], ended_at=ended)
        return any(rows for _, rows in moved)

    def noted_progress(self, run: RunId) -> tuple[int, datetime]:
        """How many tasks had ended when that was last told, and when; at first when it began."""
        ended, at = self._run("noted_progress", id=run)[0]
        return ended, from_micros(at)

    def note_progress(self, run: RunId, before: int, ended: int, now: datetime) -> bool:
        """Note that it is told; false where somebody else did."""
        values = {"before": before, "ended": ended, "now": to_micros(now)}
        return self._change("note_progress", id=run, **values) > 0

    def set_task_limit(self, run: RunId, limit: int | None) -> None:
        """Wish for no more than so many tasks, or for all."""
        self._change("set_task_limit", id=run, task_limit=limit)

    def ask_cancel_run(self, run: RunId, at: datetime | None) -> None:
        """Wish for the run to end, or take the wish back."""
        self._change("ask_cancel_run", id=run, at=None if at is None else to_micros(at))

    def set_deadline(self, run: RunId, at: datetime | None) -> None:
        """Say until when batches may take."""
        self._change("set_deadline", id=run, at=None if at is None else to_micros(at))

    def set_stop_after(self, run: RunId, stage: str | None) -> None:
        """Wish for no stage after this one to begin, or take the wish back."""
        self._change("set_stop_after", id=run, stage=stage)

    def mark_early_judged(self, run: RunId, now: datetime) -> bool:
        """Note that the first tasks were looked at; true for the first who does."""
        return self._change("mark_early_judged", id=run, now=to_micros(now)) > 0

    def add_stage(self, run: RunId, name: str) -> StageId:
        """Add a stage, waiting."""
        return StageId(
            self._connection.run("add_stage", run=run, name=name, state=str(STAGE.start))[0][0]
        )

    def stages_of_run(self, run: RunId) -> list[RunStage]:
        """A run's stages, in order."""
        return self._list(RunStage, "stages_of_run", run=run)

    def lock_stage(self, stage: StageId) -> RunStage:
        """Take a stage's cursor for this transaction."""
        return RunStage._make(self._connection.run("lock_stage", id=stage)[0])

    def take_stage(self, stage: StageId) -> RunStage | None:
        """Take a stage's cursor for this transaction; None while another worker has it."""
        return self._one(RunStage._make, "take_stage", id=stage)

    def move_stage(
        self, name: StageMove, stage: StageId, sources: Iterable[StageState] | None = None
    ) -> bool:
        """Make a move; says whether the stage was where the move starts."""
        moved = self._move("move_stage", STAGE, name, sources, ids=[stage])
        return any(rows for _, rows in moved)

    def set_stage_cursor(self, stage: StageId, ordinal: int, index: int, added: int) -> None:
        """Note how far a stage has been expanded."""
        self._connection.change(
            "set_stage_cursor", id=stage, ordinal=ordinal, index=index, added=added
        )

    def add_command(self, command: str, run: RunId, name: str, now: datetime) -> bool:
        """Note a command by the caller's own id; false if it was carried out before."""
        return self._change("add_command", id=command, run=run, name=name, now=to_micros(now)) > 0

    def add_probe(self, question: ProbeQuestion, size: int, report: Json, now: datetime) -> None:
        """Keep what a probe found; from now on it is the newest of its question."""
        self._change(
            "add_probe",
            size=size,
            report=plain_json(report),
            now=to_micros(now),
            **question._asdict(),
        )

    def newest_probe(self, question: ProbeQuestion) -> ProbeRecord | None:
        """What was found last, if there was a probe."""
        rows = self._run("newest_probe", **question._asdict())
        if not rows:
            return None
        size, report = rows[0]
        return ProbeRecord(size, stored_json(report))
