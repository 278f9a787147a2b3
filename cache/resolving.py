"""The addresses of a name, in bounded time.

The system's resolver knows no time-out of ours, and waits for a name server that is gone for some
ten seconds. So a thread asks it, and whoever waits too long goes on without; the thread ends when
the resolver does.

Threads   any.
"""

import ipaddress
import socket
from concurrent.futures import Future
from threading import Thread


def addresses_of(host: str, port: int, seconds: float) -> list[str]:
    """In the resolver's order; what is an address already as it is.

    Raises:
        OSError: there is none, or none within ``seconds`` (TimeoutError).
    """
    if _is_address(host):
        return [host]
    found: Future[list[str]] = Future()
    Thread(target=_resolve, args=(host, port, found), name="cache-resolver", daemon=True).start()
    return found.result(seconds)


def _resolve(host: str, port: int, found: "Future[list[str]]") -> None:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found.set_result([*dict.fromkeys(str(answer[4][0]) for answer in answers)])
    except Exception as error:
        found.set_exception(error)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
