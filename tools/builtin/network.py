"""What this machine can reach: name resolution, and the system's own ping (no shell)."""

import shutil
import socket
import subprocess
from typing import Annotated

import psutil
from pydantic import Field

from tools.definition import Tool, tool_from
from tools.errors import PermanentError

# A name or an address; never something that a program could take for an option.
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,252}$")]
Count = Annotated[int, Field(ge=1, le=10)]
PING_SECONDS = 12.0


def ping_host(host: Host, count: Count = 3) -> str:
    """Ping a host.

    Args:
        host: its name or address
        count: packets to send, 1 to 10
    """
    ping = shutil.which("ping")
    if ping is None:
        raise PermanentError(
            "this machine has no ping program; on Debian: apt-get install iputils-ping"
        )
    done = subprocess.run(
        [ping, "-c", str(count), "-W", "1", "--", host],
        capture_output=True,
        text=True,
        timeout=PING_SECONDS,
        check=False,
    )
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    state = "reachable" if done.returncode == 0 else "not reachable"
    return "\n".join((f"{host} is {state}", *lines[-3:]))


def resolve_dns(hostname: Host) -> str:
    """Resolve a host name to its addresses.

    Args:
        hostname: the name to look up
    """
    addresses = sorted({str(found[4][0]) for found in socket.getaddrinfo(hostname, None)})
    return f"{hostname}: {', '.join(addresses)}"


def check_network_status(host: Host = "127.0.0.1", count: Count = 3) -> str:
    """Network interfaces of this machine, and whether a host answers a ping.

    Args:
        host: the host to ping
        count: packets to send, 1 to 10
    """
    states = psutil.net_if_stats().items()
    interfaces = [f"{name}: {'up' if state.isup else 'down'}" for name, state in states]
    return "\n".join((*interfaces, ping_host(host, count)))


NETWORK_TOOLS: tuple[Tool, ...] = (
    tool_from(ping_host, name="PingHost", effect="read", timeout_seconds=PING_SECONDS + 1),
    tool_from(resolve_dns, name="ResolveDNS", effect="read"),
    tool_from(
        check_network_status,
        name="CheckNetworkStatus",
        effect="read",
        timeout_seconds=PING_SECONDS + 1,
    ),
)
