"""A gate whose taste can change, and recipes whose answers it judges."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quire.domain.data import JsonObject
from quire.domain.gates import GateInput, Judgement, Verdict
from quire.domain.ids import TaskId
from quire.domain.reasons import HoldKind
from quire.domain.recipes import GateUse, Stage
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.world import World

TASTE = (GateUse("taste"),)


@dataclass
class Taste:
    """Refuses what contains a word, and keeps the rest with a mark."""

    refuses: str = ""
    mark: str = ""
    version: str = "1"
    name: str = "taste"

    def mistakes(self, params: JsonObject) -> Sequence[str]:
        """Nothing can be told wrongly."""
        return ()

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Accept, unless the word is there."""
        if self.refuses and self.refuses in answer.text:
            return Verdict(Judgement.RETRY, None, (f"it says {self.refuses}",))
        return Verdict(Judgement.ACCEPT, {"text": answer.text.strip() + self.mark})


def set_taste(here: World, **taste: str) -> None:
    """Let the engine's gate `taste` judge like this from now on."""
    registry = here.engine.registry
    gates = {**registry.gates, "taste": Taste(**taste)}
    here.engine.context.registry = replace(registry, gates=gates)


def documents(here: World, count: int = 3) -> None:
    """Put documents into the ledger that differ by a number."""
    for number in range(count):
        here.ingest([f"Document number{number} speaks."], f"doc{number}")


SUMMARY = text_stage("summary", "each_document", "Sum up:\n{{ document.text }}", gates=TASTE)
CHECK = record_stage(
    "check", "each_result", "Well?\n{{ judged.answer }}", NOTED, of="summary", critic="record"
)
POINTS = text_stage(
    "points",
    "samples",
    "Point {{ sample }}: {{ inputs.summary.text }}",
    of="summary",
    samples=2,
    gates=TASTE,
)
DIGEST = text_stage(
    "digest",
    "all_to_one",
    "All:\n{% for each in inputs.points %}{{ each.text }};{% endfor %}",
    needs=("points",),
    gates=TASTE,
)
CHAIN = (SUMMARY, CHECK, POINTS, DIGEST)
ALL_DONE = {
    "summary": {"done": 3},
    "check": {"done": 3},
    "points": {"done": 6},
    "digest": {"done": 1},
}


def start_run(
    here: World, stages: Sequence[Stage] = CHAIN, count: int = 3, **settings: object
) -> RunHandle:
    """Start a run of some stages over some documents, with a gate that takes everything."""
    if "taste" not in here.engine.registry.gates:
        set_taste(here)
    if count:
        documents(here, count)
    return here.engine.run(recipe=recipe(*stages), model=SMALL, **settings)  # type: ignore[arg-type]


def hold_kinds(run: RunHandle) -> list[HoldKind]:
    """Why it does not go on."""
    return [hold.kind for hold in run.progress().holds]


def tasks_of(here: World, run: RunHandle, stage: str) -> list[TaskId]:
    """The tasks of a stage, in subject order."""
    with here.engine.ledger.snapshot() as tx:
        key = next(
            run_stage.id for run_stage in tx.runs.stages_of_run(run.id) if run_stage.name == stage
        )
        return [task.id for task in tx.lineage.first_tasks_of_stage(key, 1000)]


def stale_counts(here: World, run: RunHandle) -> dict[str, int]:
    """Stale tasks by stage."""
    with here.engine.ledger.snapshot() as tx:
        return tx.lineage.count_stale(run.id)


def confirm(here: World, task: TaskId) -> None:
    """Let a person have approved the current result of a task."""
    raw = Raw(here.url)
    raw.rows(
        "UPDATE results SET review_state = 'approved'"
        f" WHERE task_id = {task} AND superseded_at IS NULL"
    )
    raw.close()
