"""How the tokens of an answer are drawn, and how many at most."""

from dataclasses import dataclass

from ..errors import bad_request
from ..request import ChatRequest
from ..settings import Settings

#: OpenAI takes top_p = 0 for "the one best token"; workers ask for more than 0
LEAST_TOP_P = 1e-6


@dataclass(frozen=True, slots=True)
class Sampling:
    """``seed`` is the first choice's; the others count on from it, or all would be equal."""

    choices: int
    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]

    def seed_of(self, number: int) -> int | None:
        return None if self.seed is None else self.seed + number


def make_sampling(request: ChatRequest, settings: Settings) -> Sampling:
    """Raises ApiError 400 beyond this server's limits."""
    if request.stream_options is not None and not request.stream:
        raise bad_request(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
    choices = request.n or 1
    if choices > settings.max_choices:
        raise bad_request(
            "Invalid 'n': integer above maximum value. "
            f"Expected a value <= {settings.max_choices}, but got {choices} instead.",
            "n",
            "integer_above_max_value",
        )
    return Sampling(
        choices=choices,
        max_tokens=_max_tokens(request, settings),
        temperature=1.0 if request.temperature is None else request.temperature,
        top_p=1.0 if request.top_p is None else max(request.top_p, LEAST_TOP_P),
        seed=request.seed,
        stop=request.stops,
    )


def _max_tokens(request: ChatRequest, settings: Settings) -> int:
    """``max_tokens`` is the older name; both at once must agree."""
    new, old = request.max_completion_tokens, request.max_tokens
    if new is not None and old is not None and new != old:
        raise bad_request(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_value",
        )
    wanted = settings.default_completion_tokens if (new or old) is None else new or old or 0
    if wanted > settings.max_completion_tokens:
        param = "max_tokens" if new is None else "max_completion_tokens"
        raise bad_request(
            f"{param} is too large: {wanted}. This model supports at most "
            f"{settings.max_completion_tokens} completion tokens, whereas you provided {wanted}.",
            param,
            "invalid_value",
        )
    return wanted
