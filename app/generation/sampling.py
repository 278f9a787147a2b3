"""The sampling parameters of a request: how tokens are drawn, and how many at most."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from adapters.workers import SAMPLING_OPTIONS, SamplingOptions
from engine import Vocabulary

from ..errors import bad_field, bad_request, unsupported_parameter
from ..settings import ModelSettings
from .request import AskedSampling

#: OpenAI accepts top_p = 0 for "the most likely token"; workers require more than 0
LEAST_TOP_P = 1e-6
#: log probabilities of an answer that is not streamed: to write 100,000 takes 0.3 s of the event
#: loop and 40 MB
MAX_LOGPROBS_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """``choices``: of each prompt. ``seed``: the first choice's; each further choice adds 1, or all
    choices would be equal.
    """

    choices: int
    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]
    options: SamplingOptions

    def seed_of(self, number: int) -> int | None:
        """Return the seed of choice ``number``."""
        return None if self.seed is None else self.seed + number


def sampling_params(
    asked: AskedSampling,
    settings: ModelSettings,
    vocabulary: Vocabulary,
    supported: frozenset[str],
    *,
    prompts: int = 1,
) -> SamplingParams:
    """Return the parameters. ``supported``: SamplingOptions that every worker supports.
    ``prompts``: each of which has the choices.

    Raises:
        ApiError: 400, a value exceeds this server's limits, or the workers lack an option.
    """
    choices = asked.n or 1
    if choices > settings.max_choices:
        raise bad_request(
            "Invalid 'n': integer above maximum value. "
            f"Expected a value <= {settings.max_choices}, but got {choices} instead.",
            "n",
            "integer_above_max_value",
        )
    max_tokens = _max_tokens(asked, settings)
    options = _options(asked, vocabulary)
    for name in options.active:
        if name not in supported:
            raise bad_field(
                "Unsupported parameter: '{at}' is not supported by the workers of this server.",
                name,
                "unsupported_parameter",
            )
    if options.min_tokens > max_tokens:
        raise bad_request(
            f"Invalid 'min_tokens': integer above maximum value. Expected a value <= {max_tokens}, "
            f"the most completion tokens of this request, but got {options.min_tokens} instead.",
            "min_tokens",
            "integer_above_max_value",
        )
    params = SamplingParams(
        choices=choices,
        max_tokens=max_tokens,
        temperature=1.0 if asked.temperature is None else asked.temperature,
        top_p=1.0 if asked.top_p is None else max(asked.top_p, LEAST_TOP_P),
        seed=asked.seed,
        stop=asked.stops,
        options=options,
    )
    if not asked.stream:
        _check_kept_logprobs(params, prompts)
    return params


def check_ending(
    options: SamplingOptions, answer: Mapping[str, Any], vocabulary: Vocabulary
) -> None:
    """Refuse options that forbid the stop token where the grammar may allow nothing else.

    ``answer``: the format of the answer's structural tag. A worker that may draw no token draws an
    arbitrary one.

    Raises:
        ApiError: 400.
    """
    name = "ignore_eos" if options.ignore_eos else "min_tokens" if options.min_tokens else None
    if name is None:
        return
    stops = {
        vocabulary.tokens[number].decode(errors="replace") for number in vocabulary.stop_token_ids
    }
    if not _ends_in_text(answer, stops):
        raise unsupported_parameter(
            name,
            "is not supported beside tools or a response format, which decide where the answer "
            "ends.",
        )


def _ends_in_text(answer: Mapping[str, Any], stops: Set[str]) -> bool:
    """Whether the answer ends in free text, which only a stop token ends."""
    match answer["type"]:
        case "any_text":
            return True
        case "sequence":
            return _ends_in_text(answer["elements"][-1], stops)
        case "tag":
            end = answer["end"]
            is_stop = isinstance(end, Mapping) and end.get("token") in stops
            return is_stop and _ends_in_text(answer["content"], stops)
    return False


def _options(asked: AskedSampling, vocabulary: Vocabulary) -> SamplingOptions:
    """Return the options. Off: null, a top_k of the whole vocabulary, and the model's own stop
    tokens, which end the answer anyway.

    Raises:
        ApiError: 400, a token id is beyond the vocabulary.
    """
    options = dict.fromkeys(SAMPLING_OPTIONS) | dict(asked.options)
    biases = tuple((int(name), bias) for name, bias in (options["logit_bias"] or {}).items())
    _check_ids("logit_bias", [number for number, _ in biases], vocabulary)
    stops = dict.fromkeys(options["stop_token_ids"] or ())
    _check_ids("stop_token_ids", stops, vocabulary)
    top_k = options["top_k"] or 0
    options |= {
        "top_k": top_k if 0 < top_k < vocabulary.size else 0,
        "logit_bias": tuple((number, bias) for number, bias in biases if bias),
        "stop_token_ids": tuple(n for n in stops if n not in vocabulary.stop_token_ids),
        "logprobs": _logprobs(asked),
    }
    return SamplingOptions(**{name: each for name, each in options.items() if each is not None})


def _logprobs(asked: AskedSampling) -> int | None:
    """Return the number of most likely tokens to report; None: log probabilities are off."""
    if not asked.logprobs:
        if asked.top_logprobs:
            raise bad_request(
                "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
                "top_logprobs",
            )
        return None
    return asked.top_logprobs or 0


def _check_kept_logprobs(sampling: SamplingParams, prompts: int) -> None:
    """Refuse an answer that may have too many log probabilities to be kept and written at once.

    Raises:
        ApiError: 400.
    """
    top = sampling.options.logprobs
    if top is None:
        return
    most = prompts * sampling.choices * sampling.max_tokens * (1 + top)
    if most > MAX_LOGPROBS_KEPT:
        raise bad_field(
            "Invalid '{at}': the answer may have {got:,} log probabilities, at most {most:,} are "
            "allowed. Ask for fewer of them, for fewer or shorter choices, or set 'stream'.",
            "top_logprobs",
            "invalid_value",
            got=most,
            most=MAX_LOGPROBS_KEPT,
        )


def _check_ids(param: str, ids: Iterable[int], vocabulary: Vocabulary) -> None:
    beyond = next((number for number in ids if number >= vocabulary.size), None)
    if beyond is not None:
        raise bad_request(
            f"Invalid '{param}': expected token ids below {vocabulary.size}, got {beyond}.",
            param,
            "invalid_value",
        )


def _max_tokens(asked: AskedSampling, settings: ModelSettings) -> int:
    """Return the limit on completion tokens; ``max_tokens`` is its older name, both must agree."""
    new, old = asked.max_completion_tokens, asked.max_tokens
    if new is not None and old is not None and new != old:
        raise bad_request(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_value",
        )
    wanted = settings.default_completion_tokens if (new or old) is None else new or old or 0
    if wanted > settings.max_completion_tokens:
        param = "max_tokens" if new is None else "max_completion_tokens"
        raise bad_field(
            "{at} is too large: {got}. This model supports at most {most} completion tokens, "
            "whereas you provided {got}.",
            param,
            "invalid_value",
            got=wanted,
            most=settings.max_completion_tokens,
        )
    return wanted
