"""Time to the first text of a stream with new tools.

Both servers of a pair get each set of tools, one request at a time, in alternating order. The
prompt begins with the tools, as a chat template writes them, so that no part of it is cached. A
set's grammar is the schema of a call of one of its tools.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from . import OURS
from .client import Asked, Refused, open_client, stream
from .figures import interval, percentile, show, spread
from .fleet import Fleet
from .workload import any_tool, grammar, tool_sets

#: warm-up sets, and characters of the prompt
WARM, PROMPT_CHARS = 5, 3000
TOKENS = 8


def measure(fleet: Fleet, peers: Sequence[str], sets: int, most_tools: int) -> list[dict[str, Any]]:
    """Return a record for each peer; print tables."""
    found = []
    every = tool_sets(sets + WARM, most_tools)
    for peer in peers:
        with fleet.running(OURS, peer) as servers:
            urls = {name: server.base_url for name, server in servers.items()}
            found.append(_record(peer, asyncio.run(_pair(urls, every))))
        show(_table(found[-1:]))
    return found


async def _pair(
    urls: dict[str, str], every: list[list[tuple[str, Any]]]
) -> list[dict[str, float | str | None]]:
    """Return for each set the number of tools, and by backend the seconds or the failure."""
    found = []
    for number, tools in enumerate(every):
        row: dict[str, Any] = {"tools": len(tools)}
        for name in urls if number % 2 == 0 else reversed(urls):
            row[name] = await first_text(urls[name], asked_of(tools))
        found.append(row)
    return found[WARM:]


def asked_of(tools: list[tuple[str, Any]]) -> Asked:
    """Return a request for a call of one of these tools, which also begin the prompt."""
    prompt = json.dumps([{"name": name, "parameters": schema} for name, schema in tools])
    return Asked(prompt[:PROMPT_CHARS], grammar(any_tool(tools)), TOKENS)


async def first_text(url: str, asked: Asked) -> float | str | None:
    """Return seconds, or the reason why there was no text."""
    async with open_client(url) as client:
        await client.get("/health")  # open the connection
        try:
            answer = await stream(client, asked)
        except Refused as refused:
            return str(refused)
    assert answer is not None
    return json.dumps(answer.finish) if answer.how == "abort" else answer.first


def _record(peer: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    both = [row for row in rows if all(isinstance(row[name], float) for name in (OURS, peer))]
    ratios = [row[OURS] / row[peer] for row in both]
    return {
        "peer": peer,
        "sets": len(rows),
        "told": {name: _figures(rows, both, name) for name in (OURS, peer)},
        "ratio": percentile(ratios, 50) if both else None,
        "interval_95": interval(ratios) if both else None,
        "rows": rows,
    }


def _figures(rows: list[dict[str, Any]], both: list[dict[str, Any]], name: str) -> dict[str, Any]:
    times = [1000 * row[name] for row in both]
    refused = [row[name] for row in rows if not isinstance(row[name], float)]
    return {"ms": spread(times) if times else {}, "refused": len(refused), "why": refused[:3]}


def _table(found: list[dict[str, Any]]) -> list[list[str]]:
    lines = [["first text (ms)", "p50", "p90", "p99", "refused", "ours / the other's, p50", "95 %"]]
    for record in found:
        for name, told in record["told"].items():
            times = [f"{told['ms'].get(p, 0):,.1f}" for p in ("p50", "p90", "p99")]
            last = ["", ""]
            if name == OURS and record["ratio"] is not None:
                low, high = record["interval_95"]
                last = [f"{record['ratio']:.3f}", f"{low:.3f} - {high:.3f}"]
            title = f"beside {record['peer']}: {name}"
            lines.append([title, *times, str(told["refused"]), *last])
    return lines
