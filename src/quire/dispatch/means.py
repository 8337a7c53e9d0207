"""The means of one worker's loops: its ledger, its providers, its accounts, and the outside."""

from collections.abc import Callable
from typing import NamedTuple

from quire.dispatch.accounts import Accounts
from quire.dispatch.outside import LedgerThread, Outside
from quire.ledger.ledger import Ledger
from quire.pipeline.contexts import Contexts
from quire.providers.protocol import Batching, Door, Provider


class Vendors(NamedTuple):
    """What the loops know of providers."""

    provider: Callable[[str], Provider]
    batching: Callable[[str], Batching | None]
    door: Callable[[], Door]


class Means(NamedTuple):
    """What the loops that look after batches work with."""

    ledger: Ledger
    contexts: Contexts
    vendors: Vendors
    accounts: Accounts
    outside: Outside
    thread: LedgerThread
