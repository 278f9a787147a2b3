"""Workers whose answers an async generator makes."""

from collections.abc import AsyncGenerator

from adapters.workers import Chunk, Generation, Receive, Run
from adapters.workers.generator_run import GeneratorRun


class Generating:
    """A worker that has only ``generate``."""

    def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        raise NotImplementedError

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)
