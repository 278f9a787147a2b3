"""JSON Schema held against ``jsonschema``: drawn schemas walked and mutated, public suites pinned.

python -m tests.conformance.walks --help     a campaign of random walks
python -m tests.conformance.suites --help    the suites, against what is pinned in ratchet.json
"""
