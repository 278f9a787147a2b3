"""The OpenAPI document: valid, complete, and what the gateway does."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from openapi_spec_validator import OpenAPIV31SpecValidator

from adapters.workers import Chunk
from app.main import create_app
from app.observability.request_record import Attempt, RequestFacts, RequestRecord
from app.observability.trace_context import TraceContext
from app.settings import read_settings
from tests.app.access.entries import entry
from tests.app.access.tokens import AUDIENCE, ISSUER, jwks, token
from tests.app.examples import LIGHT, MESSAGES, TOOLS, body, json_schema
from tests.app.gateway import OPERATOR, OPTIONS, Gateway, gateway_fixture
from tests.app.openapi.described import Document

#: of paths that the API has; other routes are pages
API = ("/v1/", "/admin/", "/tokenize", "/detokenize", "/health", "/metrics", "/version", "/debug/")
CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
ANTHROPIC = "/v1/messages"
EXPLAIN = "/v1/grammars/explain"
CUSTOM = {"type": "custom", "custom": {"name": "note", "format": {"type": "text"}}}
FUNCTIONS = [{"name": "set_light", "parameters": LIGHT}]

#: one with keys, whose answers may have reasoning
gateway = gateway_fixture(
    api_keys="one", admin_keys=OPERATOR, format="hermes", reasoning="on", max_choices=4
)


@pytest.fixture(scope="module")
def document(gateway: Gateway) -> Document:
    return Document(gateway.get("/openapi.json").json())


def test_it_is_a_valid_document_of_openapi_3_1(gateway: Gateway):
    found = gateway.get("/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    assert [error.message for error in OpenAPIV31SpecValidator(found).iter_errors()] == []
    # pydantic writes modules into the names of classes that share one
    assert [name for name in found["components"]["schemas"] if "__" in name] == []


async def served() -> list[tuple[str, str, bool]]:
    """Return method, path and whether it is in the document, of each route of an app."""
    app: FastAPI = create_app(read_settings(noise_seed=1, log_level="error"))
    async with app.router.lifespan_context(app):
        return [
            (method.lower(), context.path_format, context.include_in_schema)
            for context in iter_route_contexts(app.routes)
            if isinstance(context.original_route, APIRoute)
            for method in sorted(context.methods)
        ]


async def test_each_route_is_in_the_document_and_the_other_way_round(document: Document):
    """Only pages and their files are not."""
    routes = await served()
    shown = {(method, path) for method, path, is_shown in routes if is_shown}
    hidden = {(method, path) for method, path, is_shown in routes if not is_shown}
    assert shown == {(method, path) for path, all_of in document.paths.items() for method in all_of}
    assert not [path for _, path in hidden if path.startswith(API)]


def test_each_operation_is_described(document: Document):
    """Each has its own id, a tag, a summary, and the errors that any request may get."""
    operations = [each for methods in document.paths.values() for each in methods.values()]
    numbers = [each["operationId"] for each in operations]
    assert len(set(numbers)) == len(numbers)
    for each in operations:
        assert each["tags"]
        assert each["summary"][0].isupper()
        assert each["description"].endswith(".")
        assert {"400", "500"} <= set(each["responses"])
        assert {"503", "529"} & set(each["responses"])


def test_each_body_and_each_field_of_an_api_is_described(document: Document):
    schemas, bodies = document.components["schemas"], []
    for methods in document.paths.values():
        for operation in methods.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                bodies.append(media["schema"]["$ref"].split("/")[-1])
    assert {name: schemas[name]["description"][-1] for name in bodies} == dict.fromkeys(bodies, ".")
    for name in ("ChatRequest", "CompletionRequest", "ResponseRequest", "MessagesRequest"):
        assert name in bodies
        fields = schemas[name]["properties"]
        assert [field for field, each in fields.items() if "description" not in each] == []


def test_the_facts_of_requests_are_described(document: Document):
    """REGRESSION: the document lacked ``ignored`` and ``trace_id``."""
    record = RequestRecord("r", model="m", adapter="a", key="k", queue_s=0.1, prepare_s=0.1)
    record.reasoning_tokens = 1
    record.attempts, record.finish, record.ignored = [Attempt("w")], ["stop"], ["/tools/0 mcp"]
    record.backend, record.error = "switchyard", "overloaded"
    record.trace = TraceContext.begin(None, 1.0)
    record.count(Chunk((1, 2), prompt_tokens=2, cached_tokens=1))
    facts = dict(record.facts())
    assert facts.keys() == RequestFacts.__annotations__.keys()
    ended = {"id": "r", "route": "/", "status": 200, "ms": 1.5}
    assert document.errors("EndedRequest", {**ended, **facts}) == []


def test_without_keys_no_operation_of_clients_needs_one():
    with Gateway() as gateway:
        paths = gateway.get("/openapi.json").json()["paths"]
    assert "security" not in paths[CHAT]["post"]
    assert "401" not in paths[CHAT]["post"]["responses"]
    assert paths["/admin/workers"]["get"]["security"] == [{"OperatorKey": []}]


def test_the_document_costs_nothing_until_it_is_asked_for():
    """Its module is imported for the first request of it."""
    program = "import sys, app.main; sys.exit('app.openapi.document' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# -- answers ---------------------------------------------------------------------------------------
def chat(**more: Any) -> dict[str, Any]:
    return body(**{"max_completion_tokens": 300, **more})


def response(**more: Any) -> dict[str, Any]:
    return {"model": "noise", "input": "Answer in JSON.", "max_output_tokens": 300, **more}


def message(**more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": [{"type": "text", "text": "Answer in JSON."}]}]
    return {"model": "noise", "messages": said, "max_tokens": 300, **more}


#: parts that are no text, of the history
PARTS: list[dict[str, Any]] = [
    {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
    {"type": "input_image", "file_id": "a"},
    {"type": "input_file", "filename": "a", "file_data": "b", "file_id": "c", "file_url": "d"},
    {"type": "input_audio"},
]
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": PARTS},
    {"role": "assistant", "content": "a"},
    *MESSAGES,
]
LISTED = [{"name": "set_light", "input_schema": LIGHT, "cache_control": {"type": "ephemeral"}}]
FLAT = [{"type": "function", **TOOLS[1]["function"]}]
NOTE = {"type": "custom", "name": "note"}
#: what clients ask for: (path, body)
ASKED: list[tuple[str, dict[str, Any]]] = [
    (CHAT, chat()),
    (CHAT, chat(n=3, logprobs=True, top_logprobs=2)),
    (CHAT, chat(tools=TOOLS, tool_choice="required", max_completion_tokens=8000)),
    (
        CHAT,
        chat(tools=[*TOOLS, CUSTOM], tool_choice={"type": "custom", "custom": {"name": "note"}}),
    ),
    (CHAT, chat(tools=TOOLS, tool_choice="auto", seed=3)),
    (CHAT, chat(functions=FUNCTIONS, function_call={"name": "set_light"})),
    (CHAT, chat(response_format=json_schema(LIGHT, strict=True), max_completion_tokens=8000)),
    (CHAT, chat(response_format={"type": "json_object", "schema": LIGHT})),
    (CHAT, chat(guided_regex="a|b", stop=["b"], metadata={"a": "b"}, user="me", store=True)),
    (CHAT, chat(reasoning_effort="none", max_completion_tokens=1)),
    (CHAT, chat(stream_options={"include_usage": True})),
    (TEXT, {"model": "noise", "prompt": "Once", "logprobs": 2}),
    (TEXT, {"model": "noise", "prompt": [[1, 2], [3]], "echo": True, "n": 2}),
    (TEXT, {"model": "noise", "prompt": "Once", "stream_options": {"include_usage": True}}),
    (RESPONSES, response()),
    (RESPONSES, response(tools=FLAT, tool_choice="required", max_output_tokens=8000)),
    (RESPONSES, response(tools=[*FLAT, NOTE], tool_choice={"type": "custom", "name": "note"})),
    (RESPONSES, response(text={"format": {"type": "json_object"}}, store=False, metadata={})),
    (RESPONSES, response(input=MESSAGES, instructions="Be short.", reasoning={"effort": "low"})),
    (ANTHROPIC, message()),
    (ANTHROPIC, message(tools=LISTED, tool_choice={"type": "any"}, max_tokens=8000)),
    (ANTHROPIC, message(system="Be short.", stop_sequences=["a"], thinking={"type": "adaptive"})),
    (ANTHROPIC, message(output_config={"format": {"type": "json_schema", "schema": LIGHT}})),
]


def sent(gateway: Gateway, method: str, path: str, value: Any = None, key: str = "one") -> Any:
    bearer = {"Authorization": f"Bearer {key}"}
    return httpx.request(method, gateway.url + path, json=value, headers=bearer, **OPTIONS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("asked", ASKED, ids=[f"{n}{path}" for n, (path, _) in enumerate(ASKED)])
def test_requests_and_their_answers_are_as_described(
    gateway: Gateway, document: Document, asked: tuple[str, dict[str, Any]], stream: bool
):
    """A field that the document lacks is an error here, in a request and in an answer."""
    path, value = asked
    if stream:
        value = {**value, "stream": True}
    else:
        value = {name: each for name, each in value.items() if name != "stream_options"}
    content = document.paths[path]["post"]["requestBody"]["content"]["application/json"]
    name = content["schema"]["$ref"].split("/")[-1]
    assert document.errors(name, value) == []
    answer = sent(gateway, "POST", path, value)
    assert answer.status_code == 200, answer.text
    document.check(answer, path)


#: (method, path, path in the document, body, status); all with an operator's key or a client's
OTHERS: list[tuple[str, str, str | None, Any, int]] = [
    ("GET", "/v1/models", None, None, 200),
    ("GET", "/v1/models/noise", "/v1/models/{name}", None, 200),
    ("GET", "/v1/models/a/b", "/v1/models/{name}", None, 404),
    ("POST", "/tokenize", None, {"prompt": "Once", "return_token_strs": True}, 200),
    ("POST", "/tokenize", None, {"messages": MESSAGES, "tools": TOOLS}, 200),
    ("POST", "/tokenize", None, {"prompt": "Once", "tools": TOOLS}, 400),
    ("POST", "/detokenize", None, {"tokens": [1, 2]}, 200),
    ("POST", "/detokenize", None, {"tokens": [1_000_000]}, 400),
    ("POST", "/v1/grammars/check", None, {"schema": LIGHT, "strict": True}, 200),
    ("POST", "/v1/grammars/check", None, {"schema": {"not": {"minLength": 2}}}, 200),
    ("POST", "/v1/grammars/check", None, {"schema": {"type": "x"}}, 200),
    ("POST", EXPLAIN, None, {"tools": TOOLS, "tool_choice": "auto", "output": "a"}, 200),
    ("POST", EXPLAIN, None, {"response_format": json_schema({"type": "x"}), "output": ""}, 200),
    ("POST", EXPLAIN, None, {"response_format": json_schema(LIGHT), "output": "{x"}, 200),
    ("POST", EXPLAIN, None, {"format": "none"}, 400),
    ("POST", "/v1/grammars", None, {"requests": [{"tools": TOOLS}, {"tools": [CUSTOM]}]}, 200),
    ("POST", "/v1/grammars", None, {}, 400),
    ("GET", "/v1/cache", None, None, 200),
    ("GET", "/admin/workers", None, None, 200),
    ("POST", "/admin/workers/drain", None, {"worker": "nobody"}, 404),
    ("POST", "/admin/workers/drain", None, {"worker": "noise"}, 409),
    ("POST", "/admin/workers/undrain", None, {"worker": "noise"}, 200),
    ("GET", "/health", None, None, 200),
    ("GET", "/health/live", None, None, 200),
    ("GET", "/health/ready", None, None, 200),
    ("GET", "/metrics", None, None, 200),
    ("GET", "/version", None, None, 200),
    ("GET", "/debug/requests", None, None, 200),
    ("GET", "/admin/constraints", None, None, 200),
    ("POST", "/admin/constraints", None, {"mode": "enforce"}, 200),
    ("POST", "/admin/constraints", None, {"mode": "enforce", "model": "gpt-0"}, 404),
    ("POST", CHAT, None, chat(model="gpt-0"), 404),
    ("POST", ANTHROPIC, None, message(model="gpt-0"), 404),
    ("POST", ANTHROPIC + "/count_tokens", None, {"messages": [{"role": "user"}]}, 200),
    ("POST", ANTHROPIC + "/count_tokens", None, {"messages": 3}, 400),
    ("POST", RESPONSES + "/input_tokens", None, {"input": "hi"}, 200),
    ("POST", RESPONSES + "/input_tokens", None, {"input": 3}, 400),
    ("POST", RESPONSES + "/compact", None, {"model": "noise", "input": "hi"}, 200),
    ("POST", RESPONSES + "/compact", None, {"model": "noise", "input": SAID}, 200),
    ("POST", RESPONSES + "/compact", None, {"model": "noise", "input": []}, 400),
    ("POST", RESPONSES + "/compact", None, {"input": "hi"}, 400),
    ("POST", CHAT, None, chat(temperature=9), 400),
]


@pytest.mark.parametrize("case", OTHERS, ids=[f"{n}{case[1]}" for n, case in enumerate(OTHERS)])
def test_other_answers_are_as_described(
    gateway: Gateway, document: Document, case: tuple[str, str, str | None, Any, int]
):
    method, path, shown, value, status = case
    needs = document.paths[shown or path][method.lower()].get("security", [])
    is_operators = {"OperatorKey": []} in needs
    answer = sent(gateway, method, path, value, OPERATOR if is_operators else "one")
    assert answer.status_code == status, answer.text
    document.check(answer, shown or path)


def test_the_answers_of_a_stored_response_are_as_described(gateway: Gateway, document: Document):
    """Read, listed, not cancelled, deleted, and then gone."""
    items = [
        *SAID,
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "a"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "2", "name": "g", "input": "x"},
        {"type": "function_call_output", "call_id": "1", "output": "ok"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": PARTS},
        {"role": "user", "content": [{"type": "input_text", "text": "b"}]},
    ]
    made = sent(gateway, "POST", RESPONSES, response(input=items)).json()
    one = f"{RESPONSES}/{{response_id}}"
    uses = [
        ("GET", "", 200),
        ("GET", "?stream=true", 200),
        ("GET", "?stream=maybe", 400),
        ("GET", "/input_items", 200),
        ("GET", "/input_items?limit=0", 400),
        ("POST", "/cancel", 400),
        ("DELETE", "", 200),
        ("GET", "", 404),
        ("DELETE", "", 404),
    ]
    for method, path, status in uses:
        answer = sent(gateway, method, f"{RESPONSES}/{made['id']}{path}")
        assert answer.status_code == status
        document.check(answer, one + path.split("?")[0])


def test_the_headers_of_limits_are_as_described(document: Document, tmp_path: Path):
    """They go with the answers of a key with limits, and with its refusals."""
    file = tmp_path / "keys.jsonl"
    file.write_text(entry("limited", requests_per_minute=2, tokens_per_minute=100_000))
    with Gateway(keys_file=file) as gateway:
        found = []
        for value in (chat(max_completion_tokens=2), chat(n=0), chat()):
            answer = sent(gateway, "POST", CHAT, value, "limited")
            found.append(answer.status_code)
            document.check(answer, CHAT)
            assert int(answer.headers["x-ratelimit-limit-requests"]) == 2
        assert found == [200, 400, 429]
        assert int(answer.headers["retry-after"]) > 0


def test_the_refusals_of_tokens_are_as_described(document: Document, tmp_path: Path):
    file = tmp_path / "jwks.json"
    file.write_text(jwks("rsa"))
    settings = {"jwks_file": file, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
    scopes = {"jwt_required_scope": "use", "jwt_admin_scope": "admin"}
    with Gateway(**settings, **scopes) as gateway:
        for text, status in [(token(exp=1), 401), (token(), 403)]:
            for method, path in [("POST", CHAT), ("GET", "/v1/models"), ("GET", "/v1/cache")]:
                answer = sent(gateway, method, path, chat() if path == CHAT else None, text)
                assert answer.status_code == status
                document.check(answer, path)


def test_the_judge_finds_a_field_that_is_not_described(document: Document):
    """The tests above fail for a field that only the gateway knows."""
    error = {"message": "a", "type": "b", "param": None, "code": None}
    assert document.errors("ErrorResponse", {"error": error}) == []
    assert document.errors("ErrorResponse", {"error": {**error, "more": 1}})
    assert document.errors("ErrorResponse", {"error": {**error, "param": 1}})
