"""A key learns nothing of models that it may not use: errors quote the name that it sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.access.entries import bearer, entry
from tests.app.gateway import Gateway

FILE = """
[[models]]
name = "secret-7b"
aliases = ["default", "gpt"]

[[models]]
name = "open"
"""
#: (method, path, body) of each route that takes a model
MESSAGES = [{"role": "user", "content": "x"}]
ROUTES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {"messages": MESSAGES}),
    ("/v1/chat/completions", {"messages": MESSAGES, "stream": True}),
    # invalid for the model, which the error must not reveal either
    ("/v1/chat/completions", {"messages": MESSAGES, "n": 128}),
    ("/v1/completions", {"prompt": "x"}),
    ("/v1/completions", {"prompt": "x", "stream": True}),
    ("/v1/responses", {"input": "x"}),
    ("/v1/responses", {"input": "x", "stream": True}),
    ("/tokenize", {"prompt": "x"}),
    ("/detokenize", {"tokens": [1]}),
    ("/v1/grammars/check", {"schema": {}}),
    ("/v1/grammars/explain", {}),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("hidden")
    (folder / "gateway.toml").write_text(FILE)
    (folder / "keys").write_text(entry("k", models=["open"]) + "\n" + entry("all") + "\n")
    with Gateway(config_file=folder / "gateway.toml", keys_file=folder / "keys") as made:
        yield made


@pytest.mark.parametrize("name", ["default", "gpt", "secret-7b", "nobody"])
@pytest.mark.parametrize(("path", "asked"), ROUTES)
def test_errors_quote_the_name_that_was_asked(
    running: Gateway, path: str, asked: dict[str, Any], name: str
):
    """REGRESSION: an alias was answered with the name of its model."""
    answer = running.post({"model": name, **asked}, path=path, headers=bearer("k"))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "model_not_found")
    assert error["message"].startswith(f"The model '{name}' does not exist")
    assert "secret" not in (answer.text + str(answer.headers)).replace(name, "")


@pytest.mark.parametrize("name", ["default", "gpt", "secret-7b", "nobody"])
def test_a_hidden_model_looks_like_one_that_does_not_exist(running: Gateway, name: str):
    answer = running.get(f"/v1/models/{name}", headers=bearer("k"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
    assert "secret" not in answer.text.replace(name, "")


def test_lists_leave_it_out(running: Gateway):
    shown = running.get("/v1/models", headers=bearer("k"))
    assert [card["id"] for card in shown.json()["data"]] == ["open"]
    assert "secret" not in shown.text
    whole = running.get("/v1/models", headers=bearer("all")).json()["data"]
    assert [card["id"] for card in whole] == ["secret-7b", "open"]


def test_the_only_model_is_not_named_either(tmp_path: Path):
    (tmp_path / "keys").write_text(entry("k", models=["other"]))
    with Gateway(model_name="secret-7b", keys_file=tmp_path / "keys") as gateway:
        for path, asked in ROUTES[-4:]:
            answer = gateway.post(asked, path=path, headers=bearer("k"))
            assert answer.status_code == 404
            assert "secret" not in answer.text
