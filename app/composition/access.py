"""The keys and tokens of clients, and the admission of their requests."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cache import RedisAddress, Seal

from ..access import KeyFile, Keys, KeySource, RedisKeys, digest_of
from ..admission import Admission, Limiter, MemoryLimiter, RedisLimiter
from ..concurrency import FairQueue
from ..observability import Logger, Metrics
from ..service import ServedModels
from ..settings import PREFIX, GatewaySettings, SettingError

if TYPE_CHECKING:
    from ..access.token_verifier import TokenVerifier


def make_keys(
    gateway: GatewaySettings, tokens: "TokenVerifier | None", metrics: Metrics, logger: Logger
) -> Keys:
    """Return the client keys of all sources, not read yet."""
    given = [key.get_secret_value() for key in gateway.api_keys]
    reserved = {digest_of(key): f"{PREFIX}API_KEYS" for key in given}
    admins = [digest_of(key.get_secret_value()) for key in gateway.admin_keys]
    reserved |= dict.fromkeys(admins, f"{PREFIX}ADMIN_KEYS")
    sources: list[KeySource] = []
    redis: RedisKeys | None = None
    if gateway.keys_file is not None:
        sources.append(KeyFile(gateway.keys_file, reserved=reserved))
    if gateway.keys_redis:

        def warn(reason: str) -> None:
            logger.error("bad values among the keys", reason=reason)

        redis = make_redis_keys(gateway, warn)
        sources.append(redis)
    keys = Keys(given, sources, tokens=tokens, reserved=admins, logger=logger)

    def stats() -> dict[str, int]:
        return keys.stats() | ({} if redis is None else redis.stats())

    text = "Known keys of clients, sources that can't be read, and bad values in Redis"
    metrics.watch("api_keys", text, stats)
    return keys


def make_tokens(gateway: GatewaySettings) -> "TokenVerifier | None":
    """Return the verifier of tokens, whose keys are not read yet; None: tokens are off.

    Raises:
        SettingError: PyJWT or cryptography is not installed.
    """
    if gateway.jwks_file is None or gateway.jwt_issuer is None or gateway.jwt_audience is None:
        return None
    try:
        # 20 MB and 0.15 s, and most gateways verify no tokens
        from ..access.token_verifier import TokenRules, TokenVerifier
    except ModuleNotFoundError as error:
        raise SettingError(f"{PREFIX}JWKS_FILE: tokens can't be verified: {error}") from error
    rules = TokenRules(
        issuer=gateway.jwt_issuer,
        audience=gateway.jwt_audience,
        leeway_s=gateway.jwt_leeway_seconds,
        required_scope=gateway.jwt_required_scope,
        admin_scope=gateway.jwt_admin_scope,
        models_claim=gateway.jwt_models_claim,
    )
    return TokenVerifier(gateway.jwks_file, rules)


def make_redis_keys(gateway: GatewaySettings, on_bad_entries: Callable[[str], None]) -> RedisKeys:
    """Return the keys in Redis. Raises SettingError if no Redis may be used."""
    if gateway.access_redis is None:
        raise SettingError(
            f"{PREFIX}ACCESS_REDIS_URL: not set, and neither is {PREFIX}REDIS_URL with "
            f"{PREFIX}CACHE_KEY or {PREFIX}CACHE_TRUST=network"
        )
    address = RedisAddress.of(gateway.access_redis.get_secret_value())
    return RedisKeys(address, Seal(gateway.secret), on_bad_entries=on_bad_entries)


def make_admission(
    gateway: GatewaySettings, models: ServedModels, metrics: Metrics, logger: Logger
) -> Admission:
    """Return the admission control; it counts limits in Redis if there is one."""
    limiter: Limiter = MemoryLimiter()
    if gateway.access_redis is not None:
        address = RedisAddress.of(gateway.access_redis.get_secret_value())
        on_failure = gateway.limits_on_redis_failure
        limiter = redis = RedisLimiter(address, on_failure=on_failure, logger=logger)
        metrics.watch("limits", "The Redis of limits: failed calls, open circuit", redis.stats)
    bounds = {model.name: model.settings.max_running for model in models}
    queue = FairQueue(
        running=gateway.max_running, waiting=gateway.max_queued, model_bound=bounds.get
    )
    admission = Admission(queue, limiter, metrics, queue_seconds=gateway.queue_seconds)
    metrics.watch("admission", "Running answers and waiting requests", admission.stats)
    return admission
