"""Wallets: money that runs may spend, in entries that are only ever added, and its slices."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from quire.domain.ids import RunId, SliceId, WalletId, WorkerId

BATCHES = WorkerId(0)  # in the place of a worker: all batches of a run share a slice


class EntryKind(StrEnum):
    """What an entry of a wallet is."""

    CREDIT = "credit"
    TRANSFER = "transfer"  # from another wallet, or to it
    SLICE = "slice"  # given to a worker of a run, to reserve from
    RETURN = "return"  # what nobody used of one
    CORRECTION = "correction"  # a call cost other than what was counted for it


class NewEntry(NamedTuple):
    """An entry to be made."""

    key: str  # of whoever makes it: the same key again is the same entry
    kind: EntryKind
    amount: int
    run_id: RunId | None = None
    note: str = ""


class Payment(NamedTuple):
    """Money that a person pays in, or moves."""

    amount: int
    key: str  # the same key again is the same payment
    note: str = ""


class WalletEntry(NamedTuple):
    """One change of a wallet, in picodollars."""

    id: int
    key: str  # of whoever made it: the same key again is the same entry
    kind: EntryKind
    amount: int
    run_id: RunId | None
    at: datetime
    note: str


class Wallet(NamedTuple):
    """What a wallet holds, in picodollars."""

    id: WalletId
    name: str
    balance: int  # the sum of its entries; below 0 it is overdrawn
    created_at: datetime


class WalletView(NamedTuple):
    """A wallet with what its runs have of it."""

    id: WalletId
    name: str
    balance: int
    created_at: datetime
    granted: int  # to its runs, spent or not
    used: int  # of that: spent, or reserved for calls that are out


class RunFunds(NamedTuple):
    """What bounds the spending of one run, in picodollars."""

    run_id: RunId
    wallet_id: WalletId | None
    wallet: str | None  # its name
    budget: int | None
    granted: int  # to its slices
    joined_at: datetime | None  # when it was given a budget in the midst of its work


class Slice(NamedTuple):
    """The part of a run's money that one worker reserves from."""

    id: SliceId
    run_id: RunId
    worker_id: WorkerId
    no: int  # of its entries so far
    granted: int
    used: int  # reserved for its calls that are out, and the cost of the others
    ended: int  # 1: nobody claims from it any more

    @property
    def free(self) -> int:
        """What may still be reserved; below 0 where calls cost more than was reserved."""
        return self.granted - self.used


class RunMoney(NamedTuple):
    """How the money of a run stands, in picodollars."""

    wallet: str | None
    budget: int | None
    spent: int  # what its calls cost, known or presumed
    reserved: int  # for calls that are out
    left: int  # what it may still spend: of its budget and of its wallet, whichever is less
