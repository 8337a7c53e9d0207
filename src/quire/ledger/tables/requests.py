"""Lanes, requests and their members: the calls, queued and out, and who rides in them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import JsonObject, plain_json
from quire.domain.gates import StrayIds
from quire.domain.ids import LaneId, RequestId, RunId, StageId, TaskId
from quire.domain.requests import Membership, NewRequest, QueuedRequest, RequestGroup
from quire.domain.runs import Lane
from quire.domain.states import REQUEST, RequestMove, RequestState
from quire.domain.tasks import Member, MemberContent, MemberVerdict
from quire.ledger.stored_values import from_micros_or_none, storable_text, to_micros
from quire.ledger.tables.table import Table


class UnsentPacks(NamedTuple):
    """Requests of a stage that carry tasks and were never sent."""

    stage_id: StageId
    packs: int
    tasks: int  # in them


class Requests(Table):
    """The workspace's lanes and requests."""

    def add_lane(
        self, run: RunId, stage: StageId, model: str, route: str = "direct", *, serves: bool = True
    ) -> LaneId:
        """Open a queue for a stage's calls to one model that travel alike; packs go to some."""
        values = {"stage": stage, "model": model, "route": route, "serves": int(serves)}
        return LaneId(self._run("add_lane", run=run, **values)[0][0])

    def open_lanes(self, now: datetime) -> list[Lane]:
        """Lanes that may send now, each with the stage that its run is to stop after."""
        return self._list(Lane, "open_lanes", now=to_micros(now))

    def lanes_of_run(self, run: RunId) -> list[Lane]:
        """A run's lanes, whether they may send or not."""
        return self._list(Lane, "lanes_of_run", run=run)

    def delay_lane(self, lane: LaneId, until: datetime) -> None:
        """Let a whole lane wait, because the provider asked for it."""
        self._change("delay_lane", id=lane, until=to_micros(until))

    def next_lane_moment(self, run: RunId) -> datetime | None:
        """When the next queued request of a run may go; None if none is queued."""
        return from_micros_or_none(self._run("next_lane_moment", run=run)[0][0])

    def forget_lane_waits(self, run: RunId) -> None:
        """Let a run's lanes go at once, whatever the provider said."""
        self._change("forget_lane_waits", run=run)

    def forget_request_waits(self, run: RunId) -> None:
        """Let a run's queued calls go at once, however often they failed."""
        self._change("forget_request_waits", run=run)

    def count_queued_in_lane(self, lane: LaneId, limit: int) -> int:
        """How many requests are queued in a lane, counted no further than the limit."""
        return self._count("count_queued_in_lane", lane=lane, limit=limit)

    def add_prefix(self, digest: bytes, system: str, output_schema: JsonObject) -> None:
        """Store a prefix once."""
        self._change(
            "add_prefix", hash=digest, system=system, output_schema=plain_json(output_schema)
        )

    def take_ids(self, count: int) -> list[RequestId]:
        """Set keys aside: wire ids are derived from them before the request is stored."""
        return [RequestId(number) for number in self._connection.take_ids("requests", count)]

    def add_requests(
        self, queue: RequestGroup, requests: Sequence[NewRequest], members: Sequence[Membership]
    ) -> None:
        """Queue packed requests."""
        self._connection.run_many(
            "add_requests",
            requests,
            lane=queue.lane_id,
            prefix=queue.prefix_hash,
            version=queue.render_version,
            state=str(REQUEST.start),
        )
        self._connection.run_many("add_members", members)

    def sendable_requests(self, lane: LaneId, limit: int, now: datetime) -> list[QueuedRequest]:
        """The oldest sendable requests of a lane, which this transaction alone may claim."""
        return self._list(
            QueuedRequest, "sendable_requests", lane=lane, now=to_micros(now), limit=limit
        )

    def claim_requests(self, requests: Sequence[QueuedRequest]) -> None:
        """Take requests that this transaction has just read; they go out now."""
        ids = [request.id for request in requests]
        claim, queued = RequestMove.CLAIM, RequestState.QUEUED
        self._move_group("claim_requests", REQUEST, claim, queued, ids)

    def move_requests(
        self,
        name: RequestMove,
        requests: Sequence[RequestId],
        sources: Iterable[RequestState] | None = None,
    ) -> list[RequestId]:
        """Make a move with every request that is where the move starts; returns who moved."""
        if not requests:
            return []
        moved = self._move("move_requests", REQUEST, name, sources, ids=requests)
        return [row[0] for _, rows in moved for row in rows]

    def move_request_group(
        self, name: RequestMove, requests: Sequence[RequestId], source: RequestState
    ) -> None:
        """Make a move with requests that this transaction read in one state: the fast way."""
        self._move_group("move_request_group", REQUEST, name, source, requests)

    def delay_requests(self, moments: Sequence[tuple[RequestId, datetime]]) -> None:
        """Let some requests wait."""
        self._connection.run_many(
            "delay_requests", [(request, to_micros(until)) for request, until in moments]
        )

    def count_losses(self, requests: Sequence[RequestId]) -> None:
        """Count one more sending that nobody knows the end of."""
        self._change("count_losses", ids=requests)

    def forgive_losses(self, requests: Sequence[RequestId]) -> None:
        """Count lost sendings from nought again: they were nobody's fault."""
        self._change("forgive_losses", ids=requests)

    def take_members(self, requests: Sequence[RequestId]) -> list[Member]:
        """The members of some requests as they stand now, taken for this transaction."""
        return self._list(Member, "take_members", ids=requests)

    def count_sendable_members(
        self, requests: Sequence[RequestId], most_calls: int
    ) -> dict[RequestId, int]:
        """How many members of each request still wait for just this answer."""
        return dict(self._run("count_sendable_members", ids=requests, most=most_calls))

    def member_contents(self, requests: Sequence[RequestId]) -> list[MemberContent]:
        """The members of some requests with what rendering needs."""
        return self._list(MemberContent, "member_contents", ids=requests)

    def tasks_carried_elsewhere(
        self, tasks: Sequence[TaskId], requests: Sequence[RequestId]
    ) -> set[TaskId]:
        """Which of these tasks also ride in a live request other than these."""
        return set(self._column("tasks_carried_elsewhere", tasks=tasks, requests=requests))

    def accept_members(self, requests: Sequence[RequestId]) -> None:
        """Note that every member's answer was accepted."""
        if requests:
            self._change("accept_members", ids=requests)

    def note_verdicts(self, verdicts: Sequence[MemberVerdict]) -> None:
        """Note each member's verdict, with reasons."""
        rows = [
            verdict._replace(reasons=verdict.reasons and storable_text(verdict.reasons))
            for verdict in verdicts
        ]
        self._connection.run_many("note_verdicts", rows)

    def newest_refusals(self, run: RunId, stage: StageId, limit: int) -> list[str]:
        """Why the newest answers of a stage were refused."""
        return self._column("newest_refusals", run=run, stage=stage, limit=limit)

    def note_stray_ids(self, strays: Sequence[tuple[RequestId, StrayIds]]) -> None:
        """Keep what ids came back that were not sent, or came twice."""
        rows = [(request, storable_text(plain_json(found._asdict()))) for request, found in strays]
        self._connection.run_many("note_stray_ids", rows)

    def queued_requests_of_run(self, run: RunId, limit: int) -> list[RequestId]:
        """Unsent requests of a run."""
        return self._column("queued_requests_of_run", run=run, limit=limit)

    def unreadable_requests_of_run(self, run: RunId, *, unfit: bool = False) -> list[RequestId]:
        """Requests that are out, whose every answer is here and could not be read, or judged."""
        return self._column("unreadable_requests_of_run", run=run, unfit=int(unfit))

    def count_calls_in_flight(self, run: RunId) -> int:
        """Calls of a run that are out."""
        return self._count("count_calls_in_flight", run=run)

    def unsent_requests(self, lane: LaneId) -> list[RequestId]:
        """Queued requests of a lane that were never sent."""
        return self._column("unsent_requests", lane=lane)

    def unsent_packs(self, requests: Sequence[RequestId]) -> list[UnsentPacks]:
        """How many of some requests carry tasks and were never sent, by stage."""
        return self._list(UnsentPacks, "unsent_packs", ids=list(requests))

    def outdated_requests(self, lane: LaneId, render_version: int) -> list[RequestId]:
        """Unsent requests that an older Quire rendered."""
        return self._column("outdated_requests", lane=lane, version=render_version)
