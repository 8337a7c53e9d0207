"""The client: a ledger behind a server, asked as one that is here."""

from quire.client.fetched_exports import fetch_export
from quire.client.remote_workbench import RemoteWorkbench, connect

__all__ = ["RemoteWorkbench", "connect", "fetch_export"]
