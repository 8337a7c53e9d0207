"""Spooling: the calls of a batch become a file, as the vendor wants them, within its limits."""

from pathlib import Path

from quire.domain.accounts import Account
from quire.domain.batches import BatchRules, custom_id
from quire.domain.ids import AttemptId
from quire.domain.requests import Call
from quire.providers.protocol import Batching


class Spool:
    """A file that grows call by call."""

    def __init__(self, path: Path, vendor: Batching, account: Account, nonce: str) -> None:
        """Begin an empty file."""
        self.path = path
        self.rows = 0
        self.size = 0
        self.full = False  # the next call did not fit
        self.last = AttemptId(0)  # of those that did
        self._vendor = vendor
        self._account = account
        self._nonce = nonce
        path.write_bytes(b"")
        path.chmod(0o600)

    def write(self, calls: list[Call]) -> None:
        """Add calls until one does not fit; into an empty file the first always goes."""
        rules = self._vendor.rules
        lines = []
        for call in calls:
            name = custom_id(self._nonce, call.attempt_id)
            line = self._vendor.line(call, self._account, name)
            if self.rows:
                line = rules.separator + line
            if self.rows and not self._fits(len(line), rules):
                self.full = True
                break
            lines.append(line)
            self.rows += 1
            self.size += len(line)
            self.last = call.attempt_id
        with self.path.open("ab") as file:
            file.writelines(lines)

    def _fits(self, length: int, rules: BatchRules) -> bool:
        return self.rows < rules.calls and self.size + length <= rules.size
