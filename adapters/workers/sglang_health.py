"""The health of a SGLang server by what it says of itself: its context, its backend, our plug-in.

Invariants       for any JSON object, the functions return; none raises.
Not here         requests (sglang), versions that fit each other (plugin_versions).
"""

import json
from collections.abc import Mapping
from typing import Any

from .base import Half, Health
from .plugin_versions import mismatch
from .sglang_errors import MESSAGE_CHARS
from .sglang_values import printable

#: settings of the server, out of hundreds, that readiness shows
SHOWN = (
    "version",
    "model_path",
    "served_model_name",
    "grammar_backend",
    "context_length",
    "speculative_algorithm",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
)
#: the mode of a server that runs whole generations
WHOLE = "null"
#: the port at which decode servers meet a prefill server, if it names none
BOOTSTRAP_PORT = 8998
#: the speculative algorithm that refuses grammars, penalties and log probabilities
WITHOUT_GRAMMARS = "UNO"
#: the name of our plug-in's backend, and of its field in a scheduler's state
PLUGIN = "switchyard"
#: facts of a plug-in's status that readiness shows besides those that must match
PLUGIN_SHOWN = ("version", "sglang_tested")
#: warnings of a plug-in that readiness shows
MOST_WARNINGS = 10


def json_object(body: bytes) -> dict[str, Any]:
    """Return a JSON object; empty: the body is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def context_of(info: Mapping[str, Any]) -> int | None:
    """Return the usable context in tokens.

    SGLang also refuses prompts of ``max_req_input_len`` tokens, or cuts them silently with
    --allow-auto-truncate. Memory may keep this value below the model's context.
    """
    lengths = [info.get(name) for name in ("context_length", "max_req_input_len")]
    return min((n for n in lengths if type(n) is int and n > 0), default=None)


def bootstrap_port_of(info: Mapping[str, Any]) -> int:
    """Return the port at which decode servers meet this prefill server."""
    port = info.get("disaggregation_bootstrap_port")
    return port if type(port) is int and 0 < port < 1 << 16 else BOOTSTRAP_PORT


def judged(
    info: Mapping[str, Any],
    backend: str | None,
    plugin: Mapping[str, object],
    release: str,
    facts: Mapping[str, Any],
    half: Half | None = None,
) -> Health:
    """Return whether a server that says this can take requests.

    ``backend``, ``plugin``, ``release``, ``half``: see SGLangWorker. ``facts``: further details.
    """
    details = {key: _plain(info[key]) for key in SHOWN if key in info} | dict(facts)
    trouble = _wrong_half(info, half) or _trouble(info, backend)
    if trouble is None and backend == PLUGIN:
        trouble = _plugin_trouble(info, plugin, release, details)
    return Health(True, details=details) if trouble is None else Health(False, trouble, details)


def _wrong_half(info: Mapping[str, Any], wanted: Half | None) -> str | None:
    """Return why the server does not run the half of generations that it is named for."""
    mode, got = wanted or WHOLE, info.get("disaggregation_mode") or WHOLE
    if got == mode:
        return None
    return f"the server must run with --disaggregation-mode {mode}, got {got!r:.100}"


def _trouble(info: Mapping[str, Any], wanted: str | None) -> str | None:
    """Return why the server's grammar backend does not fit."""
    backend = info.get("grammar_backend")
    if backend == "none" or info.get("skip_tokenizer_init"):
        return "the server runs without a grammar backend"
    if info.get("speculative_algorithm") == WITHOUT_GRAMMARS:
        return f"the server drafts with {WITHOUT_GRAMMARS}, which takes no request with a grammar"
    if wanted is not None and backend != wanted:
        return f"the server must run the grammar backend {wanted!r}, got {backend!r:.100}"
    return None


def _plugin_trouble(
    info: Mapping[str, Any], plugin: Mapping[str, object], release: str, details: dict[str, Any]
) -> str | None:
    """Return why a scheduler's plug-in does not match; None: all match."""
    states = info.get("internal_states")
    for state in states if isinstance(states, list) and states else [None]:
        said = state.get(PLUGIN) if isinstance(state, dict) else None
        if not isinstance(said, dict):
            return (
                "the server names the grammar backend 'switchyard', but its plug-in reports "
                "no status: see the server's log"
            )
        shown = (*(key for key in PLUGIN_SHOWN if key in said), *plugin)
        details[PLUGIN] = {key: _plain(said.get(key)) for key in shown}
        if warnings := _warnings(said.get("warnings")):
            details["warnings"] = warnings
        trouble = mismatch(said, plugin, release)
        if trouble is not None:
            return trouble
    return None


def _warnings(said: Any) -> list[int | str | None]:
    """Return the options of the server that its plug-in does not apply, and an untested version."""
    return [_plain(each) for each in said[:MOST_WARNINGS]] if isinstance(said, list) else []


def _plain(value: Any) -> int | str | None:
    """Return a server's value without NaN and lone surrogates, which JSON does not allow."""
    if value is None or isinstance(value, int):
        return value
    return printable(value if isinstance(value, str) else repr(value))[:MESSAGE_CHARS]
