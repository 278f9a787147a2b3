"""The agents of the installed build, whose "VRAM" is memory of the host."""

from typing import Any

from nixl_cu12 import _api
from nixl_cu12._api import nixl_agent_config, nixl_thread_sync_t

__all__ = ["nixl_agent", "nixl_agent_config", "nixl_thread_sync_t"]


class nixl_agent(_api.nixl_agent):  # type: ignore[misc] # noqa: N801
    """See the file's header."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.nixl_mems["VRAM"] = self.nixl_mems["DRAM"]
