"""The kit: the parts for a machine with a GPU and without a network, in one folder.

collect       python -m bench.gpu kit: sources, wheels and data, and a manifest with their sizes
wheels.txt    the packages that such a machine lacks
parts         the parts, with their arguments and limits
run           runs the parts, each in a process with a limit, and reports at once
../run-kit    the command on that machine: installs, builds, runs
"""
