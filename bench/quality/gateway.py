"""The gateway's own prompts and plans around the decode loop: what is measured is what users get.

The app is composed as ``switchyard serve`` does it, from a model's settings; only the worker in its
pool is another one.
"""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from adapters.workers import Worker
from app.cli.quality import Asking, Case
from app.composition import Components, build
from app.conversation import load_tokenizer
from app.observability import Metrics, RequestRecord, make_logger
from app.pool import Member
from app.protocol import ChatRequest
from app.service import RequestContext
from app.settings import read_settings
from engine import Compiler, Vocabulary

from .grammars import WAYS

#: loading a tokenizer takes seconds, and each way has its own app
_tokenizer = cache(load_tokenizer)


class Gateway:
    """The chat service of one model in one way. ``settings``: further ones, by name."""

    def __init__(self, folder: str, way: str, settings: Mapping[str, str]) -> None:
        options = {
            "model": folder,
            "workers": "http://127.0.0.1:9",  # never asked
            "grammar_backend": WAYS[way],
            "constraints": "off" if way == "off" else "enforce",
            "worker_first_token_seconds": "3600",
            "request_timeout": "3600",
            **settings,
        }
        chosen = read_settings(**options)
        logger = make_logger("error", sys.stderr)
        self._components: Components = build(chosen, Metrics(None), logger, _tokenizer)
        (self._model,) = self._components.models

    @property
    def vocabulary(self) -> Vocabulary:
        return self._model.tokenizer.vocabulary

    @property
    def special_texts(self) -> list[str]:
        return list(self._model.tokenizer.special_texts)

    @property
    def compiler(self) -> Compiler:
        return self._components.engines[0].compiler

    @property
    def wire(self) -> str:
        """The format of the answers."""
        return self._model.tokenizer.wire.name

    def use(self, worker: Worker) -> None:
        """Let this worker generate all answers."""
        self._model.pool.members[:] = [Member(worker)]

    async def ask(self, case: Case, asking: Asking, **options: Any) -> dict[str, Any]:
        """Return the chat completion. Raises ApiError."""
        name = self._model.settings.served_model
        request = ChatRequest.model_validate(case.request(asking, model=name, **options))
        record = RequestRecord(case.id)
        context = RequestContext(client="quality", priority=0, model=name, size=0, record=record)
        completion = await self._model.chat.complete(request, context)
        return dict(completion.body)

    async def aclose(self) -> None:
        await self._components.aclose()
