"""The main job on real input: real tool sets and schemas through a running gateway.

``python -m tests.real_input --help`` runs all of it; ``test_real_input.py`` a small part.
"""
