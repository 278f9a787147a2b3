"""The version of what a spec may say beyond the structural-tag language of the field: the field
"switchyard" of a json_schema node. Who writes specs and who reads them must know the same one.
"""

SPEC_VERSION = 3
