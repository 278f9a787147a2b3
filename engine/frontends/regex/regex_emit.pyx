"""Trees -> IR: see the header file."""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from ...grammar.lowered cimport CHARS, JSON_CHARS
from ...native.pool cimport vector
from .regex_tree cimport Alt, Automaton, Cat, Chars, Repeat, Tree

from ...errors import InternalError


cpdef uint32_t emit(Grammar grammar, Tree tree, bint inside_json) except? 0xFFFFFFFF:
    cdef vector[uint32_t] words
    cdef Tree part
    if isinstance(tree, Chars):
        for low, high in (<Chars>tree).ranges:
            words.push_back(low)
            words.push_back(high)
        return grammar.add_set(JSON_CHARS if inside_json else CHARS, words.data(), words.size() // 2)
    if isinstance(tree, Repeat):
        return grammar.repeat(
            emit(grammar, (<Repeat>tree).body, inside_json), (<Repeat>tree).minimum, (<Repeat>tree).maximum)
    if isinstance(tree, Cat):
        return row(grammar, <Cat>tree, inside_json)
    if isinstance(tree, Automaton):
        return (<Automaton>tree).states.to_node(grammar, inside_json=inside_json)
    if not isinstance(tree, Alt):
        raise InternalError("an anchor has no text of its own")
    for part in (<Alt>tree).parts:
        words.push_back(emit(grammar, part, inside_json))
    return grammar.add_alt(words.data(), words.size())


cdef uint32_t row(Grammar grammar, Cat tree, bint inside_json) except? 0xFFFFFFFF:
    """Parts one behind the other."""
    cdef vector[uint32_t] nodes
    cdef list literal = []
    cdef Tree part
    cdef str c
    for part in tree.parts:
        c = only(part)
        if c is not None:
            literal.append(c)
            continue
        if literal:
            nodes.push_back(text_node(grammar, literal, inside_json))
            literal = []
        nodes.push_back(emit(grammar, part, inside_json))
    if literal:
        nodes.push_back(text_node(grammar, literal, inside_json))
    return grammar.add_seq(nodes.data(), nodes.size())


cdef uint32_t text_node(Grammar grammar, list literal, bint inside_json) except? 0xFFFFFFFF:
    cdef str text = "".join(literal)
    cdef bytes data
    if inside_json:
        return grammar.add_text(text)
    data = text.encode()
    return grammar.add_bytes(data, len(data))


cdef str only(Tree tree):
    """The one character that the tree matches, None if there are others or none."""
    cdef tuple ranges, one
    if not isinstance(tree, Chars):
        return None
    ranges = (<Chars>tree).ranges
    if len(ranges) != 1:
        return None
    one = <tuple>ranges[0]
    return chr(<int>one[0]) if one[0] == one[1] else None
