"""The whole examination, from the settings to an answer of each worker."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

from ..observability import make_logger
from ..settings import GatewaySettings, SettingError, read_settings
from .finding import Finding
from .machine import examine_machine
from .models import examine_model
from .shared_state import examine_redis
from .tokens import examine_tokens


async def examine(config: Path | None = None) -> AsyncIterator[Finding]:
    """Yield all findings; ``config`` replaces SWITCHYARD_CONFIG_FILE. Without usable settings, only
    their mistakes.
    """
    try:
        settings = read_settings(config_file=config)
    except SettingError as error:
        for sentence in error.sentences:
            yield Finding("error", "settings", sentence)
        return
    gateway = settings.gateway
    for finding in (_settings(gateway), *examine_machine(gateway)):
        yield finding
    async for finding in examine_tokens(gateway):
        yield finding
    async for finding in examine_redis(gateway):
        yield finding
    # the findings say what the log would
    logger = make_logger("critical", sys.stderr)
    for model in settings.models:
        async for finding in examine_model(settings, model, logger):
            yield finding


def _settings(gateway: GatewaySettings) -> Finding:
    if gateway.is_open:
        return Finding(
            "warning",
            "settings",
            f"anyone who reaches {gateway.host}:{gateway.port} can use the gateway",
            "set SWITCHYARD_API_KEYS, SWITCHYARD_KEYS_FILE, SWITCHYARD_KEYS_REDIS or "
            "SWITCHYARD_JWKS_FILE",
        )
    return Finding("ok", "settings", "every setting is valid")
