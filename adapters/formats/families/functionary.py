"""Functionary 3.2: each message begins with its recipient on a line of its own.

    >>>all\nLet me see.>>>f\n{...}>>>g\n{...}<|eot_id|>

The prompt ends with the first ``>>>``. The marks are text, and answers contain them for other
reasons, for instance in examples of Python. So only ``>>>``, the name of an offered tool and a line
feed open a call behind a text.
"""

from ..addressed.addressed_family import AddressedFamily

FUNCTIONARY_V32 = AddressedFamily(
    name="functionary_v32",
    header="{recipient}\n",
    user="all",
    start=">>>",
    stop_texts=("<|eot_id|>", "<|eom_id|>"),
    marks=(">>>${recipient}",),
)
