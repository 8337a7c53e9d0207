"""A real terminal: a command on a pty, keys pressed, and what stands on the screen."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence

from tests.time_limits import PATIENCE


class Terminal:
    """One command on a pty of its own."""

    def __init__(
        self,
        program: Sequence[str],
        args: Sequence[object],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the program with these arguments."""
        self._master, slave = pty.openpty()
        self._seen = ""
        self._process = subprocess.Popen(
            [*program, *map(str, args)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "COLUMNS": "120", **(environment or {})},
            start_new_session=True,
        )
        os.close(slave)

    def expect(self, text: str) -> str:
        """Wait until a text was printed since the last one; returns all until then."""
        deadline = time.monotonic() + PATIENCE
        while text not in self._seen:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} never came: {self._seen[-2000:]!r}"
            if select.select([self._master], [], [], left)[0]:
                more = self._read()
                assert more, f"{text!r} never came: {self._seen[-2000:]!r}"
                self._seen += more
        before, _, self._seen = self._seen.partition(text)
        return before

    def read(self) -> str:
        """All that is printed until its end, where it ends well."""
        said = self._seen
        while more := self._read():
            said += more
        assert self.close() == 0, said
        return said

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def _read(self) -> str:
        """What comes next; nothing where the command has ended."""
        try:
            return os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:
            return ""

    def close(self) -> int:
        """Wait for its end; returns its exit code."""
        code = self._process.wait(PATIENCE)
        os.close(self._master)
        return code
