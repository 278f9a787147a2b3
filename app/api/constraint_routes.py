"""Routes for operators of constraints: GET and POST /admin/constraints.

POST sets the mode of one model for new requests, until the gateway restarts with the mode of its
settings. A process changes only its own mode, so several processes of one gateway refuse: some of
their answers would be constrained and others not.

Not here   the operator's key (the caller guards the routes); the meaning of modes
           (constraints.mode).
"""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..errors import ApiError
from ..observability import Logger
from ..openapi import operation
from ..protocol import ModeRequest
from ..service import ConstraintModes, ConstraintState, ServedModel, ServedModels
from ..settings import PREFIX
from .body import BodyReader

_MODES = operation(
    "list_constraint_modes",
    "Show the mode of each model's constraints",
    tag="Operation",
    key="operator",
    answer=ConstraintModes,
)
_SWITCH = operation(
    "set_constraint_mode",
    "Change the mode of a model's constraints",
    tag="Operation",
    key="operator",
    body=ModeRequest,
    answer=ConstraintModes,
    errors=(404, 409),
    example={"mode": "shadow"},
)


def constraint_router(
    models: ServedModels, bodies: BodyReader, logger: Logger, *, processes: int
) -> APIRouter:
    """Return the routes; the caller must guard them with an operator's key. ``processes``: of this
    gateway.
    """
    router = APIRouter()

    @router.get("/admin/constraints", **_MODES)
    async def constraints() -> ConstraintModes:
        return {"object": "list", "data": [mode_details(model) for model in models]}

    @router.post("/admin/constraints", **_SWITCH)
    async def switch(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(ModeRequest, request)
        model = models.find_or_only(asked.model)
        if processes > 1:
            raise _one_of_several(processes)
        before, model.switch.mode = model.switch.mode, asked.mode
        logger.warning("constraint mode set", model=model.name, before=before, mode=asked.mode)
        warn_unenforced(logger, model)
        modes: ConstraintModes = {"object": "list", "data": [mode_details(model)]}
        return JSONResponse(modes)

    return router


def mode_details(model: ServedModel) -> ConstraintState:
    """Describe a model's mode for operators; ``setting``: the mode after a restart."""
    return {
        "model": model.name,
        "mode": model.switch.mode,
        "setting": model.settings.constraints,
        "unenforced_strict": model.switch.unenforced_strict,
    }


def warn_unenforced(logger: Logger, model: ServedModel) -> None:
    """Warn of a model whose answers nothing constrains."""
    switch = model.switch
    if switch.mode == "enforce":
        return
    strict = {
        "refuse": "requests with strict: true get 400",
        "answer": "STRICT: TRUE IS ANSWERED WITHOUT ENFORCING IT",
    }
    logger.warning(
        "CONSTRAINTS ARE NOT ENFORCED: answers may violate schemas and tool choices",
        model=model.name,
        mode=switch.mode,
        strict=strict[switch.unenforced_strict],
    )


def _one_of_several(processes: int) -> ApiError:
    return ApiError(
        409,
        f"This request would change the mode of one of the gateway's {processes} processes only. "
        f"Set {PREFIX}CONSTRAINTS, or 'constraints' in the configuration file, and restart the "
        "gateway.",
        code="several_processes",
    )
