"""How the prompts of a model show past answers, which is how it answers by itself."""

from dataclasses import dataclass

from adapters.formats import NO_RULES, JsonRules


@dataclass(frozen=True, slots=True)
class ShownAnswers:
    """The answers of a model where neither a request nor a setting decides.

    ``json_rules``: how JSON is written. ``several_calls``: whether an answer may have several.
    """

    json_rules: JsonRules = NO_RULES
    several_calls: bool = True
