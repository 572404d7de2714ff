"""Which hosts an HTTP tool may reach: spellings of addresses, names that lead to them, ports."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.made_tools import tool_of
from tests.support.raw_server import answer, raw_server
from tools import ToolDefinitionError
from tools.kinds.http.addresses import Allowance, DeniedError, is_public

PRIVATE = [
    # this machine, in the spellings that one program or another reads
    *("127.0.0.1", "127.1", "127.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001"),
    *("0177.0.0.1", "127.0.0.1.", "0", "0.0.0.0", "127.0.0.01", "0x7f.1", "127.000.000.001"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    *("[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]"),
    *("[2001:0:7f00:1::]", "[2001:470:1f0b::5efe:7f00:1]", "[2a00::200:5efe:7f00:1]"),
    # networks of others
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1"),
    *("169.254.169.254", "192.0.2.1", "198.51.100.7", "203.0.113.9", "192.0.0.8", "192.88.99.1"),
    *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[3fff::1]"),
    *("[4000::1]", "[fec0::1]", "[100::1]"),
    # names of them
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "metadata"),
    *("metadata.google.internal", "db.internal", "x.lan", "instance-data", "home.home.arpa"),
]


@pytest.mark.parametrize("host", PRIVATE)
async def test_what_is_not_public_is_refused(host: str):
    """Before anything is sent."""
    async with tool_of("http", url=f"http://{host}/x", retries=2) as tool:
        result = await tool()
    assert result.status == "error"
    assert result.facts["sent"] is False
    assert result.facts["denied"]
    # another attempt would be refused too
    assert result.attempts == 1


@contextmanager
def names(monkeypatch: pytest.MonkeyPatch, **addresses: list[str]) -> Iterator[None]:
    """A resolver of the machine that knows these names."""
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        found = addresses.get(str(host).partition(".")[0])
        if found is None:
            return real(host, port, *rest, **more)
        if not found:
            raise socket.gaierror(-2, "Name or service not known")
        return [one for text in found for one in real(text, port, *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["169.254.169.254"],
    ],
)
async def test_a_name_that_leads_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
):
    """One bad address among good ones is enough."""
    async with raw_server(answer("inside")) as server:
        with names(monkeypatch, rebound=addresses):
            url = f"http://rebound.example:{server.port}/"
            async with tool_of("http", url=url, retries=0) as tool:
                result = await tool()
    assert result.facts == {"sent": False, "denied": "private-address"}
    assert "rebound.example (" in result.output
    assert server.connections == 0


async def test_a_name_that_changes_is_checked_each_time(monkeypatch: pytest.MonkeyPatch):
    """What was allowed a moment ago is not allowed now."""
    async with raw_server(answer("x", Connection="close")) as server:
        url = f"http://flips.example:{server.port}/"
        async with tool_of("http", url=url, retries=0, allow_private=["127.0.0.0/30"]) as tool:
            with names(monkeypatch, flips=["127.0.0.1"]):
                assert (await tool()).status == "success"
            with names(monkeypatch, flips=["127.0.0.9"]):
                assert (await tool()).facts["denied"] == "private-address"
    assert server.connections == 1


async def test_a_name_without_an_address_is_a_network_error(monkeypatch: pytest.MonkeyPatch):
    """Tried again, whatever the tool does."""
    with names(monkeypatch, nowhere=[]):
        async with tool_of("http", url="http://nowhere.example/", method="POST", retries=1) as tool:
            result = await tool()
    assert (result.status, result.attempts, result.facts["sent"]) == ("error", 2, False)


async def test_a_local_name_stands_only_for_the_networks_that_are_allowed(
    monkeypatch: pytest.MonkeyPatch,
):
    """Not for a public address either."""
    async with raw_server(answer("x")) as server:
        entry: dict[str, Any] = {"url": f"http://db.internal:{server.port}/", "retries": 0}
        with names(monkeypatch, db=["127.0.0.1"]):
            async with tool_of("http", **entry, allow_private=["127.0.0.0/8"]) as tool:
                assert (await tool()).status == "success"
            async with tool_of("http", **entry, allow_private=["10.0.0.0/8"]) as tool:
                assert (await tool()).facts["denied"] == "private-address"
        with names(monkeypatch, db=["93.184.216.34"]):
            async with tool_of("http", **entry, allow_private=["10.0.0.0/8"]) as tool:
                assert (await tool()).facts["denied"] == "local-name"


@given(st.ip_addresses())
def test_no_address_is_public_that_python_calls_otherwise(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
):
    """Ours is the stricter one."""
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_no_other_form_of_a_private_address_is_let_through(address: ipaddress.IPv4Address):
    """Mapped, compatible, translated, tunnelled."""
    number = int(address)
    forms = [
        ipaddress.IPv6Address(0xFFFF << 32 | number),
        ipaddress.IPv6Address(number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        ipaddress.IPv6Address((0x20010000 << 96) | number),
        ipaddress.IPv6Address((0x2A00 << 112) | (0x5EFE << 32) | number),
    ]
    assert not any(is_public(form) for form in forms)


@pytest.mark.parametrize("host", ["93.184.216.34", "example.com", "1.1.1.1", "[2606:4700::1111]"])
def test_what_is_public_is_let_through(host: str):
    """As it is written."""
    Allowance().require_host(host.strip("[]"))


@given(st.text(alphabet="0123456789abcdefx.:[]", max_size=20))
def test_a_host_is_let_through_only_if_all_programs_read_the_same_in_it(host: str):
    """What the system reads an address in is one that was checked."""
    try:
        Allowance().require_host(host)
    except DeniedError:
        return
    try:
        packed = socket.inet_aton(host)
    except (OSError, ValueError):
        return
    # the system takes it for an address
    assert is_public(ipaddress.ip_address(packed))


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.com/", "file:///etc/passwd", "//example.com/", "example.com/x", "http://"),
        *("http://{host}/", "http://{host}.example.com/", "http://example.com:{port}/"),
        *("{scheme}://example.com/", "http://a:b@example.com/", "http://{user}@example.com/"),
        *("http://example.com:0/", "http://example.com:99999/", "http://exämple.com/"),
        *("http://exa mple.com/", "http://example.com\\@evil.com/", "http://[::1/"),
        *("http://example.com/#x", "http://exa%6dple.com/", "http://example.com:80:80/"),
        "http://[fe80::1%25eth0]/",
    ],
)
async def test_a_url_that_chooses_no_host_is_an_error(url: str):
    """The operator's, not the model's."""
    with pytest.raises(ToolDefinitionError) as raised:
        async with tool_of("http", url=url):
            pass
    assert (raised.value.path, raised.value.code) == (("url",), "url-host")
