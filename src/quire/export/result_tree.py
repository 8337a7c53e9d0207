"""Results as a tree of files: a folder a stage, a file a result, and an index that links them."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from quire.domain.data import Json, mend_text, readable_json, stored_json, text_of_result
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.recipes import Stage
from quire.export.file_names import result_file_name, stage_folders
from quire.export.result_rows import ExportedTask, task_rows
from quire.export.result_selection import (
    ACCEPTED_ROWS,
    WITH_DATA,
    ResultSource,
    RowFilter,
    choose_stage,
    find_result_source,
)
from quire.export.written_files import FileOutcome, WrittenFiles
from quire.ledger.ledger import Ledger, Transaction

INDEX = "index.md"
LONGEST_TITLE = 100  # characters of a title in the index
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~])")

Watch = Callable[[str], None]  # is told the path of every file


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTree:
    """What became of the files of a run's results."""

    folder: Path
    results: int
    written: int
    unchanged: int
    removed: int  # of results that are no longer there
    left: tuple[str, ...]  # somebody else's, or changed by somebody: they stay as they are


def result_bytes(data: Json) -> tuple[str, bytes]:
    """The ending of a result's file, and what it holds: text as Markdown, all else as JSON."""
    text = text_of_result(data)
    ending, content = (".json", readable_json(data)) if text is None else (".md", text)
    return ending, mend_text(content).encode() + b"\n"


def check_results_filter(chosen: RowFilter) -> RowFilter:
    """Refuse a choice of rows that have no results."""
    if chosen.only not in WITH_DATA:
        raise UsageError(
            f"only accepted and confirmed rows have results, not those that are {chosen.only}",
            "`quire show RUN --only …` lists rows that stand otherwise",
        )
    return chosen


def write_result_tree(
    ledger: Ledger,
    run: RunId,
    folder: str | Path,
    stage: str | None = None,
    watch: Watch | None = None,
    chosen: RowFilter = ACCEPTED_ROWS,
) -> ResultTree:
    """Write a run's accepted results, of all stages or of one, as files under a folder.

    Only what changed is written. Files that others made or changed are left, and told.
    """
    check_results_filter(chosen.check())
    with ledger.snapshot() as tx:
        source = find_result_source(tx, run)
        stages = {choose_stage(source.recipe, stage).name} if stage else set(source.stage_ids)
        target = Path(folder) / f"run_{run}"
        owner: dict[str, Json] = {"run": run, "started": source.run.created_at.isoformat()}
        try:
            files = WrittenFiles(target, owner)
            try:
                writer = _TreeWriter(tx, source, files, watch or (lambda path: None), chosen)
                return writer.write(target, stages)
            finally:
                files.close()
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None


class _TreeWriter:
    """One writing under way."""

    def __init__(
        self,
        tx: Transaction,
        source: ResultSource,
        files: WrittenFiles,
        watch: Watch,
        chosen: RowFilter,
    ) -> None:
        self._tx, self._source, self._files, self._watch = tx, source, files, watch
        self._chosen = chosen
        self._folders = stage_folders(source.stage_ids)
        self._counts: Counter[FileOutcome] = Counter()
        self._left: list[str] = []
        self._results = 0

    def write(self, target: Path, chosen: set[str]) -> ResultTree:
        """Write the files of some stages and the index, and remove what is gone."""
        index = [f"# {_plain(self._source.recipe.name)}, run {self._source.run.id}\n"]
        gone = {path for path in self._files.paths if self._is_in(path, chosen)}
        for stage in self._source.recipe.stages:
            lines = []
            for path, line in self._stage_lines(stage, written=stage.name in chosen):
                gone.discard(path)
                lines.append(line)
            if lines:
                index += [f"\n## {stage.name}\n\n", *lines]
        for path in sorted(gone):
            self._take(path, self._files.remove(path))
        self._take(INDEX, self._files.write(INDEX, "".join(index).encode()))
        return ResultTree(
            folder=target,
            results=self._results,
            written=self._counts[FileOutcome.WRITTEN],
            unchanged=self._counts[FileOutcome.UNCHANGED],
            removed=self._counts[FileOutcome.REMOVED],
            left=tuple(self._left),
        )

    def _is_in(self, path: str, chosen: set[str]) -> bool:
        return path.partition("/")[0] in {self._folders[name] for name in chosen}

    def _stage_lines(self, stage: Stage, *, written: bool) -> Iterator[tuple[str, str]]:
        """The files of a stage, each with its line of the index; those of others as they are."""
        for row in task_rows(self._tx, self._source, stage, self._chosen):
            if row.text is None:  # purged
                continue
            ending, content = result_bytes(row.data)
            path = f"{self._folders[stage.name]}/{result_file_name(row, ending)}"
            if written:
                self._results += 1
                self._take(path, self._files.write(path, content))
            if path in self._files:
                yield path, _index_line(row, stage, path)

    def _take(self, path: str, outcome: FileOutcome) -> None:
        self._counts[outcome] += path != INDEX
        if outcome is FileOutcome.LEFT:
            self._left.append(path)
        self._watch(path)


def _index_line(row: ExportedTask, stage: Stage, path: str) -> str:
    outcome = row.outcome
    text = text_of_result(row.data)
    heading = _TITLE.search(text) if text else None
    about = subject_title(row)
    notes = [row.model, f"result {outcome.result_id}", *result_marks(row, stage)]
    return f"- [{_plain(heading[1] if heading else about)}]({path}) · {' · '.join(notes)}\n"


def subject_title(row: ExportedTask) -> str:
    """What a result is about, for a person."""
    block = row.outcome.block_index
    title = row.outcome.title or row.stage
    return title if block is None else f"{title}, block {block}"


def result_marks(row: ExportedTask, stage: Stage) -> list[str]:
    """What is to be known before a result is believed: that it is stale, incomplete, or erased."""
    kinds = dict.fromkeys(str(note["kind"]) for note in stored_json(row.notes) or ())
    return [
        *([f"sample {row.outcome.sample}"] if stage.is_sampled else []),
        *(["purged"] if row.text is None else []),
        *(["stale"] if row.outcome.stale_since is not None else []),
        *(kind.replace("_", " ") for kind in kinds),
    ]


def _plain(text: str) -> str:
    """A title on one line that Markdown shows as it is, whatever is in it."""
    line = " ".join(mend_text(text).split())
    return _MARKUP.sub(r"\\\1", line[:LONGEST_TITLE]) or "untitled"
