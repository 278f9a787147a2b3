"""A worker for the deployed stack: SGLang's wire, and answers that take their time.

    python -m tests.deploy.worker TOKENIZER

Runs in the gateway's image. The answer to a prompt that says ``number N`` is ``{"n":N}``, a token
of one byte every TOKEN_S seconds.
"""

import asyncio
import sys

from app.conversation.tokenizer import load_tokenizer
from tests.campaigns.workers.fake import FakeWorker, Fault, Reply

PORT = 30_000
TOKEN_S = 0.04


async def answer_slowly(reply: Reply) -> None:
    """The right answer, token by token."""
    await reply.begin()
    for made in range(1, len(reply.ids)):
        await reply.event(reply.state(reply.ids[:made]))
        await asyncio.sleep(TOKEN_S)
    await reply.event(reply.state(reply.ids, {"type": "stop", "matched": reply.ids[-1]}))
    await reply.piece(b"data: [DONE]\n\n")
    await reply.end()


async def main(tokenizer: str) -> None:
    worker = FakeWorker(load_tokenizer(tokenizer, "auto").vocabulary)
    worker.fault = Fault("slow", "mid", answer_slowly)
    server = await asyncio.start_server(worker._serve, "0.0.0.0", PORT)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
