"""``switchyard cache stats --url``: the caches of running gateways, one column each."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from ..settings import GatewaySettings
from .environment import Unusable
from .terminal import plain, table

#: seconds until a gateway's whole answer
ASKED_SECONDS = 10.0
#: bytes of an answer, which usually has some thousand
MAX_ANSWER_BYTES = 1 << 20

#: a gateway's name, and its rows
Column = tuple[str, dict[str, Any]]


class NoAnswer(Exception):
    """The reason why a gateway gave no usable answer."""


def show_gateways(settings: GatewaySettings, urls: Sequence[str], model: str | None = None) -> int:
    """Print the table for a model, by default the only one of each gateway; return the exit status.
    Raises Unusable.
    """
    if not settings.admin_keys:
        raise Unusable("SWITCHYARD_ADMIN_KEYS must hold a key of the gateways")
    key = settings.admin_keys[0].get_secret_value()
    columns: list[Column] = []
    for url in urls:
        name = _name(url)
        try:
            columns.append((name, _column(*asyncio.run(_ask(url, key, model)))))
        except NoAnswer as error:
            print(f"switchyard: {plain(name)}: {plain(str(error))}", file=sys.stderr)
    if columns:
        print(table(_rows(columns)))
    return 0 if len(columns) == len(urls) else 1


def _name(url: str) -> str:
    """Return host, port and path without a password."""
    try:
        parts = urlsplit(url)
        name = parts.netloc + parts.path
    except ValueError:
        name = url
    return name.rpartition("@")[2].rstrip("/")


async def _ask(url: str, key: str, model: str | None) -> tuple[int, bytes]:
    """Return status and body. Raises NoAnswer."""
    headers = {"authorization": f"Bearer {key}"}
    address = f"{url.rstrip('/')}/v1/cache"
    named = {} if model is None else {"model": model}
    body = b""
    try:
        async with (
            asyncio.timeout(ASKED_SECONDS),  # httpx's own would begin anew with every byte
            httpx.AsyncClient(timeout=None) as client,
            client.stream("GET", address, headers=headers, params=named) as response,
        ):
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise NoAnswer(f"its answer has more than {MAX_ANSWER_BYTES:,} bytes")
    except TimeoutError:
        raise NoAnswer(f"no whole answer in {ASKED_SECONDS:g} seconds") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        raise NoAnswer(f"no answer ({type(error).__name__})") from None
    return response.status_code, body


def _column(status: int, body: bytes) -> dict[str, Any]:
    """Return the rows of one gateway. Raises NoAnswer."""
    try:
        answer = json.loads(body)
        if status != 200:
            raise NoAnswer(f"{status}: {_message(answer)}")
        if not (isinstance(answer, dict) and answer.get("object") == "cache"):
            raise NoAnswer("it is no gateway, or one of another version")
        return {name: _cell(value) for name, value in _flat(answer)}
    except ValueError:
        raise NoAnswer(f"{status}: its answer is no JSON") from None
    except RecursionError:
        raise NoAnswer(f"{status}: its answer is nested too deeply") from None


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float) else str(value)


def _message(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message")) if isinstance(error, dict) else "no error object"


def _flat(answer: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the rows of one column; nested names are joined."""
    for name, value in answer.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name} ")
        elif prefix or name != "object":
            yield f"{prefix}{name}".replace("_", " "), value


def _rows(columns: Sequence[Column]) -> list[list[Any]]:
    names = dict.fromkeys(name for _, column in columns for name in column)
    head: list[Any] = ["", *(name for name, _ in columns)]
    return [head, *([name, *(column.get(name) for _, column in columns)] for name in names)]
