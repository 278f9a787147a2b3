"""``switchyard bench --quality``: figures of a noise gateway, and of a server that refuses."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from app.cli.quality.asking import MASKS_UNKNOWN, Quality, run_quality
from tests.app.gateway import Gateway

from ..command import switchyard


def quality(url: str, **changes: Any) -> Quality:
    options: dict[str, Any] = {
        "model": None, "key": None, "users": 2, "bfcl": None, "cases": 5, "share": "tuning",
        "asking": "required", "max_tokens": 48, "temperature": 1.0,
    }  # fmt: skip
    return Quality(url=url, **(options | changes))


def test_complete_answers_of_the_noise_gateway_are_valid(
    gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_quality(quality(gateway.url, max_tokens=2000), as_json=True) == 0
    printed = json.loads(capsys.readouterr().out)
    figures = printed["sets"]["extraction"]
    assert figures["answers"] == 5
    assert figures["valid"] == figures["complete"] > 0
    assert figures["logprob"] < 0
    assert printed["notes"] == [MASKS_UNKNOWN]


def test_calls_are_judged_too(
    gateway: Gateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = {"type": "dict", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}
    for kind in ("simple_python", "multiple"):
        line = {"id": kind, "question": [[{"role": "user", "content": "Do it."}]]}
        line["function"] = [{"name": "do", "description": "", "parameters": parameters}]
        truth = {"id": kind, "ground_truth": [{"do": {"a": [True, False]}}]}
        (tmp_path / "possible_answer").mkdir(exist_ok=True)
        (tmp_path / f"BFCL_v4_{kind}.json").write_text(json.dumps(line))
        (tmp_path / "possible_answer" / f"BFCL_v4_{kind}.json").write_text(json.dumps(truth))
    asked = quality(gateway.url, bfcl=tmp_path, cases=1)
    assert run_quality(asked, as_json=False) == 0
    assert asked.rows["multiple"].summary()["function"] == 1
    assert "right arguments" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("refused", "status"), [("logprobs", 0), ("messages", 1)], ids=["only logprobs", "everything"]
)
async def test_log_probabilities_are_left_out_where_they_are_refused(
    refused: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async def chat(request: web.Request) -> web.Response:
        if refused in await request.json():
            return web.json_response({"error": {"code": "no"}}, status=400)
        return web.json_response(answer())

    _, got = await ask_server(chat)
    assert got == status
    assert ("400 no" in capsys.readouterr().out) == bool(status)


def answer(**changes: Any) -> dict[str, Any]:
    """An answer; ``changes``: fields of its choice."""
    return {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop", **changes}]}


async def ask_server(chat: Any, **changes: Any) -> tuple[Quality, int]:
    """Ask a server whose completions are ``chat``'s; return what was asked, and the exit status."""

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})

    app = web.Application()
    app.add_routes([web.get("/v1/models", models), web.post("/v1/chat/completions", chat)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        asked = quality(url, **{"cases": 1, **changes})
        return asked, await asyncio.to_thread(run_quality, asked, as_json=False)
    finally:
        await runner.cleanup()


ODD_ANSWERS: list[Any] = [
    [],
    {},
    answer(message=None),
    answer(message={"content": ["{}"]}),
    answer(message={"content": "[" * 900 + "]" * 900}),
]
#: what servers send in place of log probabilities and usage, of which an answer does without
ODD_DETAILS: list[Any] = [
    answer(logprobs=[]) | {"usage": None},
    answer(logprobs={"tokens": ["{}"]}) | {"usage": {"completion_tokens": None}},
    answer(logprobs={"content": [{"token": "{}", "logprob": None}]}) | {"usage": "none"},
]


async def test_an_answer_of_another_shape_fails_alone() -> None:
    answers = iter([*ODD_ANSWERS, *ODD_DETAILS])

    async def chat(_: web.Request) -> web.Response:
        return web.json_response(next(answers))

    count = len(ODD_ANSWERS) + len(ODD_DETAILS)
    asked, status = await ask_server(chat, cases=count, users=1)
    figures = asked.rows["extraction"].summary()
    assert status == 1
    assert figures["answers"] + figures["failed"] == count
    assert figures["answers"] >= len(ODD_DETAILS)
    assert (figures["tokens"], figures["logprob"]) == (0, None)


@pytest.mark.program
def test_mistakes_are_reported_before_anything_is_asked(tmp_path: Path) -> None:
    for options, words in [
        (["--cases", 0], "--cases"),
        (["--bfcl", tmp_path], "--bfcl has no cases"),
    ]:
        done = switchyard("bench", "--quality", "http://127.0.0.1:9", *options)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
