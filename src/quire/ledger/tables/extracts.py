"""Extracts: what stands in prompts in the place of texts, and who is at compressing which."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.extracts import CompressedText, NewExtract
from quire.domain.ids import StageId, TaskId, WorkerId
from quire.ledger.tables.table import Table


class _TextOfTask(NamedTuple):
    task_id: TaskId
    name: str
    tokens: int
    kept: int
    instead: int


class ExtractTable(Table):
    """What the workspace's prompts were compressed to."""

    def want_compression(self, tasks: Sequence[TaskId]) -> None:
        """Let some ready tasks wait until their prompts were compressed."""
        self._change("want_compression", tasks=list(tasks))

    def stages_to_compress(self) -> list[tuple[StageId, int]]:
        """Where prompts wait to be compressed: stages, and numbers of models."""
        return [(row[0], row[1]) for row in self._run("stages_to_compress")]

    def tasks_to_compress(self, stage: StageId, model_no: int, limit: int) -> list[TaskId]:
        """Ready tasks whose prompts wait to be compressed, and that nobody is at."""
        return self._column("tasks_to_compress", stage=stage, model=model_no, limit=limit)

    def take_compression(self, tasks: Sequence[TaskId], worker: WorkerId) -> list[TaskId]:
        """Take some for one worker; returns those that it got."""
        return sorted(self._column("take_compression", tasks=list(tasks), worker=worker))

    def end_compression(self, tasks: Sequence[TaskId], worker: WorkerId) -> list[TaskId]:
        """Let some be packed again; returns those that the worker still had."""
        return self._column("end_compression", tasks=list(tasks), worker=worker)

    def release_compressions(self) -> None:
        """Give others what workers that are gone had taken."""
        self._change("release_compressions")

    def extracts_of_text(self, source: bytes, prompt: bytes) -> dict[int, str]:
        """What was made of a text for a prompt, by size."""
        return dict(self._run("extracts_of_text", source=source, prompt=prompt))

    def add_extract(self, prompt: bytes, made: NewExtract) -> None:
        """Keep what was made of a text for a prompt."""
        self._change(
            "add_extract", source=made.source, prompt=prompt, size=made.size, content=made.text
        )

    def add_compression(self, task: TaskId, prompt: bytes, made: NewExtract) -> None:
        """Let an extract stand in a task's prompt, once the compression is counted."""
        self._change(
            "add_compression",
            task=task,
            source=made.source,
            prompt=prompt,
            size=made.size,
            name=made.name,
            tokens=made.tokens,
            kept=made.kept,
            instead=int(made.instead),
        )

    def count_compression(self, task: TaskId) -> None:
        """Let what was added be what holds."""
        self._change("count_compression", task=task)

    def extracts_of_compression(self, task: TaskId, no: int) -> dict[bytes, str]:
        """What stands in the place of texts in a task's prompt, by their fingerprints."""
        rows = self._run("extracts_of_compression", task=task, no=no)
        return {bytes(source): text for source, text in rows}

    def compressed_texts(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[CompressedText]]:
        """What was compressed of some prompts, and from how much to how much."""
        found: dict[TaskId, list[CompressedText]] = defaultdict(list)
        for row in self._list(_TextOfTask, "compressed_texts", tasks=list(tasks)):
            instead = bool(row.instead)
            found[row.task_id].append(CompressedText(row.name, row.tokens, row.kept, instead))
        return found
