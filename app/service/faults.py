"""Faults: failures of accepted requests as errors for the client, counted and logged."""

from dataclasses import dataclass

from adapters.workers import PromptTooLong, WorkerError
from engine import InternalError, LimitExceeded, ParseDivergence

from ..errors import RETRY_AFTER, ApiError, bad_field, bad_request, internal_error
from ..observability import Logger, Metrics


@dataclass(frozen=True, slots=True)
class Faults:
    """Convert exceptions to ApiErrors, always new ones: an error that is its own cause, or that a
    frame of its traceback holds, would keep the images of a request until the next collection.
    """

    metrics: Metrics
    logger: Logger

    def as_api_error(self, error: Exception, request_id: str) -> ApiError:
        """Return the error; an unexpected exception becomes a 500 without details. Never raises."""
        match error:
            case ApiError():
                return error.again()
            case PromptTooLong():
                return bad_field(
                    "This model's maximum context length is {limit} tokens. However, your {at} "
                    "resulted in {got} tokens. Please reduce the length of the {at}.",
                    ("messages",),
                    "context_length_exceeded",
                    limit=error.limit,
                    got=error.got,
                )
            case WorkerError() if error.reason != "internal":
                return self._worker(error)
            case LimitExceeded():
                # limits of compiles were converted before; this one has a client's grammar as cause
                return bad_request(
                    f"The answer cannot be read: its grammar is too ambiguous ({error.limit}: at "
                    f"most {error.maximum:,} allowed, got {error.got:,}).",
                    None,
                    "grammar_too_ambiguous",
                )
            case TimeoutError():
                self.logger.warning("request timed out")
                return ApiError(504, "The request took too long.", code="timeout")
        return self._internal(error, request_id)

    def _internal(self, error: Exception, request_id: str) -> ApiError:
        if isinstance(error, ParseDivergence):
            self.metrics.parse_divergence.inc()
        self.metrics.internal_errors.inc()
        kind = "engine fault" if isinstance(error, InternalError) else "internal error"
        self.logger.error(kind, exc_info=error)
        return internal_error(request_id)

    def _worker(self, error: WorkerError) -> ApiError:
        if error.status < 500:
            return ApiError(error.status, error.message, code="worker_refused")
        self.logger.error("worker failed", status=error.status, reason=error.message)
        headers = {"Retry-After": str(RETRY_AFTER)} if error.status == 503 else None
        if error.reason == "adapter":
            message = "No worker has this adapter at the moment."
            return ApiError(503, message, code="adapter_unavailable", headers=headers)
        message = {
            503: "No worker can take the request at the moment.",
            504: "The model's worker took too long.",
        }.get(error.status, "The model's worker failed.")
        code = {503: "overloaded", 504: "timeout"}.get(error.status, "worker_error")
        return ApiError(error.status, message, code=code, headers=headers)
