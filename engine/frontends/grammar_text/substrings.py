"""Runs of consecutive chunks of a text: ``%regex {"substring_words": "..."}``, ``Substring(...)``.

    substring_chunks   a list of texts
    substring_words    a text, cut between words, white space and other characters
    substring_chars    a text, cut into characters

The suffix automaton of n chunks has at most 2n states and 3n edges. Each run of chunks is the
label of exactly one path from state 0; all states are final.

Source   A. Blumer et al., The smallest automaton recognizing the subwords of a text, TCS 40, 1985;
         the cuts are llguidance's.
"""

from itertools import groupby

from ...grammar.ir import Grammar, Node

Edge = tuple[int, str, int]


def words_of(text: str) -> list[str]:
    return ["".join(chunk) for _, chunk in groupby(text, _kind)]


def _kind(c: str) -> str:
    return "space" if c.isspace() else "word" if c.isalnum() or c == "_" else "other"


def suffix_automaton(chunks: list[str]) -> tuple[int, list[Edge]]:
    """Return the number of states and the edges."""
    longest, link = [0], [-1]
    targets: list[dict[str, int]] = [{}]
    last = 0
    for chunk in filter(None, chunks):
        new, at = len(targets), last
        targets.append({})
        longest.append(longest[last] + 1)
        link.append(0)
        while at >= 0 and chunk not in targets[at]:
            targets[at][chunk] = new
            at = link[at]
        if at >= 0:
            known = targets[at][chunk]
            if longest[at] + 1 != longest[known]:
                copy = len(targets)
                targets.append(dict(targets[known]))
                longest.append(longest[at] + 1)
                link.append(link[known])
                while at >= 0 and targets[at].get(chunk) == known:
                    targets[at][chunk] = copy
                    at = link[at]
                link[known] = known = copy
            link[new] = known
        last = new
    edges = [(state, chunk, to) for state, out in enumerate(targets) for chunk, to in out.items()]
    return len(targets), edges


def substring_node(grammar: Grammar, states: int, edges: list[Edge]) -> Node:
    """Add a suffix automaton as a GRAPH."""
    nodes = {chunk: grammar.bytes(chunk.encode()) for chunk in {edge[1] for edge in edges}}
    moves = [(source, nodes[chunk], to) for source, chunk, to in edges]
    return grammar.graph(states, moves, range(states))
