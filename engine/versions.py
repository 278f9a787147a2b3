"""The versions of what the engine shares with other processes."""

#: of the field "switchyard" of a json_schema node. The gateway writes it, the worker reads it: both
#: must know the same version
SPEC_VERSION = 3
#: of shared artifacts, part of every key in the log. Raised whenever rules are named, automata
#: numbered or masks encoded differently
ARTIFACT_VERSION = 11
