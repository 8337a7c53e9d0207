"""A pretended run: every task of an experiment's recipe, answered by chance with a seed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

from quire.domain.data import Json, JsonObject
from quire.domain.gates import GateInput
from quire.domain.groupings import DriverItem, Grouping, GroupingContext, Part
from quire.domain.ids import DocumentId
from quire.domain.recipes import Stage
from quire.domain.requests import Stop
from quire.domain.states import TaskState
from quire.gates.markers import MarkersGate
from quire.kits.judge.experiment import (
    Experiment,
    ExperimentRows,
    TaskRow,
)
from quire.kits.judge.groupings import JudgeGivenTargets, JudgeSamples, JudgeTargets
from quire.kits.judge.recipe import recipe_of

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
GROUPINGS: dict[str, Grouping] = {
    samples.name: samples for samples in (JudgeSamples(), JudgeTargets(), JudgeGivenTargets())
}


class FakeRun:
    """Answers tasks in the asked form; some fail, and those about them are blocked."""

    def __init__(self, experiment: Experiment, seed: int = 1, failing: float = 0.05) -> None:
        self.experiment = experiment
        self.random = Random(seed)
        self.failing = failing
        self.documents = tuple(100 + place for place in range(len(experiment.evidence)))
        self.tasks: list[TaskRow] = []

    def rows(self) -> ExperimentRows:
        """Run every stage after the other."""
        for stage in recipe_of(self.experiment).stages:
            for driven, part in list(self._parts(stage)):
                self._answer(stage, driven, part)
        return ExperimentRows(
            experiment=self.experiment,
            documents=self.documents,
            tasks=self.tasks,
            status="finished",
            updated_at=NOW,
            run_id=4,
        )

    def _parts(self, stage: Stage) -> Iterator[tuple[DriverItem, Part]]:
        driving = [DriverItem(0)]
        if stage.of:
            upstream = [task for task in self.tasks if task.stage == stage.of]
            driving = [
                DriverItem(task.task_id, task.model, task.sample, task.part) for task in upstream
            ]
        elif stage.about == "each_document":
            driving = [DriverItem(document) for document in self.documents]
        grouping = GROUPINGS.get(stage.about)
        for driven in driving:
            if grouping is None:
                documents = () if stage.of else (DocumentId(driven.key),)
                model = driven.model if stage.models == ("same",) else stage.models[0]
                yield driven, Part(model, driven.sample, driven.part, documents)
            else:
                for part in grouping.fan(driven, self._context(stage)):
                    yield driven, part

    def _context(self, stage: Stage) -> GroupingContext:
        documents = [DocumentId(document) for document in self.documents]
        return GroupingContext({}, stage.settings, stage.samples, stage.models, documents)

    def _answer(self, stage: Stage, driven: DriverItem, part: Part) -> None:
        of = self.tasks[driven.key - 1] if stage.of else None
        task_id = len(self.tasks) + 1
        state = "done"
        answer = ""
        if of is not None and of.state != TaskState.DONE:
            state = "blocked"
        else:
            answer = self._text(stage, part)
            state = "failed" if self.random.random() < self.failing else "done"
        refused = {"failed": 3, "done": int(task_id % 17 == 0)}.get(state, 0)
        self.tasks.append(
            TaskRow(
                task_id=task_id,
                stage=stage.name,
                state=state,
                model=part.model,
                sample=part.sample,
                part=part.part,
                documents=part.documents,
                of=driven.key if stage.of else None,
                attempts=refused + (state == TaskState.DONE),
                refused=refused,
                error={"failed": "no VERDICT: line", "blocked": "what it needs failed"}.get(
                    state, ""
                ),
                data=_judge(stage, answer, part.part) if state == TaskState.DONE else None,
                answer=answer,
                message_id="" if state == TaskState.BLOCKED else f"attempt-{task_id}",
            )
        )

    def _text(self, stage: Stage, part: Part) -> str:
        if stage.name == "rubric_gen":
            lines = [f"{n}) Level {n} :: a; b; c" for n in range(1, self.experiment.scale_size + 1)]
            return "They differ.\nRUBRIC:\n" + "\n".join(lines)
        if stage.name == "rubric_critic":
            one, other = self.random.random(), self.random.random()
            return f"Fair.\nQUALITY: observability={one:.2f}, discriminability={other:.2f}"
        if stage.name == "score_critic":
            return f"Perhaps.\nEXPERT_AGREEMENT: {self.random.random():.3f}"
        if stage.name == "score_gen":
            return f"=It shows signs.\nVERDICT: {self._verdict(part)}"
        return f"{stage.name} text of {part.documents}"

    def _verdict(self, part: Part) -> str:
        if self.experiment.abstain_enabled and self.random.random() < 0.2:
            return "ABSTAIN"
        tokens = part.part["tokens"]
        assert isinstance(tokens, tuple)
        lean = self.experiment.models.index(part.model)  # models differ
        weights = [1 + (lean + 1) * place for place in range(len(tokens))]
        size = 1 if self.experiment.method == "single" else self.random.choice((1, 1, 2, 3))
        return ", ".join(dict.fromkeys(self.random.choices(tokens, weights, k=size)))


def _judge(stage: Stage, answer: str, part: JsonObject) -> Json:
    use = stage.gates[0]
    if use.name == "text":
        return {"text": answer}
    verdict = MarkersGate().judge(GateInput(answer, Stop.END, facts={"part": part}), use.params)
    assert verdict.data is not None, verdict.reasons
    return verdict.data
