"""URLs mean what people know them to mean; others are refused, and no password is quoted."""

from typing import Any

import pytest

from cache import RedisAddress

HOST = (("redis", 6379),)

MEANINGS: dict[str, dict[str, Any]] = {
    "redis://redis": {"kind": "single", "hosts": HOST},
    "REDIS://redis:1/2": {"hosts": (("redis", 1),), "db": 2},
    "redis://redis/": {"db": 0},
    "redis://:p%40ss%2F@redis": {"hosts": HOST, "username": None, "password": "p@ss/"},
    "redis://user:a@b@redis": {"hosts": HOST, "username": "user", "password": "a@b"},
    "redis://[::1]:7/1": {"hosts": (("::1", 7),), "db": 1},
    "redis://[::1]": {"hosts": (("::1", 6379),)},
    "redis://redis?client_name=me": {"options": {"client_name": "me"}},
    "rediss://redis": {"tls": True, "hosts": HOST},
    "rediss://redis?ssl_ca_certs=/ca.pem&ssl_check_hostname=False": {
        "options": {"ssl_ca_certs": "/ca.pem", "ssl_check_hostname": "false"}
    },
    "unix:///run/redis.sock": {"kind": "unix", "path": "/run/redis.sock", "hosts": ()},
    "redis://[fe80::1%25eth0]:7": {"hosts": (("fe80::1%eth0", 7),)},
    "redis://redis?client_name=me%40here": {"options": {"client_name": "me@here"}},
    "unix:///a%40b": {"path": "/a@b"},
    "unix:///a%20b/c?db=3&username=u&password=p%26": {
        "path": "/a b/c",
        "db": 3,
        "username": "u",
        "password": "p&",
    },
    "unix://u:p@/run/redis.sock": {"username": "u", "password": "p"},
    "redis+sentinel://one,two:1,[::2]:3/mymaster": {
        "kind": "sentinel",
        "hosts": (("one", 26379), ("two", 1), ("::2", 3)),
        "primary": "mymaster",
        "db": 0,
    },
    "rediss+sentinel://u:p@one/mymaster/4?sentinel_password=s": {
        "tls": True,
        "primary": "mymaster",
        "db": 4,
        "password": "p",
        "options": {"sentinel_password": "s"},
    },
    "redis+cluster://one:7000,two:7001": {
        "kind": "cluster",
        "hosts": (("one", 7000), ("two", 7001)),
    },
    "rediss+cluster://:p@one/0": {"tls": True, "hosts": (("one", 6379),), "password": "p"},
}


@pytest.mark.parametrize("url", MEANINGS)
def test_what_a_url_means(url: str) -> None:
    found = RedisAddress.of(url)
    for name, value in MEANINGS[url].items():
        assert getattr(found, name) == value, name


REFUSED = {
    "": "begins with redis://",
    "redis": "begins with redis://",
    "http://redis": "begins with redis://",
    "redis://": "host",
    "redis://:p@": "host",
    "redis://redis:": "port",
    "redis://redis:0": "1 to 65535",
    "redis://redis:65536": "1 to 65535",
    "redis://redis:many": "1 to 65535",
    "redis://redis/none": "database",
    "redis://redis/0/1": "2 parts",
    "redis://user@redis": "user:password or",
    "redis://redis?socket_timeout=100": "'socket_timeout' is not one of",
    "redis://redis?ssl_ca_certs=/ca.pem": "'ssl_ca_certs' is not one of",
    "rediss://redis?ssl_cert_reqs=perhaps": "required, optional, none",
    "redis://redis?sentinel_password=s": "'sentinel_password' is not one of",
    "redis://redis?Name=x": "an option is not one of",
    "redis://redis/0@": "encode /",
    "redis://redis?client_name=a@b": "encode /",
    "redis://redis/#@": "encode /",
    "redis://a%40b": "neither a name nor an address",
    "unix://": "path",
    "unix://run/redis.sock": "unix:///path",
    "unix:///run/redis.sock?db=x": "database",
    "redis+sentinel://one,two": "primary",
    "redis+sentinel://one,,two/mymaster": "host",
    "redis+cluster://one/1": "database 0 only",
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[url]):
        RedisAddress.of(url)


SECRETIVE = {
    "redis://user:secret@redis:6379/1?client_name=secret": "redis://***@redis:6379/1",
    "redis://redis": "redis://redis:6379",
    "unix://u:secret@/run/redis.sock?db=1": "unix:///run/redis.sock/1",
    "redis+sentinel://:secret@one,[::1]:7/mymaster/2?sentinel_password=secret": (
        "redis+sentinel://***@one:26379,[::1]:7/mymaster/2"
    ),
    "rediss+cluster://:secret@one?ssl_password=secret": "rediss+cluster://***@one:6379",
}


@pytest.mark.parametrize("url", SECRETIVE)
def test_what_is_shown_holds_no_secret(url: str) -> None:
    address = RedisAddress.of(url)
    assert address.shown() == SECRETIVE[url]
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:secret@redis:secretport",
        "redis://u:secret@redis?secret_option=1&x=secret",
        "redis://u:secret@redis/secretdb",
        "ftp://u:secret@redis",
        "rediss://u:secret@redis?ssl_cert_reqs=secret",
        "rediss://u:secret@redis?SECRET",
    ],
)
def test_a_refusal_quotes_no_password(url: str) -> None:
    with pytest.raises(ValueError) as refused:
        RedisAddress.of(url)
    assert "secret@" not in str(refused.value)
    assert "=secret" not in str(refused.value)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("scheme", ["redis", "unix", "redis+sentinel", "redis+cluster"])
@pytest.mark.parametrize("user", ["", "name"])
@pytest.mark.parametrize("between", ["/", "?", "#", "/0?", "?x=", ":/", "@/", "@x/", ",/", "]/"])
def test_no_part_of_a_password_that_was_not_encoded_is_quoted(
    scheme: str, user: str, between: str
) -> None:
    """Nor of one after which even the @ was encoded."""
    url = f"{scheme}://{user}:FIRST{between}SECOND@redis:6379/0"
    for written in (url, url.replace(f"{between}SECOND@", "%2FSECOND%40"), url.replace(":F", "F")):
        try:
            shown = RedisAddress.of(written).shown()
        except ValueError as refused:
            shown = str(refused)
        assert "FIRST" not in shown
        assert "SECOND" not in shown
