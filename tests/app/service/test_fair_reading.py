"""Requests are read in the threads that clients share."""

import threading
from typing import Any

import pytest

from app.concurrency.offload import LARGE_BYTES, SMALL_BYTES
from app.constraints import ConstraintPlanner
from tests.app.service.scripted import Service, context, request, script

END = "<|im_end|>"


@pytest.mark.parametrize(
    ("size", "name"), [(0, "Main"), (SMALL_BYTES, "small"), (LARGE_BYTES, "large")]
)
async def test_prompts_and_grammars_are_found_where_clients_take_turns(
    size: int, name: str, monkeypatch: pytest.MonkeyPatch
):
    """REGRESSION: the noise worker encoded prompts of all clients in the order of their arrival, so
    chats of 70 KB waited for 70 chats of 4 MB of one key.
    """
    service = Service(script(f"Well{END}"))
    threads = []

    def watch(holder: Any, name: str) -> None:
        wrapped = getattr(holder, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            threads.append(threading.current_thread().name)
            return wrapped(*arguments, **options)

        monkeypatch.setattr(holder, name, watched)

    watch(service.tokenizer, "encode")
    watch(ConstraintPlanner, "find")
    await service.chat.complete(request(), context(size=size))
    assert len(threads) == 2
    assert all(each.startswith(name) for each in threads)
    assert isinstance(service.worker.asked[0].prompt, list)
