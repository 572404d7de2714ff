"""A network between processes and their database that delays, stalls and cuts connections."""

import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# of each piece, while it is slow
DELAY_SECONDS = 0.1
TROUBLE_SECONDS = (0.5, 8.0)
QUIET_SECONDS = (0.5, 4.0)


class Network:
    """Connections to one port, passed on to another."""

    def __init__(self, listener: socket.socket, port: int, seed: int) -> None:
        self.random, self._listener, self._port = random.Random(seed), listener, port
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._passes = threading.Event()
        self._passes.set()
        self._delay = 0.0
        self._due = time.monotonic() + 2
        self._troubled = False

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def look(self) -> str | None:
        """Begin or end a trouble that is due; its name where one begins. To be called all the time."""
        now = time.monotonic()
        if now < self._due:
            return None
        if self._troubled:
            self.calm()
            self._due = now + self.random.uniform(*QUIET_SECONDS)
            return None
        trouble = self.random.choice(["delay", "stall", "cut"])
        if trouble == "delay":
            self._delay = DELAY_SECONDS
        elif trouble == "stall":
            self._passes.clear()
        else:
            for pair in list(self._pairs):
                self._close(pair)
        self._troubled, self._due = True, now + self.random.uniform(*TROUBLE_SECONDS)
        return trouble

    def calm(self) -> None:
        """No trouble."""
        self._troubled, self._delay = False, 0.0
        self._passes.set()

    def accept(self) -> None:
        """Pass on all connections, until the listener is closed."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._port), 10)
            except OSError:
                # the database is away
                client.close()
                continue
            pair = (client, server)
            self._pairs.add(pair)
            for one, other in (pair, pair[::-1]):
                threading.Thread(target=self._pump, args=(one, other, pair), daemon=True).start()

    def _pump(
        self, one: socket.socket, other: socket.socket, pair: tuple[socket.socket, socket.socket]
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := one.recv(65_536):
                self._passes.wait()
                time.sleep(self._delay)
                other.sendall(piece)
        self._close(pair)

    def _close(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.discard(pair)
        for one in pair:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def network(port: int, seed: int) -> Iterator[Network]:
    """Before a database's port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Network(listener, port, seed)
        threading.Thread(target=made.accept, daemon=True).start()
        try:
            yield made
        finally:
            made.calm()
            # wakes the one who waits for connections
            listener.shutdown(socket.SHUT_RDWR)
