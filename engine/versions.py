"""The versions of what the engine shares with other processes."""

#: version of the field "switchyard" of a json_schema node, which the gateway writes and the worker
#: reads: both must use the same version
SPEC_VERSION = 5
#: version of shared artifacts, part of every key in the log. Increase it whenever rule digests, the
#: numbering of automata, or the encoding of token masks change
ARTIFACT_VERSION = 13
