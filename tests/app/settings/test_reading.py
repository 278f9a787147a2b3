"""Settings: what the environment may say, and what may be printed of it."""

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path

import pytest

from app.cli import main
from app.settings import GatewaySettings, ModelSettings, SettingError, Settings, read_settings
from app.settings.error import variable_of
from app.settings.reading import unknown_variables
from tests.app.cli.command import switchyard

ROOT = Path(__file__).parents[3]


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(f"SWITCHYARD_{name}", value)
    return read_settings()


def test_without_any_variable_the_noise_worker_serves_on_port_8000(monkeypatch):
    chosen = settings(monkeypatch)
    assert (chosen.gateway.host, chosen.gateway.port) == ("127.0.0.1", 8000)
    assert [(m.worker_kind, m.served_model) for m in chosen.models] == [("noise", "noise")]


@pytest.mark.parametrize(
    ("variables", "kind", "model", "tokenizer"),
    [
        ({"MODEL": "/models/tiny"}, "transformers", "tiny", "/models/tiny"),
        ({"MODEL": "/models/tiny/"}, "transformers", "tiny", "/models/tiny/"),
        ({"MODEL": "/m/tiny", "MODEL_NAME": "big"}, "transformers", "big", "/m/tiny"),
        ({"MODEL": "/m/tiny", "WORKERS": "noise"}, "noise", "tiny", "/m/tiny"),
        ({"WORKERS": "http://a:1,http://b:2", "TOKENIZER": "/t"}, "sglang", "t", "/t"),
        ({"WORKERS": "http://a:1", "MODEL": "org/m", "TOKENIZER": "/t"}, "sglang", "m", "/t"),
        ({"WORKERS": "dns+http://a:1,http://b:2", "MODEL": "m"}, "sglang", "m", "m"),
        (
            {"MODEL": "", "WORKERS": "", "REDIS_URL": "", "WORKER_MAX_RUNNING": ""},
            "noise",
            "noise",
            None,
        ),
    ],
)
def test_model_and_workers_decide_what_runs(monkeypatch, variables, kind, model, tokenizer):
    (chosen,) = settings(monkeypatch, **variables).models
    got = (chosen.worker_kind, chosen.served_model, chosen.tokenizer_source)
    assert got == (kind, model, tokenizer)


def test_lists_are_separated_by_commas(monkeypatch):
    chosen = settings(
        monkeypatch,
        API_KEYS="one, two,,",
        WORKERS="http://a:1 , http://b:2",
        MODEL="m",
        MODEL_ALIASES="x, y",
        PREFILL_WORKERS="http://P:1, dns+http://q:2",
        PREFILL_BOOTSTRAP_HOSTS="P=p.fabric, 10.0.0.5=q.fabric",
        IMAGE_HOSTS="A.example:8443, *.b.example",
    )
    (model,) = chosen.models
    assert chosen.gateway.image_hosts == ("a.example:8443", "*.b.example")
    assert [key.get_secret_value() for key in chosen.gateway.api_keys] == ["one", "two"]
    assert (model.workers, model.aliases) == (("http://a:1", "http://b:2"), ("x", "y"))
    assert model.prefill_workers == ("http://P:1", "dns+http://q:2")
    assert model.dns_prefill_workers == ["dns+http://q:2"]
    assert model.bootstrap_hosts == {"p": "p.fabric", "10.0.0.5": "q.fabric"}


DECODE = {"WORKERS": "http://d:1", "MODEL": "m"}
PAIR = DECODE | {"PREFILL_WORKERS": "http://p:1"}


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"PORT": "70000"}, "PORT"),
        ({"WORKERS": "ftp://a"}, "WORKERS"),
        ({"WORKERS": "noise,http://a:1"}, "WORKERS"),
        ({"WORKERS": "transformers"}, "MODEL"),
        ({"WORKERS": "http://a:1"}, "TOKENIZER"),
        ({"WORKERS": "dns+https://a:1"}, "WORKERS"),
        ({"WORKERS": "dns+http://:1"}, "WORKERS"),
        ({"WORKERS": "http://a:99999"}, "WORKERS"),
        ({"WORKERS": "http://[a"}, "WORKERS"),
        ({"PREFILL_WORKERS": "noise"}, "PREFILL_WORKERS: 'noise' is neither an http(s)"),
        ({"PREFILL_WORKERS": "http://a:1"}, "PREFILL_WORKERS needs SGLang servers in"),
        (DECODE | {"PREFILL_WORKERS": "http://d:1"}, "'http://d:1' is in SWITCHYARD_WORKERS and"),
        (DECODE | {"PREFILL_BOOTSTRAP_HOSTS": "a=b"}, "PREFILL_BOOTSTRAP_HOSTS needs"),
        (DECODE | {"PREFILL_MAX_RUNNING": "4"}, "PREFILL_MAX_RUNNING needs"),
        (PAIR | {"PREFILL_BOOTSTRAP_HOSTS": "p"}, "must be HOST=NAME, got 'p'"),
        (PAIR | {"PREFILL_BOOTSTRAP_HOSTS": "p=a=b"}, "must be HOST=NAME, got 'p=a=b'"),
        (PAIR | {"PREFILL_BOOTSTRAP_HOSTS": "p=a,P=b"}, "names 'p' twice"),
        (PAIR | {"PREFILL_BOOTSTRAP_HOSTS": "x=a"}, "has 'x', which is no host of"),
        (PAIR | {"PREFILL_POLICY": "fastest"}, "PREFILL_POLICY"),
        (PAIR | {"PREFILL_MAX_RUNNING": "0"}, "PREFILL_MAX_RUNNING"),
        ({"WORKER_POLICY": "fastest"}, "WORKER_POLICY"),
        ({"WORKER_MAX_RUNNING": "0"}, "WORKER_MAX_RUNNING"),
        ({"WORKER_RETRY_SHARE": "1.1"}, "WORKER_RETRY_SHARE"),
        ({"WORKER_RETRY_FLOOR": "-1"}, "WORKER_RETRY_FLOOR"),
        ({"WORKER_CONNECT_SECONDS": "0"}, "WORKER_CONNECT_SECONDS"),
        ({"KV_CACHE": "tenant"}, "KV_CACHE"),
        ({"KV_CACHE": "key"}, "SWITCHYARD_KV_CACHE: key needs keys of clients"),
        ({"WORKER_DNS_SECONDS": "0"}, "WORKER_DNS_SECONDS"),
        ({"MAX_COMPLETION_TOKENS": "10"}, "DEFAULT_COMPLETION_TOKENS"),
        (
            {"THINKING_TOKEN_BUDGET": "9", "GRAMMAR_BACKEND": "xgrammar"},
            "GRAMMAR_BACKEND=xgrammar",
        ),
        ({"MAX_BODY_BYTES": "many"}, "MAX_BODY_BYTES"),
        ({"MAX_ARRIVING_BYTES": "33554431"}, "MAX_ARRIVING_BYTES must be at least MAX_BODY_BYTES"),
        ({"MAX_BODY_BYTES": "268435457"}, "MAX_ARRIVING_BYTES must be at least MAX_BODY_BYTES"),
        ({"IMAGES_MEMORY_BYTES": "67108863"}, "IMAGES_MEMORY_BYTES must be at least twice"),
        ({"API_KEYS": "a,b", "ADMIN_KEYS": "c,b"}, "ADMIN_KEYS"),
        ({"CACHE_KEY": "short"}, "CACHE_KEY"),
        ({"REDIS_URL": "redis://:6379"}, "REDIS_URL"),
        ({"REDIS_URL": "redis://h?socket_timeout=9"}, "REDIS_URL"),
        ({"CACHE_KEY_FILE": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"WORKERS": "http://[::1", "MODEL": "m"}, "WORKERS"),
        ({"WORKER_TOKEN_SECONDS": "inf"}, "SWITCHYARD_WORKER_TOKEN_SECONDS"),
        ({"WORKER_API_KEY_FILE": "/nowhere/at/all"}, "/nowhere/at/all cannot be read"),
        ({"MODEL_NAME": " m"}, "SWITCHYARD_MODEL_NAME"),
        ({"MODEL_NAME": "m", "MODEL_ALIASES": "a,m"}, "SWITCHYARD_MODEL_ALIASES: 'm' is a name"),
        ({"MODEL_ALIASES": "a,a"}, "SWITCHYARD_MODEL_ALIASES: 'a' is a name"),
        ({"CORS_ORIGINS": "https://a.example,b.example"}, "CORS_ORIGINS"),
        ({"CORS_ORIGINS": "https://a.example/"}, "CORS_ORIGINS"),
        ({"ALLOWED_HOSTS": "a.example:80"}, "SWITCHYARD_ALLOWED_HOSTS: must be names without"),
        ({"ALLOWED_HOSTS": "http://a.example"}, "ALLOWED_HOSTS"),
        ({"TRUSTED_PROXIES": "proxy"}, "SWITCHYARD_TRUSTED_PROXIES: must be addresses"),
        ({"TRUSTED_PROXIES": "10.0.0.0/33"}, "TRUSTED_PROXIES"),
        ({"TRUSTED_PROXIES": "*"}, "TRUSTED_PROXIES"),
        ({"KEYS_REDIS": "true"}, "KEYS_REDIS and ACCESS_REDIS_URL need a Redis"),
        ({"KEYS_REDIS": "true", "REDIS_URL": "redis://h"}, "CACHE_KEY or CACHE_TRUST=network"),
        ({"ACCESS_REDIS_URL": "redis://h"}, "CACHE_KEY or CACHE_TRUST=network"),
        ({"ACCESS_REDIS_URL": "http://h"}, "ACCESS_REDIS_URL"),
        ({"MAX_RUNNING": "0"}, "SWITCHYARD_MAX_RUNNING"),
        ({"QUEUE_SECONDS": "0"}, "SWITCHYARD_QUEUE_SECONDS"),
        ({"LIMITS_ON_REDIS_FAILURE": "maybe"}, "SWITCHYARD_LIMITS_ON_REDIS_FAILURE"),
        *(
            ({"IMAGE_HOSTS": f"a.example,{host}"}, f"not addresses or URLs; got '{host}'")
            for host in (
                *(
                    "https://a.example",
                    "a.example/x",
                    "a.example:",
                    "a.example:0",
                    "*",
                    "*a.example",
                ),
                *("10.0.0.1", "[::1]", "2130706433", "0x7f.1", "a.example.", "u@a.example"),
            )
        ),
        ({"MAX_IMAGE_PIXELS": "89478486"}, "SWITCHYARD_MAX_IMAGE_PIXELS"),
        ({"IMAGE_FETCH_SECONDS": "0"}, "SWITCHYARD_IMAGE_FETCH_SECONDS"),
        ({"FORMAT": "zzz"}, "SWITCHYARD_FORMAT: must be auto, plain"),
    ],
)
def test_a_setting_that_means_nothing_ends_the_start_by_name(monkeypatch, capsys, variables, named):
    with pytest.raises(SettingError):
        settings(monkeypatch, **variables)
    assert main(["serve"]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"MODEL": "/nope"}, "SWITCHYARD_MODEL: no such folder: /nope"),
        ({"TOKENIZER": "/nope"}, "SWITCHYARD_TOKENIZER: no such folder: /nope"),
        ({"TOKENIZER": str(ROOT / "docs")}, "SWITCHYARD_TOKENIZER: cannot load a tokenizer from "),
        ({"HOST": "no.such.host.invalid"}, "SWITCHYARD_HOST: cannot listen on"),
        ({"MODLE": "m"}, "SWITCHYARD_MODLE: no such setting; did you mean SWITCHYARD_MODEL?"),
    ],
)
def test_an_unusable_setting_aborts_startup_in_one_sentence(variables, sentence):
    done = switchyard("serve", port=0, **variables)
    told = [line for line in done.stderr.splitlines() if line.startswith("switchyard: ")]
    assert done.returncode == 2
    assert [line.startswith(f"switchyard: {sentence}") for line in told] == [True]
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("SWITCHYARD_API_KEY", ["did you mean SWITCHYARD_API_KEYS?"]),
        ("SWITCHYARD_ZZZZZZ", ["no such setting"]),
        ("switchyard_port", []),
        ("SWITCHYARD_SGLANG_MASKS_AHEAD", []),
        ("SWITCHYARD_SERVICE_PORT_HTTP", []),
        ("SWITCHYARD_REDIS_PORT_6379_TCP_ADDR", []),
        ("PATH", []),
    ],
)
def test_a_variable_that_nothing_reads_is_named(name, told):
    found = unknown_variables([name])
    assert [name in line and words in line for line, words in zip(found, told, strict=True)] == [
        True for _ in told
    ]


TOKENS = {"jwks_file": "/jwks.json", "jwt_issuer": "https://id", "jwt_audience": "switchyard"}
TRUSTED_REDIS = {"redis_url": "redis://h", "cache_trust": "network"}


@pytest.mark.parametrize(
    ("values", "is_open", "starts"),
    [
        ({"host": "127.0.0.1", "model": "m"}, False, True),
        ({"host": "::1", "model": "m"}, False, True),
        ({"host": "localhost", "model": "m"}, False, True),
        ({"host": "0.0.0.0"}, True, True),
        ({"host": "0.0.0.0", "model": "m", "api_keys": "k"}, False, True),
        ({"host": "0.0.0.0", "model": "m", "keys_file": "/keys"}, False, True),
        (
            {"host": "0.0.0.0", "model": "m", "keys_redis": True, **TRUSTED_REDIS},
            False,
            True,
        ),
        ({"host": "0.0.0.0", "model": "m", **TOKENS}, False, True),
        ({"host": "0.0.0.0", "model": "m", "allow_anonymous": True}, True, True),
        ({"host": "0.0.0.0", "model": "m"}, True, False),
        ({"host": "::", "model": "m"}, True, False),
        ({"host": "gateway.internal", "model": "m", "workers": "http://w:1"}, True, False),
    ],
)
def test_a_real_model_is_not_open_to_other_hosts_unless_told(values, is_open, starts):
    if not starts:
        with pytest.raises(SettingError, match="SWITCHYARD_API_KEYS is empty"):
            read_settings(**values)
        return
    assert read_settings(**values).gateway.is_open is is_open


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"jwt_issuer": ""}, "SWITCHYARD_JWT_ISSUER: must be set, because JWKS_FILE is"),
        ({"jwt_audience": ""}, "SWITCHYARD_JWT_AUDIENCE: must be set, because JWKS_FILE is"),
        ({"jwt_leeway_seconds": -0.1}, "SWITCHYARD_JWT_LEEWAY_SECONDS: "),
        ({"jwt_leeway_seconds": 300.1}, "SWITCHYARD_JWT_LEEWAY_SECONDS: "),
        ({"jwt_leeway_seconds": "nan"}, "SWITCHYARD_JWT_LEEWAY_SECONDS: "),
        ({"jwt_required_scope": "a b"}, "SWITCHYARD_JWT_REQUIRED_SCOPE: must be one word"),
        ({"jwt_admin_scope": " "}, "SWITCHYARD_JWT_ADMIN_SCOPE: must be one word"),
        (
            {"jwks_file": "", "jwt_admin_scope": "admin"},
            "SWITCHYARD_JWT_ADMIN_SCOPE: needs JWKS_FILE, which is not set",
        ),
        (
            {"jwks_file": "", "jwt_issuer": "i", "jwt_models_claim": "models"},
            "SWITCHYARD_JWT_MODELS_CLAIM: needs JWKS_FILE, which is not set",
        ),
    ],
)
def test_tokens_need_an_issuer_and_an_audience(monkeypatch, changes, sentence):
    variables = {name.upper(): str(value) for name, value in {**TOKENS, **changes}.items()}
    with pytest.raises(SettingError) as caught:
        settings(monkeypatch, **variables)
    assert [each.startswith(sentence) for each in caught.value.sentences] == [True]


def test_the_bounds_of_the_leeway_are_permitted(monkeypatch):
    for seconds in (0, 300):
        variables = {name.upper(): value for name, value in TOKENS.items()}
        chosen = settings(monkeypatch, **variables, JWT_LEEWAY_SECONDS=str(seconds))
        assert chosen.gateway.jwt_leeway_seconds == seconds


def test_what_is_printed_holds_no_secret(monkeypatch):
    secrets = {
        "API_KEYS": "sk-secret-1,sk-secret-2",
        "ADMIN_KEYS": "sk-secret-3",
        "CACHE_KEY": "secret-cache-key",
        "REDIS_URL": "redis://user:secret@redis:6379/1?client_name=secret",
        "ACCESS_REDIS_URL": "redis://user:secret@access:6379/2",
        "WORKER_API_KEY": "secret-worker",
        "WORKERS": "http://user:secret@sglang:30000",
        "PREFILL_WORKERS": "http://user:secret@prefill:30000",
        "MODEL": "m",
    }
    chosen = settings(monkeypatch, **secrets)
    (model,) = chosen.models
    shown = chosen.gateway.public()
    assert "secret" not in str(shown | model.public())
    assert "secret" not in repr(chosen).replace("http://user:secret@", "")
    assert model.public()["prefill_workers"] == ["http://***@prefill:30000"]
    assert shown["redis_url"] == "redis://***@redis:6379/1"
    assert (shown["api_keys"], shown["admin_keys"]) == ("2 set", "1 set")
    assert model.public()["worker_api_key"] == "set"
    assert shown["access_redis_url"] == "redis://***@access:6379/2"


def test_the_key_may_lie_in_a_file(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text(f"{'k' * 16}\n")
    chosen = settings(monkeypatch, CACHE_KEY_FILE=str(file)).gateway
    assert chosen.cache_key.get_secret_value() == "k" * 16
    assert "k" * 16 not in str(chosen.public())
    assert settings(monkeypatch, CACHE_KEY="k" * 16).gateway == chosen
    with pytest.raises(SettingError, match="differ"):
        settings(monkeypatch, CACHE_KEY="x" * 16)


def test_the_key_of_the_workers_may_lie_in_a_file(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_text("short\n")
    (model,) = settings(monkeypatch, WORKER_API_KEY_FILE=str(file)).models
    assert model.worker_api_key.get_secret_value() == "short"
    assert "short" not in str(model.public())
    with pytest.raises(SettingError, match="exclude each other"):
        settings(monkeypatch, WORKER_API_KEY="x")


def documentation(kind: type) -> dict[str, str]:
    """Return the texts below the fields of a class."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body.body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


GATEWAY_ROWS = r"^\| `(SWITCHYARD_\w+)` \|() (.*?) \| (.*?) \|$"
MODEL_ROWS = r"^\| `(SWITCHYARD_\w+)` \| `(\w+)` \| (.*?) \| (.*?) \|$"


@pytest.mark.parametrize(
    ("kind", "heading", "rows"),
    [
        (GatewaySettings, "### Settings of the gateway", GATEWAY_ROWS),
        (ModelSettings, "### Settings of a model", MODEL_ROWS),
    ],
)
def test_the_documentation_lists_exactly_the_settings_with_their_defaults(kind, heading, rows):
    text = (ROOT / "docs" / "running.md").read_text()
    section = text.partition(f"{heading}\n")[2].partition("\n#")[0]
    listed = re.findall(rows, section, re.MULTILINE)
    documented = documentation(kind)
    expected = []
    for name, field in kind.model_fields.items():
        default = field.default
        shown = f"`{default}`" if default not in (None, "", (), {}) else ""
        key = name if kind is ModelSettings else ""
        variable = variable_of(name) if kind is ModelSettings else f"SWITCHYARD_{name.upper()}"
        expected.append((variable, key, shown, documented[name]))
    assert listed == expected


def test_version_is_printed(capsys):
    assert main(["version"]) == 0
    assert re.match(r"\d", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("values", "reasons"),
    [
        ({}, False),
        ({"reasoning": "on"}, True),
        ({"model": "m"}, True),
        ({"model": "m", "reasoning": "off"}, False),
    ],
)
def test_answers_begin_with_reasoning_where_something_reasons(values, reasons):
    assert read_settings(**values).models[0].reasons is reasons
