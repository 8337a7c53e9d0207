"""A real PostgreSQL for tests and benchmarks: found or installed, started, and thrown away.

`QUIRE_TEST_POSTGRES=postgresql://…` names a server to use instead; its user must be allowed to
create databases. `python -m tests.postgres` makes sure that there is one, and says which.
"""

import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from secrets import randbelow
from typing import LiteralString
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Identifier

from tests.cpu_time import note_server
from tests.memory import MEMORY, quick_folder

ENVIRONMENT = "QUIRE_TEST_POSTGRES"
COPIES = 150_000  # the version from which PostgreSQL can copy files instead of logging each page
SHARED = Path("/tmp")  # open to the server's user, like any folder for temporary files
SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
max_connections = 100
fsync = off                # the data is thrown away: nothing has to survive a power cut
full_page_writes = off
synchronous_commit = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off           # a test that wants the planner to know its rows says so
"""

_models = list[Path]()  # data folders as initdb made them, which takes ten times what a copy does


class PostgresMissing(Exception):
    """There is no PostgreSQL to test with, and none could be installed."""


class Databases:
    """A server reached by its URL, on which databases come and go."""

    def __init__(self, url: str) -> None:
        """Keep the URL of a database that is always there."""
        self.url = url

    def url_of(self, name: str) -> str:
        """The URL of another database on the same server."""
        parts = urlsplit(self.url)
        return f"postgresql://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")

    def create_database(self, name: str, template: str = "template0") -> str:
        """Create a database, empty or as its template is, and return its URL."""
        with self._connect() as connection:
            quickly = " STRATEGY file_copy" if connection.info.server_version >= COPIES else ""
            _execute(connection, "CREATE DATABASE {} TEMPLATE {}" + quickly, name, template)
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is still connected to it."""
        with self._connect() as connection:
            _execute(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Lend the URL of a fresh database, dropped afterwards."""
        name = f"quire_{uuid4().hex[:12]}"
        url = self.create_database(name)
        try:
            yield url
        finally:
            self.drop_database(name)

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(self.url, autocommit=True)


class PostgresServer(Databases):
    """A server of our own, which can be stopped and started again on the same port."""

    def __init__(self, binaries: Path, folder: Path, user: str | None) -> None:
        """Remember where the server lives and who runs it; `start` brings it up."""
        self._binaries, self._folder, self._user = binaries, folder, user
        self._port = _free_port()
        super().__init__(f"postgresql://postgres@127.0.0.1:{self._port}/postgres")

    def initialise(self) -> None:
        """Make the data folder, or copy that of a server which this process still has."""
        data, model = self._folder / "data", self._folder / "model"
        if before := next((folder for folder in _models if folder.exists()), None):
            self._run("cp", "-a", str(before), str(data))
        else:
            how = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8"]
            self._control("initdb", *how, "--no-sync", "--no-instructions")
            self._run("cp", "-a", str(data), str(model))
            _models.append(model)
        with (data / "postgresql.conf").open("a") as conf:
            conf.write(SETTINGS.format(port=self._port, folder=self._folder))

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._control("pg_ctl", "start", "--wait", "--silent", "--log", str(self._folder / "log"))

    def stop(self) -> None:
        """Stop the server; whoever is connected is thrown out, what was committed stays."""
        self._control("pg_ctl", "stop", "--wait", "--silent", "--mode=fast")

    @property
    def pid(self) -> int:
        """The process that all others of the server come from; 0 while it is stopped."""
        file = self._folder / "data" / "postmaster.pid"
        return int(file.read_text().split()[0]) if file.exists() else 0

    def sentinel(self) -> subprocess.Popen[bytes]:
        """Start a process that removes everything once its input is closed, even by our death."""
        pg_ctl, data = self._binaries / "pg_ctl", self._folder / "data"
        stop = shlex.join([str(pg_ctl), "stop", "-s", "-w", "-m", "immediate", "-D", str(data)])
        script = f"read -r _; {stop} 2>/dev/null; rm -rf {shlex.quote(str(self._folder))}"
        return subprocess.Popen(
            ["sh", "-c", script],
            stdin=subprocess.PIPE,
            user=self._user,
            cwd="/",
            start_new_session=True,  # an interrupt from the keyboard must not reach it
        )

    def _control(self, program: str, *arguments: str) -> None:
        data = str(self._folder / "data")
        self._run(str(self._binaries / program), "--pgdata", data, *arguments)

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            command,
            user=self._user,
            group=pwd.getpwnam(self._user).pw_gid if self._user else None,
            extra_groups=[] if self._user else None,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            log = self._folder / "log"
            history = log.read_text()[-2000:] if log.exists() else ""
            raise RuntimeError(f"{shlex.join(command)}: {done.stdout}{history}")


@contextmanager
def own_server() -> Iterator[PostgresServer]:
    """Run a server of our own, whatever the environment says; for tests that stop it."""
    binaries, user = ensure_binaries(), _server_user()
    quick = quick_folder()
    room = quick if len(str(quick)) <= len(str(MEMORY)) else SHARED  # for a socket's path
    folder = Path(tempfile.mkdtemp(prefix="quire-pg-", dir=room))
    if user:
        shutil.chown(folder, user)
    server = PostgresServer(binaries, folder, user)
    with server.sentinel() as sentinel:  # leaving closes its input and waits for it
        server.initialise()
        server.start()
        yield server
        assert sentinel.poll() is None, "the server was removed while it was in use"
        note_server(server.pid)


@contextmanager
def postgres_server() -> Iterator[Databases]:
    """Lend the server that the environment names, or else one of our own."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        yield Databases(named)
        return
    with own_server() as server:
        yield server


def ensure_binaries() -> Path:
    """Find the folder with PostgreSQL's programs; as root, install it where there is none."""
    found = find_binaries()
    if found:
        return found
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise PostgresMissing(
            "The tests need PostgreSQL, and no initdb and pg_ctl were found. Either install it "
            "(Debian, Ubuntu: `sudo apt-get install postgresql`; macOS: `brew install postgresql`) "
            f"or set {ENVIRONMENT}=postgresql://user@host/database to a server that may be used."
        )
    with (SHARED / "quire-postgres-install.lock").open("w") as lock:
        flock(lock, LOCK_EX)  # test processes start together; one installs, the others find
        return find_binaries() or _install()


def find_binaries() -> Path | None:
    """Look where pg_config says, where Debian keeps them (newest first), then on PATH."""
    folders: list[Path] = []
    if shutil.which("pg_config"):
        ask = ["pg_config", "--bindir"]
        result = subprocess.run(ask, capture_output=True, text=True, check=False)
        folders.append(Path(result.stdout.strip()))
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(debian, key=_version, reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    return next((folder for folder in folders if _is_complete(folder)), None)


def _execute(connection: psycopg.Connection, statement: LiteralString, *names: str) -> None:
    connection.execute(SQL(statement).format(*map(Identifier, names)))


def _version(folder: Path) -> float:
    return float(folder.parent.name)


def _is_complete(folder: Path) -> bool:
    return all((folder / program).is_file() for program in ("initdb", "pg_ctl", "postgres"))


def _install() -> Path:
    sys.stderr.write("No PostgreSQL here: installing it with apt-get.\n")
    with _no_services():
        _apt("update", "-qq")
        _apt("install", "-y", "-qq", "--no-install-recommends", "postgresql")
    found = find_binaries()
    if not found:
        raise PostgresMissing("apt-get installed postgresql, but left no initdb and pg_ctl.")
    return found


def _apt(*arguments: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise PostgresMissing(f"`{shlex.join(command)}` failed:\n{last}")


@contextmanager
def _no_services() -> Iterator[None]:
    policy = Path("/usr/sbin/policy-rc.d")  # Debian asks it before starting a service
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def _server_user() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def _free_port() -> int:
    while True:
        port = 20_000 + randbelow(10_000)  # below those the system gives to outgoing connections
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def main(arguments: Sequence[str]) -> int:
    """Make sure that tests will have a PostgreSQL, and say which."""
    if arguments:
        sys.stderr.write("usage: python -m tests.postgres\n")
        return 2
    try:
        where = os.environ.get(ENVIRONMENT) or ensure_binaries()
    except PostgresMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"PostgreSQL for the tests: {where}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
