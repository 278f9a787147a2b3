"""The version of what the engine writes into stores, part of every key: another one misses."""

#: raised whenever rules are named, automata numbered, triples or patterns made differently
ARTIFACT_VERSION = 11
