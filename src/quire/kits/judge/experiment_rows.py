"""What became of an experiment's tasks, as plain rows that tables are made from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from quire.domain.data import NOTHING, Json, JsonObject
from quire.kits.judge.experiment import Experiment

PARSED, FAILED, PENDING = "parsed", "failed", "pending"
BLOCKED, CANCELLED = "blocked", "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task of a run, with its result where it has one."""

    task_id: int
    stage: str
    state: str  # as the ledger has it
    model: str
    sample: int = 0
    part: JsonObject = field(default_factory=dict)
    documents: tuple[int, ...] = ()  # that it was shown, in order
    of: int | None = None  # the task whose result it is about
    attempts: int = 0  # answers that were judged
    error: str = ""  # of its last refused answer, or why it does not go on
    data: Json = None  # of its result
    answer: str = ""  # the model's text, the last refused one where there is no result
    message_id: str = ""  # of the attempt that gave the answer

    @property
    def facts(self) -> JsonObject:
        """Its data by name; empty while there are none."""
        return self.data if isinstance(self.data, Mapping) else NOTHING

    @property
    def parse_status(self) -> str:
        """Whether there is a decoded answer, and if not, why not."""
        if self.facts:
            return PARSED
        return self.state if self.state in (FAILED, BLOCKED, CANCELLED) else PENDING

    @property
    def reasoning(self) -> str:
        """What the model wrote before its marker."""
        return str(self.facts.get("reasoning", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRows:
    """An experiment and all of its tasks, each with its current result."""

    experiment: Experiment
    documents: tuple[int, ...]  # of the evidence, piece by piece
    tasks: Sequence[TaskRow]
    status: str  # of the run
    updated_at: datetime
    run_id: int | None = None
    _of: dict[tuple[str, int], TaskRow] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look up by what a task is about, once."""
        known = {(task.stage, task.of): task for task in self.tasks if task.of is not None}
        object.__setattr__(self, "_of", known)

    def tasks_of_stage(self, name: str) -> Iterator[TaskRow]:
        """The tasks of one stage, in order."""
        return (task for task in self.tasks if task.stage == name)

    def task_about(self, stage: str, task_id: int) -> TaskRow | None:
        """The one task of a stage that is about another task's result, such as its critic."""
        return self._of.get((stage, task_id))
