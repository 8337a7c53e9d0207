"""Listed runs: the runs of a ledger as a script lists them, each with how it stands and why."""

from typing import TYPE_CHECKING

from quire.domain.ids import RunId
from quire.domain.workbench import ListedRun

if TYPE_CHECKING:
    from quire.engine.queries import Queries


class ListedRuns:
    """The runs that queries find, each with how it stands."""

    def __init__(self, queries: "Queries") -> None:
        """List what these find."""
        self._queries = queries

    def newest(self, limit: int = 20, *, drafts: bool = False) -> list[ListedRun]:
        """The newest runs first; those that drafted schemas only where they are asked for."""
        return [self._line(run.id) for run in self._queries.runs(limit, drafts=drafts)]

    def _line(self, run: RunId) -> ListedRun:
        head, now = self._queries.head(run), self._queries.progress(run)
        return ListedRun(
            id=run,
            state=now.state,
            standing=now.standing,
            why=now.why,
            name=head.name,
            model=head.model.name,
            created_at=head.started_at,
            done=now.done,
            total=now.total,
            failed=now.failed,
            cost_usd=now.cost_usd,
        )
