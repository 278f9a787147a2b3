"""The versions that the plug-in in an SGLang server and this gateway must share.

    spec_version   of the grammar specs that the gateway writes and the plug-in reads
    vocabulary     fingerprint of the tokens, which masks and ids refer to

They are compared at each health check, so a worker with others is not ready. A worker that was
replaced since then refuses the first spec, which is its own fault and not the client's: the request
goes to another worker. Both messages name the two versions and the side to upgrade.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from .base import WorkerError

#: how the engine of any version refuses specs of another version
_REFUSED: Final = re.compile(r"/switchyard/version: (?:version )?must be (\d{1,9})\b")


def mismatch(said: Mapping[str, Any], needs: Mapping[str, object], release: str) -> str | None:
    """Return why a plug-in does not fit; None: it fits.

    Args:
        said: the plug-in's status.
        needs: the required fields.
        release: of this gateway.
    """
    for name, needed in needs.items():
        got = said.get(name)
        if got == needed:
            continue
        if name == "spec_version":
            theirs = f"switchyard {_shown(said.get('version', 'unknown'))}"
            return _other_specs(f"the server's plug-in ({theirs})", got, needed, release)
        if name == "namespace":
            return (
                f"the plug-in's cache namespace must be {needed!r}, got {_shown(got)!r}: set "
                "SWITCHYARD_CACHE_NAMESPACE=key in the environment of the server, and install "
                f"switchyard {release} there if its version has no such setting"
            )
        return (
            f"the plug-in's {name} must be {needed!r}, got {_shown(got)!r}: start the server and "
            "the gateway with the same tokenizer, and install the same version of switchyard "
            f"({release}) in both"
        )
    return None


def refused_specs(
    error: WorkerError, needs: Mapping[str, object], release: str
) -> WorkerError | None:
    """Return the error of a worker that reads specs of another version; None: another error."""
    found = _REFUSED.search(error.message) if error.reason == "refused" else None
    needed = needs.get("spec_version")
    if found is None or int(found[1]) == needed:
        return None
    message = _other_specs("the server's plug-in", int(found[1]), needed, release)
    return WorkerError(502, message, reason="status")


def _other_specs(plugin: str, got: Any, needed: object, release: str) -> str:
    is_newer = type(got) is int and isinstance(needed, int) and got > needed
    advice = (
        "upgrade this gateway to the plug-in's version"
        if is_newer
        else f"install switchyard {release} in the server"
    )
    return (
        f"{plugin} reads version {_shown(got)} of grammar specs, this gateway (switchyard "
        f"{release}) writes version {needed}: {advice}"
    )


def _shown(value: Any) -> str:
    """Return a value of the server, bounded and printable."""
    text = str(value)[:100]
    return text if text.isprintable() else repr(text)
