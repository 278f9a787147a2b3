"""Bounds on work, so that no input can make the engine slow, large or recursive without end.

Limits count work (nodes, states, items, rows, bytes) and never time: replicas and tensor-parallel
ranks must decide alike. Passing one raises ``LimitExceeded`` with its name, the bound and what
came.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All bounds, each with its unit and the reason for its default."""

    #: bytes of a schema, pattern or structural tag as JSON text; a large Kubernetes schema has
    #: 1.3 MB
    spec_bytes: int = 8 << 20
    #: levels of nesting in a spec; people write fewer than 30, Python's own stack holds about 1,000
    spec_depth: int = 128
    #: characters of the JSON pointers of all values of a schema: what is read names its place, and
    #: a long key stands in the pointers of all below it. Schemas of people stay below a million
    pointer_characters: int = 64 << 20
    #: steps of all compiles of one request, less than a microsecond each, so that a slow or busy
    #: core ends within about a second; the costliest of MaskBench takes 375,000; see ``budget``
    compile_steps: int = 1_000_000
    #: IR nodes of one grammar; a 50,000-value enum takes about 150,000
    ir_nodes: int = 2_000_000
    #: characters of one regular expression
    pattern_chars: int = 20_000
    #: states of one code-point automaton made by intersection or complement
    pattern_states: int = 20_000
    #: rules of one grammar given as text; SQL takes about 1,000, and reading one about 10 us
    grammar_rules: int = 8_192
    #: values in one enum
    enum_values: int = 100_000
    #: alternatives that one place of a schema may fall apart into, values of enum and const aside;
    #: a schema with more is taken for one that can't be enforced
    alternatives: int = 1_000
    #: comparisons of values of enum and const with the schemas beside them; these take a second
    value_checks: int = 500_000
    #: edges of one rule's automaton, before it is made deterministic; a choice of 50,000 short
    #: names takes about 500,000, and an edge 20 bytes while its rule is built
    rule_edges: int = 4_000_000
    #: items of one Earley row, predicted ones counted
    row_items: int = 20_000
    #: items of rows that are met while one mask is made, about a microsecond each, and steps over
    #: bytes, thirty-two for an item: a worker's whole batch waits for it. Schemas of people stay
    #: below 1,000; nested bounded repetitions of a pattern can meet millions
    mask_items: int = 300_000
    #: bytes of one generation of a grammar's rows and automata; a new matcher starts a fresh
    #: generation beyond it. A typical grammar takes 100 KB, one that is used for a long time 5 MB
    generation_bytes: int = 64 << 20
    #: bytes at which a generation stops growing while matchers still walk in it: rows that have an
    #: item for each place where a repetition may have begun grow with the text
    most_generation_bytes: int = 192 << 20
    #: rows of one generation of a grammar's arena; a new matcher starts a fresh generation beyond
    #: half of it
    rows: int = 2_000_000
    #: bytes of the kept masks of one generation; beyond it they are dropped, and made again where
    #: they are wanted. One takes at most V/8 bytes: about 4,000 of the largest
    mask_bytes: int = 64 << 20
    #: what one compiler keeps: compiled grammars and their bytes, of which a typical one holds some
    #: hundred thousand. They grow while they are used, and are measured when they are used again,
    #: and now and then: the bytes can be a tenth more
    kept_grammars: int = 1024
    kept_bytes: int = 512 << 20
    #: refusals that one compiler remembers, under 10 KB each: a client that sends a refused spec
    #: again costs no work
    kept_refusals: int = 1024
    #: the masks that grammars share; those of one 128k vocabulary's string bodies take about 100 KB
    token_mask_bytes: int = 256 << 20
    #: the automata that they share; those of the largest formats take some hundred KB
    automaton_bytes: int = 64 << 20

    def within(self, memory_bytes: int) -> "Limits":
        """The same, with a compiler that keeps about so much in all; shared as in the defaults."""
        part = max(1, memory_bytes // 13)
        return replace(self, kept_bytes=8 * part, token_mask_bytes=4 * part, automaton_bytes=part)
