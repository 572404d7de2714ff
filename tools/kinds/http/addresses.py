"""Which hosts and addresses a tool may connect to; pure."""

import re
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import SplitResult

from tools.errors import PermanentError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# https://www.iana.org/assignments/iana-ipv4-special-registry, -ipv6-special-registry: what is not
# the public internet, or leads to what another address says
NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        # multicast, reserved, broadcast
        "224.0.0.0/3",
        # Teredo, ORCHID, benchmarking and others
        "2001::/23",
        "2001:db8::/32",
        # 6to4
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
# all other IPv6 is not assigned, local, multicast, mapped or translated (NAT64)
GLOBAL_UNICAST = ip_network("2000::/3")
# RFC 5214, 6.1: the interface of an ISATAP address, above its IPv4 address
ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
LOCAL_NAME = re.compile(
    r"(.*\.)?(localhost|localdomain|local|internal|intranet|lan|home\.arpa)|metadata|instance-data",
    re.IGNORECASE,
)
# the last part of what may be read as an IPv4 address
NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
FOUR_DECIMALS = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
USUAL_PORTS = frozenset({80, 443})


class DeniedError(PermanentError):
    """A tool may not connect there; `why`: in a word, for counting."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


@dataclass(frozen=True, slots=True)
class Allowance:
    """Which addresses beside public ones may be connected to."""

    # all
    everything: bool = False
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, allow_private: bool | list[str]) -> "Allowance":
        """Return what `allow_private` says."""
        if isinstance(allow_private, bool):
            return cls(allow_private)
        return cls(networks=tuple(ip_network(text) for text in allow_private))

    def holds(self, address: Address) -> bool:
        """Return whether this address may be connected to."""
        return self.everything or is_public(address) or self._lists(address)

    def _lists(self, address: Address) -> bool:
        same_version = (one for one in self.networks if one.version == address.version)
        return any(address in one for one in same_version)

    def require_host(self, host: str) -> None:
        """Check a host as it is written, before it is resolved.

        Raises:
            DeniedError: it must not be connected to.
        """
        if self.everything:
            return
        if (literal := _literal(host)) is not None:
            self.require_address(literal, host)
        elif LOCAL_NAME.fullmatch(host.rstrip(".")) and not self.networks:
            raise DeniedError("local-name", f"{host} is a name of a local network; {REMEDY}")

    def require_resolved(self, host: str, addresses: list[Address]) -> None:
        """Check all addresses of a name.

        Raises:
            DeniedError: one of them must not be connected to.
        """
        for address in addresses:
            self.require_address(address, host)
            # a local name may stand for nothing but what was allowed
            is_local = LOCAL_NAME.fullmatch(host.rstrip(".")) is not None
            if is_local and not self.everything and not self._lists(address):
                raise DeniedError("local-name", f"{host} is a name of a local network; {REMEDY}")

    def require_address(self, address: Address, host: str) -> None:
        """Check one address.

        Raises:
            DeniedError: it must not be connected to.
        """
        if not self.holds(address):
            named = str(address) if host == str(address) else f"{host} ({address})"
            raise DeniedError("private-address", f"{named} is not a public address; {REMEDY}")


REMEDY = "allow_private can allow it"


def is_public(address: Address) -> bool:
    """Return whether an address is one of the public internet, and stands for no other."""
    if any(address in one for one in NOT_PUBLIC if one.version == address.version):
        return False
    if isinstance(address, IPv4Address):
        return address.is_global
    is_isatap = (int(address) >> 32) & 0xFFFF_FFFF in ISATAP
    return address in GLOBAL_UNICAST and not is_isatap and address.scope_id is None


def _literal(host: str) -> Address | None:
    """Return the address that a host is, if it is one.

    Raises:
        DeniedError: some programs read an address in it, others do not.
    """
    if ":" in host:
        return _parsed(host)
    last = host.rstrip(".").rpartition(".")[2]
    if NUMBER.fullmatch(last) is None:
        return None
    if FOUR_DECIMALS.fullmatch(host) is None:
        raise _unclear(host)
    return _parsed(host)


def _parsed(host: str) -> Address:
    try:
        return ip_address(host)
    except ValueError:
        raise _unclear(host) from None


def _unclear(host: str) -> DeniedError:
    return DeniedError("address", f"{host} is no address; write it as four decimals: 192.0.2.7")


def require_port(target: SplitResult, written: int) -> None:
    """Check the port of a URL, beside the usual ones that which the tool's own `url` has.

    Raises:
        DeniedError: it must not be connected to.
    """
    port = port_of(target)
    if port not in USUAL_PORTS and port != written:
        raise DeniedError("port", f"port {port} is neither 80, 443 nor that of the tool's url")


def port_of(target: SplitResult) -> int:
    """Return the port of a URL.

    Raises:
        ValueError: it has none that exists.
    """
    if target.port is not None:
        return target.port
    return 443 if target.scheme == "https" else 80
