"""A real gateway in front of fake workers that speak SGLang's wire over real sockets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.conversation.tokenizer import load_tokenizer
from tests.app.gateway import Gateway
from tests.campaigns.workers.fake import FakeWorker, Fault, Loop

#: seconds of silence before a comment
COMMENT_S = 0.05


@contextmanager
def gateway_of(
    folder: Path,
    *lengths: int,
    act: Any = None,
    info: dict[str, Any] | None = None,
    **settings: Any,
) -> Iterator[tuple[Gateway, list[FakeWorker]]]:
    """A gateway and a worker for each context length, all with the same fault.

    ``info``: changes of what the workers say about themselves.
    """
    vocabulary = load_tokenizer(str(folder), "auto").vocabulary
    loop, workers = Loop(), [FakeWorker(vocabulary) for _ in lengths]
    try:
        for worker, length in zip(workers, lengths, strict=True):
            worker.info["context_length"] = length
            worker.info |= info or {}
            worker.fault = Fault("slow", "before", act) if act else None
            loop.run(worker.listen())
        chosen = {
            "workers": ",".join(worker.url for worker in workers),
            "tokenizer": str(folder),
            "model_name": "fake",
            "reasoning": "off",
            "stream_comment_seconds": COMMENT_S,
        }
        with Gateway(**{**chosen, **settings}) as gateway:
            yield gateway, workers
    finally:
        loop.close()
