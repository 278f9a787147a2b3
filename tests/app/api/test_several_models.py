"""Several models behind one gateway: formats, limits, aliases, health, metrics and the log."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.app.examples import LIGHT, TOOLS, body, json_schema, tool
from tests.app.gateway import OPERATOR, OPTIONS, Gateway
from tests.app.operators import BEARER, MAIL, warm
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.redis_server import RedisServer

#: the first two have the noise worker's vocabulary, the third has one of its own and no worker
FILE = """
[[models]]
name = "org/first"
aliases = ["first", "default"]
noise_seed = 1
max_completion_tokens = 9000

[[models]]
name = "second"
noise_seed = 2
format = "harmony"
strict_profile = "openai"
max_choices = 1
max_completion_tokens = 8000

[[models]]
name = "down"
tokenizer = "TOKENIZER"
workers = ["http://127.0.0.1:1"]
worker_health_seconds = 3600.0
"""
LOOSE = tool("f", {"type": "object", "properties": {}}, strict=True)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    text = FILE.replace("TOKENIZER", folder(made / "tokenizer", TEMPLATE))
    (made / "gateway.toml").write_text(text)
    return made / "gateway.toml"


@pytest.fixture(scope="module")
def gateway(file: Path) -> Iterator[Gateway]:
    with Gateway(config_file=file, admin_keys=OPERATOR) as running:
        yield running


@pytest.mark.parametrize(
    ("asked", "name"),
    [("org/first", "org/first"), ("first", "org/first"), ("default", "org/first"), ("second",) * 2],
)
def test_the_official_client_calls_tools_of_each_model_by_name_or_alias(
    client: openai.OpenAI, asked: str, name: str
) -> None:
    common: dict[str, Any] = {"model": asked, "messages": body()["messages"], "tools": TOOLS}
    common |= {"tool_choice": "required", "seed": 7, "max_completion_tokens": 8000}
    answer = client.chat.completions.create(**common)
    assert answer.model == name, "the answer shows the model's name"
    assert answer.choices[0].message.tool_calls
    with client.chat.completions.stream(**common) as stream:
        streamed = stream.get_final_completion()
    assert (streamed.model, bool(streamed.choices[0].message.tool_calls)) == (name, True)


async def test_two_formats_work_at_once_in_one_process(async_client: openai.AsyncOpenAI) -> None:
    async def call(name: str, seed: int) -> bool:
        answer = await async_client.chat.completions.create(
            model=name,
            messages=body()["messages"],
            tools=TOOLS,
            tool_choice="required",
            seed=seed,
            max_completion_tokens=8000,
        )
        return answer.model == name and bool(answer.choices[0].message.tool_calls)

    asked = [call(name, seed) for seed in range(8) for name in ("org/first", "second")]
    assert all(await asyncio.gather(*asked))


def test_equal_requests_to_two_models_have_answers_of_their_own(gateway: Gateway) -> None:
    asked = body(response_format=json_schema(LIGHT, strict=True))
    first, second = (gateway.post(asked | {"model": name}).json() for name in ("first", "second"))
    assert first["system_fingerprint"] != second["system_fingerprint"]
    assert (first["model"], second["model"]) == ("org/first", "second")


@pytest.mark.parametrize("name", ["third", "First", "org", "noise", "x" * 300, "a\nb"])
def test_an_unknown_model_is_not_found(client: openai.OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model=name, messages=body()["messages"])
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize(
    ("model", "asked", "status"),
    [
        ("first", {"max_completion_tokens": 8500}, 200),
        ("second", {"max_completion_tokens": 8500}, 400),
        ("first", {"n": 2, "max_completion_tokens": 2}, 200),
        ("second", {"n": 2, "max_completion_tokens": 2}, 400),
        ("first", {"tools": [LOOSE], "max_completion_tokens": 2}, 200),
        ("second", {"tools": [LOOSE], "max_completion_tokens": 2}, 400),
    ],
)
def test_limits_and_rules_are_those_of_the_model(
    gateway: Gateway, model: str, asked: dict[str, Any], status: int
) -> None:
    assert gateway.post(body(model=model, **asked)).status_code == status


def test_a_model_without_workers_alone_is_unavailable(gateway: Gateway) -> None:
    answer = gateway.post(body(model="down"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
    assert gateway.post(body(model="first", max_completion_tokens=2)).status_code == 200
    assert (gateway.get("/health/ready").status_code, gateway.get("/health/ready").json()) == (
        200,
        {"status": "degraded"},
    )
    told = gateway.health()
    assert told["models"] == {"org/first": "ok", "second": "ok", "down": "unready"}
    assert [(each["model"], each["ready"]) for each in told["workers"]] == [
        ("org/first", True),
        ("second", True),
        ("down", False),
    ]


def test_no_model_with_a_worker_makes_the_gateway_unready(file: Path, tmp_path: Path) -> None:
    only = tmp_path / "gateway.toml"
    only.write_text("[[models]]" + file.read_text().rpartition("[[models]]")[2])
    with Gateway(config_file=only) as alone:
        assert alone.get("/health/ready").status_code == 503


def test_the_list_shows_every_model_with_its_format(client: openai.OpenAI) -> None:
    cards = {card.id: card.model_dump() for card in client.models.list()}
    assert [(name, card["format"], card["aliases"]) for name, card in cards.items()] == [
        ("org/first", "hermes", ["first", "default"]),
        ("second", "harmony", []),
        ("down", "hermes", []),
    ]
    assert cards["down"]["chat_template"] is not None
    assert client.models.retrieve("org/first").model_dump() == cards["org/first"]
    assert client.models.retrieve("default").id == "org/first"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("org/second")


def ask(gateway: Gateway, method: str, path: str, content: Any = None) -> httpx.Response:
    return httpx.request(method, gateway.url + path, json=content, headers=BEARER, **OPTIONS)


ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/grammars/check", {"schema": LIGHT, "strict": True}),
    ("POST", "/v1/grammars", {"tools": TOOLS}),
    ("GET", "/v1/cache", None),
]


@pytest.mark.parametrize(("method", "path", "content"), ROUTES, ids=[path for _, path, _ in ROUTES])
@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        (None, 400, "missing_required_parameter"),
        ("third", 404, "model_not_found"),
        ("default", 200, None),
        ("second", 200, None),
        ("down", 200, None),
    ],
)
def test_other_routes_take_a_model(
    gateway: Gateway,
    method: str,
    path: str,
    content: Any,
    model: str | None,
    status: int,
    code: str | None,
) -> None:
    if model is not None and content is None:
        path += f"?model={model}"
    elif model is not None:
        content = {**content, "model": model}
    answer = ask(gateway, method, path, content)
    error = answer.json().get("error") or {}
    assert (answer.status_code, error.get("code")) == (status, code)
    assert error.get("param") == (None if status == 200 else "model")


#: (path, a request without its model)
ANSWERS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {"messages": body()["messages"], "max_completion_tokens": 3}),
    ("/v1/completions", {"prompt": "Once", "max_tokens": 3}),
    ("/v1/responses", {"input": "hi", "max_output_tokens": 3}),
]


NAMELESS: list[dict[str, Any]] = [{}, {"model": None}, {"model": ""}]


@pytest.mark.parametrize("model", NAMELESS, ids=str)
@pytest.mark.parametrize(("path", "content"), ANSWERS, ids=[path for path, _ in ANSWERS])
def test_an_answer_of_several_models_needs_a_name(
    gateway: Gateway, path: str, content: dict[str, Any], model: dict[str, Any]
) -> None:
    error = gateway.post({**content, **model}, path=path).json()["error"]
    assert (error["param"], error["code"]) == ("model", "missing_required_parameter")
    assert error["message"].endswith("GET /v1/models lists them.")


def test_the_only_model_may_stay_unnamed() -> None:
    """REGRESSION: of requests for answers, too."""
    with Gateway(admin_keys=OPERATOR, model_aliases="a") as gateway:
        for method, path, content in ROUTES:
            assert ask(gateway, method, path, content).status_code == 200
        for path, content in ANSWERS:
            for model in NAMELESS:
                answer = gateway.post({**content, **model}, path=path)
                assert (answer.status_code, answer.json()["model"]) == (200, "noise")
        assert ask(gateway, "GET", "/v1/cache?model=a").json()["model"] == "noise"
        assert gateway.get("/v1/models").json()["data"][0]["aliases"] == ["a"]


def test_the_rules_of_a_check_are_those_of_the_model(gateway: Gateway) -> None:
    schema = {"type": "object", "properties": {}}
    taken = []
    for model in ("first", "second"):
        content = {"schema": schema, "strict": True, "model": model}
        answer = ask(gateway, "POST", "/v1/grammars/check", content)
        taken.append(answer.json()["strict"]["is_taken"])
    assert taken == [True, False]


def test_metrics_of_a_model_have_its_name(gateway: Gateway) -> None:
    gateway.post(body(model="default", max_completion_tokens=2))
    gateway.post(body(model="unheard-of"))
    text = gateway.get("/metrics").text
    assert "unheard-of" not in text and 'model="default"' not in text
    assert gateway.metric("switchyard_tokens_total", model="org/first", kind="prompt") > 0
    up = {
        name: gateway.metric("switchyard_workers_available", model=name)
        for name in ("org/first", "second", "down")
    }
    assert up == {"org/first": 1, "second": 1, "down": 0}
    builds = [line for line in text.splitlines() if line.startswith("switchyard_build_info{")]
    assert len(builds) == 3
    compilers = [line for line in text.splitlines() if 'what="compiles"' in line]
    assert len(compilers) == 2, "two vocabularies"


def test_the_log_names_the_model_of_a_request(gateway: Gateway) -> None:
    headers = {"x-request-id": "named"}
    gateway.post(body(model="default", max_completion_tokens=2), headers=headers)
    (line,) = [each for each in gateway.lines() if each.get("request_id") == "named"]
    assert (line["event"], line["model"]) == ("request", "org/first")
    ready = [line["model"] for line in gateway.lines() if line["event"] == "ready"]
    assert ready == ["org/first", "second", "down"]


def test_every_vocabulary_follows_the_log_in_redis(file: Path, redis_server: RedisServer) -> None:
    settings = {"redis_url": redis_server.url, "cache_key": "0123456789abcdef"}
    with Gateway(config_file=file, admin_keys=OPERATOR, **settings) as gateway:

        def follows(model: str) -> bool:
            return bool(ask(gateway, "GET", f"/v1/cache?model={model}").json()["following"])

        for model in ("first", "down"):
            gateway.eventually(lambda model=model: follows(model))
        asked = {"tools": [tool("send", MAIL)], "tool_choice": "required", "model": "first"}
        assert warm(gateway, asked).json()["stored"] is True
        gateway.eventually(lambda: gateway.health()["cache"]["written"] > 0)
        # the models that share a vocabulary share what was published for one of them
        shared = ask(gateway, "GET", "/v1/cache?model=second").json()["artifacts"]["masks"]
        assert shared["published"] > 0
        assert ask(gateway, "GET", "/v1/cache?model=down").json()["log"]["written"] == 0


@pytest.mark.parametrize(
    ("asked", "name"), [("org/first", "org/first"), ("default", "org/first"), ("second", "second")]
)
def test_text_completions_of_each_model_by_name_or_alias(
    client: openai.OpenAI, asked: str, name: str
) -> None:
    answer = client.completions.create(model=asked, prompt="x")
    assert (answer.model, answer.choices[0].finish_reason in ("stop", "length")) == (name, True)
    with pytest.raises(openai.NotFoundError) as caught:
        client.completions.create(model="third", prompt="x")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize(
    ("path", "fields"), [("/tokenize", {"prompt": "the alarm"}), ("/detokenize", {"tokens": [1]})]
)
def test_the_tokenizer_of_each_model(gateway: Gateway, path: str, fields: dict[str, Any]) -> None:
    """Also of one without a worker; among several models the name is required."""

    def asked(**model: str) -> httpx.Response:
        return httpx.post(gateway.url + path, json={**fields, **model}, **OPTIONS)

    first, alias, other = (asked(model=name) for name in ("org/first", "first", "down"))
    assert first.json() == alias.json() != other.json()
    assert [each.status_code for each in (first, alias, other)] == [200] * 3
    error = asked().json()["error"]
    assert (error["param"], error["code"]) == ("model", "missing_required_parameter")
    assert asked(model="third").status_code == 404
