"""The workbench: what a script asks for, whether its ledger is here or behind a server.

`quire.open(…)` gives an engine and `quire.connect(…)` a client; both can all of this, so that a
notebook does not care where the ledger is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.pricing import DOLLAR, dollars
from quire.domain.regating import RegateReport
from quire.domain.reviews import DecisionResult, InboxLine, ReviewDecision

LISTING = "runs(), documents() and schemas() list what is there"  # as a workbench shows itself
NAMES_IN_RUN = {"budget": "budget_usd", "max_cost": "max_cost_usd"}  # of what `extract` takes
NAMES_IN_EXTRACT = {ours: theirs for theirs, ours in NAMES_IN_RUN.items()}


def as_run_number(asked: object) -> RunId:
    """The number of a run that somebody asks for; anything else is refused in one line."""
    if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0:
        return RunId(asked)
    raise UsageError(f"{asked!r} is no run's number", "runs() lists them: get(runs()[0].id)")


def refuse_misnamed(said: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What was said; refused where other calls call it so, with its name in this one."""
    for name in said:
        if name in names:
            raise UsageError(f"{name}= is not known here", f"did you mean {names[name]}=?")
    return said


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ListedRun:
    """A run, as a list has it."""

    id: RunId  # its number, for `get`
    state: str  # it runs, is finished, or was cancelled
    standing: str  # the same, or held, cancelling, or stopped: nobody works on it
    why: tuple[str, ...]  # what holds it
    name: str  # of its schema or recipe
    model: str
    created_at: datetime
    done: int  # tasks with a result
    total: int  # all that it is about
    failed: int  # tasks that were given up
    cost_usd: float

    def __repr__(self) -> str:
        """Show as one line."""
        counts = f"{self.done:,} of {self.total:,} done, {self.failed:,} failed"
        cost = dollars(round(self.cost_usd * DOLLAR))
        line = f"{self.standing}, {self.name}, {self.model}, {counts}, {cost}"
        return f"<quire run {self.id}: {'; '.join([line, *self.why])}>"


class KnownDocument(Protocol):
    """A document, as a list has it."""

    @property
    def id(self) -> int:
        """Its number, for `over`."""
        ...

    @property
    def title(self) -> str:
        """What it is called."""
        ...

    @property
    def source_locator(self) -> str:
        """Where it was read from."""
        ...

    @property
    def conv_total_blocks(self) -> int:
        """Into how many blocks it was cut."""
        ...


class KnownSchema(Protocol):
    """A version of a kept schema, as a list has it."""

    @property
    def ref(self) -> str:
        """Its name, for `schema`."""
        ...

    @property
    def version(self) -> int:
        """Which of those that were kept under its name."""
        ...

    @property
    def uid(self) -> str:
        """The fingerprint of its content."""
        ...


class RunProgress(Protocol):
    """How far a run is."""

    @property
    def state(self) -> str:
        """It runs, is finished, or was cancelled."""
        ...

    @property
    def standing(self) -> str:
        """The same, or cancelling, held, or stopped."""
        ...

    @property
    def why(self) -> tuple[str, ...]:
        """What holds it, a sentence each."""
        ...

    @property
    def done(self) -> int:
        """Tasks with a result."""
        ...

    @property
    def failed(self) -> int:
        """Tasks that were given up."""
        ...

    @property
    def cost_usd(self) -> float:
        """Dollars that it cost so far."""
        ...


class WorkbenchRun(Protocol):
    """One run: waited for, looked at, steered, decided about, exported."""

    @property
    def id(self) -> int:
        """Its number."""
        ...

    def wait(self, watch: Callable[[Any], None] | None = None) -> RunProgress:
        """Until there is nothing more to do: here it is carried out, at a server followed."""
        ...

    def progress(self) -> RunProgress:
        """How far it is."""
        ...

    def rows(self, only: str = "all", stage: str | None = None) -> list[dict[str, Json]]:
        """One flat mapping a block or task, with the answer's fields as columns."""
        ...

    def to_pandas(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as a pandas frame with typed columns."""
        ...

    def to_polars(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as a polars frame."""
        ...

    def to_arrow(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as an Arrow table."""
        ...

    def to_hf(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as a data set of Hugging Face."""
        ...

    def export(self, path: str, only: str = "all", stage: str | None = None) -> int:
        """Write the rows in the format of the path's ending; returns how many."""
        ...

    def pause(self) -> bool:
        """Send nothing more until `resume`."""
        ...

    def resume(self, *, budget_usd: Any = None, no_limit: bool = False) -> bool:
        """Go on, with another budget if one is given, beyond its limit if that is said."""
        ...

    def cancel(self) -> bool:
        """Ask for the end."""
        ...

    def retry(
        self, *, stage: str | None = None, stale: bool = False, like: int | None = None
    ) -> int:
        """Owe failed tasks again, those that failed as one did, or stale ones; how many."""
        ...

    def stop_after(self, stage: str | None) -> bool:
        """Begin no stage after this one; None takes that back."""
        ...

    def waive(self, *tasks: int) -> int:
        """Go on without failed tasks, in an exact run; how many are new to that."""
        ...

    def rerun(self, from_stage: str) -> int:
        """Ask a stage and all after it again, at a price; how many tasks that is."""
        ...

    def regate(self, stage: str | None = None, *, apply: bool = False) -> list[RegateReport]:
        """Judge stored answers with the gates as they are now, for nothing, a report a stage."""
        ...

    def approve(self, task: int, *, who: str = "") -> object:
        """Confirm one result: no machine replaces it any more."""
        ...

    def edit(self, task: int, data: Json, *, who: str = "") -> object:
        """Put your own data in the place of a result."""
        ...

    def reject(self, task: int, note: str, *, who: str = "") -> object:
        """Refuse one result; it is asked again with the note, at a price."""
        ...

    def undo(self, task: int, *, who: str = "", decision: int | None = None) -> DecisionResult:
        """Take back the last decision about a result: what stood before stands again."""
        ...

    def inbox(self, words: str = "", limit: int = 50) -> tuple[InboxLine, ...]:
        """Results that want a person, the most pressing first; `words` are a filter's."""
        ...

    def decisions(self, task: int | None = None, limit: int = 50) -> list[ReviewDecision]:
        """Who decided what and when, the newest first; about one task if it is named."""
        ...


class WorkbenchPlan(Protocol):
    """What a run would take."""

    @property
    def cost_usd(self) -> float:
        """Dollars, expected."""
        ...


class Workbench(Protocol):
    """A ledger that documents go into and results come out of."""

    def ingest(self, *paths: Any) -> Any:
        """Bring files, folders and globs in; what comes back may be given to `run` as `over`."""
        ...

    def plan(  # noqa: PLR0913 - all that a person may say of a plan
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Any = None,
        parameters: Mapping[str, Json] | None = None,
        per: str | None = None,
        block_types: Sequence[str] = (),
        **policy: Any,
    ) -> WorkbenchPlan:
        """Forecast calls, tokens and dollars; spends nothing."""
        ...

    def run(  # noqa: PLR0913 - all that a person may say of a run
        self,
        *,
        schema: Any = None,
        recipe: Any = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        over: Any = None,
        parameters: Mapping[str, Json] | None = None,
        limit: int | None = None,
        stop_after: str | None = None,
        reuse: tuple[int, str] | bool | None = None,
        new: bool = False,
        max_cost_usd: float | None = None,
        wallet: str | None = None,
        budget_usd: Any = None,
        per: str | None = None,
        block_types: Sequence[str] = (),
        **policy: Any,
    ) -> WorkbenchRun:
        """Start a run, or go on with that of the same order."""
        ...

    def get(self, run: int) -> WorkbenchRun:
        """A run by its number."""
        ...

    def runs(self, limit: int = 20) -> Sequence[ListedRun]:
        """The newest runs first."""
        ...

    def documents(self) -> Sequence[KnownDocument]:
        """Every document, the oldest first."""
        ...

    def schemas(self) -> Sequence[KnownSchema]:
        """Every version of every kept schema."""
        ...

    def add_schema(self, source: Any) -> KnownSchema:
        """Keep a schema of a mapping, a class or a file; other content becomes a version."""
        ...
