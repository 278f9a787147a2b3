"""The LoRA adapters of one SGLang server: those that it lists, and loading and unloading them.

Invariants       I1 for whatever the server says, at most MAX_ADAPTERS adapters with usable names
                    are known; those beyond are counted.
                 I2 an adapter that is being unloaded is not known: SGLang loads an unloaded adapter
                    again as soon as a request names it.
                 I3 a list that was asked for before a change of ours does not undo the change.
Eviction         with ``--max-loaded-loras``, the server lists only what is in its memory, and loads
                 an evicted adapter again when a request names it. An adapter that it has listed
                 stays known until it restarts or refuses a request for it.
Tested with      SGLang 0.5.23. Versions from 0.5.19 have the same fields and words.
Not here         refusals of generations (sglang_errors), which worker is asked (the app's).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from .base import WorkerError
from .http_client import HttpClient
from .lora_adapters import MAX_PATH_CHARS, AdapterOutcome, is_adapter_name
from .sglang_errors import MESSAGE_CHARS
from .sglang_health import json_object
from .sglang_values import printable

#: of one server; S-LoRA, on which SGLang's implementation builds, was measured with 2,000
MAX_ADAPTERS: Final = 2_000
#: bytes of the list, 1 KB for each, which usually takes 300 bytes. They are read in 20 ms at most
LIST_BYTES: Final = 2 << 20
#: seconds until the server has read an adapter's files, and until running requests have ended
LOAD_S, UNLOAD_S = 300.0, 900.0


class SGLangAdapters:
    """See the file's header. ``known``: the adapters by name, with the places of their files."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self.known: Mapping[str, str] = {}
        #: names that the server listed and that are not known
        self.left_out = 0
        self._changes = 0
        self._unloading: set[str] = set()
        self._started: Any = None

    async def check(self, info: Mapping[str, Any], *, read_s: float) -> None:
        """Read which adapters the server has. ``info``: its /server_info. A server that does not
        list them keeps those that are known. Raises WorkerError.
        """
        before = self._changes
        listed: dict[str, str] = {}
        left_out = 0
        if info.get("enable_lora") is True:
            status, body = await self._client.fetch(
                "GET", "/v1/models", read_s=read_s, most_bytes=LIST_BYTES
            )
            if status != 200:
                return
            listed, left_out = adapters_of(body)
        started = info.get("startup_time")
        if before != self._changes:
            return  # the list may be older than the change
        if type(info.get("max_loaded_loras")) is int and started == self._started:
            evicted = {name: at for name, at in self.known.items() if name not in listed}
            listed = _bounded({**listed, **evicted})
        self._started, self.left_out = started, left_out
        self.known = {name: at for name, at in listed.items() if name not in self._unloading}

    def lost(self, name: str) -> None:
        """Note that the server has refused a request for an adapter."""
        self._set({each: at for each, at in self.known.items() if each != name})

    async def load(self, name: str, path: str, *, pinned: bool) -> AdapterOutcome:
        """Load an adapter. Never raises WorkerError."""
        asked = {"lora_name": name, "lora_path": path, "pinned": pinned}
        outcome = await self._post("/load_lora_adapter", asked, LOAD_S)
        if outcome.is_done:
            self._set(_bounded({name: path, **self.known}))
        return outcome

    async def unload(self, name: str) -> AdapterOutcome:
        """Unload an adapter when its running requests have ended. Never raises WorkerError."""
        with self._leaving(name):
            return await self._post("/unload_lora_adapter", {"lora_name": name}, UNLOAD_S)

    @contextmanager
    def _leaving(self, name: str) -> Iterator[None]:
        self._unloading.add(name)
        self.lost(name)
        try:
            yield
        finally:
            self._unloading.discard(name)
            self._changes += 1

    def _set(self, known: Mapping[str, str]) -> None:
        self.known = known
        self._changes += 1

    async def _post(self, path: str, asked: Mapping[str, Any], read_s: float) -> AdapterOutcome:
        content = json.dumps(asked).encode()
        try:
            status, body = await self._client.fetch("POST", path, content=content, read_s=read_s)
        except WorkerError as error:
            return AdapterOutcome(False, printable(error.message)[:MESSAGE_CHARS])
        answer = json_object(body)
        if status == 200 and answer.get("success") is True:
            return AdapterOutcome(True)
        said = answer.get("error_message") or answer.get("error") or answer.get("detail") or ""
        reason = printable(said if isinstance(said, str) else repr(said))[:MESSAGE_CHARS]
        return AdapterOutcome(False, f"the server answers {status}: {reason or 'no reason given'}")


def adapters_of(body: bytes) -> tuple[dict[str, str], int]:
    """Return the adapters in a server's list of models, and how many others it lists. Adapters have
    a parent. Never raises.
    """
    cards = json_object(body).get("data")
    found: dict[str, str] = {}
    left_out = 0
    for card in cards if isinstance(cards, list) else ():
        if not isinstance(card, dict) or not isinstance(card.get("parent"), str):
            continue
        name, root = card.get("id"), card.get("root")
        if is_adapter_name(name) and len(found) < MAX_ADAPTERS:
            found[name] = printable(root)[:MAX_PATH_CHARS] if isinstance(root, str) else ""
        else:
            left_out += 1
    return found, left_out


def _bounded(known: Mapping[str, str]) -> dict[str, str]:
    return dict(list(known.items())[:MAX_ADAPTERS])
