"""New requests, and their answers without random parts.

Every request has new rules, which a gateway must load from the log or compile.
They take long enough to make to be shared: an email address with a pattern, and a string that is
searched for a pattern. They come as twins: two requests whose rules have
the same shape and allow other letters, so that one's masks, put in the other's place, would be
taken for well-formed.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from tests.app.messages import payloads

#: the noise worker is one thread of the gateway; these are compiling while others draw
AT_ONCE = 4
#: tokens of an answer; most rules are left long before
MAX_TOKENS = 120
LETTERS = ("abc", "xyz")

_COUNTER = re.compile(
    r'switchyard_(?:cache\{what="|compiler\{vocabulary="\w+",what="(?=shared_))(\w+)"\} (.+)'
)


def parameters_of(number: int) -> dict[str, Any]:
    """A schema whose rules no other number has."""
    pair, twin = divmod(number, 2)
    letters = LETTERS[twin]
    start = f"^[{letters}]{pair:05d}"
    return {
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email", "pattern": start, "maxLength": 24},
            "code": {"type": "string", "pattern": f"(?:[{letters}]{{2,9}}-){{3}}{pair:05d}"},
        },
        "required": ["mail", "code"],
        "additionalProperties": False,
    }


def body_of(number: int) -> dict[str, Any]:
    """Every other pair asks for a tool call, the others for JSON; each third one streams."""
    body: dict[str, Any] = {
        "model": "noise",
        "messages": [{"role": "user", "content": f"request {number}"}],
        "seed": number,
        "max_completion_tokens": MAX_TOKENS,
        "stream": number % 3 == 0,
    }
    if number // 2 % 2:
        function = {"name": f"tool_{number}", "parameters": parameters_of(number)}
        return {
            **body,
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "required",
        }
    schema = {"name": "answer", "schema": parameters_of(number)}
    return {**body, "response_format": {"type": "json_schema", "json_schema": schema}}


async def _ask(client: httpx.AsyncClient, gate: asyncio.Semaphore, number: int) -> str:
    async with gate:
        reply = await client.post("/v1/chat/completions", json=body_of(number))
    if reply.status_code != 200:
        return f"error {reply.status_code}: {reply.text[:300]}"
    if not body_of(number)["stream"]:
        return json.dumps(_told(reply.json()))
    events = payloads(reply.text)
    if events[-1:] != ["[DONE]"]:
        return f"error: the stream ends with {events[-1:]}"
    return json.dumps([_told(json.loads(event)) for event in events[:-1]])


def _told(value: Any) -> Any:
    """Remove ids and times, which are random; the seed determines everything else."""
    if isinstance(value, dict):
        return {key: _told(held) for key, held in value.items() if key not in ("id", "created")}
    return [_told(held) for held in value] if isinstance(value, list) else value


def ask_all(
    url: str, numbers: Sequence[int], meanwhile: Callable[[], object] | None = None
) -> dict[int, str]:
    """The answers by number; one that is an error begins with ``error``. ``meanwhile`` is called
    when a quarter of them is there, while the others are on their way.
    """

    async def together() -> list[str]:
        gate = asyncio.Semaphore(AT_ONCE)
        async with httpx.AsyncClient(base_url=url, timeout=600) as client:
            asked = [asyncio.create_task(_ask(client, gate, number)) for number in numbers]
            if meanwhile is not None:
                await asyncio.gather(*asked[: len(asked) // 4])
                await asyncio.to_thread(meanwhile)
            return await asyncio.gather(*asked)

    return dict(zip(numbers, asyncio.run(together()), strict=True))


def counters(url: str) -> Counter[str]:
    """``switchyard_cache`` of the gateway's metrics, and ``shared_*`` of its compiler's."""
    lines = httpx.get(f"{url}/metrics", timeout=60).text.splitlines()
    found = (_COUNTER.fullmatch(line) for line in lines)
    return Counter({each[1]: int(float(each[2])) for each in found if each})
