"""A plug-in of SGLang's server that counts what a grammar backend costs its scheduler.

watch    wraps the calls of SGLang's loop, for every backend
tally    their times: sums by kind, and samples of whole steps
free     the backend ``free``: no grammar work at all

The driver (fleet.py, one folder up) registers it in the server under the name ``switchyard_meter``;
the server runs ``register`` in each of its processes. /server_info contains the counts since the
last reading, at ``internal_states[i]["meter"]``. Nothing here imports SGLang or torch before
``register`` runs, or anything of this project.
"""

from typing import Any

CREATE = "sglang.srt.constrained.base_grammar_backend.create_grammar_backend"
STATE = (
    "sglang.srt.managers.scheduler_components.internal_state."
    "SchedulerInternalStateController.get_internal_state"
)


def register() -> None:
    """SGLang's entry point."""
    from sglang.srt.arg_groups.choices import add_grammar_backend_choices
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    from . import free
    from .tally import Tally
    from .watch import watch

    tally = Tally()

    def watched(backend: Any, *_: Any, **__: Any) -> Any:
        watch(backend, tally)
        return backend

    def told(result: Any, *_: Any, **__: Any) -> Any:
        result.internal_state["meter"] = tally.taken()
        return result

    add_grammar_backend_choices([free.NAME])
    register_grammar_backend(free.NAME, free.create)
    HookRegistry.register(CREATE, watched, HookType.AFTER)
    HookRegistry.register(STATE, told, HookType.AFTER)
