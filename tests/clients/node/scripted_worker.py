"""A worker with a script, for agents: a tool call first, a text once the tool has answered.

    python -m tests.clients.node.scripted_worker FOLDER PORT CALL TEXT

It makes a tokenizer in FOLDER, speaks SGLang's wire, and reads the tokenizer's prompts. It writes
"ready" when it listens.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.conversation.tokenizer import load_tokenizer
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.campaigns.workers.fake import FakeWorker

#: the beginning of a tool's answer in the template's prompts
ANSWERED = b"<|im_start|>tool\n"
#: agents begin with long instructions
CONTEXT = 400_000


class ScriptedWorker(FakeWorker):
    """Answers with ``call`` until the prompt has a tool's answer, then with ``text``."""

    call = text = b""

    def _right(self, body: Mapping[str, Any]) -> list[int]:
        prompt = b"".join(self._tokens[number] for number in body.get("input_ids", ()))
        said = self.text if ANSWERED in prompt else self.call
        return [*(self._bytes[bytes([byte])] for byte in said), self._stop]


async def serve(place: str, port: int, call: str, text: str) -> None:
    worker = ScriptedWorker(load_tokenizer(place, "auto").vocabulary)
    worker.call, worker.text, worker.port = call.encode(), text.encode(), port
    worker.info["context_length"] = CONTEXT
    await worker.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    place, port, call, text = sys.argv[1:]
    asyncio.run(serve(folder(Path(place), TEMPLATE), int(port), call, text))
