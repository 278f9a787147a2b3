"""The use case with scripted workers: every way an answer can go, and what clients see."""

import asyncio
import json
import threading
from typing import Any

import pytest

from adapters.workers import Chunk
from app.errors import ApiError
from app.generation.choices import WAITING
from app.service.generation_service import WHOLE_INTERVAL
from tests.app.examples import LIGHT, TOOLS, json_schema
from tests.app.messages import added_up, whole
from tests.app.service.scripted import Service, Step, context, error, request, script, tokens
from tests.pulling import written

END = "<|im_end|>"
CALL = '<tool_call>\n{"name": "set_light", "arguments": {"on": true}}\n</tool_call>'
CALLS = f"Well, é!\n{CALL}\n{CALL}{END}"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_whatever_the_chunking_the_message_is_the_same(size: int):
    service = Service(script(CALLS, size=size))
    answer = await service.complete(tools=TOOLS)
    (choice,) = answer["choices"]
    calls = [call["function"] for call in choice["message"]["tool_calls"]]
    assert calls == [{"name": "set_light", "arguments": '{"on": true}'}] * 2
    assert choice["message"]["content"].startswith("Well, é!")
    assert choice["finish_reason"] == "tool_calls"
    assert answer["usage"]["completion_tokens"] == len(tokens(CALLS))

    events = await Service(script(CALLS, size=size)).stream(tools=TOOLS)
    assert events[-1] == "[DONE]"
    assert added_up(events[:-1]) == whole(answer)


async def test_what_the_worker_is_asked_for():
    service = Service(script(f"a{END}"))
    await service.complete(n=2, temperature=0.5, top_p=0, seed=9, stop=["x", "x"], max_tokens=77,
                           max_completion_tokens=77)  # fmt: skip
    first, second = service.worker.asked
    assert (first.temperature, first.top_p, first.max_tokens) == (0.5, 1e-6, 77)
    assert first.stop == ()
    assert (first.seed, second.seed) == (9, 10)
    assert len(first.rid) == len(second.rid) == 32
    assert first.rid != second.rid
    assert first.spec == second.spec
    assert json.loads(first.spec or "")["type"] == "structural_tag"
    assert "Wake me with birds" in service.prompt(0)


async def test_chunks_of_an_answer_that_is_no_stream_may_have_several_tokens():
    """But not if a stop string may end it between two of them."""
    service = Service(script(f"a{END}"))
    await service.complete()
    await service.complete(stop="x")
    await service.stream()
    assert [asked.interval for asked in service.worker.asked] == [WHOLE_INTERVAL, 1, 1]


async def test_tools_that_may_not_be_called_are_in_the_prompt_but_not_in_the_spec():
    only = {"type": "function", "function": {"name": "set_light"}}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [only]}}
    service = Service(script(f"a{END}"))
    await service.complete(tools=TOOLS, tool_choice=choice)
    (asked,) = service.worker.asked
    assert "set_alarm" in service.prompt()
    assert "set_alarm" not in (asked.spec or "")


async def test_with_none_the_model_is_told_of_no_tools():
    service = Service(script(f"a{END}"))
    await service.complete(tools=TOOLS, tool_choice="none")
    (asked,) = service.worker.asked
    assert "set_alarm" not in f"{service.prompt()}{asked.spec}"


async def test_a_cut_off_call_says_length_and_loses_no_text():
    cut = '<tool_call>\n{"name": "set_light", "arguments": {"on": tr'
    service = Service(script(cut, finish="length"))
    (choice,) = (await service.complete(tools=TOOLS))["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"on": tr'


THOUGHT = "<think>\none STOP two\n</think>\n\n"

#: (text, stop strings, content, calls, reasoning)
STOPPED: dict[str, tuple[str, list[str], str | None, int, str]] = {
    "content": ("one twoSTOP and more", ["STOP"], "one two", 0, ""),
    "the first to be complete": ("one two three", ["three", "ee", "wo t"], "one t", 0, ""),
    "never": ("one STO two ST", ["STOP"], "one STO two ST", 0, ""),
    "of several bytes": ("é漢字 and more", ["漢字"], "é", 0, ""),
    "all of it": ("STOP", ["STOP"], "", 0, ""),
    # REGRESSION: the arguments were cut, and said to be a whole call
    "a call is never cut": (CALL, ["}", '"', "light", "tool_call"], None, 1, ""),
    "behind a call": (f"{CALL}\nand}} more", ["}"], "\nand", 1, ""),
    "before a call": (f"one}} {CALL}", ["}"], "one", 0, ""),
    # REGRESSION: the content was "one STOP"
    "across a call": (f"one S{CALL}TOP", ["STOP"], "one S", 1, ""),
    "across two calls": (f"one S{CALL}T{CALL}OP", ["STOP"], "one ST", 2, ""),
    "not in reasoning": (f"{THOUGHT}three STOP", ["STOP"], "three ", 0, "one STOP two"),
}


@pytest.mark.parametrize(
    ("text", "stop", "content", "calls", "reasoning"), STOPPED.values(), ids=STOPPED.keys()
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
async def test_a_stop_string_ends_the_content_and_nothing_else(
    text: str, stop: list[str], content: str | None, calls: int, reasoning: str, size: int
):
    steps = script(f"{text}{END}", size=size)
    answer = await Service(steps).complete(stop=stop, tools=TOOLS)
    (choice,) = answer["choices"]
    message = choice["message"]
    assert message["content"] == content
    assert message["reasoning_content"] == message["reasoning"] == (reasoning or None)
    made = message.get("tool_calls", [])
    assert [json.loads(call["function"]["arguments"]) for call in made] == [{"on": True}] * calls
    assert choice["finish_reason"] == ("tool_calls" if calls else "stop")
    assert added_up((await Service(steps).stream(stop=stop, tools=TOOLS))[:-1]) == whole(answer)


async def test_a_stop_string_ends_the_generation():
    service = Service([*script("one twoSTOP and", size=1)[:-1], None])
    answer = await service.complete(stop="STOP")
    assert answer["choices"][0]["message"]["content"] == "one two"
    assert service.worker.open == 0


async def test_a_stop_string_wins_over_the_limit():
    service = Service(script("one two STOP", size=1000, finish="length"))
    (choice,) = (await service.complete(stop="STOP"))["choices"]
    assert choice["finish_reason"] == "stop"


async def test_an_empty_answer_is_an_empty_string():
    steps: list[Step] = [Chunk(tokens(END), "stop", 5, 1)]
    answer = await Service(steps).complete()
    assert answer["choices"][0]["message"]["content"] == ""
    events = await Service(steps).stream()
    none = {"reasoning_content": None, "reasoning": None}
    assert [event["choices"][0]["delta"] for event in events[:-1]] == [
        {"role": "assistant", "content": "", **none},
        none,
    ]


#: (what the worker does first, status, code)
FIRST: list[tuple[Step, int, str]] = [
    (error(400), 400, "worker_refused"),
    (error(500), 500, "internal_error"),
    (error(502), 503, "overloaded"),
    (error(503, "unavailable"), 503, "overloaded"),
    (error(502, "protocol"), 503, "overloaded"),
    (error(504), 503, "overloaded"),
    (Chunk((), "abort"), 503, "overloaded"),
    (Chunk((), "error"), 503, "overloaded"),
    (RuntimeError("bug"), 500, "internal_error"),
]


@pytest.mark.parametrize(("step", "status", "code"), FIRST)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_before_the_first_chunk_is_an_error_answer(
    step: Step, status: int, code: str, stream: bool
):
    service = Service([step])
    with pytest.raises(ApiError) as caught:
        await (service.stream() if stream else service.complete())
    assert (caught.value.status, caught.value.code) == (status, code)
    assert ("Retry-After" in caught.value.headers) is (status == 503)
    assert service.worker.open == 0


LATER: list[tuple[Step, str]] = [
    (error(502), "worker_error"),
    (Chunk((), "abort"), "worker_error"),
    (Chunk((), "error"), "worker_error"),
    (RuntimeError("bug"), "internal_error"),
]


@pytest.mark.parametrize(("step", "code"), LATER)
async def test_a_failure_after_the_first_chunk_is_an_error_event_and_no_done(step: Step, code: str):
    begun = Chunk(tokens("Well"), None, 5)
    service = Service([begun, step])
    events = await service.stream()
    assert events[-1]["error"]["code"] == code
    assert set(events[-1]["error"]) == {"message", "type", "param", "code"}
    assert added_up(events[:-1])[0] == {"content": "Well"}
    assert service.count("stream_errors_total") == 1
    assert service.worker.open == 0
    with pytest.raises(ApiError):
        await Service([begun, step]).complete()


async def test_a_stream_without_a_finish_reason_is_an_error():
    with pytest.raises(ApiError) as caught:
        await Service([Chunk(tokens("Well"), None, 5)]).complete()
    assert caught.value.status == 502


#: outputs that the grammar of a required call does not lead to
WRONG = {
    "another beginning": "Hello",
    "an unknown tool": '<tool_call>\n{"name": "set_fire"',
    "arguments that do not fit": '<tool_call>\n{"name": "set_light", "arguments": {"off',
    "an end before the call": END,
    "an end inside of the call": f'<tool_call>\n{{"name": "set_light", "arguments": {{{END}',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
async def test_output_that_its_grammar_cannot_read_never_looks_complete(text: str):
    service = Service(script(text))
    with pytest.raises(ApiError) as caught:
        await service.complete(tools=TOOLS, tool_choice="required")
    assert (caught.value.status, caught.value.code) == (500, "internal_error")
    assert service.count("parse_divergence_total") == 1
    assert service.count("internal_errors_total") == 1


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
async def test_a_stream_of_such_output_ends_with_an_error_event(text: str):
    begun = Chunk((), None, 5)
    service = Service([begun, *script(text)])
    events = await service.stream(tools=TOOLS, tool_choice="required")
    assert events[-1]["error"]["code"] == "internal_error"
    assert "[DONE]" not in events


async def test_an_answer_that_takes_too_long_ends():
    service = Service([None], request_timeout=0.01)
    with pytest.raises(ApiError) as caught:
        await service.complete()
    assert (caught.value.status, caught.value.code) == (504, "timeout")
    service = Service([Chunk(tokens("a"), None, 5), None], request_timeout=0.05)
    assert (await service.stream())[-1]["error"]["code"] == "timeout"
    assert service.worker.open == 0


async def test_one_choice_that_fails_at_once_ends_the_others():
    service = Service([Chunk(tokens("a"), None, 5), None], [error(502)])
    with pytest.raises(ApiError):
        await service.complete(n=2)
    assert service.worker.open == 0


@pytest.mark.parametrize("stop", [None, "b"])
@pytest.mark.parametrize("streams", [False, True])
async def test_a_complete_answer_closes_its_generation_and_counts(streams: bool, stop: str | None):
    """REGRESSION: the end of an answer cancelled what closed the worker's connection, so that the
    client of the worker kept the request for ever, and the pool did not count the answer.
    """
    service = Service(script(f"abc{END}"))
    await (service.stream if streams else service.complete)(stop=stop)
    assert (service.worker.open, service.pool.members[0].answers) == (0, 1)


async def test_a_cancelled_answer_ends_the_workers_generations():
    service = Service([Chunk(tokens("a"), None, 5), None])
    task = asyncio.create_task(service.complete(n=3))
    while service.worker.open < 3:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert service.worker.open == 0


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("steps", range(16))
async def test_a_request_cancelled_at_any_step_leaves_no_generation(streams: bool, steps: int):
    """REGRESSION: a client that left just after the first chunk of every choice left them all
    running.
    """
    service = Service([Chunk(tokens("a"), None, 5), None])
    chat = service.chat
    begin = chat.stream if streams else chat.complete
    task = asyncio.create_task(begin(request(stream=streams, n=3), context()))
    while service.worker.open < 3:
        await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        assert streams
        await task.result().aclose()
    assert service.worker.open == 0


@pytest.mark.parametrize("read", [0, 1])
async def test_a_stream_that_is_dropped_ends_the_workers_generations(read: int):
    service = Service([Chunk(tokens("a"), None, 5), None])
    stream = await service.chat.stream(request(stream=True, n=2), context())
    events = written(stream)
    for _ in range(read):
        await anext(events)
    assert service.worker.open == 2
    await stream.aclose()
    assert service.worker.open == 0


async def test_a_client_that_reads_slowly_slows_the_worker_down():
    service = Service([*[Chunk(tokens("a"), None, 5)] * 10_000, *script(f"b{END}")])
    stream = await service.chat.stream(request(stream=True), context())
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(service.worker.yielded) == WAITING
    sent: list[bytes] = []
    sending = asyncio.create_task(stream.send_to(sent.append))
    await asyncio.sleep(0)
    stream.pause()
    for _ in range(200):
        await asyncio.sleep(0)
    assert sent and len(service.worker.yielded) <= WAITING + 1
    stream.resume()
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(service.worker.yielded) > 2 * WAITING
    sending.cancel()
    await stream.aclose()
    assert service.worker.open == 0


async def test_reasoning_has_both_of_its_names():
    text = f"<think>\nhm\n</think>\n\nyes{END}"
    (choice,) = (await Service(script(text)).complete())["choices"]
    message = choice["message"]
    assert message["content"] == "yes"
    assert message["reasoning_content"] == message["reasoning"] == "hm"


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("thought", "after"),
    [
        ("", f"yes{END}"),
        ("<think>\nhm, well\n</think>", f"\n\nyes{END}"),
        ("<think>é</think>", f"\n{CALL}{END}"),
        ("<think>cut off in the mid", ""),
    ],
)
async def test_usage_counts_the_tokens_of_thoughts_with_their_marks(
    thought: str, after: str, size: int
):
    finish = "stop" if after else "length"
    service = Service(script(thought + after, size=size, finish=finish))
    used = (await service.complete(tools=TOOLS, stop=None))["usage"]
    assert used["completion_tokens_details"]["reasoning_tokens"] == len(tokens(thought))
    last = await service.stream(tools=TOOLS, stop=None, stream_options={"include_usage": True})
    assert last[-2]["usage"] == used


async def test_a_schema_that_is_refused_reaches_no_worker():
    service = Service(script(f"a{END}"))
    with pytest.raises(ApiError):
        await service.complete(response_format=json_schema({**LIGHT, "$ref": "#/nowhere"}))
    assert service.worker.asked == []


@pytest.mark.parametrize(("turns", "is_large"), [(3, False), (300, True)])
async def test_many_turns_weigh_as_much_as_a_large_body(turns: int, is_large: bool):
    """REGRESSION: some templates take seconds for 2,000 short messages."""
    service, threads = Service(script(f"a{END}")), []
    render = service.tokenizer.render

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return render(*arguments)

    service.tokenizer.render = watched  # type: ignore[method-assign]
    await service.complete(messages=[{"role": "user", "content": "x"}] * turns)
    assert [name.startswith("large-requests") for name in threads] == [is_large]
