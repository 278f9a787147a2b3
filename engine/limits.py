"""Limits on work, so that no input can make the engine slow, large or endlessly recursive.

Limits count work (nodes, states, items, rows, bytes), never time, because replicas and
tensor-parallel ranks must decide alike. Exceeding one raises ``LimitExceeded`` with its name, its
value and the actual value.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits, each with its unit and the reason for its default."""

    #: bytes of a schema, pattern or structural tag as JSON text; a large Kubernetes schema has
    #: 1.3 MB
    spec_bytes: int = 8 << 20
    #: levels of nesting in a spec; typical specs have fewer than 30, Python's stack holds about
    #: 1,000
    spec_depth: int = 128
    #: characters of the JSON pointers of all values of a schema; a long key is part of the pointers
    #: of all values below it. Typical schemas stay below a million
    pointer_characters: int = 64 << 20
    #: steps of all compiles of one request, less than a microsecond each, so that a slow or busy
    #: core needs about a second; the most expensive of 1,832 schemas of MaskBench takes 81,000
    compile_steps: int = 1_000_000
    #: IR nodes of one grammar; a 50,000-value enum takes about 150,000
    ir_nodes: int = 2_000_000
    #: operands of all nodes of one grammar, four bytes each: characters of texts, parts of
    #: sequences, bounds of ranges; a spec of 8 MB has about 8 million characters
    ir_operands: int = 16 << 20
    #: characters of one regular expression
    pattern_chars: int = 20_000
    #: states of one code-point automaton made by intersection or complement
    pattern_states: int = 20_000
    #: rules of one grammar given as text; SQL takes about 1,000, and reading one about 10 us
    grammar_rules: int = 8_192
    #: values in one enum
    enum_values: int = 100_000
    #: alternatives that one location of a schema may be split into, without values of enum and
    #: const; a schema with more cannot be enforced
    alternatives: int = 1_000
    #: comparisons of values of enum and const with adjacent schemas; the default takes a second
    value_checks: int = 500_000
    #: edges of one rule's automaton before determinisation; a choice of 50,000 short names takes
    #: about 500,000, and an edge 20 bytes while its rule is built
    rule_edges: int = 4_000_000
    #: items of one Earley row, including predicted ones
    row_items: int = 20_000
    #: items of rows met for one mask, about a microsecond each; 32 steps over bytes count as an
    #: item. A worker's whole batch waits for a mask. Typical schemas stay below 1,000; nested
    #: bounded repetitions of a pattern can meet millions
    mask_items: int = 300_000
    #: bytes of one generation of a grammar's rows and automata, at which the next matcher starts a
    #: fresh generation. A typical grammar takes 100 KB, or 5 MB after long use
    generation_bytes: int = 64 << 20
    #: bytes at which a generation in use stops growing: rows with an item for each possible begin
    #: of a repetition grow with the text
    most_generation_bytes: int = 192 << 20
    #: rows of one generation; at half of it the next matcher starts a fresh generation
    rows: int = 2_000_000
    #: bytes of cached masks of one generation, at which all are dropped. A mask takes at most V/8
    #: bytes, so about 4,000 of the largest fit
    mask_bytes: int = 64 << 20
    #: compiled grammars that one compiler caches, and their bytes; a typical one has some hundred
    #: thousand. Grammars grow with use and are measured only now and then, so the actual bytes can
    #: be a tenth more
    kept_grammars: int = 1024
    kept_bytes: int = 512 << 20
    #: refusals that one compiler caches, under 10 KB each, so that sending a refused spec again
    #: costs no work
    kept_refusals: int = 1024
    #: bytes of token masks that grammars share; those of string bodies take about 100 KB for a
    #: vocabulary of 128,000 tokens
    token_mask_bytes: int = 256 << 20
    #: bytes of automata that grammars share; those of the largest formats take some hundred KB
    automaton_bytes: int = 64 << 20
    #: bytes of patterns, formats and bounded numbers as IR that grammars share; that of a format
    #: takes some KB
    fragment_bytes: int = 32 << 20

    def within(self, memory_bytes: int) -> "Limits":
        """Return the same limits for a compiler with about ``memory_bytes`` of caches in all,
        divided as in the defaults.
        """
        part = max(1, memory_bytes // 27)
        return replace(
            self,
            kept_bytes=16 * part,
            token_mask_bytes=8 * part,
            automaton_bytes=2 * part,
            fragment_bytes=part,
        )
