"""Tokens: whom they identify, and that everything else is refused without being quoted."""

import asyncio
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from app.access import token_verifier as module
from app.access.client import Client
from app.access.followed_file import KeysUnreadable
from app.access.keys import Keys
from app.access.token_verifier import MAX_CHARACTERS, MAX_SUBJECT_BYTES, TokenRules, TokenVerifier
from app.errors import ApiError
from tests.app.access import tokens
from tests.app.access.tokens import ALGORITHMS, claims, jwk, jwks, private_key, spliced, token

RULES = {"issuer": tokens.ISSUER, "audience": tokens.AUDIENCE, "leeway_s": 30.0}


async def verifier(
    folder: Path, *keys: Any, clock: Callable[[], float] = time.time, **rules: Any
) -> TokenVerifier:
    """Return a verifier of these keys, by default of all."""
    file = folder / "jwks.json"
    file.write_text(jwks(*(keys or ALGORITHMS)))
    made = TokenVerifier(file, TokenRules(**{**RULES, **rules}), clock=clock)
    assert await made.load()
    return made


def refusal(verified: TokenVerifier, text: str) -> tuple[int, str | None, str]:
    """Return status, code and message of a refused text; it must not be quoted."""
    with pytest.raises(ApiError) as caught:
        Keys(tokens=verified).identify(f"Bearer {text}", "address")
    error = caught.value
    assert not [part for part in text.split(".") if len(part) > 8 and part in error.message]
    assert ("WWW-Authenticate" in error.headers) == (error.status == 401)
    return error.status, error.code, error.message


# -- clients ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
async def test_a_token_of_each_algorithm_names_its_subject(tmp_path: Path, name: str) -> None:
    client = (await verifier(tmp_path)).client(token(name))
    assert client is not None
    assert (client.name, client.models, client.max_running) == ("jwt:ada", None, None)


async def test_a_token_without_a_key_id_fits_the_only_key_of_its_algorithm(tmp_path: Path) -> None:
    verified = await verifier(tmp_path, "rsa", "p256", jwk("p384", kid=None))
    for name in ("rsa", "p256", "p384"):
        assert verified.client(token(name, {"kid": None})) is not None
    assert refusal(verified, token("p384"))[2].startswith("This token's key is unknown")


async def test_an_identity_is_an_issuer_and_a_subject(tmp_path: Path) -> None:
    here = await verifier(tmp_path)
    there = await verifier(tmp_path, issuer="https://other.example.org")
    ids = [
        here.client(token()),
        here.client(token("p256")),
        here.client(token(sub="bob")),
        there.client(token(iss="https://other.example.org")),
    ]
    first, same, *others = [each.id for each in ids if each is not None]
    assert first == same
    assert len({first, *others}) == 3
    assert all(each.startswith("jwt-") for each in (first, *others))


async def test_a_client_is_never_an_api_key_of_the_same_name_or_id(tmp_path: Path) -> None:
    verified = await verifier(tmp_path)
    keys = Keys(["ada"], tokens=verified)
    key = keys.identify("Bearer ada", "")
    for subject in ("ada", key.name, key.id):
        client = keys.identify(f"Bearer {token(sub=subject)}", "")
        assert client.name not in (key.name, subject)
        assert client.id not in (key.id, subject)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("auth0|12+3", "jwt:auth0|12+3"),
        ("ada@example.org", "jwt:ada@example.org"),
        ("a b\n\x1b[31m", "jwt:a%20b%0A%1B%5B31m"),
        ('"%', "jwt:%22%25"),
        ("Ādá", "jwt:%C4%80d%C3%A1"),
        ("jwt:ada", "jwt:jwt:ada"),
        ("s" * MAX_SUBJECT_BYTES, f"jwt:{'s' * MAX_SUBJECT_BYTES}"),
    ],
)
async def test_a_name_is_printable_ascii(tmp_path: Path, subject: str, name: str) -> None:
    client = (await verifier(tmp_path)).client(token(sub=subject))
    assert client is not None
    assert client.name == name


@pytest.mark.parametrize("audience", [tokens.AUDIENCE, [tokens.AUDIENCE], ["x", tokens.AUDIENCE]])
async def test_the_audience_may_be_one_of_several(tmp_path: Path, audience: Any) -> None:
    assert (await verifier(tmp_path)).client(token(aud=audience)) is not None


# -- refusals --------------------------------------------------------------------------------------

NOW = int(time.time())
MALFORMED = "This token is malformed."


def confused() -> str:
    """The classical confusion: the public key, which is known to all, as the secret of an HMAC."""
    public = private_key("rsa").public_key()
    text = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    unsigned = spliced({"alg": "HS256", "typ": "JWT", "kid": "rsa"}, claims())
    head = unsigned.rpartition(".")[0]
    hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    return f"{head}.{urlsafe_b64encode(hmac.sign(head.encode(), text)).rstrip(b'=').decode()}"


def changed(part: int, text: str) -> str:
    """Return a valid token with another part."""
    parts = token().split(".")
    parts[part] = text
    return ".".join(parts)


def foreign_signature() -> str:
    return changed(2, token("stranger").split(".")[2])


def named_twice() -> str:
    """A header with two ids: the last one counts, as RFC 7515 section 4 permits."""
    return spliced(b'{"alg": "RS256", "kid": "rsa", "kid": "p256"}', claims(), b"s" * 256)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: spliced({"alg": "none", "kid": "rsa"}, claims()), "algorithm is not permitted"),
        (lambda: spliced({"alg": "NONE"}, claims()), "algorithm is not permitted"),
        (lambda: spliced({"alg": "", "kid": "rsa"}, claims()), "algorithm is not permitted"),
        (confused, "algorithm is not permitted"),
        (lambda: tokens.signed(private_key("k1"), "ES256K", {"kid": "p256"}), "not permitted"),
        (lambda: spliced({"kid": "rsa"}, claims()), MALFORMED),
        (lambda: spliced({"alg": ["RS256"], "kid": "rsa"}, claims()), MALFORMED),
        (lambda: spliced({"alg": "RS256", "kid": 1}, claims()), MALFORMED),
        (lambda: token(headers={"kid": "unknown"}), "key is unknown"),
        (lambda: token(headers={"kid": ""}), "key is unknown"),
        (lambda: token(headers={"kid": "../../etc/passwd"}), "key is unknown"),
        (lambda: token(headers={"kid": None}), "several keys fit"),
        (lambda: token("stranger"), "key is unknown"),
        (named_twice, "is for another algorithm"),
        (lambda: token("p256", {"kid": "rsa"}), "is for another algorithm"),
        (lambda: token("stranger", {"kid": "rsa"}), "signature of this token is wrong"),
        (
            lambda: token("stranger", {"kid": "rsa", "jwk": jwk("stranger")}),
            "signature of this token is wrong",
        ),
        (lambda: token("rsa", {"kid": "second"}), "signature of this token is wrong"),
        (foreign_signature, "signature of this token is wrong"),
        (lambda: changed(1, token(sub="eve").split(".")[1]), "signature of this token is wrong"),
        (lambda: changed(2, ""), "signature of this token is wrong"),
        (lambda: token(headers={"crit": ["b64"], "b64": True}), "critical extensions"),
        (lambda: token(headers={"crit": ["exp"], "exp": 1}), "critical extensions"),
        (lambda: spliced({"alg": "RS256", "kid": "rsa", "crit": []}, claims()), "critical"),
        (lambda: spliced({"alg": "RS256", "kid": "rsa", "b64": False}, claims()), MALFORMED),
        (lambda: token(exp=NOW - 31), "has expired"),
        (lambda: token(exp=None), "lacks the claim exp"),
        (lambda: token(exp="soon"), MALFORMED),
        (lambda: token(exp=float("nan")), MALFORMED),
        (lambda: token(exp=[NOW]), MALFORMED),
        (lambda: token(nbf=NOW + 3600), "not valid yet"),
        (lambda: token(nbf={}), MALFORMED),
        (lambda: token(iat=NOW + 3600), "not valid yet"),
        (lambda: token(iat=float("inf")), MALFORMED),
        (lambda: token(aud="another"), "for another audience"),
        (lambda: token(aud=["another", f"{tokens.AUDIENCE}-2"]), "for another audience"),
        (lambda: token(aud={tokens.AUDIENCE: 1}), "for another audience"),
        (lambda: token(aud=None), "lacks the claim aud"),
        (lambda: token(aud=[]), "lacks the claim aud"),
        (lambda: token(iss=f"{tokens.ISSUER}/"), "from another issuer"),
        (lambda: token(iss=[tokens.ISSUER]), "from another issuer"),
        (lambda: token(iss=None), "lacks the claim iss"),
        (lambda: token(sub=None), "lacks the claim sub"),
        (lambda: token(sub=7), MALFORMED),
        (lambda: token(sub=""), "sub must have 1 to 255 bytes"),
        (lambda: token(sub="s" * (MAX_SUBJECT_BYTES + 1)), "sub must have 1 to 255 bytes"),
        (lambda: token(sub="ā" * 128), "sub must have 1 to 255 bytes"),
        (lambda: token(sub="\ud800"), MALFORMED),
        (lambda: token(padding="p" * MAX_CHARACTERS), "longer than 8,192 characters"),
        (lambda: changed(1, "!!!!"), MALFORMED),
        (lambda: changed(2, "A"), MALFORMED),
        (lambda: changed(1, "é"), MALFORMED),
        (lambda: changed(1, ""), "signature of this token is wrong"),
        (lambda: spliced({"alg": "RS256", "kid": "rsa"}, b"[" * 5000), "signature"),
        (lambda: tokens.signed_bytes(b"[" * 5000), MALFORMED),
        (lambda: tokens.signed_bytes(b'["not claims"]'), MALFORMED),
        (lambda: tokens.signed_bytes(b'{"exp": ' + b"9" * 5000 + b"}"), MALFORMED),
        # these are no tokens at all
        (lambda: spliced(b"[" * 5000, claims()), "Incorrect API key"),
        (lambda: spliced(b"not JSON", claims()), "Incorrect API key"),
        (lambda: spliced(b"[]", claims()), "Incorrect API key"),
        (lambda: changed(0, "!!!"), "Incorrect API key"),
        (lambda: changed(0, ""), "Incorrect API key"),
        (lambda: f"{token()}.more", "Incorrect API key"),
        (lambda: f"{token()}.more.parts", "Incorrect API key"),
        (lambda: token().rpartition(".")[0], "Incorrect API key"),
        (lambda: "..", "Incorrect API key"),
    ],
)
async def test_any_other_token_is_401_and_the_message_says_why(
    tmp_path: Path, make: Callable[[], str], message: str
) -> None:
    status, code, shown = refusal(await verifier(tmp_path), make())
    assert (status, code) == (401, "invalid_api_key")
    assert message in shown


@pytest.mark.parametrize(
    "times", [{"exp": NOW - 3600}, {"exp": NOW + 36_000, "nbf": NOW + 7200}, {"iat": NOW + 7200}]
)
async def test_the_leeway_is_for_all_times(tmp_path: Path, times: dict[str, int]) -> None:
    """The bounds are an hour away from now: how fast the test runs does not matter."""
    text = token(**times)
    assert refusal(await verifier(tmp_path, leeway_s=0), text)[0] == 401
    assert (await verifier(tmp_path, leeway_s=3 * 3600)).client(text) is not None


async def test_the_longest_token_is_accepted(tmp_path: Path) -> None:
    verified = await verifier(tmp_path)
    missing = MAX_CHARACTERS - len(token("ed25519", padding=""))
    longest = token("ed25519", padding="p" * (missing * 3 // 4))
    assert MAX_CHARACTERS - 4 <= len(longest) <= MAX_CHARACTERS
    assert verified.client(longest) is not None
    longer = token("ed25519", padding="p" * (missing * 3 // 4 + 4))
    assert "longer than" in refusal(verified, longer)[2]


def _texts() -> st.SearchStrategy[str]:
    """Headers reach the gateway as Latin-1; parts look like those of tokens more often than not."""
    json_text = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["alg", "kid", "crit", "b64", "exp", "sub"]), inner)
        ),
        max_leaves=9,
    )
    header = st.fixed_dictionaries(
        {"alg": st.sampled_from(sorted({*ALGORITHMS.values(), "none", "HS256"})) | json_text},
        optional={"kid": st.sampled_from([*ALGORITHMS, "unknown"]) | json_text, "crit": json_text},
    )
    parts = st.builds(spliced, header | json_text, json_text, st.binary(max_size=300))
    return st.text(st.characters(codec="latin-1"), max_size=99) | parts


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> TokenVerifier:
    return asyncio.run(verifier(tmp_path_factory.mktemp("jwks")))


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> TokenVerifier:
    rules = {"required_scope": "use", "models_claim": "models"}
    return asyncio.run(verifier(tmp_path_factory.mktemp("jwks"), **rules))


@given(text=_texts())
def test_no_text_gives_anything_but_401(known: TokenVerifier, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        Keys(tokens=known).identify(f"Bearer {text}", "address")
    assert (caught.value.status, caught.value.code) == (401, "invalid_api_key")


def _claims() -> st.SearchStrategy[dict[str, Any]]:
    """Claims that a faulty issuer signs: up to three are missing or any JSON value."""
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    )
    names = ("iss", "aud", "sub", "exp", "nbf", "iat", "jti", "scope", "scp", "models")
    return st.dictionaries(st.sampled_from(names), value, max_size=3)


@given(wrong=_claims())
def test_no_signed_claims_give_anything_but_a_client_401_or_403(
    strict: TokenVerifier, wrong: dict[str, Any]
) -> None:
    text = token("ed25519", **{"scope": "use", **wrong})
    try:
        client = Keys(tokens=strict).identify(f"Bearer {text}", "address")
    except ApiError as refused:
        outcome = (refused.status, refused.code)
    else:
        outcome = (200, None)
        assert client.name.startswith("jwt:") and client.name.isascii()
    assert outcome in [(200, None), (401, "invalid_api_key"), (403, "insufficient_scope")]


# -- scopes and models -----------------------------------------------------------------------------

SCOPES = [
    ({"scope": "openid models:use"}, True),
    ({"scope": ["openid", "models:use"]}, True),
    ({"scp": ["models:use"]}, True),
    ({"scp": "models:use openid"}, True),
    ({"scope": "openid", "scp": ["models:use"]}, True),
    ({}, False),
    ({"scope": "models:user models"}, False),
    ({"scope": "MODELS:USE"}, False),
    ({"scope": ["openid models:use"]}, False),
    ({"scope": {"models:use": True}}, False),
    ({"scope": 7, "scp": [7, None, ["models:use"]]}, False),
]


@pytest.mark.parametrize(("more", "has_it"), SCOPES)
async def test_a_required_scope_is_in_scope_or_scp(
    tmp_path: Path, more: dict[str, Any], has_it: bool
) -> None:
    verified = await verifier(tmp_path, required_scope="models:use")
    if has_it:
        assert verified.client(token(**more)) is not None
    else:
        assert refusal(verified, token(**more))[:2] == (403, "insufficient_scope")


@pytest.mark.parametrize(
    ("claim", "models"),
    [
        (["a", "b"], {"a", "b"}),
        ("a b", {"a", "b"}),
        ([], set()),
        (None, set()),
        ({"a": 1}, set()),
        (True, set()),
    ],
)
async def test_the_models_of_a_token_are_those_of_the_claim(
    tmp_path: Path, claim: Any, models: set[str]
) -> None:
    client: Client | None = (await verifier(tmp_path, models_claim="models")).client(
        token(models=claim)
    )
    assert client is not None
    assert client.models == models


# -- tokens that are kept --------------------------------------------------------------------------


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens whose signatures were looked at, in order."""
    found: list[str] = []
    whole = jwt.decode

    def decode(text: str, *args: Any, **options: Any) -> Any:
        found.append(text)
        return whole(text, *args, **options)

    monkeypatch.setattr(module.jwt, "decode", decode)
    return found


async def test_a_token_that_was_verified_before_expires_all_the_same(tmp_path: Path) -> None:
    now = float(NOW)
    verified = await verifier(tmp_path, clock=lambda: now)
    text = token(exp=NOW + 3600)
    assert verified.client(text) is not None
    now = NOW + 3600 + 29
    assert verified.client(text) is not None
    now = NOW + 3600 + 30
    assert refusal(verified, text) == (401, "invalid_api_key", "This token has expired.")


async def test_a_signature_is_verified_once_and_the_least_recently_used_token_is_dropped(
    tmp_path: Path, decoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT", 2)
    verified = await verifier(tmp_path)
    first, second, third = token(sub="a"), token(sub="b"), token(sub="c")
    for text in (first, second, first, first, third, first, second):
        client = verified.client(text)
        assert client is not None
        assert client.name == f"jwt:{'abc'[(first, second, third).index(text)]}"
    assert decoded == [first, second, third, second]


async def test_a_refused_token_is_verified_again(tmp_path: Path, decoded: list[str]) -> None:
    verified = await verifier(tmp_path)
    for text in (token(sub=""), token("stranger", {"kid": "rsa"}), token(exp=NOW - 3600)):
        decoded.clear()
        for _ in range(2):
            assert refusal(verified, text)[0] == 401
        assert decoded == [text, text]


# -- the file --------------------------------------------------------------------------------------


async def test_keys_are_rotated_without_a_restart(tmp_path: Path) -> None:
    """A token that was accepted a moment ago is refused once its key is gone."""
    verified, file = await verifier(tmp_path, "rsa"), tmp_path / "jwks.json"
    old, new = token("rsa"), token("p256")
    assert verified.client(old) is not None
    assert refusal(verified, new)[0] == 401
    for text, is_old_valid, is_new_valid in [
        (jwks("rsa", "p256"), True, True),
        (jwks("p256"), False, True),
    ]:
        file.write_text(text)
        assert await verified.load() is None
        assert len(await verified.load() or ()) == text.count("kid")
        for each, is_valid in [(old, is_old_valid), (new, is_new_valid)]:
            if is_valid:
                assert verified.client(each) is not None
            else:
                assert "key is unknown" in refusal(verified, each)[2]


async def test_a_key_that_was_replaced_under_its_id_verifies_nothing(tmp_path: Path) -> None:
    verified, old = await verifier(tmp_path, "rsa"), token("rsa")
    assert verified.client(old) is not None
    (tmp_path / "jwks.json").write_text(jwks(jwk("second", kid="rsa")))
    assert await verified.load() is None
    assert len(await verified.load() or ()) == 1
    assert "signature" in refusal(verified, old)[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "Invalid JSON"), ('{"keys": []}', "none of the 0"), (None, "No such file")],
)
async def test_a_broken_file_keeps_the_earlier_keys(
    tmp_path: Path, text: str | None, message: str
) -> None:
    verified, file = await verifier(tmp_path, "rsa"), tmp_path / "jwks.json"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
        assert await verified.load() is None
    for _ in range(2):
        with pytest.raises(KeysUnreadable, match=message):
            await verified.load()
    assert verified.client(token("rsa")) is not None


async def test_a_broken_file_aborts_startup_and_names_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(jwks("weak"))
    with pytest.raises(KeysUnreadable, match="2,048 bits") as caught:
        await Keys(tokens=TokenVerifier(file, TokenRules(**RULES))).start()  # type: ignore[arg-type]
    assert caught.value.setting == "JWKS_FILE"
