"""An issuer of tokens for tests, with real keys of every kind."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://id.example.org/realms/main"
AUDIENCE = "switchyard"
#: the algorithms by the names of keys; "second" is a second RSA key
ALGORITHMS = {
    "rsa": "RS256",
    "second": "PS512",
    "p256": "ES256",
    "p384": "ES384",
    "p521": "ES512",
    "ed25519": "EdDSA",
    "ed448": "EdDSA",
}


@cache
def private_key(name: str) -> Any:
    """Return the key of a name; any other name than those of ALGORITHMS is a small RSA key."""
    match name:
        case "rsa" | "second" | "stranger":
            return rsa.generate_private_key(65537, 2048)
        case "p256":
            return ec.generate_private_key(ec.SECP256R1())
        case "p384":
            return ec.generate_private_key(ec.SECP384R1())
        case "p521":
            return ec.generate_private_key(ec.SECP521R1())
        case "k1":
            return ec.generate_private_key(ec.SECP256K1())
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
        case "ed448":
            return ed448.Ed448PrivateKey.generate()
    return rsa.generate_private_key(65537, 1024)


def jwk(name: str, **more: Any) -> dict[str, Any]:
    """Return a public key; its id is its name. ``more`` replaces members, and None removes one."""
    return _without_none({"kid": name, **_members(private_key(name).public_key()), **more})


def private_jwk(name: str) -> dict[str, Any]:
    return {"kid": name, **_members(private_key(name))}


def _members(key: Any) -> dict[str, Any]:
    kind = type(key).__name__
    if "RSA" in kind:
        found = RSAAlgorithm.to_jwk(key, as_dict=True)
    elif kind.startswith(("EC", "Elliptic")):
        found = ECAlgorithm.to_jwk(key, as_dict=True)
    else:
        found = OKPAlgorithm.to_jwk(key, as_dict=True)
    # PyJWT adds what the key is for, which providers leave out as often
    return {name: value for name, value in found.items() if name != "key_ops"}


def jwks(*keys: str | Mapping[str, Any]) -> str:
    """Return a set of keys, given by name or as they are."""
    return json.dumps({"keys": [jwk(key) if isinstance(key, str) else key for key in keys]})


def claims(**more: Any) -> dict[str, Any]:
    """Return valid claims. ``more`` replaces some, and None removes one."""
    now = int(time.time())
    standard = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now + 3600, "iat": now}
    return _without_none({**standard, **more})


def token(name: str = "rsa", headers: Mapping[str, Any] | None = None, **more: Any) -> str:
    """Return a token of a key. A header that is None is left out."""
    key = private_key(name)
    return signed(key, ALGORITHMS.get(name, "RS256"), {"kid": name, **(headers or {})}, **more)


def signed(key: Any, algorithm: str, headers: Mapping[str, Any], **more: Any) -> str:
    """Return a token of a key, an algorithm and headers."""
    return _signed(json.dumps(claims(**more)).encode(), key, algorithm, headers)


def signed_bytes(text: bytes) -> str:
    """Return a token whose claims are these bytes."""
    return _signed(text, private_key("rsa"), "RS256", {"kid": "rsa"})


def _signed(text: bytes, key: Any, algorithm: str, headers: Mapping[str, Any]) -> str:
    return jwt.PyJWS().encode(text, key, algorithm, headers=_without_none(headers))


def spliced(header: Any, payload: Any, signature: bytes = b"") -> str:
    """Return a token of these parts: bytes as they are, anything else as JSON."""
    parts = [
        each if isinstance(each, bytes) else json.dumps(each).encode() for each in (header, payload)
    ]
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in (*parts, signature))


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
