"""LoRA adapters in a real server: each answers as it would alone, beside grammars and the others,
and they are loaded and unloaded through the gateway.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from adapters.workers import Generation, SGLangWorker, WorkerError
from app.conversation.tokenizer import load_tokenizer
from tests.app.gateway import OPERATOR, Gateway
from tests.waiting import PATIENCE
from tests.workers.helpers import collect

from .environment import ROOT
from .server import SGLangServer
from .servers import Servers
from .tiny_adapters import NAMES

MODEL = "tiny"
#: the backend that runs on any CPU
OPTIONS = (
    "--enable-lora",
    *("--lora-backend", "torch_native"),
    *("--max-lora-rank", "8"),
    *("--lora-target-modules", "all"),
    *("--max-loras-per-batch", "4"),
    "--lora-paths",
)
OPERATORS = {"authorization": f"Bearer {OPERATOR}"}
IDS = (MODEL, *(f"{MODEL}:{name}" for name in NAMES))
WORDS = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string", "maxLength": 8}}},
    "required": ["words"],
    "additionalProperties": False,
}
REGEX = "[a-z]{2,8}( [a-z]{2,8}){3,9}"
MESSAGES: Any = [{"role": "user", "content": "Some words, please."}]
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "w", "strict": True, "schema": WORDS}}


@pytest.fixture(scope="module")
def folder(server_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adapters' folder."""
    made = tmp_path_factory.mktemp("adapters")
    command = [str(server_python), "-m", "tests.sglang.tiny_adapters", str(made)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def server(sglang_server: Servers, folder: Path) -> SGLangServer:
    return sglang_server("switchyard", *OPTIONS, f"law={folder / 'law'}", f"tax={folder / 'tax'}")


@pytest.fixture
def gateway(server: SGLangServer, tiny_model_folder: Path) -> Iterator[Gateway]:
    with Gateway(
        workers=server.base_url,
        tokenizer=str(tiny_model_folder),
        model_name=MODEL,
        reasoning="off",
        admin_keys=OPERATOR,
        worker_health_seconds=0.5,
    ) as running:
        yield running


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    address = f"{gateway.url}/v1"
    return openai.OpenAI(base_url=address, api_key="x", max_retries=0, timeout=PATIENCE)


def text_of(client: openai.OpenAI, model: str, **asked: Any) -> str:
    """Return the greedy answer of a model or adapter, which the answer must name."""
    given = {"max_completion_tokens": 60, "response_format": FORMAT, **asked}
    answer = client.chat.completions.create(model=model, messages=MESSAGES, temperature=0, **given)
    assert answer.model == model
    return answer.choices[0].message.content or ""


def test_each_answers_as_it_does_alone(client: openai.OpenAI) -> None:
    """With a grammar: one after another, and then all together in one batch."""
    alone = {name: text_of(client, name) for name in IDS}
    assert len(set(alone.values())) == len(IDS), "the adapters change the answers"
    assert all(text.startswith('{"words"') for text in alone.values())
    with ThreadPoolExecutor(9) as threads:
        asked = IDS * 6
        for name, text in zip(asked, threads.map(partial(text_of, client), asked), strict=True):
            assert text == alone[name], name


def test_an_adapter_is_that_of_the_server(
    gateway: Gateway, client: openai.OpenAI, server: SGLangServer
) -> None:
    """The same ids and grammar, by the server's own name of the adapter, have the same answer."""
    body = {"model": MODEL, "messages": MESSAGES}
    ids = gateway.post(body, path="/tokenize").json()["tokens"]
    limits = {"temperature": 0, "max_new_tokens": 60, "regex": REGEX}
    wanted: Any = {"response_format": openai.NOT_GIVEN}
    wanted["extra_body"] = {"structured_outputs": {"regex": REGEX}}
    for name in IDS:
        adapter = name.partition(":")[2] or None
        asked = {"input_ids": ids, "lora_path": adapter, "sampling_params": limits}
        assert text_of(client, name, **wanted) == server.post_json("/generate", asked)["text"]


def test_the_gateway_lists_what_the_server_has(gateway: Gateway, client: openai.OpenAI) -> None:
    assert [card.id for card in client.models.list()] == list(IDS)
    assert client.models.retrieve(f"{MODEL}:law").model_dump()["parent"] == MODEL
    (worker,) = gateway.health()["workers"]
    assert worker["adapters"] == len(NAMES)


def test_an_unknown_adapter_is_not_found_before_the_server_is_asked(
    client: openai.OpenAI, server: SGLangServer
) -> None:
    asked = server.log().count("POST /generate")
    with pytest.raises(openai.NotFoundError, match="tiny:law, tiny:tax"):
        text_of(client, f"{MODEL}:med")
    assert server.log().count("POST /generate") == asked > 0


def test_adapters_are_unloaded_and_loaded_while_requests_run(
    gateway: Gateway, client: openai.OpenAI, server: SGLangServer, folder: Path
) -> None:
    """Unloading waits for the running requests of the adapter; the others go on."""
    alone = {name: text_of(client, name) for name in IDS}
    law = f"{MODEL}:law"
    with ThreadPoolExecutor(4) as threads:
        long: dict[str, Any] = {"response_format": {"type": "text"}, "stream": True}
        long |= {"max_completion_tokens": 400, "extra_body": {"ignore_eos": True}}
        stream = client.chat.completions.create(
            model=law, messages=[{"role": "user", "content": "x"}], temperature=0, **long
        )
        next(stream)
        unloaded = threads.submit(operate, gateway, "unload", name="law")
        gateway.eventually(lambda: law not in [card.id for card in client.models.list()])
        with pytest.raises(openai.NotFoundError):
            text_of(client, law)
        others = [name for name in IDS if name != law]
        for name in others:
            assert text_of(client, name) == alone[name]
        *_, last = stream
        assert last.choices[0].finish_reason == "length", "the running answer is whole"
        assert unloaded.result(PATIENCE)["failed"] == 0
    again = operate(gateway, "unload", name="law")
    assert again["failed"] == 1 and "does not exist" in again["data"][0]["reason"]
    missing = operate(gateway, "load", name="law", path=str(folder / "nowhere"))
    assert missing["failed"] == 1 and missing["data"][0]["reason"]
    loaded = operate(gateway, "load", name="law", path=str(folder / "law"))
    assert loaded["failed"] == 0
    assert {name: text_of(client, name) for name in IDS} == alone


def test_the_gateway_knows_the_words_of_refusals(
    server: SGLangServer, tiny_model_folder: Path, folder: Path, tmp_path: Path
) -> None:
    """Of an adapter that was never loaded, and of one whose files are gone."""
    shutil.copytree(folder / "law", tmp_path / "lent")
    server.post_json(
        "/load_lora_adapter", {"lora_name": "lent", "lora_path": str(tmp_path / "lent")}
    )
    server.post_json("/unload_lora_adapter", {"lora_name": "lent"})
    shutil.rmtree(tmp_path / "lent")
    tokens = load_tokenizer(str(tiny_model_folder), "auto").vocabulary.tokens

    async def refusal(name: str) -> WorkerError:
        worker = SGLangWorker(server.base_url, tokens=tokens)
        worker._adapters.known = {name: ""}
        try:
            with pytest.raises(WorkerError) as caught:
                await collect(worker, Generation("r", [1, 2], None, 4, lora=name))
        finally:
            await worker.aclose()
        return caught.value

    for name, words in (("never", "never been loaded: never"), ("lent", "implicitly load")):
        error = asyncio.run(refusal(name))
        assert (error.status, error.reason) == (503, "adapter"), error.message
        assert words in error.message


def operate(gateway: Gateway, what: str, **asked: Any) -> Any:
    path = f"{gateway.url}/admin/adapters/{what}"
    answer = httpx.post(path, json=asked, headers=OPERATORS, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()
