"""The file of keys that verify tokens."""

from collections.abc import AsyncIterator

from ..access import KeysUnreadable
from ..composition import make_tokens
from ..settings import PREFIX, GatewaySettings, SettingError
from .finding import Finding


async def examine_tokens(gateway: GatewaySettings) -> AsyncIterator[Finding]:
    """Yield the finding about the file; none if tokens are off."""
    place = f"{PREFIX}JWKS_FILE"
    try:
        tokens = make_tokens(gateway)
        if tokens is None:
            return
        keys = await tokens.load() or ()
    except (KeysUnreadable, SettingError) as error:
        yield Finding(
            "error", place, str(error), "fetch the public keys of the identity provider again"
        )
        return
    plural = "s" if len(keys) != 1 else ""
    text = f"{len(keys)} key{plural} for tokens of {gateway.jwt_issuer} for {gateway.jwt_audience}"
    yield Finding("ok", place, text)
