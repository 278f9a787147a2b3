"""A worker that speaks SGLang's wire and has LoRA adapters, with SGLang's ways of losing them.

Representation   the right answer to ``number N`` is ``{"n": N * CODES + code}``, with the code of
                 the adapter that answers, 0 for the model itself. So an answer tells whose it is.
SGLang's ways    a request names an adapter that was unloaded: it is loaded again. A restart forgets
                 all but what the server was started with.
Threads          as FakeWorker.
"""

import json
from collections.abc import Mapping
from typing import Any

from adapters.workers import Half
from engine import Vocabulary
from tests.campaigns.disaggregation.halves import FakeHalf, Room, Rooms
from tests.campaigns.workers.fake import FakeWorker, Reply

#: adapters of tests, and the number of codes
NAMES = ("law", "tax", "med")
CODES = 10
BASE = "/models/base"


def code_of(adapter: str | None) -> int:
    """Return the code of an adapter in answers."""
    return 0 if adapter is None else 1 + NAMES.index(adapter)


class AdapterWorker(FakeWorker):
    """``started_with``: its adapters at each start. ``adapters``: those that it has now.
    ``refused``: adapters that it lists and whose files are gone. ``asked``: for which adapters it
    was asked, in order, those that it did not have included.
    """

    def __init__(self, vocabulary: Vocabulary, *started_with: str) -> None:
        super().__init__(vocabulary)
        self.started_with = started_with
        self.refused: set[str] = set()
        self.asked: list[str | None] = []
        self.info |= {"enable_lora": True, "max_loaded_loras": None}
        self.restart()

    def restart(self) -> None:
        """Forget all but the adapters of the start."""
        self.adapters = {name: f"/adapters/{name}" for name in self.started_with}
        self._loaded_once = dict(self.adapters)
        self.refused.clear()

    def lose(self, name: str) -> None:
        """Forget an adapter, without a restart."""
        self.adapters.pop(name, None)
        self._loaded_once.pop(name, None)

    async def _good(self, reply: Reply) -> None:
        body = reply.body
        match reply.path:
            case "/v1/models":
                await reply.whole(200, json.dumps(self._models()).encode())
            case "/load_lora_adapter":
                name = body["lora_name"]
                reason = f"Failed to load LoRA adapter {name} because it is already loaded"
                if body["lora_path"].startswith("/missing"):
                    reason = "no such files"
                elif name not in self.adapters:
                    reason = ""
                    self.adapters[name] = self._loaded_once[name] = body["lora_path"]
                await self._updated(reply, reason)
            case "/unload_lora_adapter":
                name = body["lora_name"]
                had = self.adapters.pop(name, None)
                await self._updated(
                    reply, "" if had else f"LoRA with name {name} does not exist. Loaded LoRAs: "
                )
            case "/generate" if self._miss(body.get("lora_path")):
                self.attempts += 1
                await reply.begin()
                message = self._miss(body["lora_path"])
                await reply.event({"error": {"message": message, "code": 400}})
                await reply.piece(b"data: [DONE]\n\n")
                await reply.end()
            case _:
                await super()._good(reply)

    def _miss(self, name: str | None) -> str:
        """Return why an adapter cannot answer; "": it can, and is loaded if it was unloaded."""
        if name is None or (name in self.adapters and name not in self.refused):
            return ""
        if name in self.refused:
            self.adapters.pop(name, None)
            return f"Failed to implicitly load LoRA adapter {name}: no such files"
        if name in self._loaded_once:
            self.adapters[name] = self._loaded_once[name]
            return ""
        return f"Got LoRA adapter that has never been loaded: {name}\nAll loaded adapters: "

    async def _updated(self, reply: Reply, reason: str) -> None:
        said = {"success": not reason, "error_message": reason}
        await reply.whole(400 if reason else 200, json.dumps(said).encode())

    def _models(self) -> dict[str, Any]:
        cards = [{"id": BASE, "root": BASE, "parent": None}]
        cards += [{"id": name, "root": at, "parent": BASE} for name, at in self.adapters.items()]
        return {"object": "list", "data": cards}

    def _right(self, body: Mapping[str, Any]) -> list[int]:
        if "sampling_params" not in body:
            return []
        adapter = body.get("lora_path")
        self.asked.append(adapter)
        *digits, stop = super()._right(body)
        if not digits:
            return [stop]
        code = str(code_of(adapter) if adapter in (None, *NAMES) else CODES - 1)
        return [*digits[:-1], self._bytes[code.encode()], digits[-1], stop]


class AdapterHalf(FakeHalf, AdapterWorker):
    """A worker of one half of generations that has adapters. ``bodies``: of its requests."""

    def __init__(self, vocabulary: Vocabulary, rooms: Rooms, half: Half) -> None:
        super().__init__(vocabulary, rooms, half)
        self.bodies: list[Mapping[str, Any]] = []

    def _entered(self, reply: Reply) -> Room:
        self.bodies.append(reply.body)
        return super()._entered(reply)
