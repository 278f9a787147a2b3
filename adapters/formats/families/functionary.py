"""Functionary 3.2: each message begins with its recipient on a line of its own.

    >>>all\nLet me see.>>>f\n{...}>>>g\n{...}<|eot_id|>

The prompt ends with the first ``>>>``. The marks are text, and answers contain them for other
reasons, for instance in examples of Python. So only ``>>>``, the name of an offered tool and a line
feed open a call behind a text.

Checked against llama.cpp's copy of the chat template of meetkai/functionary-medium-v3.2
(llama-cpp-python 0.3.36).
"""

from ..addressed.addressed_family import AddressedFamily

FUNCTIONARY_V32 = AddressedFamily(
    name="functionary_v32",
    text="all\n",
    reserved=("all",),
    begin="{name}\n",
    start=">>>",
    stop_texts=("<|eot_id|>", "<|eom_id|>"),
    marks=(">>>${recipient}",),
)
