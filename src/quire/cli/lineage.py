"""The command that shows what a result was made from, as a tree from it back to its sources."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.printing import clip, print_json, say
from quire.cli.session import engine_for
from quire.domain.errors import UsageError
from quire.domain.plain_text import plain_text

if TYPE_CHECKING:
    from quire.domain.ids import DocumentId, ResultId
    from quire.engine.lineage import LineageResult, ResultLineage

MOST_SOURCES = 20  # shown of one result
TITLE = 60  # characters


def lineage(
    context: typer.Context,
    result: Annotated[int | None, argument("RESULT", "A result's number, as in index.md.")] = None,
    task: Annotated[
        int | None, option("N", "In its place: the result that a task has now.", "--task")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a result was made from, back to the documents, also through other runs."""
    if (result is None) == (task is None):
        raise UsageError("give a result's number or --task N, one of the two")
    with engine_for(context) as engine:
        lineages = engine.lineages
        found = lineages.trace(lineages.result_of_task(task or 0) if result is None else result)
    if as_json:
        print_json(found.as_json())
        return
    for line in _Tree(found).lines():
        say(plain_text(line))


class _Tree:
    """A graph drawn as a tree: what was shown once is only named after that."""

    def __init__(self, found: "ResultLineage") -> None:
        self._found = found
        self._seen: set[int] = set()

    def lines(self) -> Iterator[str]:
        """The root, and under it what it was made from."""
        yield from self._result(self._found.root, "", "")

    def _result(self, number: "ResultId", head: str, indent: str) -> Iterator[str]:
        node = self._found.results.get(number)
        if node is None:
            yield f"{head}result {number}, which is not here any more"
            return
        again = number in self._seen and bool(node.sources or node.documents)
        yield f"{head}{_describe(node)}{' (as above)' if again else ''}"
        if again:
            return
        self._seen.add(number)
        children = [*node.sources, *node.documents]
        shown = children[:MOST_SOURCES]
        for place, child in enumerate(shown):
            last = place == len(children) - 1
            inner_head = indent + ("└─ " if last else "├─ ")
            inner = indent + ("   " if last else "│  ")
            is_result = place < len(node.sources)
            draw = self._result if is_result else self._document
            yield from draw(child, inner_head, inner)  # type: ignore[arg-type]  # by its place
        if len(children) > len(shown):
            yield f"{indent}└─ and {len(children) - len(shown):,} more; --json has all"

    def _document(self, number: "DocumentId", head: str, indent: str) -> Iterator[str]:
        document = self._found.documents[number]
        if document.purged:
            yield f"{head}document {number}, purged"
        else:
            yield f"{head}document {number}: {clip(document.title, TITLE)} ({document.locator})"
        if document.result_id is not None:
            yield from self._result(document.result_id, indent + "└─ ", indent + "   ")


def _describe(node: "LineageResult") -> str:
    """One result in a line, with what is to be known before it is believed."""
    sample = f", sample {node.sample}" if node.sample else ""
    block = "" if node.block_index is None else f", block {node.block_index}"
    marks = {
        "another has taken its place": not node.current,
        "stale": node.stale,
        "edited by a person": node.by_person,
        f"reused from result {node.reused_from}": node.reused_from is not None,
        "purged": node.purged,
    }
    said = "".join(f" · {mark}" for mark, holds in marks.items() if holds)
    who = f"{node.stage} by {node.model}{sample}{block}"
    origin = "" if node.origin == node.task_id else f", origin task {node.origin}"
    return f"result {node.id}: {who}, run {node.run_id}, task {node.task_id}{origin}{said}"
