"""Grammars on a GPU: python -m bench.gpu PART (see __main__).

kernel                     masks on the device, checked and timed; device_kernel applies them
decode/                    tokens per second of a decode loop with every backend
gateway                    the gateway whose process runs the model
run, serving, options      parts in a real SGLang server, for which bench.sglang has the load
machine, needs, inspection requirements of the parts, and what a machine lacks
shapes, tokenizer_files    models of real shapes with random weights and real vocabularies
judging, tables, report    answers against their schemas; results as Markdown and JSON
kit/, run-kit              all of it in one folder for a machine without a network
"""
