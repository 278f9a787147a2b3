"""The bindings of the installed build."""

from nixl_cu12._bindings import *  # noqa: F403
from nixl_cu12._bindings import (  # noqa: F401
    nixlBackendError,
    nixlCancelledError,
    nixlRemoteDisconnectError,
)
