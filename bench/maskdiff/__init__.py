"""Masks of several engines along the same texts, and a judge of every difference.

walks       tasks in the engines' processes: times, and masks along texts
comparing   tokens on which masks differ, and a sample of them
recording   the cases, engine by engine, into a file that a later run continues
partial     a prefix of a JSON text as a tree
document    one schema and its verdicts: jsonschema with exact decimals
refuting    reasons why no rest can make a prefix valid
completing  rests that may make a prefix valid
rules       documented rules of an engine about spelling that a text breaks
judging     verdicts: allowed with a witness, forbidden with a reason, or undecided
results     tables

The judge (everything from ``partial`` on) imports no engine.
"""
