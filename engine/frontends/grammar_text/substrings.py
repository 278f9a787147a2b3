"""Chunks of a text that stand side by side: ``%regex {"substring_words": "..."}``.

    substring_chunks   a list of texts
    substring_words    a text, cut where words, white space and other characters meet
    substring_chars    a text, cut into characters

The graph is the suffix automaton of the chunks: its walks from state 0 spell each run of chunks
once, so that it has at most 2n states and 3n edges for n chunks.

Source   A. Blumer et al., The smallest automaton recognizing the subwords of a text, TCS 40, 1985;
         the cuts are llguidance's.
"""

from itertools import groupby

Edge = tuple[int, str, int]


def words_of(text: str) -> list[str]:
    return ["".join(chunk) for _, chunk in groupby(text, _kind)]


def _kind(c: str) -> str:
    return "space" if c.isspace() else "word" if c.isalnum() or c == "_" else "other"


def suffix_automaton(chunks: list[str]) -> tuple[int, list[Edge]]:
    """The number of states and the edges; all states are final."""
    longest, link = [0], [-1]
    ways: list[dict[str, int]] = [{}]
    last = 0
    for chunk in filter(None, chunks):
        new, at = len(ways), last
        ways.append({})
        longest.append(longest[last] + 1)
        link.append(0)
        while at >= 0 and chunk not in ways[at]:
            ways[at][chunk] = new
            at = link[at]
        if at >= 0:
            known = ways[at][chunk]
            if longest[at] + 1 != longest[known]:
                copy = len(ways)
                ways.append(dict(ways[known]))
                longest.append(longest[at] + 1)
                link.append(link[known])
                while at >= 0 and ways[at].get(chunk) == known:
                    ways[at][chunk] = copy
                    at = link[at]
                link[known] = known = copy
            link[new] = known
        last = new
    edges = [(state, chunk, to) for state, out in enumerate(ways) for chunk, to in out.items()]
    return len(ways), edges
