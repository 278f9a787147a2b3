"""Quality of constrained answers: what a real model meets in the grammar, and what it answers.

    models     real models of the package index, converted once
    loop       a decode loop in torch that records what the mask forbids
    grammars   the masks of a way: ours, none, xgrammar, llguidance
    gateway    the gateway's own prompts and plans around that loop
    steps      sampled steps, and the places where the mask forbids what the model wants
    report     tables for people
    compare    two runs beside each other

The cases and the judge are those of ``switchyard bench --quality`` (app.cli.quality).
"""
