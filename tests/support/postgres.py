"""A PostgreSQL server of the tests' own: made in a folder, started, stopped, killed and started again."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import psycopg
import pytest


def _programs() -> Path | None:
    """Where the server's programs are; Debian keeps them off the path."""
    found = shutil.which("initdb")
    places = (
        [Path(found).parent]
        if found
        else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return next((place for place in places if (place / "initdb").exists()), None)


PROGRAMS = _programs()
if PROGRAMS is None and os.environ.get("CI"):
    raise AssertionError("CI needs PostgreSQL: .ci/run installs it")
needs_postgres = pytest.mark.skipif(
    PROGRAMS is None, reason="there is no PostgreSQL server on this machine"
)


class Postgres:
    """A server; use it as a context manager."""

    def __init__(
        self, *, durable: bool = False, forgetful: bool = False, programs: Path | None = PROGRAMS
    ) -> None:
        """Begin with a folder.

        Args:
            durable: it also outlives the machine, as a real one does, for measurements; tests
                kill only processes.
            forgetful: a crash loses the commits of its last seconds, as a failover to an
                asynchronous standby does.
            programs: of the server.
        """
        self.programs = programs
        self.durable, self.forgetful = durable, forgetful
        self.folder = Path(tempfile.mkdtemp(prefix="crew-postgres-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._made = count()
        # it refuses to run as root
        self._user = ["runuser", "-u", "nobody", "--"] if os.getuid() == 0 else []
        if self._user:
            owner = pwd.getpwnam("nobody")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)

    def __enter__(self) -> "Postgres":
        self._do(
            "initdb",
            "--username",
            "crew",
            "--auth",
            "trust",
            "--no-sync",
            "--pgdata",
            self.folder / "data",
        )
        options = [
            "listen_addresses = '127.0.0.1'",
            f"port = {self.port}",
            "unix_socket_directories = ''",
            "max_connections = 300",
        ]
        if not self.durable:
            options += ["fsync = off", "full_page_writes = off"]
        if self.forgetful:
            options += ["synchronous_commit = off", "wal_writer_delay = '10s'"]
        with (self.folder / "more.conf").open("w") as more:
            more.write("\n".join(options))
        (self.folder / "more.conf").chmod(0o644)
        self._do(
            "sh", "-c", f"echo \"include '../more.conf'\" >> {self.folder}/data/postgresql.conf"
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        # a test may have left it stopped
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._do(
            "pg_ctl",
            "start",
            "--wait",
            "--pgdata",
            self.folder / "data",
            "--log",
            self.folder / "data" / "server.log",
        )

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `immediate` as a crash does, `fast` as an operator does."""
        self._do("pg_ctl", "stop", "--wait", "--mode", mode, "--pgdata", self.folder / "data")

    def checkpoint(self) -> None:
        """Have all that was committed survive a crash."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    def restart(self, mode: str = "immediate") -> None:
        """Stop and start."""
        self.stop(mode)
        self.start()

    def url(self, database: str) -> str:
        """Where a database is."""
        return f"postgresql://crew@127.0.0.1:{self.port}/{database}"

    def database(self, encoding: str = "UTF8") -> str:
        """A new, empty database, by its URL; of the locale that knows least of letters."""
        name = f"test{next(self._made)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            locale = f"TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
            connection.execute(f"CREATE DATABASE {name} {locale}")
        return self.url(name)

    def _do(self, program: str, *arguments: str | Path) -> None:
        assert self.programs is not None, "needs_postgres"
        path = self.programs / program
        command = [*self._user, str(path) if path.exists() else program, *map(str, arguments)]
        # pg_ctl's child keeps what it inherits: no pipes
        with (self.folder / "commands.log").open("ab") as log:
            subprocess.run(
                command, check=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/"
            )
