"""A remote run: followed, looked at, steered, decided about and exported over HTTP."""

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from quire.client.http_session import PIECE, HttpSession
from quire.client.remote_frames import check_frame, frame_from_parquet
from quire.client.review_answers import decision, decision_result, inbox_line
from quire.domain.data import Json
from quire.domain.errors import Error, LedgerError, UsageError
from quire.domain.pricing import DOLLAR, dollars, from_usd, to_usd
from quire.domain.quantities import quantity
from quire.domain.regating import RegateExample, RegateReport
from quire.domain.reviews import DecisionResult, InboxLine, ReviewDecision
from quire.domain.runs import HeldError
from quire.domain.states import RunState

ENDINGS = {".jsonl": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".xlsx": "xlsx"}
LOOK_EVERY = 1.0  # seconds between two looks at a run
UNSERVED = 10  # looks in a row without a worker, after which whoever waits is told
AWAY = 60  # looks in a row without an answer, as of a server that is started again

UNSERVED_WARNING = (
    "nobody works for run {0} at its server: it goes on once `quire work` runs there, or "
    "`quire serve` without `--workers 0`"
)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteProgress:
    """How far a run is, as its server says."""

    said: dict[str, Any]  # as `quire status --json`

    def __repr__(self) -> str:
        """Say how the run stands, and why it does not go on."""
        return f"<quire run {self.said['run']}: {self.standing}, {self.in_words}>"

    @property
    def in_words(self) -> str:
        """How far it is, what it cost, and why it does not go on."""
        counts = f"{self.done:,} of {quantity(self.total, self.noun)} done, {self.failed:,} failed"
        cost = dollars(round(self.cost_usd * DOLLAR)) + ", simulated" * self.is_simulated
        return "; ".join([f"{counts}, {cost}", *self.why])

    @property
    def standing(self) -> str:
        """How it stands in a word, as `quire status` says."""
        return str(self.said["standing"])

    @property
    def why(self) -> tuple[str, ...]:
        """What holds it, a sentence each; none of a run that goes on or has ended."""
        return hold_details(self.said)

    @property
    def state(self) -> str:
        """It runs, is finished, or was cancelled."""
        return str(self.said["state"])

    @property
    def done(self) -> int:
        """Tasks with a result."""
        return int(self.said["done"])

    @property
    def total(self) -> int:
        """All that it is about."""
        return int(self.said["blocks"])

    @property
    def noun(self) -> str:
        """What a task is about: a block, a document; of a recipe's run, a task."""
        return str(self.said["per"] or "task")

    @property
    def failed(self) -> int:
        """Tasks that were given up."""
        return int(self.said["failed"])

    @property
    def cost_usd(self) -> float:
        """Dollars that it cost so far."""
        return float(self.said["cost_usd"])

    @property
    def is_simulated(self) -> bool:
        """Whether all its answers are made up, and its dollars are no money."""
        return bool(self.said["simulated"])

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing moves until somebody acts."""
        return bool(self.said["at_rest"])

    @property
    def is_served(self) -> bool:
        """Whether a worker is there to carry it out."""
        return int(self.said["workers"]) > 0


def hold_details(run: Mapping[str, Any]) -> tuple[str, ...]:
    """What holds a run, as its server says, a sentence each."""
    return tuple(hold["detail"] for hold in run["holds"]) if run["standing"] == "held" else ()


def sent_dollars(amount: int | float | str | Decimal | None) -> float | None:
    """An amount as a server takes it, written in any way that is understood here."""
    return None if amount is None else to_usd(from_usd(amount))


class RunHeldRemotely(HeldError):
    """The run cannot go on until somebody acts; what it has so far is kept."""

    progress: RemoteProgress  # type: ignore[assignment]

    def __init__(self, run: int, progress: RemoteProgress, detail: str) -> None:
        """Say what holds it."""
        Error.__init__(self, f"run {run} is held: {detail}")
        self.progress, self.partial = progress, None


def _regate_report(item: Mapping[str, Any]) -> RegateReport:
    examples = [RegateExample(**example) for example in item["examples"]]
    return RegateReport(**{**item, "examples": examples})


class RemoteRun:
    """One run of a server's ledger."""

    def __init__(self, session: HttpSession, run: int, rest: Callable[[float], None]) -> None:
        """Refer to a run by its number; `rest` waits so many seconds."""
        self._session, self.id, self._rest = session, run, rest

    def __repr__(self) -> str:
        """Say which run, and how it stands if the server answers."""
        try:
            now = self.progress()
        except Error:
            return f"<quire run {self.id} at {self._session.url}, which does not answer>"
        return f"<quire run {self.id}: {now.standing}, {now.in_words}>"

    def wait(self, watch: Callable[[Any], None] | None = None) -> RemoteProgress:
        """Follow it until there is nothing more to do; the server's workers carry it out.

        A server that is started again meanwhile is waited for; that nobody works is warned of.
        """
        unserved = 0
        while True:
            now = self._look()
            if watch:
                watch(now)
            if now.is_at_rest:
                break
            unserved = 0 if now.is_served else unserved + 1
            if unserved == UNSERVED:
                warnings.warn(UNSERVED_WARNING.format(self.id), RuntimeWarning, stacklevel=2)
            self._rest(LOOK_EVERY)
        unasked = [hold for hold in now.said["holds"] if hold["kind"] not in ("user", "stop_after")]
        if now.state == RunState.RUNNING and unasked:
            raise RunHeldRemotely(self.id, now, unasked[0]["detail"])
        return now

    def _look(self) -> RemoteProgress:
        for _ in range(AWAY):
            try:
                return self.progress()
            except LedgerError:
                self._rest(LOOK_EVERY)
        return self.progress()

    def progress(self) -> RemoteProgress:
        """How far it is."""
        return RemoteProgress(self._session.get(f"/v1/runs/{self.id}"))

    def rows(self, only: str = "all", stage: str | None = None) -> list[dict[str, Json]]:
        """One flat mapping a block or task, in order, with the answer's fields as columns."""
        query = {"only": only, "stage": stage}
        with self._session.open("GET", f"/v1/runs/{self.id}/rows", query=query) as answer:
            return [json.loads(line) for line in answer]

    def to_pandas(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as a pandas frame with typed columns."""
        return self._frame("pandas", only, stage)

    def to_polars(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as a polars frame."""
        return self._frame("polars", only, stage)

    def to_arrow(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as an Arrow table."""
        return self._frame("arrow", only, stage)

    def to_hf(self, only: str = "all", stage: str | None = None) -> Any:
        """The rows as a data set of Hugging Face."""
        return self._frame("hf", only, stage)

    def _frame(self, kind: str, only: str, stage: str | None) -> Any:
        check_frame(kind)
        query = {"only": only, "stage": stage, "format": "parquet"}
        with self._session.open("GET", f"/v1/runs/{self.id}/export", query=query) as answer:
            return frame_from_parquet(kind, answer.read())

    def export(self, path: str, only: str = "all", stage: str | None = None) -> int:
        """Write the rows in the format of the path's ending; returns how many."""
        self.download(path, only, stage)
        query = {"only": only, "stage": stage}
        with self._session.open("GET", f"/v1/runs/{self.id}/rows", query=query) as answer:
            return sum(1 for _ in answer)

    def download(self, path: str, only: str = "all", stage: str | None = None) -> None:
        """Write the rows in the format of the path's ending; the file appears when it is whole."""
        form = ENDINGS.get(Path(path).suffix.lower())
        if form is None:
            raise UsageError(f"{path}: no format has this ending", f"use {', '.join(ENDINGS)}")
        query = {"only": only, "stage": stage, "format": form}
        partial = Path(f"{path}.partial")
        try:
            with (
                self._session.open("GET", f"/v1/runs/{self.id}/export", query=query) as answer,
                partial.open("wb") as file,
            ):
                while piece := answer.read(PIECE):
                    file.write(piece)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def manifest(self, stage: str | None = None) -> dict[str, Any]:
        """How its export stands: as long as the hash is the same, so is the file."""
        found: dict[str, Any] = self._session.get(
            f"/v1/runs/{self.id}/export/manifest", stage=stage
        )
        return found

    def pause(self) -> bool:
        """Send nothing more until `resume`."""
        return bool(self._act("pause"))

    def resume(self, *, budget_usd: Any = None, no_limit: bool = False) -> bool:
        """Go on, with another budget if one is given, beyond its limit if that is said."""
        body = {"budget_usd": sent_dollars(budget_usd), "no_limit": no_limit}
        return bool(self._act("resume", body))

    def cancel(self) -> bool:
        """Ask for the end."""
        return bool(self._act("cancel"))

    def retry(
        self, *, stage: str | None = None, stale: bool = False, like: int | None = None
    ) -> int:
        """Owe failed tasks again, or stale ones; returns how many."""
        return int(self._act("retry", {"stage": stage, "stale": stale, "like": like}))

    def stop_after(self, stage: str | None) -> bool:
        """Begin no stage after this one; None takes that back."""
        return bool(self._act("stop-after", {"stage": stage}))

    def waive(self, *tasks: int) -> int:
        """Go on without failed tasks, in an exact run; returns how many are new to that."""
        return int(self._act("waive", {"tasks": list(tasks)}))

    def rerun(self, from_stage: str) -> int:
        """Ask a stage and all after it again, at a price; returns how many tasks that is."""
        return int(self._act("rerun", {"from_stage": from_stage}))

    def regate(self, stage: str | None = None, *, apply: bool = False) -> list[RegateReport]:
        """Judge stored answers with the gates as they are now, for nothing, a report a stage."""
        body = {"stage": stage, "apply": apply}
        found = self._session.post(f"/v1/runs/{self.id}/regate", body)["items"]
        return [_regate_report(item) for item in found]

    def approve(self, task: int, *, who: str = "") -> DecisionResult:
        """Confirm one result: no machine replaces it any more."""
        return self._decide(task, "approve", who)

    def edit(self, task: int, data: Json, *, who: str = "") -> DecisionResult:
        """Put your own data in the place of a result."""
        return self._decide(task, "edit", who, data=data)

    def reject(self, task: int, note: str, *, who: str = "") -> DecisionResult:
        """Refuse one result; it is asked again with the note, at a price."""
        return self._decide(task, "reject", who, note=note)

    def undo(self, task: int, *, who: str = "", decision: int | None = None) -> DecisionResult:
        """Take back the last decision about a result: what stood before stands again."""
        return self._decide(task, "undo", who, decision=decision)

    def inbox(self, words: str = "", limit: int = 50) -> tuple[InboxLine, ...]:
        """Results that want a person, the most pressing first; `words` are a filter's."""
        found = self._session.list(f"/v1/runs/{self.id}/inbox", limit, filter=words or None)
        return tuple(map(inbox_line, found))

    def decisions(self, task: int | None = None, limit: int = 50) -> list[ReviewDecision]:
        """Who decided what and when, the newest first; about one task if it is named."""
        found = self._session.list(f"/v1/runs/{self.id}/decisions", limit, task=task)
        return list(map(decision, found))

    def _act(self, name: str, body: object = None) -> bool | int:
        found = self._session.post(f"/v1/runs/{self.id}/{name}", body)["changed"]
        if not isinstance(found, int):
            raise LedgerError("the server did not say what changed")
        return found

    def _decide(self, task: int, move: str, who: str, **said: Json) -> DecisionResult:
        name = {"who": who} if who else {}
        return decision_result(self._session.post(f"/v1/tasks/{task}/{move}", {**said, **name}))
