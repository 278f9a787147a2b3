"""URLs and addresses that images may be fetched from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.images.image_hosts import ImageHosts, check_addresses, is_public
from app.images.unreadable import ImageError
from tests.turns import draws

HOSTS = ImageHosts(
    ["images.example.org", "*.cdn.example.net", "other.example:8443", "xn--bcher-kva.example"]
)

ALLOWED = {
    "http://images.example.org/a.png": "http://images.example.org/a.png",
    "https://images.example.org/a.png?x=1#part": "https://images.example.org/a.png?x=1",
    "HTTPS://Images.Example.ORG": "https://images.example.org",
    "https://images.example.org:443/": "https://images.example.org/",
    "http://images.example.org:443/": "http://images.example.org:443/",
    "https://a.cdn.example.net/x": "https://a.cdn.example.net/x",
    "https://a.b.cdn.example.net/x": "https://a.b.cdn.example.net/x",
    "https://other.example:8443/": "https://other.example:8443/",
    "https://bücher.example/": "https://xn--bcher-kva.example/",
}


@pytest.mark.parametrize("url", ALLOWED)
def test_a_url_of_an_allowed_host_may_be_fetched(url: str) -> None:
    assert str(HOSTS.check(url)) == ALLOWED[url]


REFUSED = {
    "image_host_not_allowed": [
        "http://example.org/",
        "http://images.example.org.evil.example/",
        "http://evil-images.example.org/",
        "http://images.example.org./",
        "http://cdn.example.net/",
        "http://evilcdn.example.net/",
        "http://images.example.org:8080/",
        "https://images.example.org:22/",
        "https://other.example/",
        "https://other.example:8444/",
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data/",
        "http://images%2eexample.org/",
        "http://\u2488.example/",
        "http://bu\u0308cher.example.evil.example/",
    ],
    "invalid_image_url": [
        "http://user@images.example.org/",
        "http://user:password@images.example.org/",
        "http://@images.example.org/",
        "http://images.example.org@evil.example/",
        "ftp://images.example.org/",
        "file:///etc/passwd",
        "gopher://images.example.org/",
        "images.example.org/a.png",
        "//images.example.org/a.png",
        "http:images.example.org/",
        "http:///a.png",
        "http://",
        "http://images.example.org\\@evil.example/",
        "http://images.example.org /",
        "http://images.example.org/a b",
        "http://images.example.org\r\nHost: evil/",
        "http://images.example.org:0/",
        "http://images.example.org:99999/",
        "http://images.example.org:x/",
        "http://[::1/",
        "http://images.example.org/" + "a" * 9_000,
    ],
}


@pytest.mark.parametrize(
    ("url", "code"), [(url, code) for code, urls in REFUSED.items() for url in urls]
)
def test_another_url_is_not_fetched(url: str, code: str) -> None:
    with pytest.raises(ImageError) as caught:
        HOSTS.check(url)
    assert caught.value.unreadable.code == code, caught.value


@draws(400)
@given(
    st.sampled_from(["", "http:", "http://", "https://images.example.org", "http://[", "HTTP:/"]),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
    | st.text("@:/\\?#[]%.0123456789abcdefx", max_size=30),
)
def test_any_url_is_one_of_an_allowed_host_or_refused(head: str, text: str) -> None:
    try:
        url = HOSTS.check(head + text)
    except ImageError:
        return
    assert url.raw_host == "images.example.org"
    assert (url.raw_user, url.raw_password, url.port in (80, 443)) == (None, None, True)


def test_the_refusal_of_a_host_names_it_and_the_setting() -> None:
    with pytest.raises(ImageError, match=r"'evil.example:8080' .*SWITCHYARD_IMAGE_HOSTS"):
        HOSTS.check("http://evil.example:8080/")


PUBLIC = ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]
PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2606:4700:4700::1111%eth0",
    "nonsense",
]


def test_addresses_of_the_internet_are_public() -> None:
    assert [address for address in PUBLIC if not is_public(address)] == []


def test_other_addresses_are_not_public() -> None:
    assert [address for address in PRIVATE if is_public(address)] == []


@pytest.mark.parametrize("addresses", [[], ["10.0.0.1"], ["1.1.1.1", "::1"]])
def test_one_address_that_is_not_public_refuses_the_host(addresses: list[str]) -> None:
    with pytest.raises(ImageError, match=r"the host a\.example must have public addresses"):
        check_addresses("a.example", addresses)
