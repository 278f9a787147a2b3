"""Sets of keys: which keys verify what, and which mistakes refuse a set."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.access.jwks import ALGORITHMS, MAX_KEYS, JwksRefused, parse_jwks
from tests.app.access.tokens import jwk, jwks, private_jwk

RSA = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
SECRET = {"kty": "oct", "kid": "secret", "k": "c2VjcmV0", "alg": "HS256"}


@pytest.mark.parametrize(
    ("make", "algorithms"),
    [
        (lambda: jwk("rsa"), RSA),
        (lambda: jwk("rsa", use="sig", alg="PS256"), {"PS256"}),
        (lambda: jwk("rsa", key_ops=["verify"]), RSA),
        (lambda: jwk("p256"), {"ES256"}),
        (lambda: jwk("p384"), {"ES384"}),
        (lambda: jwk("p521", alg="ES512"), {"ES512"}),
        (lambda: jwk("ed25519"), {"EdDSA"}),
        (lambda: jwk("ed448"), {"EdDSA"}),
        (lambda: jwk("rsa", x5c=["certificate"], x5u="https://elsewhere"), RSA),
    ],
)
def test_a_key_verifies_the_algorithms_of_its_type(
    make: Callable[[], Any], algorithms: set[str]
) -> None:
    key = make()
    (found,) = parse_jwks(jwks(key)).keys
    assert (found.kid, found.algorithms) == (key["kid"], algorithms)
    assert algorithms <= ALGORITHMS


def test_no_algorithm_is_symmetric() -> None:
    assert not [name for name in ALGORITHMS if name.startswith("HS") or name == "none"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: jwk("second", use="enc"),
        lambda: jwk("second", key_ops=["encrypt"]),
        lambda: jwk("second", alg="RSA-OAEP"),
        lambda: jwk("second", alg="HS256"),
        lambda: jwk("second", alg="none"),
        lambda: jwk("p256", alg="ES384"),
        lambda: jwk("k1"),
        lambda: {"kty": "OKP", "crv": "X25519", "x": "AAAA"},
        lambda: {"kty": "future"},
    ],
)
def test_a_key_for_something_else_is_ignored(make: Callable[[], Any]) -> None:
    key = make()
    found = parse_jwks(jwks("rsa", key))
    assert ([each.kid for each in found.keys], found.ignored) == (["rsa"], 1)
    with pytest.raises(JwksRefused, match="none of the 1 verifies signatures"):
        parse_jwks(jwks(key))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: "", "Invalid JSON"),
        (lambda: "[]", "valid dictionary|object"),
        (lambda: "{}", "keys: Field required"),
        (lambda: '{"keys": 1}', "keys: Input should be a valid"),
        (lambda: '{"keys": []}', "keys: none of the 0"),
        (lambda: '{"keys": [1]}', r"keys\.0: "),
        (lambda: '{"keys": [{}]}', r"keys\.0\.kty: Field required"),
        (lambda: "[" * 100_000, "Invalid JSON"),
        (lambda: jwks("rsa", jwk("p256", kid=7)), r"keys\.1\.kid: "),
        (lambda: jwks("rsa", SECRET), r"keys\.1 \(kid 'secret'\): symmetric keys \(kty oct\)"),
        (lambda: jwks("rsa", {**SECRET, "use": "enc"}), "symmetric keys"),
        (lambda: jwks(private_jwk("rsa")), r"keys\.0 \(kid 'rsa'\): a private key \(d\)"),
        (lambda: jwks(private_jwk("ed25519")), "a private key"),
        (
            lambda: jwks("weak"),
            r"keys\.0 \(kid 'weak'\): RSA keys need at least 2,048 bits, got 1,024",
        ),
        (
            lambda: jwks("rsa", jwk("p256", kid="rsa")),
            r"keys\.1 \(kid 'rsa'\): the same kid as keys\.0",
        ),
        (lambda: jwks(jwk("rsa", n=None)), "no valid RSA key"),
        (lambda: jwks(jwk("rsa", n="A" * 1367)), "at most 1366"),
        (lambda: jwks(jwk("rsa", e="Ag")), "no valid RSA key"),
        (lambda: jwks(jwk("p256", x="AAAA")), "no valid EC key"),
        (lambda: jwks(jwk("p256", x="A" * 43)), "no valid EC key"),
        (lambda: jwks(jwk("ed25519", x="AAAA")), "no valid OKP key"),
        (lambda: jwks(jwk("ed25519", x="A")), "no valid OKP key"),
        (lambda: jwks(jwk("ed25519", x="!")), "x: String should match"),
        (
            lambda: json.dumps({"keys": [jwk("rsa", kid=None)] * (MAX_KEYS + 1)}),
            "keys: List should have",
        ),
    ],
)
def test_a_mistake_refuses_the_set_and_names_its_place(
    make: Callable[[], str], message: str
) -> None:
    with pytest.raises(JwksRefused, match=message) as caught:
        parse_jwks(make())
    assert "c2VjcmV0" not in str(caught.value)


def test_the_most_keys_are_accepted() -> None:
    keys = [jwk("rsa", kid=None)] * MAX_KEYS
    assert len(parse_jwks(json.dumps({"keys": keys})).keys) == MAX_KEYS


@pytest.mark.parametrize(
    ("kid", "algorithm", "fitting"),
    [
        ("rsa", "RS256", ["rsa"]),
        ("rsa", "ES256", []),
        ("unknown", "RS256", []),
        (None, "RS256", ["rsa", "second"]),
        (None, "ES256", ["p256"]),
        (None, "EdDSA", []),
    ],
)
def test_a_token_fits_the_key_that_it_names(
    kid: str | None, algorithm: str, fitting: list[str]
) -> None:
    found = parse_jwks(jwks("rsa", "second", "p256")).fitting(kid, algorithm)
    assert [each.kid for each in found] == fitting
