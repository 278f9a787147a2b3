"""A client that openapi-python-client generates from the document, against a running gateway."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.app.examples import ALARM, MESSAGES, TOOLS, body
from tests.app.gateway import Gateway, gateway_fixture

pytestmark = pytest.mark.program

#: the package that is generated
NAME = "generated_switchyard_client"

gateway = gateway_fixture(api_keys="k", format="hermes", reasoning="on")


class Generated:
    """The package and a client of it."""

    def __init__(self, package: ModuleType, url: str) -> None:
        self.client: Any = package.AuthenticatedClient(base_url=url, token="k")
        self.models: Any = importlib.import_module(f"{NAME}.models")

    def call(self, tag: str, operation: str) -> Any:
        """Return the module of one operation."""
        return importlib.import_module(f"{NAME}.api.{tag}.{operation}")


@pytest.fixture(scope="module")
def generated(
    gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Generated, str]]:
    """Return the client, and what the generator printed."""
    folder: Path = tmp_path_factory.mktemp("generated")
    document = folder / "openapi.json"
    document.write_bytes(gateway.get("/openapi.json").content)
    # no formatter: it warns that there is none, once for each of ruff's two commands
    (folder / "config.yml").write_text("post_hooks: []\n")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    command += ["--path", str(document), "--output-path", str(folder / NAME)]
    command += ["--config", str(folder / "config.yml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    try:
        yield Generated(importlib.import_module(NAME), gateway.url), done.stdout + done.stderr
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == NAME]:
            del sys.modules[name]


def test_the_generator_leaves_nothing_out(generated: tuple[Generated, str]):
    """It would warn of schemas and operations that it cannot express."""
    assert "arning" not in generated[1], generated[1]


def test_a_chat_completion(generated: tuple[Generated, str]):
    client, _ = generated
    asked = client.models.ChatRequest.from_dict(
        body(tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    )
    answer = client.call("chat", "create_chat_completion").sync(client=client.client, body=asked)
    assert isinstance(answer, client.models.ChatCompletion)
    (call,) = answer.choices[0].message.tool_calls
    assert set(json.loads(call.function.arguments)) <= {"on", *ALARM["properties"]}


def test_a_stream(generated: tuple[Generated, str]):
    """The chunks add up to the same whole answer."""
    client, _ = generated
    create = client.call("chat", "create_chat_completion")
    asked = client.models.ChatRequest.from_dict(body(max_completion_tokens=40))
    whole = create.sync(client=client.client, body=asked)
    asked.stream = True
    text = ""
    with client.client.get_httpx_client().stream(**create._get_kwargs(body=asked)) as stream:
        *lines, last = [line for line in stream.iter_lines() if line]
    for line in lines:
        chunk = client.models.ChatCompletionChunk.from_dict(json.loads(line.removeprefix("data: ")))
        text += chunk.choices[0].delta.content or ""
    assert text == whole.choices[0].message.content
    assert last == "data: [DONE]"


def test_a_response_is_made_and_read_again(generated: tuple[Generated, str]):
    client, _ = generated
    asked = client.models.ResponseRequest.from_dict(
        {"model": "noise", "input": "hi", "max_output_tokens": 20}
    )
    made = client.call("responses", "create_response").sync(client=client.client, body=asked)
    read = client.call("responses", "retrieve_response").sync(made.id, client=client.client)
    assert read.to_dict() == made.to_dict()
    page = client.call("responses", "list_input_items").sync(made.id, client=client.client)
    assert page.data[0].content[0].text == "hi"


def test_the_models_and_an_error(generated: tuple[Generated, str]):
    client, _ = generated
    listed = client.call("models", "list_models").sync(client=client.client)
    assert [model.id for model in listed.data] == ["noise"]
    asked = client.models.ChatRequest.from_dict({"model": "gpt-0", "messages": MESSAGES})
    answer = client.call("chat", "create_chat_completion").sync(client=client.client, body=asked)
    assert isinstance(answer, client.models.ErrorResponse)
    assert answer.error.code == "model_not_found"
