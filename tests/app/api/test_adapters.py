"""LoRA adapters as models: their ids in every API, who may use them, and loading them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from websockets.sync.client import connect

from tests.app.access.entries import bearer, entry
from tests.app.access.tokens import AUDIENCE, ISSUER, jwks, token
from tests.app.gateway import OPTIONS, PATIENCE
from tests.campaigns.adapters.campaign import OPERATORS, World, answer_of, name_of, world
from tests.campaigns.workers.campaign import SCHEMA, body_of

#: an alias of an adapter that workers have, and one of an adapter that none has
NAMED = "legal-7b=law,later=soon"
KEYS = {
    "all": {},
    "base": {"models": ["fake"]},
    "law": {"models": ["fake:law"]},
    "adapters": {"models": ["fake:*"]},
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
MESSAGES = [{"role": "user", "content": "Say number 7 please."}]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    file: Path = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text("".join(entry(key, **rules) + "\n" for key, rules in KEYS.items()))
    settings = {"keys_file": file, "adapters": NAMED, "model_aliases": "default,a:b"}
    with world(("law",), ("law", "tax"), **settings) as made:
        yield made


@pytest.fixture
def client(served: World) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.gateway.url}/v1", api_key="all", max_retries=0)


def post(served: World, path: str, body: Any, key: str = "all") -> httpx.Response:
    return served.gateway.post(body, path=path, headers=bearer(key))


def operate(served: World, what: str, **asked: Any) -> httpx.Response:
    path = f"{served.gateway.url}/admin/adapters/{what}"
    return httpx.post(path, json=asked, headers=OPERATORS, **OPTIONS)


# -- answers


@pytest.mark.parametrize(
    ("asked", "shown", "adapter"),
    [
        ("fake", "fake", None),
        ("default", "fake", None),
        ("fake:law", "fake:law", "law"),
        ("default:law", "fake:law", "law"),
        ("a:b:tax", "fake:tax", "tax"),
        ("legal-7b", "fake:law", "law"),
        ("fake:tax", "fake:tax", "tax"),
    ],
)
def test_each_id_is_answered_by_its_adapter_in_every_api(
    client: openai.OpenAI, served: World, asked: str, shown: str, adapter: str | None
) -> None:
    right = answer_of(7, adapter)
    common: dict[str, Any] = {"model": asked, "messages": MESSAGES, "response_format": FORMAT}
    chat = client.chat.completions.create(**common)
    assert (chat.model, chat.choices[0].message.content) == (shown, right)
    chunks = list(client.chat.completions.create(**common, stream=True))
    assert {chunk.model for chunk in chunks} == {shown}
    text = client.completions.create(
        model=asked, prompt="Say number 7.", extra_body={"response_format": FORMAT}
    )
    assert (text.model, text.choices[0].text) == (shown, right)
    name = {"type": "json_schema", "name": "n", "schema": SCHEMA}
    response = client.responses.create(
        model=asked, input="Say number 7 please.", text={"format": name}
    )
    assert (response.model, response.output_text) == (shown, right)
    messages = anthropic.Anthropic(base_url=served.gateway.url, api_key="all", max_retries=0)
    message = messages.messages.create(
        model=asked,
        max_tokens=100,
        messages=MESSAGES,
        extra_body={"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    )
    assert (message.model, message.content[0].text) == (shown, right)


def test_responses_are_stored_continued_and_run_in_the_background(
    client: openai.OpenAI, served: World
) -> None:
    asked: dict[str, Any] = {
        "model": "legal-7b",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
    }
    first = client.responses.create(input="Say number 3 please.", **asked)
    assert client.responses.retrieve(first.id).model == "fake:law"
    # each request names the model that answers, as for models
    second = client.responses.create(
        input="And number 4.", previous_response_id=first.id, **{**asked, "model": "fake:tax"}
    )
    assert (second.model, second.output_text) == ("fake:tax", answer_of(3, "tax"))
    conversation = client.conversations.create()
    third = client.responses.create(
        input="Say number 5 please.", conversation=conversation.id, **asked
    )
    assert (third.model, third.output_text) == ("fake:law", answer_of(5, "law"))
    begun = client.responses.create(input="Say number 6 please.", background=True, **asked)

    def has_ended() -> bool:
        return client.responses.retrieve(begun.id).status == "completed"

    served.gateway.eventually(has_ended)
    ended = client.responses.retrieve(begun.id)
    assert (ended.model, ended.output_text) == ("fake:law", answer_of(6, "law"))
    (line,) = [each for each in served.gateway.lines() if each["event"] == "background response"]
    assert (line["model"], line["adapter"]) == ("fake", "law")


def test_a_response_over_a_websocket_is_that_of_the_adapter(served: World) -> None:
    address = served.gateway.url.replace("http", "ws") + "/v1/responses"
    text = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}
    asked = {"type": "response.create", "model": "legal-7b", "text": text}
    with connect(address, additional_headers=bearer("all"), open_timeout=PATIENCE) as socket:
        socket.send(json.dumps({**asked, "input": "Say number 9 please."}))
        event: Any = {"type": ""}
        while event["type"] != "response.completed":
            event = json.loads(socket.recv(PATIENCE))
    response = event["response"]
    (message,) = response["output"]
    assert response["model"] == "fake:law"
    assert message["content"][0]["text"] == answer_of(9, "law")


def test_what_needs_no_worker_is_that_of_the_model(served: World) -> None:
    for path, body in (
        ("/tokenize", {"prompt": "the alarm"}),
        ("/detokenize", {"tokens": [1]}),
        ("/v1/grammars/check", {"schema": SCHEMA}),
        ("/v1/grammars/explain", {"response_format": FORMAT}),
        ("/v1/responses/input_tokens", {"input": "hi"}),
        ("/v1/messages/count_tokens", {"messages": MESSAGES}),
    ):
        model, adapter = (post(served, path, body | {"model": m}) for m in ("fake", "fake:law"))
        assert adapter.status_code == 200, path
        # what took time differs
        shown = [{**answer.json(), "cost": None, "grammar": None} for answer in (model, adapter)]
        assert shown[0] == shown[1], path


# -- ids that cannot be answered


@pytest.mark.parametrize(
    "name", ["fake:med", "fake:", "fake:*", "fake: law", "Fake:law", ":law", "law", "fake:law:law"]
)
def test_an_unknown_adapter_is_not_found_before_any_worker_is_asked(
    served: World, name: str
) -> None:
    asked = [len(worker.asked) for worker in served.workers]
    answer = post(served, "/v1/chat/completions", body_of(1, streams=False) | {"model": name})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (404, "model_not_found", "model")
    assert [len(worker.asked) for worker in served.workers] == asked
    if name == "fake:med":
        assert error["message"].endswith(" Its known adapters are: fake:law, fake:soon, fake:tax.")


@pytest.mark.parametrize("name", ["later", "fake:soon"])
@pytest.mark.parametrize("streams", [False, True])
def test_an_adapter_that_a_setting_names_is_unavailable_until_a_worker_has_it(
    served: World, name: str, streams: bool
) -> None:
    answer = post(served, "/v1/chat/completions", body_of(1, streams) | {"model": name})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "adapter_unavailable")
    assert "retry-after" in answer.headers
    assert served.gateway.metric("switchyard_adapter_workers", model="fake", what="soon") == 0
    assert served.gateway.metric("switchyard_adapter_workers", model="fake", what="law") == 2


# -- keys

MAY = {
    "all": {"fake", "fake:law", "fake:soon", "fake:tax"},
    "base": {"fake"},
    "law": {"fake:law"},
    "adapters": {"fake:law", "fake:soon", "fake:tax"},
}


@pytest.mark.parametrize("key", MAY)
def test_a_key_sees_and_uses_the_ids_of_its_entry(served: World, key: str) -> None:
    """The entry of a model does not include its adapters: they may know what it does not."""
    cards = served.gateway.get("/v1/models", headers=bearer(key)).json()["data"]
    assert {card["id"] for card in cards} == MAY[key]
    for name in ("fake", "default", "fake:law", "legal-7b", "default:tax"):
        model = {"default": "fake", "legal-7b": "fake:law", "default:tax": "fake:tax"}.get(name)
        may = (model or name) in MAY[key]
        body = body_of(2, streams=False) | {"model": name}
        answer = post(served, "/v1/chat/completions", body, key)
        assert answer.status_code == (200 if may else 404), name
        card = served.gateway.get(f"/v1/models/{name}", headers=bearer(key))
        assert card.status_code == (200 if may else 404), name
        if not may:
            words = f"The model '{name}' does not exist or you do not have access to it."
            assert answer.json()["error"]["message"] == words


def test_a_token_needs_the_ids_of_adapters_in_its_claim(tmp_path: Path) -> None:
    (tmp_path / "jwks.json").write_text(jwks("rsa"))
    settings = {"jwks_file": tmp_path / "jwks.json", "jwt_issuer": ISSUER}
    settings |= {"jwt_audience": AUDIENCE, "jwt_models_claim": "models"}
    with world(("law", "tax"), **settings) as made:
        for claim, ids in (
            (["fake"], ["fake"]),
            ("fake fake:tax", ["fake", "fake:tax"]),
            (["fake:*"], ["fake:law", "fake:tax"]),
            (["law", "*"], []),
        ):
            listed = made.gateway.get("/v1/models", headers=bearer(token(models=claim))).json()
            assert [card["id"] for card in listed["data"]] == ids


def test_an_error_names_only_adapters_that_the_key_may_use(served: World) -> None:
    body = body_of(2, streams=False) | {"model": "fake:med"}
    messages = {
        key: post(served, "/v1/chat/completions", body, key).json()["error"]["message"]
        for key in MAY
    }
    assert "fake:law" not in messages["base"] and "fake:law" not in messages["law"]
    assert messages["adapters"].endswith("fake:law, fake:soon, fake:tax.")


# -- lists


def test_the_cards_of_adapters_name_their_model(served: World) -> None:
    cards = served.gateway.get("/v1/models", headers=bearer("all")).json()["data"]
    shown = [(card["id"], card["root"], card["parent"], card["aliases"]) for card in cards]
    assert shown == [
        ("fake", "fake", None, ["default", "a:b"]),
        ("fake:law", "law", "fake", ["legal-7b"]),
        ("fake:soon", "soon", "fake", ["later"]),
        ("fake:tax", "tax", "fake", []),
    ]
    one = served.gateway.get("/v1/models/legal-7b", headers=bearer("all")).json()
    assert one == cards[1]
    headers = {**bearer("all"), "anthropic-version": "2023-06-01"}
    listed = served.gateway.get("/v1/models", headers=headers).json()
    assert [card["id"] for card in listed["data"]] == [card["id"] for card in cards]
    assert (listed["first_id"], listed["last_id"]) == ("fake", "fake:tax")


def test_numbers_and_log_lines_name_the_adapter(served: World) -> None:
    gateway = served.gateway
    name = "switchyard_adapter_answers_total"
    before = gateway.metric(name, model="fake", adapter="law")
    headers = {**bearer("all"), "x-request-id": "with-an-adapter"}
    body = body_of(2, streams=False) | {"model": "legal-7b"}
    gateway.post(body, headers=headers)
    assert gateway.metric(name, model="fake", adapter="law") == before + 1
    tokens = gateway.metric(
        "switchyard_adapter_tokens_total", model="fake", adapter="law", kind="completion"
    )
    assert tokens > 0
    (line,) = [each for each in gateway.lines() if each.get("request_id") == "with-an-adapter"]
    assert (line["model"], line["adapter"]) == ("fake", "law")
    for other in ("fake:nobody-has-this", "nobody:law"):
        post(served, "/v1/chat/completions", body_of(1, streams=False) | {"model": other})
    text = gateway.get("/metrics").text
    assert "nobody" not in text and "legal-7b" not in text
    recent = httpx.get(f"{gateway.url}/debug/requests", headers=OPERATORS, **OPTIONS).json()
    assert any(each.get("adapter") == "law" for each in recent["recent"])


# -- loading and unloading


@pytest.fixture
def own() -> Iterator[World]:
    """Workers that a test changes."""
    with world(("law",), ("law", "tax"), adapters="later=soon") as made:
        yield made


def listed(served: World) -> dict[str, list[str]]:
    path = f"{served.gateway.url}/admin/adapters"
    data = httpx.get(path, headers=OPERATORS, **OPTIONS).json()["data"]
    names = [name_of(worker) for worker in served.workers]
    return {
        each["name"]: [names.index(place["worker"]) for place in each["workers"]] for each in data
    }


def test_adapters_are_loaded_and_unloaded_at_one_worker_or_all(own: World) -> None:
    assert listed(own) == {"law": [0, 1], "soon": [], "tax": [1]}
    loaded = operate(own, "load", name="soon", path="/adapters/soon").json()
    assert (loaded["object"], loaded["id"], loaded["failed"]) == ("adapter.change", "fake:soon", 0)
    assert [each["done"] for each in loaded["data"]] == [True, True]
    first = name_of(own.workers[0])
    loaded = operate(own, "load", model="fake", name="med", path="/x", worker=first).json()
    assert [(each["worker"], each["done"]) for each in loaded["data"]] == [(first, True)]
    assert listed(own) == {"law": [0, 1], "med": [0], "soon": [0, 1], "tax": [1]}
    body = body_of(8, streams=False) | {"model": "fake:med"}
    answer = own.gateway.post(body).json()["choices"][0]["message"]["content"]
    assert answer == answer_of(8, "med"), "without waiting for a health check"
    unloaded = operate(own, "unload", name="law").json()
    assert unloaded["failed"] == 0
    assert listed(own) == {"med": [0], "soon": [0, 1], "tax": [1]}
    assert own.gateway.post(body | {"model": "fake:law"}).status_code == 404
    assert all("law" not in worker.adapters for worker in own.workers), "no request loads it again"
    events = [line for line in own.gateway.lines() if line["event"].startswith("adapter ")]
    assert [(line["adapter"], line["failed"]) for line in events] == [
        ("fake:soon", {}),
        ("fake:med", {}),
        ("fake:law", {}),
    ]


def test_the_outcome_of_each_worker_is_shown(own: World) -> None:
    loaded = operate(own, "load", name="tax", path="/adapters/tax").json()
    assert loaded["failed"] == 1
    assert [(each["done"], each["reason"]) for each in loaded["data"]] == [
        (True, ""),
        (
            False,
            "the server answers 400: Failed to load LoRA adapter tax because it is already loaded",
        ),
    ]
    missing = operate(own, "load", name="med", path="/missing").json()
    assert (missing["failed"], "med" in listed(own)) == (2, False)


def test_a_worker_that_restarts_has_lost_what_was_loaded(own: World) -> None:
    operate(own, "load", name="med", path="/adapters/med")
    own.workers[0].restart()
    own.gateway.eventually(lambda: listed(own).get("med") == [1])


BAD: dict[str, tuple[dict[str, Any], int, str]] = {
    "no name": ({"path": "/x"}, 400, "name"),
    "no path": ({"name": "a"}, 400, "path"),
    "spaces around": ({"name": " a", "path": "/x"}, 400, "name"),
    "all adapters": ({"name": "*", "path": "/x"}, 400, "name"),
    "a control character": ({"name": "a\x00", "path": "/x"}, 400, "name"),
    "a long name": ({"name": "a" * 129, "path": "/x"}, 400, "name"),
    "a path with a line": ({"name": "a", "path": "/x\n"}, 400, "path"),
    "a long path": ({"name": "a", "path": "/" * 4097}, 400, "path"),
    "another field": ({"name": "a", "path": "/x", "force": True}, 400, "force"),
    "an unknown model": ({"name": "a", "path": "/x", "model": "b"}, 404, "model"),
    "an adapter as model": ({"name": "a", "path": "/x", "model": "fake:law"}, 404, "model"),
    "an unknown worker": ({"name": "a", "path": "/x", "worker": "w"}, 404, "worker"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_request_that_means_nothing_is_refused(served: World, name: str) -> None:
    asked, status, param = BAD[name]
    answer = operate(served, "load", **asked)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)


def test_only_operators_load_adapters(served: World) -> None:
    for what in ("load", "unload"):
        body = {"name": "med", "path": "/x"}
        assert post(served, f"/admin/adapters/{what}", body).status_code in (401, 403)
    assert served.gateway.get("/admin/adapters", headers=bearer("all")).status_code in (401, 403)


def test_an_adapter_whose_id_means_a_model_is_not_served(tmp_path: Path) -> None:
    """Else the same id would lead to one or the other."""
    with world(("law", "tax"), model_aliases="fake:law") as made:
        cards = made.gateway.get("/v1/models").json()["data"]
        assert [card["id"] for card in cards] == ["fake", "fake:tax"]
        body = body_of(4, streams=False) | {"model": "fake:law"}
        answer = made.gateway.post(body).json()
        assert (answer["model"], answer["choices"][0]["message"]["content"]) == (
            "fake",
            answer_of(4, None),
        )
        refused = operate(made, "load", name="law", path="/x")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "name")
        states = httpx.get(f"{made.gateway.url}/admin/adapters", headers=OPERATORS, **OPTIONS)
        ids = {each["name"]: each["id"] for each in json.loads(states.text)["data"]}
        assert ids == {"law": None, "tax": "fake:tax"}
