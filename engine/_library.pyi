#: the full names of all modules of the library
MODULES: frozenset[str]
