"""X-Forwarded-For counts from named proxies only."""

from ipaddress import ip_network
from typing import Any

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.server.proxies import listed
from tests.app.gateway import Gateway

ASKED: dict[str, Any] = {"model": "noise", "input": "x", "max_output_tokens": 8, "store": True}


@pytest.mark.parametrize(
    ("networks", "host", "expected"),
    [
        ([], "127.0.0.1", False),
        (["127.0.0.1"], "127.0.0.1", True),
        (["127.0.0.1"], "127.0.0.2", False),
        (["10.0.0.0/8"], "10.9.8.7", True),
        (["10.0.0.0/8"], "::ffff:10.9.8.7", True),
        (["10.0.0.0/8"], "::ffff:11.9.8.7", False),
        (["fe80::/10"], "fe80::1%eth0", True),
        (["::1"], "127.0.0.1", False),
        (["10.0.0.0/8"], "", False),
        (["10.0.0.0/8"], "proxy", False),
        (["10.0.0.0/8"], None, False),
    ],
)
async def test_which_peers_are_proxies(networks: list[str], host: str | None, expected: bool):
    clients: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        clients.append(scope["client"])

    proxies = listed([ip_network(each) for each in networks])
    peer = None if host is None else (host, 1)
    headers = [(b"x-forwarded-for", b"203.0.113.7")]
    scope: Any = {"type": "http", "client": peer, "scheme": "http", "headers": headers}
    await ProxyHeadersMiddleware(app, proxies)(scope, None, None)  # type: ignore[arg-type]
    assert clients == [("203.0.113.7", 0) if expected else peer]


def test_networks_of_ipv4_are_also_listed_as_ipv6_shows_them():
    networks = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]
    assert listed(networks) == ["10.0.0.0/8", "fd00::/8", "::ffff:a00:0/104"]


def reads(gateway: Gateway, *addresses: str) -> list[int]:
    """Store a response as the first address, and return the statuses when others read it."""
    made = gateway.post(ASKED, path="/v1/responses", headers={"x-forwarded-for": addresses[0]})
    path = f"/v1/responses/{made.json()['id']}"
    return [
        gateway.get(path, headers={"x-forwarded-for": address} if address else {}).status_code
        for address in addresses
    ]


def test_no_client_names_its_own_address(monkeypatch: pytest.MonkeyPatch):
    """REGRESSION: any local client could name another one's address and read what it had stored."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with Gateway() as gateway:
        assert reads(gateway, "203.0.113.7", "203.0.113.8", "") == [200, 200, 200]


def test_a_named_proxy_names_the_addresses_of_clients():
    """The last address that is no proxy's counts: clients write those before it."""
    with Gateway(trusted_proxies="127.0.0.0/8,10.0.0.5") as gateway:
        spoofed, beside = "203.0.113.7, 203.0.113.8", "203.0.113.7, 10.0.0.5"
        assert reads(gateway, "203.0.113.7", "203.0.113.8", spoofed, beside, "") == [
            200,
            404,
            404,
            200,
            404,
        ]
