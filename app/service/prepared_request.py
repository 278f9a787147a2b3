"""A request that is ready for workers: what its answers must be, and how many there are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from adapters.formats import OutputSpec

from ..constraints import ConstraintPlan, relaxed_header
from ..errors import FieldNames
from ..generation import SamplingParams
from ..observability import IGNORED_HEADER, RequestRecord
from ..observability import header_listing as named
from .text_prompts import PromptTokens

#: names the grammar engine that enforced the answer
BACKEND_HEADER = "x-switchyard-backend"
#: names the format that the prompt teaches, because the syntax of the model's own calls is unknown
TAUGHT_HEADER = "x-switchyard-taught"


@dataclass(frozen=True, slots=True)
class ChoicePlan:
    """One choice. ``prompt_tokens``: its ids are not kept while it streams. ``echo``: the text
    before it. ``is_first``: of its prompt, whose tokens count once.
    """

    prompt_tokens: int
    echo: str
    seed: int | None
    is_first: bool


def plans_of(prompts: Sequence[PromptTokens], sampling: SamplingParams) -> tuple[ChoicePlan, ...]:
    """Return the choices of all prompts in order; ``sampling.choices``: of each."""
    return tuple(
        ChoicePlan(
            len(prompt.ids),
            prompt.echo,
            sampling.seed_of(number),
            is_first=number == 0,
        )
        for prompt in prompts
        for number in range(sampling.choices)
    )


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request that is ready for a worker. ``names``: see GenerationRequest. ``priority``,
    ``cache_salt``: see Generation. ``taught``: see Evidence; None also without tools.
    ``taken_ids``: of earlier calls.
    """

    names: FieldNames
    output: OutputSpec
    sampling: SamplingParams
    constraint: ConstraintPlan
    choices: tuple[ChoicePlan, ...]
    priority: int = 0
    cache_salt: str | None = None
    taught: str | None = None
    taken_ids: Collection[str] = ()

    def headers(self, record: RequestRecord) -> dict[str, str]:
        """Return the headers of the answer."""
        constraint = self.constraint
        relaxed, ignored = relaxed_header(constraint.relaxed), named(IGNORED_HEADER, record.ignored)
        backend = {BACKEND_HEADER: constraint.backend}
        taught = {} if self.taught is None else {TAUGHT_HEADER: self.taught}
        return backend | relaxed | constraint.mode_header | taught | ignored
