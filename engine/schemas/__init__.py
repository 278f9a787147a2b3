"""What the engine has to say about a JSON Schema, beyond yes and no.

words        the words of JSON Schema
document     places, references, copies with one place changed
weaken       keywords are taken out so that a schema never becomes narrower
relax        all that can't be enforced is taken out
"""

from .relax import MOST_ROUNDS, Relaxation, Relaxed, relax

__all__ = ["MOST_ROUNDS", "Relaxation", "Relaxed", "relax"]
