"""A JSON Web Key Set (RFC 7517): the public keys that verify tokens.

Usable     RSA keys of at least 2,048 bits, EC keys on P-256, P-384 and P-521, Ed25519, Ed448. A key
           verifies the algorithm that it names, else all of its type.
Ignored    as RFC 7517 section 5 asks: keys of other types, curves, algorithms and uses.
Refused    the whole set, with the place of the mistake: a secret (symmetric or private key), a weak
           or broken key, two keys of one id, and a set without a usable key.
Imports    PyJWT and cryptography take 20 MB and 0.15 s, so only gateways with a set import this.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWTError
from jwt.algorithms import AllowedPublicKeys, get_default_algorithms
from pydantic import BaseModel, ConfigDict, Field, ValidationError

#: bytes of the file, and keys; identity providers publish fewer than ten
MAX_BYTES: Final = 1 << 20
MAX_KEYS: Final = 100
#: bits of an RSA key: RFC 7518 section 3.3 forbids shorter ones
MIN_RSA_BITS: Final = 2048

_RSA: Final = tuple(f"{kind}{bits}" for kind in ("RS", "PS") for bits in (256, 384, 512))
#: the algorithms of a type and curve
_FITTING: Final[dict[tuple[str, str | None], tuple[str, ...]]] = {
    ("RSA", None): _RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
    ("OKP", "Ed448"): ("EdDSA",),
}
#: asymmetric ones only: a key that verifies HMACs can also make tokens
ALGORITHMS: Final = frozenset(name for names in _FITTING.values() for name in names)

_Text = Annotated[str, Field(min_length=1, max_length=256)]
#: base64url, up to the modulus of an RSA key of 8,192 bits, which takes 0.3 ms to verify with
_Number = Annotated[str, Field(min_length=1, max_length=1366, pattern=r"^[A-Za-z0-9_-]+$")]


class JwksRefused(ValueError):
    """A set is not usable. The message names the place, and quotes no key."""


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key, and the algorithms that it may verify."""

    kid: str | None
    algorithms: frozenset[str]
    key: AllowedPublicKeys


@dataclass(frozen=True, slots=True)
class KeySet:
    """The usable keys, and the number of ignored ones."""

    keys: tuple[VerifyingKey, ...] = ()
    ignored: int = 0

    def fitting(self, kid: str | None, algorithm: str) -> list[VerifyingKey]:
        """Return the keys that may have signed a token; without an id, all of its algorithm."""
        return [
            each
            for each in self.keys
            if algorithm in each.algorithms and (kid is None or kid == each.kid)
        ]


class _Jwk(BaseModel):
    """A key of the set. Other members count for nothing, certificates among them."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    kty: _Text
    kid: _Text | None = None
    use: str | None = None
    key_ops: list[str] | None = None
    alg: str | None = None
    crv: str | None = None
    n: _Number | None = None
    e: _Number | None = None
    x: _Number | None = None
    y: _Number | None = None
    d: Any = None

    @property
    def algorithms(self) -> frozenset[str]:
        """The algorithms that the key may verify; none: the key is ignored."""
        is_for_signatures = self.use in (None, "sig")
        if self.key_ops is not None and "verify" not in self.key_ops:
            is_for_signatures = False
        curve = None if self.kty == "RSA" else self.crv
        fitting = _FITTING.get((self.kty, curve), ()) if is_for_signatures else ()
        return frozenset(name for name in fitting if self.alg in (None, name))


class _Jwks(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    keys: list[_Jwk] = Field(max_length=MAX_KEYS)


def parse_jwks(text: str | bytes) -> KeySet:
    """Parse a set. Raises JwksRefused."""
    try:
        keys = _Jwks.model_validate_json(text).keys
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise JwksRefused(f"{place}: {problem['msg']}" if place else problem["msg"]) from None
    usable: list[VerifyingKey] = []
    places: dict[str, int] = {}
    for number, jwk in enumerate(keys):
        place = f"keys.{number}" if jwk.kid is None else f"keys.{number} (kid {jwk.kid[:64]!r})"
        _check_public(jwk, place)
        if not jwk.algorithms:
            continue
        if jwk.kid is not None and places.setdefault(jwk.kid, number) != number:
            raise JwksRefused(f"{place}: the same kid as keys.{places[jwk.kid]}")
        usable.append(VerifyingKey(jwk.kid, jwk.algorithms, _public_key(jwk, place)))
    if not usable:
        raise JwksRefused(
            f"keys: none of the {len(keys)} verifies signatures of {', '.join(sorted(ALGORITHMS))}"
        )
    return KeySet(tuple(usable), len(keys) - len(usable))


def _check_public(jwk: _Jwk, place: str) -> None:
    if jwk.kty == "oct":
        raise JwksRefused(
            f"{place}: symmetric keys (kty oct) are not permitted: they can make tokens"
        )
    if jwk.d is not None:
        raise JwksRefused(f"{place}: a private key (d); the set must hold public keys only")


def _public_key(jwk: _Jwk, place: str) -> AllowedPublicKeys:
    # all algorithms of a type parse its keys alike
    algorithm = get_default_algorithms()[min(jwk.algorithms)]
    try:
        key: AllowedPublicKeys = algorithm.from_jwk(jwk.model_dump(exclude_none=True))
    except (PyJWTError, ValueError, UnsupportedAlgorithm) as error:
        raise JwksRefused(f"{place}: no valid {jwk.kty} key: {error}") from None
    if isinstance(key, RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        raise JwksRefused(
            f"{place}: RSA keys need at least {MIN_RSA_BITS:,} bits, got {key.key_size:,}"
        )
    return key
