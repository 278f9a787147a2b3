"""Families made from the ``response_template`` of a checkpoint: what it says of its own answers.

    response_template  the family, from the template's fields
    template_field     one field
    patterns           its expressions, which are parsed and never run
    readings           notations of arguments, from the ways in which a template reads them
    transform          what becomes of a field's content
    call_shape         white space, from a call as a chat template renders it

Not here    families from chat templates alone (derivation).
"""

from .response_template import (
    UnusableTemplate,
    family_of,
    response_template_of,
    thinking_of,
)
