"""A text completion in the common form; it has prompts instead of messages, and no tools."""

from ..generation import ApiNames, AskedSampling, GenerationRequest, Prompt
from ..protocol import CompletionRequest
from .chat import check_stream_options
from .constraints import closes_objects, common_constraints
from .layout import common_layout

#: OpenAI's default of ``max_tokens``
DEFAULT_TOKENS = 16
_NAMES = ApiNames(fields={"top_logprobs": "logprobs", "messages": "prompt"})


def common_completion(request: CompletionRequest) -> GenerationRequest:
    """Return a text completion. Raises ApiError 400."""
    check_stream_options(request.stream_options, is_stream=bool(request.stream))
    return GenerationRequest(
        prompts=tuple(
            Prompt(
                source=source,
                param=request.place(number),
                adds_special=request.add_special_tokens is not False,
                is_echoed=bool(request.echo),
            )
            for number, source in enumerate(request.prompts)
        ),
        constraints=common_constraints(request.response_format, request),
        closes_objects=closes_objects(request),
        json_layout=common_layout(request),
        sampling=AskedSampling.of(
            request,
            max_tokens=DEFAULT_TOKENS if request.max_tokens is None else request.max_tokens,
            logprobs=request.logprobs is not None,
            top_logprobs=request.logprobs,
        ),
        cache_salts=request.cache_salts,
        names=_NAMES,
    )
