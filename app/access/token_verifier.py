"""Verifies JSON Web Tokens (RFC 7519) of one issuer, and names their clients.

Order            length, form, algorithm, key, signature, claims: nothing is decoded that is longer
                 than MAX_CHARACTERS, and nothing is believed before its signature was verified.
Identity         a client is the pair of issuer and subject. Its id has a prefix that neither keys
                 nor addresses have, and so has its name.
Invariants       I1 the algorithm comes from the key, and is asymmetric (jwks). No key comes from a
                    token: ``jwk``, ``jku``, ``x5c`` and ``x5u`` count for nothing.
                 I2 every refusal is a 401, or 403 for a scope; no message quotes the token.
                 I3 a verified token is kept by its digest until it expires or the keys change.
Cost             RS256 0.11 ms, ES256 0.13 ms, EdDSA 0.17 ms, ES384 and ES512 0.55 ms; 0.002 ms for
                 a kept token. Without keeping tokens, a chat of one token, which costs 1.5 to 1.9
                 ms of CPU, cost 0.5 ms more with RS256 and 1.4 ms more with ES384.
Threads          the event loop only; the file is parsed in a thread.
"""

import time
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import jwt
import orjson

from ..errors import ApiError
from .client import Client
from .followed_file import FollowedFile, KeysUnreadable
from .jwks import ALGORITHMS, MAX_BYTES, JwksRefused, KeySet, VerifyingKey, parse_jwks
from .key_entry import digest_of
from .keys import refused

#: of a token; those of identity providers have 500 to 2,000
MAX_CHARACTERS: Final = 8192
#: of verified tokens; each takes 1 KB
MAX_KEPT: Final = 4096
#: of a subject in UTF-8; OpenID Connect permits 255 ASCII characters
MAX_SUBJECT_BYTES: Final = 255
#: of ids and of names: hexadecimal digits and names of keys have no such beginning
_ID_PREFIX: Final = "jwt-"
_NAME_PREFIX: Final = "jwt:"
#: characters of subjects that names have as they are, besides letters, digits, ".", "_", "-", "~"
_PLAIN: Final = "@|:/+="
_REQUIRED: Final = ("exp", "iss", "aud", "sub")
_EXPIRED: Final = "This token has expired."
_MALFORMED: Final = "This token is malformed."
_REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (jwt.ExpiredSignatureError, _EXPIRED),
    (jwt.ImmatureSignatureError, "This token is not valid yet."),
    (jwt.InvalidAudienceError, "This token is for another audience."),
    (jwt.InvalidIssuerError, "This token is from another issuer."),
    (jwt.InvalidSignatureError, "The signature of this token is wrong."),
)


@dataclass(frozen=True, slots=True)
class TokenRules:
    """The demands on tokens. ``models_claim``: the claim that lists the models of a client."""

    issuer: str
    audience: str
    leeway_s: float = 0.0
    required_scope: str | None = None
    admin_scope: str | None = None
    models_claim: str | None = None


@dataclass(frozen=True, slots=True)
class _Holder:
    """The client of a verified token. ``expires``: seconds since the epoch, without leeway."""

    client: Client
    scopes: frozenset[str]
    expires: int


class TokenVerifier:
    """The verifier of tokens by the keys of a file. Without ``load`` it knows no key.

    ``clock``: seconds since the epoch, for tokens that are kept.
    """

    setting = "JWKS_FILE"
    #: a file that is missing at startup is a mistake
    may_be_down = False

    def __init__(
        self, file: Path, rules: TokenRules, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.name = str(file)
        self._file = FollowedFile(file, self._parse, max_bytes=MAX_BYTES)
        self._rules = rules
        self._clock = clock
        self._keys = KeySet()
        #: by the SHA-256 of the token, the least recently used one first
        self._kept: OrderedDict[bytes, _Holder] = OrderedDict()

    async def load(self) -> Sequence[VerifyingKey] | None:
        """Read the keys if the file has changed, and return them; None: no change.

        Raises:
            KeysUnreadable: the file cannot be read or has a mistake; earlier keys stay valid.
        """
        keys = await self._file.load()
        if keys is None:
            return None
        self._keys = keys
        self._kept.clear()
        return keys.keys

    def client(self, token: str) -> Client | None:
        """Return the client of a token; None: the text is no token.

        Raises:
            ApiError: 401, the token is not valid; 403, it lacks the required scope.
        """
        holder = self._verified(token)
        if holder is None:
            return None
        _check_scope(holder, self._rules.required_scope)
        return holder.client

    @property
    def has_operators(self) -> bool:
        """Whether a token may be one of an operator."""
        return self._rules.admin_scope is not None

    def check_operator(self, token: str) -> None:
        """Raise ApiError: 401 without a valid token, 403 without the scope of operators."""
        holder = self._verified(token)
        if holder is None:
            raise refused("Incorrect API key provided.")
        _check_scope(holder, self._rules.admin_scope)

    def _parse(self, text: str) -> KeySet:
        try:
            return parse_jwks(text)
        except JwksRefused as error:
            raise KeysUnreadable(f"{self._file.path}: {error}") from None

    def _verified(self, token: str) -> _Holder | None:
        """Return the holder of a token; None: the text is no token. Raises ApiError 401."""
        if token.count(".") != 2:
            return None
        if len(token) > MAX_CHARACTERS:
            raise refused(f"This token is longer than {MAX_CHARACTERS:,} characters.")
        digest = digest_of(token)
        kept = self._kept.get(digest)
        if kept is not None:
            if kept.expires <= self._clock() - self._rules.leeway_s:
                raise refused(_EXPIRED)
            self._kept.move_to_end(digest)
            return kept
        header = _header(token)
        if header is None:
            return None
        holder = self._holder(self._claims(token, self._key(header)))
        self._kept[digest] = holder
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return holder

    def _claims(self, token: str, key: VerifyingKey) -> dict[str, Any]:
        rules = self._rules
        try:
            return jwt.decode(
                token,
                key.key,
                algorithms=sorted(key.algorithms),
                audience=rules.audience,
                issuer=rules.issuer,
                leeway=rules.leeway_s,
                options={"require": list(_REQUIRED)},
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise refused(_reason(error)) from None

    def _key(self, header: dict[str, Any]) -> VerifyingKey:
        """Return the key that a token names, or the only one that fits."""
        kid, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(algorithm, str) or not isinstance(kid, str | None):
            raise refused(_MALFORMED)
        if algorithm not in ALGORITHMS:
            allowed = ", ".join(sorted(ALGORITHMS))
            raise refused(f"This token's algorithm is not permitted; these are: {allowed}.")
        if "crit" in header:
            raise refused("This token has critical extensions (crit), which are not supported.")
        fitting = self._keys.fitting(kid, algorithm)
        if not fitting:
            raise refused("This token's key is unknown, or is for another algorithm.")
        if len(fitting) > 1:
            raise refused("This token does not name its key (kid), and several keys fit.")
        return fitting[0]

    def _holder(self, claims: dict[str, Any]) -> _Holder:
        subject: str = claims["sub"]
        try:
            size = len(subject.encode())
        except UnicodeEncodeError:
            raise refused(_MALFORMED) from None
        if not 1 <= size <= MAX_SUBJECT_BYTES:
            raise refused(f"The claim sub must have 1 to {MAX_SUBJECT_BYTES} bytes.")
        digest = sha256(orjson.dumps([self._rules.issuer, subject])).hexdigest()
        claim = self._rules.models_claim
        client = Client(
            id=f"{_ID_PREFIX}{digest[:32]}",
            name=f"{_NAME_PREFIX}{quote(subject, safe=_PLAIN)}",
            models=None if claim is None else _words(claims.get(claim)),
        )
        scopes = _words(claims.get("scope")) | _words(claims.get("scp"))
        return _Holder(client, scopes, int(claims["exp"]))


def _header(token: str) -> dict[str, Any] | None:
    """Return the header of a token; None: it is none. The signature says later if it is true."""
    text = token.partition(".")[0]
    try:
        header = orjson.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:
        return None
    return header if isinstance(header, dict) else None


def _reason(error: Exception) -> str:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"This token lacks the claim {error.claim}."
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    return _MALFORMED


def _words(value: Any) -> frozenset[str]:
    """Return the words of a claim: a list of strings, or one string with spaces between them."""
    if isinstance(value, str):
        return frozenset(value.split())
    words = value if isinstance(value, list) else ()
    return frozenset(word for word in words if isinstance(word, str))


def _check_scope(holder: _Holder, scope: str | None) -> None:
    if scope is not None and scope not in holder.scopes:
        raise ApiError(403, f"This token lacks the scope {scope}.", code="insufficient_scope")
