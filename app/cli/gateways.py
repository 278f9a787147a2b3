"""``switchyard cache stats --url``: what running gateways say of their cache, a column each."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from ..settings import Settings
from .settings import Unusable
from .table import plain, table

#: seconds that one gateway may take to answer
ASKED_SECONDS = 10.0
#: bytes of an answer; it has some thousand
MOST_ANSWER_BYTES = 1 << 20


class NoAnswer(Exception):
    """Why a gateway told nothing."""


def show_gateways(settings: Settings, urls: Sequence[str]) -> int:
    """Returns the exit status. Raises Unusable."""
    if not settings.admin_keys:
        raise Unusable("SWITCHYARD_ADMIN_KEYS must hold a key of the gateways")
    key = settings.admin_keys[0].get_secret_value()
    columns: dict[str, dict[str, Any]] = {}
    status = 0
    for url in urls:
        name = urlsplit(url).netloc.rpartition("@")[2] or url
        try:
            columns[name] = dict(_flat(_ask(url, key)))
        except NoAnswer as error:
            print(f"switchyard: {name}: {error}", file=sys.stderr)
            status = 1
    if columns:
        print(table(_rows(columns)))
    return status


def _ask(url: str, key: str) -> dict[str, Any]:
    """Raises NoAnswer."""
    headers = {"authorization": f"Bearer {key}"}
    try:
        with httpx.stream(
            "GET", f"{url.rstrip('/')}/v1/cache", headers=headers, timeout=ASKED_SECONDS
        ) as response:
            body = b""
            for part in response.iter_bytes():
                body += part
                if len(body) > MOST_ANSWER_BYTES:
                    raise NoAnswer(f"its answer has more than {MOST_ANSWER_BYTES:,} bytes")
            answer = httpx.Response(response.status_code, content=body).json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise NoAnswer(f"no answer ({type(error).__name__})") from None
    if response.status_code != 200:
        raise NoAnswer(f"{response.status_code}: {plain(_message(answer))}")
    if not isinstance(answer, dict) or answer.get("object") != "cache":
        raise NoAnswer("it is no gateway, or one of another version")
    return answer


def _message(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message")) if isinstance(error, dict) else "no error object"


def _flat(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Rows of one column: names of what is nested in a row, tiers by their own name."""
    for name, value in answer.items():
        if name == "tiers":
            for tier in value:
                yield from _nested(tier.get("name", "?"), tier)
        elif isinstance(value, dict):
            yield from _nested(name, value)
        elif name != "object":
            yield name.replace("_", " "), value


def _nested(name: str, value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for inner, each in value.items():
        if isinstance(each, dict):
            yield from _nested(f"{name} {inner}", each)
        elif inner != "name":
            yield f"{name} {inner}".replace("_", " "), each


def _rows(columns: dict[str, dict[str, Any]]) -> list[list[Any]]:
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    head: list[Any] = ["", *columns]
    return [head, *([name, *(column.get(name) for column in columns.values())] for name in names)]
