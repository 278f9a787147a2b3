"""``switchyard bench``: a short load on a running gateway, or another server of OpenAI's API.

Users ask one after the other, streamed. Each answer with a schema is judged by the model that the
schema was made of, so that the judge shares no code with the grammar engine.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from statistics import quantiles
from typing import Annotated, Any, Literal

import aiohttp
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .environment import Unusable
from .terminal import plain, table

Kind = Literal["plain", "schema", "tools"]
KINDS: tuple[Kind, ...] = ("plain", "schema", "tools")
MAX_TOKENS = 512
#: seconds for the list of models, and without a byte of an answer
ASKED_SECONDS, SILENT_SECONDS = 10.0, 60.0
#: bytes of a line of an answer
MAX_LINE_BYTES = 1 << 20


class Forecast(BaseModel):
    """The arguments of the tool, and the response format."""

    model_config = ConfigDict(extra="forbid", strict=True)

    city: Annotated[str, Field(pattern="^[A-Za-z ]{1,30}$")]
    days: Annotated[int, Field(ge=1, le=14)]
    units: Literal["celsius", "fahrenheit"]
    hours: Annotated[list[Annotated[int, Field(ge=0, le=23)]], Field(max_length=4)]


@dataclass
class Figures:
    """The measurements. Times in seconds; ``cut``: answers that reached the limit of tokens."""

    seconds: float = 0.0
    answers: int = 0
    cut: int = 0
    judged: int = 0
    valid: int = 0
    tokens: int = 0
    first: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def summary(self) -> dict[str, Any]:
        """Return the figures; times in milliseconds."""
        per_s = max(self.seconds, 1e-9)
        return {
            "seconds": round(self.seconds, 2),
            "answers": self.answers,
            "answers_per_s": round(self.answers / per_s, 1),
            "tokens_per_s": round(self.tokens / per_s, 1),
            "first_token_ms": percentiles(self.first),
            "token_gap_ms": percentiles(self.gaps),
            "answer_ms": percentiles(self.whole),
            "judged": self.judged,
            "valid": self.valid,
            "cut_off": self.cut,
            "failures": dict(self.failures),
        }


def percentiles(seconds: Sequence[float]) -> dict[str, float] | None:
    """Return p50, p90 and p99 in milliseconds; None: there is no value."""
    if not seconds:
        return None
    cuts = quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 99
    return {f"p{share}": round(1000 * cuts[share - 1], 2) for share in (50, 90, 99)}


@dataclass(frozen=True)
class Load:
    """Users of a server. ``model``: None, its first one; ``kind``: "mixed", all in turn."""

    url: str
    model: str | None
    key: str | None
    users: int
    seconds: float
    kind: str
    figures: Figures = field(default_factory=Figures)

    async def run(self) -> None:
        """Load the server. Raises Unusable."""
        silence = aiohttp.ClientTimeout(total=None, sock_read=SILENT_SECONDS)
        async with aiohttp.ClientSession(
            headers={"authorization": f"Bearer {self.key}"} if self.key else {},
            timeout=silence,
            read_bufsize=MAX_LINE_BYTES,
            connector=aiohttp.TCPConnector(limit=self.users),
        ) as session:
            model = self.model or await first_model(session, self.base)
            start = time.perf_counter()
            end = start + self.seconds
            try:
                async with asyncio.TaskGroup() as tasks:
                    for number in range(self.users):
                        tasks.create_task(self._ask_until(end, session, model, number))
            finally:
                self.figures.seconds = time.perf_counter() - start

    @property
    def base(self) -> str:
        """The URL without a slash and ``/v1`` at its end."""
        return self.url.rstrip("/").removesuffix("/v1")

    async def _ask_until(
        self, end: float, session: aiohttp.ClientSession, model: str, number: int
    ) -> None:
        """Ask with each kind in turn."""
        kinds = KINDS if self.kind == "mixed" else [each for each in KINDS if each == self.kind]
        for kind in islice(cycle(kinds), number % len(kinds), None):
            if time.perf_counter() >= end:
                return
            try:
                await self._ask(session, kind, _request(model, kind))
            except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError) as error:
                self.figures.failures[type(error).__name__] += 1
                await asyncio.sleep(0.1)  # a server that refuses at once gets no flood

    async def _ask(self, session: aiohttp.ClientSession, kind: Kind, asked: dict[str, Any]) -> None:
        """Ask once and add to the figures. Raises ValueError, and errors of aiohttp."""
        figures = self.figures
        start = last = time.perf_counter()
        text, finish, has_begun = "", None, False
        async with session.post(f"{self.base}/v1/chat/completions", json=asked) as response:
            if response.status != 200:
                figures.failures[await refusal(response)] += 1
                await asyncio.sleep(0.1)
                return
            async for chunk in _chunks(response):
                now = time.perf_counter()
                for choice in chunk["choices"]:
                    (figures.gaps if has_begun else figures.first).append(now - last)
                    has_begun, last = True, now
                    text += _text(choice["delta"], kind)
                    finish = choice["finish_reason"] or finish
                figures.tokens += (chunk.get("usage") or {}).get("completion_tokens", 0)
        figures.answers += 1
        figures.whole.append(time.perf_counter() - start)
        if finish == "length":
            figures.cut += kind != "plain"
        elif kind != "plain":
            figures.judged += 1
            figures.valid += _fits(text)


def run_load(load: Load, *, as_json: bool) -> int:
    """Load the server and print the figures; return 1 if a request failed or an answer is invalid.
    Raises Unusable.
    """
    if load.users < 1 or load.seconds <= 0:
        raise Unusable("--users must be >= 1 and --seconds > 0")
    if not load.url.startswith(("http://", "https://")):
        raise Unusable(f"URL must begin with http:// or https://, got {plain(load.url)}")
    try:
        asyncio.run(load.run())
    except KeyboardInterrupt:
        print("interrupted: figures so far", file=sys.stderr)
    figures = load.figures
    summary = figures.summary()
    print(json.dumps(summary, indent=2) if as_json else _shown(summary))
    is_good = figures.answers and not figures.failures and figures.valid == figures.judged
    return 0 if is_good else 1


async def first_model(session: aiohttp.ClientSession, base: str) -> str:
    """Return the first model that a server lists. Raises Unusable."""
    try:
        async with (
            asyncio.timeout(ASKED_SECONDS),
            session.get(f"{base}/v1/models") as response,
        ):
            answer = await response.json()
            return str(answer["data"][0]["id"])
    except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise Unusable(f"{base}/v1/models lists no model: {plain(reason)}") from None


def _request(model: str, kind: Kind) -> dict[str, Any]:
    schema = Forecast.model_json_schema()
    asked: dict[str, Any] = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 64 if kind == "plain" else MAX_TOKENS,
        "messages": [{"role": "user", "content": "The weather in Oslo for three days, please."}],
    }
    if kind == "schema":
        wanted = {"name": "forecast", "strict": True, "schema": schema}
        asked["response_format"] = {"type": "json_schema", "json_schema": wanted}
    elif kind == "tools":
        function = {"name": "forecast", "strict": True, "parameters": schema}
        asked |= {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}
        asked["parallel_tool_calls"] = False
    return asked


async def refusal(response: aiohttp.ClientResponse) -> str:
    """Return the status and the code of an error object, if there is one."""
    try:
        found = json.loads(await response.content.read(MAX_LINE_BYTES))["error"]["code"]
    except (ValueError, LookupError, TypeError):
        found = None
    return f"{response.status} {plain(str(found))[:60]}" if found else f"status {response.status}"


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of a stream. Raises ValueError for an error event and a missing end."""
    async for line in response.content:
        if not line.startswith(b"data: "):
            continue
        data = line[6:].strip()
        if data == b"[DONE]":
            return
        chunk = json.loads(data)
        if "error" in chunk:
            raise ValueError("an error event")
        yield chunk
    raise ValueError("a stream without an end")


def _text(delta: dict[str, Any], kind: Kind) -> str:
    if kind != "tools":
        return delta.get("content") or ""
    calls = delta.get("tool_calls") or ()
    return "".join(call["function"].get("arguments") or "" for call in calls)


def _fits(text: str) -> bool:
    try:
        Forecast.model_validate_json(text)
    except ValidationError:
        return False
    return True


def _shown(summary: dict[str, Any]) -> str:
    rows: list[list[Any]] = [["ms", "p50", "p90", "p99"]]
    for name, shown in [
        ("first_token_ms", "first token"),
        ("token_gap_ms", "between chunks"),
        ("answer_ms", "whole answer"),
    ]:
        found = summary[name] or {}
        rows.append([shown, *(found.get(f"p{share}") for share in (50, 90, 99))])
    failures = [f"{count} ({what})" for what, count in summary["failures"].items()]
    lines = [
        f"{summary['answers']:,} answers in {summary['seconds']:g} s: "
        f"{summary['answers_per_s']:,}/s, {summary['tokens_per_s']:,} tokens/s",
        f"{summary['valid']:,} of {summary['judged']:,} constrained answers fit their schema; "
        f"{summary['cut_off']:,} reached the limit of tokens",
        f"failed: {', '.join(failures) or 'none'}",
        "",
        table(rows),
    ]
    return "\n".join(lines)
