"""The agents of the installed build, whose "VRAM" is memory of the host."""

from typing import Any

from nixl_cu12 import _api
from nixl_cu12._api import nixl_agent_config, nixl_thread_sync_t

__all__ = ["nixl_agent", "nixl_agent_config", "nixl_thread_sync_t"]


#: microseconds between two polls of an agent's own thread. NIXL's Python interface sets none, so
#: the thread takes a whole processor from all other tests
POLL_US = 1000


class _PausingConfig(_api.nixlBind.nixlAgentConfig):  # type: ignore[misc]
    """The configuration of an agent whose thread pauses."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, POLL_US if name == "pthrDelay" else value)


_api.nixlBind.nixlAgentConfig = _PausingConfig


class nixl_agent(_api.nixl_agent):  # type: ignore[misc] # noqa: N801
    """See the file's header."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.nixl_mems["VRAM"] = self.nixl_mems["DRAM"]
