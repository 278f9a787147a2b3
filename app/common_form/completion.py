"""The parameters of a text completion in the common form; it has no messages and no tools."""

from ..generation import ApiNames, AskedSampling, GenerationRequest
from ..protocol import CompletionRequest
from .chat import check_stream_options
from .constraints import common_constraints

#: OpenAI's default of ``max_tokens``
DEFAULT_TOKENS = 16
_NAMES = ApiNames(fields={"top_logprobs": "logprobs", "messages": "prompt"})


def common_completion(request: CompletionRequest) -> GenerationRequest:
    """Return the parameters. Raises ApiError 400."""
    check_stream_options(request.stream_options, is_stream=bool(request.stream))
    return GenerationRequest(
        constraints=common_constraints(request.response_format, request),
        sampling=AskedSampling.of(
            request,
            max_tokens=DEFAULT_TOKENS if request.max_tokens is None else request.max_tokens,
            logprobs=request.logprobs is not None,
            top_logprobs=request.logprobs,
        ),
        names=_NAMES,
    )
