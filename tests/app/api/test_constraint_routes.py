"""Operators' routes of constraint modes, and where a gateway shows the mode."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.examples import TOOLS
from tests.app.gateway import OPERATOR, OPTIONS, Gateway

KEY = {"Authorization": f"Bearer {OPERATOR}"}
ONE = {"Authorization": "Bearer one"}
ASK: dict[str, Any] = {
    "model": "noise",
    "messages": [{"role": "user", "content": "x"}],
    "tools": TOOLS,
    "tool_choice": "required",
    "max_tokens": 400,
    "seed": 7,
}


@pytest.fixture
def guarded() -> Iterator[Gateway]:
    with Gateway(api_keys="one", admin_keys=OPERATOR, model_aliases="hum") as running:
        yield running


@pytest.fixture
def client(guarded: Gateway) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url, **OPTIONS) as made:
        yield made


@pytest.mark.parametrize("key", [None, "one", "wrong"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_operators_reach_them(client: httpx.Client, method: str, key: str | None):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    answer = client.request(method, "/admin/constraints", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_a_running_gateway_changes_the_mode_and_shows_it_everywhere(
    guarded: Gateway, client: httpx.Client
):
    """The noise worker calls a tool only while it must: that is how enforcement shows."""

    def ask() -> tuple[str | None, str, bool]:
        answer = client.post("/v1/chat/completions", json=ASK, headers=ONE)
        assert answer.status_code == 200, answer.text
        called = "tool_calls" in answer.json()["choices"][0]["message"]
        headers = answer.headers
        return headers.get("x-switchyard-constraints"), headers["x-switchyard-backend"], called

    def shown() -> list[str]:
        (card,) = client.get("/v1/models", headers=ONE).json()["data"]
        (listed,) = client.get("/admin/constraints", headers=KEY).json()["data"]
        return [card["constraints"], listed["mode"], guarded.health()["constraints"]["noise"]]

    assert ask() == (None, "switchyard", True)
    assert shown() == ["enforce"] * 3
    for mode, name in (("shadow", "hum"), ("off", "noise")):
        body = {"model": name, "mode": mode}
        answer = client.post("/admin/constraints", json=body, headers=KEY)
        (changed,) = answer.json()["data"]
        assert changed == {
            "model": "noise",
            "mode": mode,
            "setting": "enforce",
            "unenforced_strict": "refuse",
        }
        assert ask() == (mode, "none", False)
        assert shown() == [mode] * 3
    client.post("/admin/constraints", json={"mode": "enforce"}, headers=KEY)
    assert ask() == (None, "switchyard", True)
    assert guarded.metric("switchyard_shadow_divergences_total", model="noise") == 1
    (line,) = [line for line in guarded.lines() if line["event"] == "answer left its grammar"]
    assert line["request_id"].startswith("req_")
    warned = [line for line in guarded.lines() if line["event"].startswith("CONSTRAINTS")]
    assert [line["mode"] for line in warned] == ["shadow", "off"]


#: (body, status, code, param)
BAD = [
    ({}, 400, "missing_required_parameter", "mode"),
    ({"mode": "on"}, 400, None, "mode"),
    ({"mode": "off", "model": "nobody"}, 404, "model_not_found", "model"),
    ({"mode": "off", "model": ""}, 400, None, "model"),
    ({"mode": "off", "x": 1}, 400, "unknown_parameter", "x"),
]


def test_a_bad_request_is_an_error_object_and_changes_nothing(client: httpx.Client):
    for body, status, code, param in BAD:
        answer = client.post("/admin/constraints", json=body, headers=KEY)
        error = answer.json()["error"]
        assert (answer.status_code, error["param"]) == (status, param)
        assert code in (None, error["code"])
    (listed,) = client.get("/admin/constraints", headers=KEY).json()["data"]
    assert listed["mode"] == "enforce"


def test_one_of_several_processes_refuses_to_change_alone():
    """The app itself knows from the settings that it is one of several."""
    with Gateway(admin_keys=OPERATOR, processes=2) as gateway:
        answer = gateway.post({"mode": "off"}, path="/admin/constraints", headers=KEY)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "several_processes")
        assert "SWITCHYARD_CONSTRAINTS" in answer.json()["error"]["message"]
        listed = gateway.get("/admin/constraints", headers=KEY).json()["data"]
        assert [each["mode"] for each in listed] == ["enforce"]


@pytest.mark.parametrize(("strict", "said"), [("refuse", "get 400"), ("answer", "WITHOUT")])
def test_a_gateway_that_starts_without_enforcement_warns(strict: str, said: str):
    with Gateway(constraints="shadow", unenforced_strict=strict) as gateway:
        (line,) = [line for line in gateway.lines() if line["event"].startswith("CONSTRAINTS")]
        assert (line["level"], line["mode"]) == ("warning", "shadow")
        assert said in line["strict"]


#: (path, body) of each API
APIS = [
    ("/v1/chat/completions", ASK),
    ("/v1/chat/completions", ASK | {"stream": True}),
    ("/v1/completions", {"model": "noise", "prompt": "x", "max_tokens": 5}),
    ("/v1/completions", {"model": "noise", "prompt": "x", "max_tokens": 5, "stream": True}),
    ("/v1/responses", {"model": "noise", "input": "x", "max_output_tokens": 20}),
    ("/v1/responses", {"model": "noise", "input": "x", "max_output_tokens": 20, "stream": True}),
]


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_every_api_names_the_mode(mode: str):
    """Noise that nothing constrains is random text, which every API must be able to answer."""
    with Gateway(constraints=mode, reasoning="on") as gateway:
        for path, body in APIS:
            for seed in range(5):
                more = {} if path == "/v1/responses" else {"seed": seed}
                answer = gateway.post(body | more, path=path)
                assert answer.status_code == 200, answer.text
                assert answer.headers["x-switchyard-constraints"] == mode
                assert '"error": {' not in answer.text and "event: error" not in answer.text
        assert gateway.metric("switchyard_internal_errors_total") == 0
        assert gateway.metric("switchyard_parse_divergence_total") == 0
        assert gateway.metric("switchyard_stream_errors_total") == 0


def test_log_probabilities_of_free_text_belong_to_its_content():
    with Gateway(constraints="shadow") as gateway:
        body = {**ASK, "logprobs": True, "top_logprobs": 1, "max_tokens": 60}
        answer = gateway.post(body).json()["choices"][0]
        listed = answer["logprobs"]["content"]
        data = b"".join(bytes(each["bytes"]) for each in listed)
        assert data.decode(errors="replace") == answer["message"]["content"]


def test_each_model_has_a_mode_of_its_own(tmp_path: Path):
    """One from the configuration file, and changed at run time."""
    file = tmp_path / "gateway.toml"
    file.write_text(
        '[[models]]\nname = "a"\nworkers = ["noise"]\nconstraints = "shadow"\n'
        '[[models]]\nname = "b"\nworkers = ["noise"]\n'
    )
    with Gateway(config_file=file, admin_keys=OPERATOR) as gateway:

        def shown() -> dict[str, str]:
            listed = gateway.get("/admin/constraints", headers=KEY).json()["data"]
            return {each["model"]: each["mode"] for each in listed}

        assert shown() == {"a": "shadow", "b": "enforce"}
        unnamed = gateway.post({"mode": "off"}, path="/admin/constraints", headers=KEY)
        assert unnamed.status_code == 400
        gateway.post({"model": "b", "mode": "off"}, path="/admin/constraints", headers=KEY)
        assert shown() == {"a": "shadow", "b": "off"}
        for name, mode in shown().items():
            answer = gateway.post(ASK | {"model": name, "max_tokens": 5})
            assert answer.headers["x-switchyard-constraints"] == mode
