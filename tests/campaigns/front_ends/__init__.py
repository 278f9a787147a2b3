"""The campaign of all front ends that a request can reach, with random and with growing inputs.

subjects     what a request reaches: languages of the engine, requests of the gateway, reports
languages    weighted grammars of the languages' own syntax, and their texts
mutations    pieces repeated, nested and spliced, numbers made huge
growth       each construct 10, 100, 1,000 and 10,000 times
measured     CPU time, memory, pauses of other threads, and the end after a cancellation
"""
