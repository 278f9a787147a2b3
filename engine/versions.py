"""The versions of what the engine shares with other processes."""

#: version of what specs mean: of the field "switchyard" of a json_schema node, and of every table
#: and rule by which a spec becomes a language. The gateway writes specs and reads answers by them,
#: the worker masks by them: both must use the same version. Increase it when a spec comes to mean
#: another language, such as by another pattern of a format; tests/engine/meanings.py notices
SPEC_VERSION = 7
#: version of shared artifacts, part of every key in the log. Increase it whenever rule digests, the
#: numbering of automata, or the encoding of token masks change
ARTIFACT_VERSION = 14
