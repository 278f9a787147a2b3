"""Memory of the gateway with a real vocabulary: at the start, and with idle streams.

RSS counts pages that processes share in each of them, PSS divides them: the PSS of all processes is
the memory that they need.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from bench.gpu.tokenizer_files import describe
from bench.vocabularies import load
from tests.app.small_tokenizer import TEMPLATE

from .processes import Process, children

#: seconds until memory has settled after the streams have begun
SETTLED_S = 5.0
#: seconds in which all streams must begin
BEGUN_S = 120.0


def tokenizer_folder(folder: Path, vocabulary: str) -> str:
    """Write a real vocabulary as a tokenizer with a chat template; return the folder."""
    loaded = load(vocabulary)
    stop = next(name for name, number in loaded.special.items() if number == loaded.stop)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": stop}
    (folder / "tokenizer.json").write_text(json.dumps(describe(loaded), ensure_ascii=False))
    described = json.dumps({**config, "chat_template": TEMPLATE})
    (folder / "tokenizer_config.json").write_text(described)
    return str(folder)


def resident(process: Process) -> dict[str, float]:
    """Return MB of the process and its children: largest RSS, sum of PSS."""
    found = [_rollup(pid) for pid in (process.pid, *children(process.pid))]
    return {
        "RSS MB, largest": max(each["Rss"] for each in found) / 1024,
        "PSS MB, all": sum(each["Pss"] for each in found) / 1024,
    }


def _rollup(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}


@contextmanager
def idle_streams(process: Process, model: str, count: int) -> Iterator[None]:
    """Open streams that have begun. Raises RuntimeError if one does not begin."""
    parts = urlsplit(process.url)
    asked = {"model": model, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    content = json.dumps(asked).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {parts.netloc}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            made = socket.create_connection((parts.hostname, parts.port), BEGUN_S)
            opened.append(stack.enter_context(made))
            made.sendall(head.encode() + content)
        until = monotonic() + BEGUN_S
        for each in opened:
            each.settimeout(max(1.0, until - monotonic()))
            if not each.recv(64).startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"a stream of {count} was refused (pid {os.getpid()})")
        sleep(SETTLED_S)
        yield
