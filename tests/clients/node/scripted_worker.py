"""A worker with a script, for agents: tool calls first, then a text with the last result.

    python -m tests.clients.node.scripted_worker FOLDER PORT CALLS TEXT

CALLS is a JSON array of names and arguments. A prompt with N results of tools gets call N, if its
tool is offered, else TEXT and the last result: agents also ask for titles, without tools. The
worker makes a tokenizer in FOLDER, speaks SGLang's wire, and reads the tokenizer's prompts. It
writes "ready" when it listens.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.conversation.tokenizer import load_tokenizer
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.campaigns.workers.fake import FakeWorker

#: the beginning of a tool's result in the template's prompts
RESULT = b"<|im_start|>tool\n"
#: stands between the last message and the names of the tools, and behind them
LAST, END = b"<|im_end|>\n", b"<|im_start|>assistant\n"
#: bytes of a result that a text repeats
SHOWN = 2000
#: agents begin with long instructions
CONTEXT = 400_000


class ScriptedWorker(FakeWorker):
    """Answers with the calls of a script, one in a turn, then with a text and the last result."""

    calls: tuple[Mapping[str, Any], ...] = ()
    text = b""

    def _right(self, body: Mapping[str, Any]) -> list[int]:
        prompt = b"".join(self._tokens[number] for number in body.get("input_ids", ()))
        said = self._said(prompt)
        return [*(self._bytes[bytes([byte])] for byte in said), self._stop]

    def _said(self, prompt: bytes) -> bytes:
        offered = prompt.rpartition(LAST)[2].removesuffix(END).decode().split(",")
        left = self.calls[prompt.count(RESULT) :]
        if not left or left[0]["name"] not in offered:
            result = prompt.rpartition(RESULT)[2].partition(LAST)[0]
            return self.text + (result[:SHOWN] if RESULT in prompt else b"")
        return f"<tool_call>\n{json.dumps(left[0])}\n</tool_call>".encode()


async def serve(place: str, port: int, calls: str, text: str) -> None:
    worker = ScriptedWorker(load_tokenizer(place, "auto").vocabulary)
    worker.calls, worker.text, worker.port = tuple(json.loads(calls)), text.encode(), port
    worker.info["context_length"] = CONTEXT
    await worker.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    place, port, calls, text = sys.argv[1:]
    asyncio.run(serve(folder(Path(place), TEMPLATE), int(port), calls, text))
