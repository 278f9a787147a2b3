"""The interface of a format: one model family's wire syntax."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .format_plan import FormatPlan
from .output_spec import SPACED, ChatMessage, JsonLayout, OutputSpec, PastCall, Tool


@dataclass(frozen=True, kw_only=True)
class Format(ABC):
    """One model family's wire syntax: prompts, the grammar of answers, and how answers are read.

    ``stop_texts``  the tokens that end its answers.
    ``own_tokens``  the special tokens that its answers require; a vocabulary must contain all of
                    them. ``prompt_tokens``: those around the turns that ``render`` writes; a
                    tokenizer without a chat template must have them. ``variants``: the format for
                    vocabularies that name some of these otherwise.
    ``is_parallel``  whether an answer may contain several calls. ``parallel_by_default``: whether
                    models write several unasked; decides where no chat template shows any.
    ``layout``      of JSON, where no chat template shows one. ``sorted_levels``: of the objects in
                    a call's arguments whose members the models write sorted by name; 0: none.
    ``corrections``  patterns of errors in the constants of the chat template of the family's
                    makers, and what is right.
    ``marks``       texts of its calls: a model whose chat template or vocabulary contains all of
                    them, and whose template renders no calls, uses this format.
    """

    name: str
    stop_texts: tuple[str, ...] = ()
    own_tokens: tuple[str, ...] = ()
    prompt_tokens: tuple[str, ...] = ()
    variants: tuple["Format", ...] = ()
    marks: tuple[str, ...] = ()
    layout: JsonLayout = SPACED
    sorted_levels: int = 0
    corrections: tuple[tuple[str, str], ...] = ()
    is_parallel: bool = True
    parallel_by_default: bool = True

    def counts_calls(self, output: OutputSpec) -> bool:
        """Whether the grammar depends on the number of calls before the answer."""
        return False

    def named_in(self, special_texts: Collection[str]) -> "Format":
        """Return the format with the names that a vocabulary has for the tokens of prompts."""
        forms = (self, *self.variants)
        return next((form for form in forms if {*form.prompt_tokens} <= {*special_texts}), self)

    def corrected(self, text: str) -> str:
        """Return a text of a chat template without the errors of its makers."""
        for wrong, right in self.corrections:
            text = re.sub(wrong, right, text)
        return text

    @abstractmethod
    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        """Return the plan of an answer: its structural tag and its reader.

        ``special_texts``: all special tokens of the vocabulary. Free text contains none of them
        except those that open the format's own tags.

        Raises:
            FormatError: this format cannot write the output, or no answer satisfies it.
        """

    @abstractmethod
    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        """Return the prompt as text with special tokens spelled out, for tokenizers without a chat
        template.

        Raises:
            FormatError: a message has a form that this format cannot show.
        """

    @abstractmethod
    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        """Return a system message's text: further instructions, ``tools`` and the response schema,
        for chat templates that show none of them; "" for none.
        """

    def choice_text(self, output: OutputSpec) -> str:
        """Return what the end of the conversation says about a required call, for chat templates
        that show no tools; "" for nothing.
        """
        return ""

    @abstractmethod
    def calls_texts(self, calls: Sequence[PastCall]) -> Sequence[str]:
        """Return the calls of one answer in the ways in which chat templates show them."""

    def as_text(self, message: ChatMessage, calls_before: int = 0) -> str | None:
        """Return a past answer with calls, or a tool's result, as text, for chat templates that
        show neither; None: calls are separate messages in this format. ``calls_before``: the calls
        of earlier answers in the conversation.
        """
        return None

    def past_calls(self, message: ChatMessage) -> str | None:
        """Return the calls of a past answer as chat templates show them; None: they show them in
        several ways.
        """
        return self.as_text(message)
