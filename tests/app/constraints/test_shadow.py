"""The places that shadow constraints report."""

from adapters.formats import Kind, OutputSpec, get_format
from app.constraints.shadow import _PLACES, PLACES, Divergence, ShadowParser
from app.conversation.tokenizer import BuiltinTokenizer
from engine import Compiler


def test_every_kind_of_text_has_a_place():
    """A new kind without a place would end an answer with an error."""
    assert set(_PLACES) == set(Kind)
    assert set(_PLACES.values()) <= set(PLACES)


def test_a_divergence_has_the_number_of_tokens_before_it():
    vocabulary = BuiltinTokenizer().vocabulary
    output = OutputSpec(response_schema={"type": "array", "items": {"type": "integer"}})
    plan = get_format("plain").plan(output, ())
    compiled = Compiler(vocabulary).compile_structural_tag(plan.spec)
    found: list[Divergence] = []
    shadow = ShadowParser(compiled.parser(), plan.roles, vocabulary.tokens, found.append)
    for number in (good := vocabulary.encode("[1, ")) + vocabulary.encode('"x"]'):
        shadow.feed(number)
    assert found == [Divergence("value", len(good))]
