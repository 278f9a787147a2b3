"""Tokens of an identity provider as clients and operators meet them: a real gateway."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from app.access import keys as keys_module
from tests.app.access import tokens
from tests.app.access.entries import bearer, entry
from tests.app.access.tokens import jwks, token
from tests.app.cli.command import ROOT, switchyard
from tests.app.examples import body
from tests.app.gateway import OPERATOR, PATIENCE, Gateway

pytestmark = pytest.mark.program


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of a gateway that verifies tokens of two keys."""
    monkeypatch.setattr(keys_module, "POLL_SECONDS", 0.02)
    (tmp_path / "jwks.json").write_text(jwks("rsa", "p256"))
    return {
        "jwks_file": tmp_path / "jwks.json",
        "jwt_issuer": tokens.ISSUER,
        "jwt_audience": tokens.AUDIENCE,
    }


@pytest.fixture
def gateway(settings: dict[str, Any]) -> Iterator[Gateway]:
    with Gateway(**settings) as running:
        yield running


def error_of(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return answer.status_code, error["code"]


def post(gateway: Gateway, text: str, **more: Any) -> httpx.Response:
    return gateway.post(body(**more), headers=bearer(text))


def test_a_token_is_a_key_for_the_official_client(gateway: Gateway) -> None:
    client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=token(), max_retries=0)
    assert client.chat.completions.create(**body()).choices
    assert [model.id for model in client.models.list()] == ["noise"]
    with pytest.raises(openai.AuthenticationError, match="This token has expired") as caught:
        client.with_options(api_key=token(exp=1)).models.list()
    assert caught.value.code == "invalid_api_key"
    assert caught.value.response.headers["www-authenticate"] == "Bearer"


def test_without_a_token_or_with_another_text_it_is_401(gateway: Gateway) -> None:
    for text in ("sk-unknown", "a.b.c", token("stranger", {"kid": "rsa"})):
        assert error_of(post(gateway, text)) == (401, "invalid_api_key")
    assert error_of(gateway.post(body())) == (401, "invalid_api_key")


def test_the_log_names_the_subject_and_has_no_token(gateway: Gateway) -> None:
    valid, wrong = token(sub="ada@example.org"), token("stranger", {"kid": "rsa"}, sub="eve")
    assert post(gateway, valid).status_code == 200
    assert post(gateway, wrong).status_code == 401
    gateway.eventually(lambda: sum(line["event"] == "request" for line in gateway.lines()) == 2)
    accepted, refused = (line for line in gateway.lines() if line["event"] == "request")
    assert accepted["key"] == "jwt:ada@example.org"
    assert "key" not in refused
    parts = [part for text in (valid, wrong) for part in text.split(".")]
    shown = gateway.log.getvalue() + gateway.get("/metrics").text
    assert not [part for part in parts if part in shown]


def test_keys_of_a_file_and_tokens_are_valid_side_by_side(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "keys.jsonl").write_text(entry("one"))
    with Gateway(**settings, keys_file=tmp_path / "keys.jsonl", api_keys="given") as gateway:
        for text in ("one", "given", token(), token("p256")):
            assert post(gateway, text).status_code == 200


def test_keys_are_rotated_without_a_restart(gateway: Gateway, settings: dict[str, Any]) -> None:
    """A broken file keeps the earlier keys and is counted; a removed key ends its tokens."""
    file: Path = settings["jwks_file"]
    old, new = token("rsa"), token("ed25519")
    assert post(gateway, old).status_code == 200
    assert post(gateway, new).status_code == 401
    file.write_text(jwks("rsa", "weak"))
    gateway.eventually(lambda: gateway.metric("switchyard_api_keys", what="unreadable_sources") > 0)
    reasons = [line["reason"] for line in gateway.lines() if line["level"] == "error"]
    assert ["2,048 bits" in reason for reason in reasons] == [True]
    assert post(gateway, old).status_code == 200
    file.write_text(jwks("ed25519"))
    gateway.eventually(lambda: post(gateway, new).status_code == 200)
    assert error_of(post(gateway, old)) == (401, "invalid_api_key")
    assert gateway.metric("switchyard_api_keys", what="unreadable_sources") == 0


def test_a_stored_response_belongs_to_its_subject(gateway: Gateway) -> None:
    """Another token of the subject reads it, another subject does not."""
    ask = {"model": "noise", "input": "hello", "max_output_tokens": 4}
    made = gateway.post(ask, path="/v1/responses", headers=bearer(token())).json()["id"]
    again = gateway.get(f"/v1/responses/{made}", headers=bearer(token("p256")))
    other = gateway.get(f"/v1/responses/{made}", headers=bearer(token(sub="bob")))
    assert (again.status_code, other.status_code) == (200, 404)
    more = {**ask, "previous_response_id": made}
    refused = gateway.post(more, path="/v1/responses", headers=bearer(token(sub="bob")))
    assert error_of(refused) == (400, "previous_response_not_found")


def test_each_subject_has_caches_of_its_own(settings: dict[str, Any]) -> None:
    """Tokens of one subject share them, whichever key signed the token."""
    with Gateway(**settings, cache_namespace="key") as gateway:
        for text in (token(), token("p256"), token(sub="bob")):
            assert post(gateway, text).status_code == 200
        assert gateway.metric("switchyard_compiler", what="namespaces") == 2


# -- scopes and models -----------------------------------------------------------------------------

ADMIN = "switchyard:admin"


def test_no_token_is_one_of_an_operator_unless_a_setting_names_the_scope(
    settings: dict[str, Any],
) -> None:
    with Gateway(**settings) as gateway:
        answer = gateway.get("/admin/workers", headers=bearer(token(scope=ADMIN)))
        assert error_of(answer) == (403, "admin_keys_not_set")
    with Gateway(**settings, admin_keys=OPERATOR) as gateway:
        answer = gateway.get("/admin/workers", headers=bearer(token(scope=ADMIN)))
        assert error_of(answer) == (401, "invalid_api_key")


def test_a_token_with_the_scope_of_operators_opens_their_endpoints(
    settings: dict[str, Any],
) -> None:
    with Gateway(**settings, jwt_admin_scope=ADMIN, admin_keys=OPERATOR) as gateway:

        def workers(text: str) -> httpx.Response:
            return gateway.get("/admin/workers", headers=bearer(text))

        assert workers(token(scope=f"openid {ADMIN}")).status_code == 200
        assert workers(OPERATOR).status_code == 200
        assert error_of(workers(token(scope="openid"))) == (403, "insufficient_scope")
        for text in ("sk-unknown", token(scope=ADMIN, exp=1), token("stranger", scope=ADMIN)):
            assert error_of(workers(text)) == (401, "invalid_api_key")
        for scope, shows_workers in [(ADMIN, True), ("openid", False)]:
            found = gateway.get("/health/ready", headers=bearer(token(scope=scope)))
            assert (found.status_code, "models" in found.json()) == (200, shows_workers)


def test_without_keys_of_operators_the_scope_is_enough(settings: dict[str, Any]) -> None:
    with Gateway(**settings, jwt_admin_scope=ADMIN) as gateway:
        ready = gateway.get("/admin/workers", headers=bearer(token(scp=[ADMIN])))
        assert ready.status_code == 200
        assert error_of(gateway.get("/admin/workers")) == (401, "invalid_api_key")


def test_a_required_scope_is_for_clients_and_not_for_operators(settings: dict[str, Any]) -> None:
    scopes = {"jwt_required_scope": "models:use", "jwt_admin_scope": ADMIN}
    with Gateway(**settings, **scopes) as gateway:
        assert post(gateway, token(scope="models:use")).status_code == 200
        refused = post(gateway, token(scope=ADMIN))
        assert error_of(refused) == (403, "insufficient_scope")
        assert refused.json()["error"]["type"] == "permission_error"
        assert gateway.get("/v1/cache", headers=bearer(token(scope=ADMIN))).status_code == 200


def test_a_token_may_use_the_models_of_its_claim(settings: dict[str, Any]) -> None:
    with Gateway(**settings, jwt_models_claim="models") as gateway:
        for claim, listed in [(["noise"], ["noise"]), (["other"], []), (None, [])]:
            text = token(models=claim)
            answer = gateway.get("/v1/models", headers=bearer(text))
            assert [model["id"] for model in answer.json()["data"]] == listed
            assert post(gateway, text).status_code == (200 if listed else 404)


# -- startup ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file"),
        ("{", "Invalid JSON"),
        ('{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "keys.0: symmetric keys (kty oct)"),
    ],
)
def test_an_unusable_file_aborts_startup(
    settings: dict[str, Any], text: str | None, message: str
) -> None:
    file: Path = settings["jwks_file"]
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    done = switchyard("serve", port=0, **settings)
    assert done.returncode == 2
    assert f"switchyard: SWITCHYARD_JWKS_FILE: {file}" in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "c2VjcmV0" not in done.stderr + done.stdout


def test_gateways_without_the_setting_do_not_import_cryptography() -> None:
    program = (
        "import sys\n"
        "from tests.app.gateway import Gateway\n"
        "with Gateway(api_keys='k') as gateway:\n"
        "    status = gateway.get('/v1/models', headers={'authorization': 'Bearer a.b.c'})\n"
        "    assert status.status_code == 401\n"
        "found = {'jwt', 'cryptography'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=PATIENCE)
