"""Wallets: entries, the funds of runs, and the slices that workers reserve from."""

import json
from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter

from quire.domain.ids import AttemptId, RunId, SliceId, WalletId, WorkerId
from quire.domain.reasons import Fields
from quire.domain.wallets import NewEntry, RunFunds, Slice, Wallet, WalletEntry, WalletView
from quire.ledger.stored_values import row_reader, storable_text, to_micros
from quire.ledger.tables.table import Table

_to_wallet = row_reader(Wallet)
_to_view = row_reader(WalletView)
_to_entry = row_reader(WalletEntry)
_to_funds = row_reader(RunFunds)


class Wallets(Table):
    """The workspace's wallets, and what its runs have of them."""

    def add_wallet(self, name: str, now: datetime) -> bool:
        """Begin a wallet, empty; false if there is one of that name."""
        return self._change("add_wallet", name=name, now=to_micros(now)) > 0

    def get_wallet(self, name: str) -> Wallet | None:
        """A wallet by its name."""
        return self._one(_to_wallet, "get_wallet", name=name)

    def list_wallets(self) -> list[WalletView]:
        """Every wallet, with what its runs have of it."""
        return [_to_view(row) for row in self._run("list_wallets")]

    def take_wallet(self, wallet: WalletId) -> int:
        """What a wallet holds, for this transaction alone."""
        return self._count("take_wallet", id=wallet)

    def find_entry(self, wallet: WalletId, key: str) -> WalletEntry | None:
        """The entry of a key."""
        rows = self._connection.run("find_entry", wallet=wallet, key=key)
        return _to_entry(rows[0]) if rows else None

    def add_entry(self, wallet: WalletId, entry: NewEntry, now: datetime) -> None:
        """Append an entry, and change the wallet by it: both, or neither."""
        self._connection.change(
            "add_entry",
            wallet=wallet,
            key=entry.key,
            kind=entry.kind.value,
            amount=entry.amount,
            run=entry.run_id,
            now=to_micros(now),
            note=storable_text(entry.note),
        )
        self._change("change_balance", id=wallet, amount=entry.amount)

    def entries_of_wallet(self, wallet: WalletId, limit: int) -> list[WalletEntry]:
        """A wallet's newest entries, the newest first."""
        rows = self._connection.run("entries_of_wallet", wallet=wallet, limit=limit)
        return [_to_entry(row) for row in rows]

    def add_run_funds(
        self, run: RunId, wallet: WalletId | None, budget: int | None, joined: datetime | None
    ) -> None:
        """Bound what a run spends from now on."""
        self._connection.change(
            "add_run_funds",
            run=run,
            wallet=wallet,
            budget=budget,
            joined_at=to_micros(joined) if joined else None,
        )

    def set_budget(self, run: RunId, budget: int) -> None:
        """Let a run that is bounded spend so much in all."""
        self._connection.change("set_budget", run=run, budget=budget)

    def set_run_wallet(self, run: RunId, wallet: WalletId) -> None:
        """Let a run that has spent nothing yet spend from a wallet."""
        self._connection.change("set_run_wallet", run=run, wallet=wallet)

    def funds_of_run(self, run: RunId) -> RunFunds | None:
        """What bounds a run's spending; None where nothing does."""
        return self._one(_to_funds, "funds_of_run", run=run)

    def take_granted(self, run: RunId) -> tuple[int | None, int]:
        """A run's budget, and what its slices were granted, for this transaction alone."""
        budget, granted = self._connection.run("take_granted", run=run)[0]
        return budget, granted

    def change_granted(self, run: RunId, amount: int) -> None:
        """A run's slices were granted more, or less."""
        self._connection.change("change_granted", run=run, amount=amount)

    def runs_held_for_funds(self, wallet: WalletId) -> list[tuple[RunId, Fields]]:
        """The wallet's runs that wait for money, each with what it misses."""
        rows = self._run("runs_held_for_funds", wallet=wallet)
        return [(run, json.loads(fields)) for run, fields in rows]

    def add_slice(self, run: RunId, worker: WorkerId) -> None:
        """Begin a slice with nothing in it; a no-op if there is one."""
        self._connection.change("add_slice", run=run, worker=worker)

    def take_slice(self, run: RunId, worker: WorkerId) -> Slice | None:
        """A worker's slice of a run, for this transaction alone."""
        rows = self._connection.run("take_slice", run=run, worker=worker)
        return Slice._make(rows[0]) if rows else None

    def charge_slice(self, run: RunId, worker: WorkerId, amount: int) -> SliceId | None:
        """Reserve from a worker's slice; None if there is none, or too little in it."""
        rows = self._connection.run("charge_slice", run=run, worker=worker, amount=amount)
        return SliceId(rows[0][0]) if rows else None

    def settle_slice(self, slice_id: SliceId, amount: int) -> Slice:
        """Calls came to so much more than was counted for them, or to less; how it stands then."""
        return Slice._make(self._connection.run("settle_slice", id=slice_id, amount=amount)[0])

    def change_slice(self, slice_id: SliceId, amount: int, *, ended: bool) -> int:
        """Grant a slice more, or less; returns the number of that change."""
        values = {"id": slice_id, "amount": amount, "ended": int(ended)}
        number: int = self._connection.run("change_slice", **values)[0][0]
        return number

    def idle_slices(self, run: RunId, wallet: WalletId | None, own: SliceId) -> list[Slice]:
        """Others' slices that have something free and that nobody uses just now."""
        values = {"run": run, "wallet": wallet, "own": own}
        return [Slice._make(row) for row in self._connection.run("idle_slices", **values)]

    def free_in_slices(self, run: RunId, wallet: WalletId | None, own: SliceId) -> int:
        """What others' slices have free, used just now or not."""
        return self._count("free_in_slices", run=run, wallet=wallet, own=own)

    def slices_of_run(self, run: RunId) -> list[Slice]:
        """All slices of a run."""
        return [Slice._make(row) for row in self._connection.run("slices_of_run", run=run)]

    def take_slices_of_run(self, run: RunId) -> list[Slice]:
        """The slices of a run that may be claimed from, for this transaction alone."""
        return [Slice._make(row) for row in self._connection.run("take_slices_of_run", run=run)]

    def take_slices_of_workers(self, workers: Sequence[WorkerId]) -> list[Slice]:
        """The same of some workers, in every workspace."""
        rows = self._connection.run("take_slices_of_workers", workers=workers)
        return [Slice._make(row) for row in rows]

    def slices_of_attempts(
        self, attempts: Sequence[AttemptId]
    ) -> list[tuple[AttemptId, SliceId, int]]:
        """The slices that attempts were reserved from, each with how much."""
        rows = self._connection.run("slices_of_attempts", ids=attempts)
        return [(row[0], row[1], row[2]) for row in rows]

    def has_calls_out(self, run: RunId) -> bool:
        """Whether calls of a run are out."""
        return bool(self._connection.run("has_calls_out", run=run))

    def calls_reserved_for(self, run: RunId) -> tuple[int, int]:
        """How many calls of a run are out, and what is reserved for them."""
        calls, reserved = self._connection.run("calls_reserved_for", run=run)[0]
        return calls, reserved

    def next_reserve(self, run: RunId) -> int | None:
        """What the oldest call that waits to go reserves; None where none waits."""
        return self._one(itemgetter(0), "next_reserve", run=run)

    def tasks_to_settle(self, run: RunId) -> int:
        """How many tasks are in calls that are answered, and not judged yet."""
        return self._count("tasks_to_settle", run=run)

    def adopt_attempts(self, run: RunId, slice_id: SliceId) -> int:
        """Count what a run sent so far in a slice; returns how many attempts that is."""
        return self._change("adopt_attempts", run=run, slice=slice_id)

    def used_by_attempts(self, run: RunId, slice_id: SliceId) -> int:
        """What the attempts of a slice come to."""
        return self._count("used_by_attempts", run=run, slice=slice_id)
