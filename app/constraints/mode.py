"""The constraint mode of a model: whether the grammars of requests are enforced.

    enforce   the worker gets the grammar, and the answer is read with it
    shadow    the worker gets no grammar; the gateway compares each answer with it and counts
    off       the worker gets no grammar, and none is compiled

The mode is read once for each request, when its constraint is planned: a change takes effect for
new requests, and running answers keep theirs.

A request that says ``strict: true`` relies on its constraint, and so does one with a grammar, a
pattern or a choice, which has no lenient form. Without enforcement such a request is refused,
unless the setting ``unenforced_strict`` allows the weaker answer (docs/adr/0017).
"""

from dataclasses import KW_ONLY, dataclass

from adapters.formats import OutputSpec, tool_param

from ..errors import ApiError, bad_request
from ..settings import ConstraintMode, UnenforcedStrict

#: names the mode of an answer that nothing constrained
MODE_HEADER = "x-switchyard-constraints"


@dataclass(slots=True)
class ModeSwitch:
    """The mode of one model, which operators may change."""

    mode: ConstraintMode = "enforce"
    _: KW_ONLY
    unenforced_strict: UnenforcedStrict = "refuse"

    def check(self, output: OutputSpec, mode: ConstraintMode) -> None:
        """Raise ApiError 400 if the request relies on a constraint that ``mode`` does not
        enforce.
        """
        if mode == "enforce" or self.unenforced_strict != "refuse":
            return
        if (param := relied_upon(output)) is not None:
            raise _refused(param, mode)


def relied_upon(output: OutputSpec) -> str | None:
    """Return the field of the first constraint that is never relaxed; None: there is none."""
    for number, tool in enumerate(output.tools if output.tool_choice != "none" else ()):
        param = tool_param(number, tool)
        if tool.strict:
            return f"{param}.strict"
        if tool.input is not None and tool.input.syntax != "text":
            return f"{param}.format"
    if output.response_grammar is not None:
        return output.response_grammar.param
    return output.response_param if output.response_strict else None


def _refused(param: str, mode: ConstraintMode) -> ApiError:
    return bad_request(
        f"Invalid '{param}': this server does not enforce constraints at the moment (mode "
        f"'{mode}'), so it cannot promise an answer that satisfies this one. Omit 'strict' or the "
        "grammar to accept an answer that nothing constrains.",
        param,
        "strict_not_enforced",
    )
