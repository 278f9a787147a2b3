"""A worker with a script, for agents: tool calls first, then a text with the last result.

    python -m tests.clients.node.scripted_worker FOLDER PORT CALLS TEXT [vision]

CALLS is a JSON array of names and arguments. A prompt with N results of tools gets call N, if its
tool is offered, else TEXT and the last result: agents also ask for titles, without tools. The
worker makes a tokenizer in FOLDER, speaks SGLang's wire, and reads the tokenizer's prompts. It
writes "ready" when it listens. With vision, its text ends with the images that it got.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.conversation.tokenizer import load_tokenizer
from tests.app.small_tokenizer import TEMPLATE, VISION_TEMPLATE, folder
from tests.campaigns.workers.fake import FakeWorker

#: the beginning of a tool's result in the template's prompts
RESULT = b"<|im_start|>tool\n"
#: of an image
PLACEHOLDER = b"<|vision_start|><|image_pad|><|vision_end|>"
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
            # no text of an answer may be that of a control token
            shown = result[:SHOWN].replace(PLACEHOLDER, b"") if RESULT in prompt else b""
            seen = "".join(f" seen: {url}" for url in self.images)
            return self.text + shown + seen.encode()
        return f"<tool_call>\n{json.dumps(left[0])}\n</tool_call>".encode()


async def serve(place: str, port: int, calls: str, text: str, *, sees_images: bool) -> None:
    worker = ScriptedWorker(load_tokenizer(place, "auto").vocabulary)
    worker.sees_images = sees_images
    worker.calls, worker.text, worker.port = tuple(json.loads(calls)), text.encode(), port
    worker.info["context_length"] = CONTEXT
    await worker.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    place, port, calls, text, *vision = sys.argv[1:]
    made = folder(Path(place), VISION_TEMPLATE if vision else TEMPLATE)
    asyncio.run(serve(made, int(port), calls, text, sees_images=bool(vision)))
