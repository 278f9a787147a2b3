"""A model whose calls have an unknown syntax: answers without tools, and refusals of tools.

Its chat template teaches the model a syntax. A grammar of another one would force texts that the
model was not trained on. An operator who wants no other syntax to be taught has requests with tools
refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..format_plan import FormatPlan
from ..output_spec import FormatError, OutputSpec
from .tag_family import TagFamily


@dataclass(frozen=True, kw_only=True)
class UnknownSyntax(TagFamily):
    """See above. The other texts are those of the plain format."""

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        if output.tools:
            raise FormatError(
                "the model's chat template shows tool calls in a syntax that this server does not "
                "know; an operator can choose a format with SWITCHYARD_FORMAT, or have prompts "
                "teach one with SWITCHYARD_UNKNOWN_SYNTAX=teach, or with the keys `format` and "
                "`unknown_syntax` of a configuration file",
                "tools",
            )
        return super().plan(output, special_texts)
