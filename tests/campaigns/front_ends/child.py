"""A worker process of the campaign: cases in, phases and outcomes out."""

import faulthandler
import gc
import resource
import sys
from multiprocessing import connection

from .measured import address_space
from .subjects import Subjects
from .trial import Trial

#: the vocabulary of the campaign, and bytes of address space that a case may take beyond those of
#: the process when it begins
VOCABULARY, MAX_MEMORY = "llama3", 5 << 30
#: wall seconds of a case after which the stack is printed
SHOWN_AFTER = 60.0
#: cases that one process runs: later cases meet the masks and automata that earlier ones left
CASES_OF_ONE_COMPILER = 500


def serve(pipe: connection.Connection, vocabulary: str = VOCABULARY) -> None:
    """Run cases until the pipe closes."""
    pipe.send("prepare")
    subjects = Subjects(vocabulary)
    gc.collect()
    gc.freeze()
    most = address_space() + MAX_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    served = 0
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        served += 1
        if served % CASES_OF_ONE_COMPILER == 0:
            pipe.send("prepare")
            subjects = Subjects(vocabulary)
        faulthandler.dump_traceback_later(SHOWN_AFTER, file=sys.stderr)
        outcome = Trial(subjects, case, pipe.send).run()
        faulthandler.cancel_dump_traceback_later()
        pipe.send(outcome)
