"""PgBouncer in transaction mode before a PostgreSQL server of the tests'."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import PROGRAMS, Postgres
from tests.support.processes import until

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
if PROGRAM is None and os.environ.get("CI"):
    raise AssertionError("CI needs PgBouncer: .ci/run installs it")
needs_pooler = pytest.mark.skipif(
    PROGRAM is None or PROGRAMS is None, reason="there is no PgBouncer on this machine"
)


@contextlib.contextmanager
def pooled(server: Postgres) -> Iterator[str]:
    """The address of a pooler that has two connections to each database, in place of the server's own."""
    assert PROGRAM is not None, "needs_pooler"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="crew-pooler-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "users.txt").write_text('"crew" ""\n')
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder}/users.txt\n"
            "pool_mode = transaction\ndefault_pool_size = 2\nserver_round_robin = 1\n"
            # each test has a database of its own, which is not used any more behind it
            "server_idle_timeout = 5\n"
        )
        # it refuses to run as root
        user = ["runuser", "-u", "nobody", "--"] if os.getuid() == 0 else []
        process = subprocess.Popen(
            [*user, PROGRAM, "-q", settings], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            address = f"127.0.0.1:{port}"
            _wait_for(f"postgresql://crew@{address}/postgres")
            yield address
        finally:
            process.kill()
            process.wait()


def behind(pooler: str, url: str) -> str:
    """The URL of a database, reached through a pooler."""
    database = url.rpartition("/")[2]
    return f"postgresql://crew@{pooler}/{database}?prepared_statements=off"


def _wait_for(url: str) -> None:
    def answers() -> bool:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            return False
        return True

    until(answers)
